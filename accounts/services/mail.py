"""E-mails to people who cannot read alerts in the app, because they cannot sign in: sent at once, or not at all."""

import smtplib

import structlog
from django.conf import settings

from accounts.people.invitations import NewInvitation
from bigmind.core.mail import compose_mail, render_mail
from bigmind.core.translation import _

log = structlog.get_logger()


def mail_invitation(new: NewInvitation) -> str:
    """Send an invitation to the address it names; return what became of it, in one sentence.

    There is no retry: the admin who invites sees the link, and can pass it on in another way.
    """
    address = new.invitation.email
    if not address:
        return _("There is no e-mail address to send it to.")
    if not settings.EMAIL_HOST:
        return _("No mail server is configured, so nothing was sent.")
    context = {"invitation": new.invitation, "url": new.url}
    parts = render_mail("accounts/mail/invitation", context, text_engine="agent")
    letter = compose_mail(_("You are invited to BigMind"), parts, address)
    try:
        letter.send()
    except (OSError, smtplib.SMTPException) as error:
        log.warning("An invitation could not be sent.", error=type(error).__name__)
        return _("It could not be sent to %(address)s: the mail server refuses or is away (%(name)s).") % {
            "address": address,
            "name": type(error).__name__,
        }
    return _("It was sent to %(address)s.") % {"address": address}
