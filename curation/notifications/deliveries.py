"""Deliveries: what is sent out to a webhook or by e-mail, retried until it arrives or a day has passed."""

import base64
import hashlib
import hmac
import json
import smtplib
from datetime import timedelta
from typing import Any

import httpx
import structlog
from django.conf import settings
from django.core.mail import EmailMessage
from django.db import transaction
from django.utils import timezone

from bigmind.core.addresses import AddressRefused, Private, post
from bigmind.core.background import after_commit
from curation.models import Channel, Delivery, Review

LEASE = timedelta(minutes=2)
"""Longer than any try takes: what is being sent is nobody else's meanwhile."""
PAUSES = tuple(timedelta(minutes=minutes) for minutes in (1, 5, 30, 120, 480, 960))
"""How long to wait after each try that failed; after the last one it is given up, and kept with its trouble."""
KEPT = timedelta(days=30)

log = structlog.get_logger()


class _Failed(Exception):
    """It did not arrive. The sentence says why."""


def queue_webhook(review: Review) -> None:
    """Let the webhook hear of a decision, where one is configured. Call this in the transaction that decides.

    What is sent names the entry and links to it; its text stays here.
    """
    if not settings.WEBHOOK_URL:
        return
    entry = review.entry
    event = f"company.{review.action}"
    body = {
        "type": event,
        "timestamp": review.created_at.isoformat(),
        "data": {
            "handle": entry.handle,
            # What is not decided yet is between the proposer and the curators.
            "title": "" if entry.is_undecided else entry.title,
            "category": entry.category,
            "status": entry.status,
            "revision": entry.revision,
            "by": review.by_name,
            "url": f"{settings.PUBLIC_URL}/company/{entry.pk}/",
        },
    }
    Delivery.objects.create(channel=Channel.WEBHOOK, event=event, body=body)
    after_commit("curation.tasks.deliver_pending")


def deliver_pending() -> int:
    """Send what waits, and return how much arrived. May run twice at once and be killed at any point."""
    arrived = 0
    while delivery := _claim():
        arrived += _deliver(delivery)
    return arrived


def forget_old_deliveries() -> int:
    """Delete what arrived or was given up over 30 days ago; return how many."""
    old = Delivery.objects.exclude(delivered_at=None, given_up_at=None).filter(created_at__lt=timezone.now() - KEPT)
    return old.delete()[0]


def send_again(delivery: Delivery) -> None:
    """Try a delivery once more from the beginning: after the other side was mended."""
    Delivery.objects.filter(pk=delivery.pk).update(
        attempts=0, given_up_at=None, delivered_at=None, not_before=timezone.now()
    )
    after_commit("curation.tasks.deliver_pending")


def signature(message_id: str, moment: int, body: bytes, secret: str) -> str:
    """Return the signature of a webhook message, as the Standard Webhooks specification has it.

    Raises:
        ValueError: the secret begins with `whsec_`, and what follows is no base64.
    """
    encoded = secret.removeprefix("whsec_")
    key = secret.encode() if encoded == secret else base64.b64decode(encoded, validate=True)
    signed = f"{message_id}.{moment}.".encode() + body
    return "v1," + base64.b64encode(hmac.new(key, signed, hashlib.sha256).digest()).decode()


def _claim() -> Delivery | None:
    """Take what is due longest, for two minutes: whoever is killed with it leaves it to the next."""
    now = timezone.now()
    with transaction.atomic():
        due = Delivery.objects.filter(delivered_at=None, given_up_at=None, not_before__lte=now).order_by("not_before")
        delivery = due.select_for_update(skip_locked=True).first()
        if delivery:
            delivery.not_before = now + LEASE
            delivery.save(update_fields=["not_before"])
    return delivery


def _deliver(delivery: Delivery) -> bool:
    try:
        _SENDERS[delivery.channel](delivery)
    except _Failed as error:
        _put_off(delivery, str(error))
        return False
    delivery.delivered_at, delivery.trouble = timezone.now(), ""
    delivery.attempts += 1
    delivery.save(update_fields=["delivered_at", "attempts", "trouble"])
    return True


def _put_off(delivery: Delivery, trouble: str) -> None:
    delivery.trouble = trouble[:1_000]
    delivery.attempts += 1
    if delivery.attempts > len(PAUSES):
        delivery.given_up_at = timezone.now()
    else:
        delivery.not_before = timezone.now() + PAUSES[delivery.attempts - 1]
    delivery.save(update_fields=["attempts", "trouble", "given_up_at", "not_before"])
    log.warning("A message did not arrive.", channel=delivery.channel, of=delivery.event, trouble=delivery.trouble)


def _call_webhook(delivery: Delivery) -> None:
    if not settings.WEBHOOK_URL:
        raise _Failed("No webhook is configured any more.")
    body = json.dumps(delivery.body, ensure_ascii=False, separators=(",", ":")).encode()
    try:
        headers = _headers(delivery, body)
        status = post(settings.WEBHOOK_URL, body, headers, may_be_private=settings.WEBHOOK_PRIVATE)
    except Private as error:
        raise _Failed(f"{error} BIGMIND_WEBHOOK_PRIVATE=true permits it.") from error
    except AddressRefused as error:
        raise _Failed(str(error)) from error
    except httpx.HTTPError as error:
        raise _Failed(f"It does not answer: {type(error).__name__}.") from error
    except (httpx.InvalidURL, ValueError) as error:  # A name that cannot be encoded is a ValueError, too.
        raise _Failed("BIGMIND_WEBHOOK_URL or BIGMIND_WEBHOOK_SECRET cannot be used.") from error
    if not 200 <= status < 300:
        raise _Failed(f"It answered with the status {status}.")


def _headers(delivery: Delivery, body: bytes) -> dict[str, str]:
    moment = int(timezone.now().timestamp())
    return {
        "Content-Type": "application/json",
        "User-Agent": "BigMind",
        "webhook-id": str(delivery.pk),
        "webhook-timestamp": str(moment),
        "webhook-signature": signature(str(delivery.pk), moment, body, settings.WEBHOOK_SECRET),
    }


def _send_mail(delivery: Delivery) -> None:
    person, letter = delivery.to, delivery.body
    if person is None or not person.email or not person.is_active:
        raise _Failed("There is no address to send it to.")
    message = EmailMessage(letter["subject"], letter["text"], settings.DEFAULT_FROM_EMAIL, [person.email])
    try:
        message.send()
    except (OSError, smtplib.SMTPException) as error:
        raise _Failed(f"The mail server refuses or is away: {type(error).__name__}.") from error


_SENDERS: dict[str, Any] = {Channel.WEBHOOK: _call_webhook, Channel.EMAIL: _send_mail}
