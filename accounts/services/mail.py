"""E-mails to people who cannot read alerts in the app, because they cannot sign in: sent at once, or not at all."""

import smtplib

import structlog
from django.conf import settings
from django.core.mail import EmailMessage
from django.template.loader import render_to_string

from accounts.people.invitations import NewInvitation

log = structlog.get_logger()


def mail_invitation(new: NewInvitation) -> str:
    """Send an invitation to the address it names; return what became of it, in one sentence.

    There is no retry: the admin who invites sees the link, and can pass it on in another way.
    """
    address = new.invitation.email
    if not address:
        return "There is no e-mail address to send it to."
    if not settings.EMAIL_HOST:
        return "No mail server is configured, so nothing was sent."
    text = render_to_string(
        "accounts/mail/invitation.txt", {"invitation": new.invitation, "url": new.url}, using="agent"
    )
    letter = EmailMessage("You are invited to BigMind", text, settings.DEFAULT_FROM_EMAIL, [address])
    try:
        letter.send()
    except (OSError, smtplib.SMTPException) as error:
        log.warning("An invitation could not be sent.", error=type(error).__name__)
        return f"It could not be sent to {address}: the mail server refuses or is away ({type(error).__name__})."
    return f"It was sent to {address}."
