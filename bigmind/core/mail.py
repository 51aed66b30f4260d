"""Mails: each has a plain part and an HTML part, which look like the product and load nothing from anywhere."""

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any
from urllib.parse import urlsplit

from django.conf import settings
from django.core.mail import EmailMultiAlternatives
from django.template.loader import render_to_string


@dataclass(frozen=True)
class MailParts:
    """What a mail says, for programs that show HTML and for those that do not."""

    text: str
    html: str


def render_mail(name: str, context: Mapping[str, Any], *, text_engine: str | None = None) -> MailParts:
    """Render both parts of a mail from the templates `name.txt` and `name.html`; the latter extends `mail/base.html`.

    Args:
        text_engine: The template engine of the plain part, where it is not that of pages.
    """
    shown = {**context, "instance": settings.PUBLIC_URL}
    return MailParts(render_to_string(f"{name}.txt", shown, using=text_engine), render_to_string(f"{name}.html", shown))


def compose_mail(
    subject: str, parts: MailParts, to: str, *, unsubscribe: str = "", message_id: str = ""
) -> EmailMultiAlternatives:
    """Return a mail to one address, from the address of the instance.

    Args:
        unsubscribe: The page on which its reader ends or changes such mails; a mail program shows it as a button.
        message_id: What is the same for every attempt to send it.
    """
    headers = {"Auto-Submitted": "auto-generated"}
    if message_id:
        headers["Message-ID"] = f"<{message_id}@{urlsplit(settings.PUBLIC_URL).hostname}>"
    if unsubscribe:
        headers["List-Unsubscribe"] = f"<{unsubscribe}>"
    mail = EmailMultiAlternatives(subject, parts.text, settings.DEFAULT_FROM_EMAIL, [to], headers=headers)
    if parts.html:
        mail.attach_alternative(parts.html, "text/html")
    return mail
