"""Deliveries to a webhook or by e-mail, retried until they arrive or a day has passed; admins see the queue."""

import base64
import hashlib
import hmac
import json
import smtplib
from datetime import timedelta
from typing import Annotated, Any, Literal
from uuid import UUID

import httpx
import structlog
from django.conf import settings
from django.core.mail import EmailMessage
from django.db import transaction
from django.db.models import Count, Q, QuerySet
from django.utils import timezone
from pydantic import Field

from accounts.actor import Actor
from accounts.services.audit import head_of_audit, head_text
from bigmind.core.addresses import AddressRefused, Private, post
from bigmind.core.background import after_commit
from bigmind.core.errors import Conflict, NotFound
from bigmind.core.pages import Page, page_of
from bigmind.core.vocabulary import Limit, Offset
from curation.models import Channel, Delivery, Review

LEASE = timedelta(minutes=2)
"""How long a worker has a delivery to itself: longer than any attempt takes, so that no other sends it meanwhile."""
PAUSES = tuple(timedelta(minutes=minutes) for minutes in (1, 5, 30, 120, 480, 960))
"""How long to wait after each failed attempt. After the last one it is given up, and kept with its error."""
KEPT = timedelta(days=30)
AUDIT_HEAD = "audit.head"

log = structlog.get_logger()

DeliveryState = Annotated[Literal["waiting", "failed", "arrived"], Field(description="What became of it.")]
_STATES = {
    "waiting": Q(delivered_at=None, given_up_at=None),
    "failed": Q(delivered_at=None, given_up_at__isnull=False),
    "arrived": Q(delivered_at__isnull=False),
}


class _Failed(Exception):
    """A delivery failed. The message says why."""


def queue_webhook(review: Review) -> None:
    """Queue the webhook message about a decision, if a webhook is configured. Call this in the deciding transaction.

    The message names the entry and links to it; the text of the entry does not leave this instance.
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
            # Until it is decided, only the proposer and the curators may read it.
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


def queue_audit_head() -> bool:
    """Queue the last line of the audit log for the webhook, if it is another than the one that was told before.

    Whoever receives it can show later what the log had: the owner of the database cannot take it back from there.
    """
    head = head_of_audit()
    if head is None or not settings.WEBHOOK_URL:
        return False
    body = {"type": AUDIT_HEAD, "timestamp": timezone.now().isoformat(), "data": {"head": head_text(head)}}
    told = Delivery.objects.filter(channel=Channel.WEBHOOK, event=AUDIT_HEAD).order_by("-created_at").first()
    if told and told.body["data"] == body["data"]:
        return False
    Delivery.objects.create(channel=Channel.WEBHOOK, event=AUDIT_HEAD, body=body)
    return True


def deliver_pending() -> int:
    """Send the queued deliveries, and return how many arrived. May run twice at once and be killed at any point."""
    arrived = 0
    while delivery := _claim():
        arrived += _deliver(delivery)
    return arrived


def forget_old_deliveries() -> int:
    """Delete deliveries older than 30 days that arrived or were given up; return how many."""
    old = Delivery.objects.exclude(delivered_at=None, given_up_at=None).filter(created_at__lt=timezone.now() - KEPT)
    return old.delete()[0]


def send_again(delivery: Delivery) -> None:
    """Queue a delivery again with all its attempts, for when the receiver works again."""
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
    """Lease the delivery that is due longest. If this worker is killed, the next one takes it after the lease."""
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


def _put_off(delivery: Delivery, error: str) -> None:
    delivery.trouble = error[:1_000]
    delivery.attempts += 1
    if delivery.attempts > len(PAUSES):
        delivery.given_up_at = timezone.now()
    else:
        delivery.not_before = timezone.now() + PAUSES[delivery.attempts - 1]
    delivery.save(update_fields=["attempts", "trouble", "given_up_at", "not_before"])
    log.warning("A message did not arrive.", channel=delivery.channel, of=delivery.event, error=delivery.trouble)


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
    person, mail = delivery.to, delivery.body
    if person is None or not person.email or not person.is_active:
        raise _Failed("There is no address to send it to.")
    message = EmailMessage(mail["subject"], mail["text"], settings.DEFAULT_FROM_EMAIL, [person.email])
    try:
        message.send()
    except (OSError, smtplib.SMTPException) as error:
        raise _Failed(f"The mail server refuses or is away: {type(error).__name__}.") from error


_SENDERS: dict[str, Any] = {Channel.WEBHOOK: _call_webhook, Channel.EMAIL: _send_mail}


def list_deliveries(
    actor: Actor, *, state: DeliveryState = "waiting", limit: Limit = 50, offset: Offset = 0
) -> Page[Delivery]:
    """List deliveries in one state, the latest first. For admins."""
    actor.require("admin")
    rows: QuerySet[Delivery] = Delivery.objects.filter(_STATES[state]).select_related("to")
    return page_of(rows.order_by("-created_at", "pk"), limit=limit, offset=offset)


def count_deliveries(actor: Actor) -> dict[str, int]:
    """Count the deliveries by state, in one query. For admins."""
    actor.require("admin")
    return Delivery.objects.aggregate(**{state: Count("pk", filter=rule) for state, rule in _STATES.items()})


@transaction.atomic
def try_again(actor: Actor, *, delivery_id: UUID) -> Delivery:
    """Queue a failed delivery again. For admins; returns it.

    Raises:
        NotFound: it is deleted already.
        Conflict: it has arrived.
    """
    actor.require("admin")
    delivery = Delivery.objects.select_for_update(of=("self",)).filter(pk=delivery_id).first()
    if delivery is None:
        raise NotFound("There is no such delivery any more.", hint="They are forgotten after 30 days.")
    if delivery.delivered_at:
        raise Conflict("It has arrived already.")
    send_again(delivery)
    return delivery
