"""Deliveries to a webhook or by e-mail, retried until they arrive or a day has passed; admins see the queue."""

import smtplib
from datetime import timedelta
from typing import Annotated, Any, Literal
from uuid import UUID

import structlog
from django.conf import settings
from django.db import transaction
from django.db.models import Count, Q, QuerySet
from django.utils import timezone
from pydantic import Field

from accounts.actor import Actor
from bigmind.core.argument_types import Limit, Offset
from bigmind.core.background import after_commit
from bigmind.core.errors import Conflict, NotFound
from bigmind.core.mail import MailParts, compose_mail
from bigmind.database.pagination import Page, page_of
from curation.models import Channel, Delivery

from .webhook_requests import DeliveryFailed, environment_webhook, send_to
from .webhooks import target_of

LEASE = timedelta(minutes=2)
"""How long a worker leases a delivery: longer than any attempt takes, so that no other sends it meanwhile."""
PAUSES = tuple(timedelta(minutes=minutes) for minutes in (1, 5, 30, 120, 480, 960))
"""How long to wait after each failed attempt. After the last one it is given up, and kept with its error."""

log = structlog.get_logger()

DeliveryState = Annotated[Literal["waiting", "failed", "arrived"], Field(description="What became of it.")]
_STATES = {
    "waiting": Q(delivered_at=None, given_up_at=None),
    "failed": Q(delivered_at=None, given_up_at__isnull=False),
    "arrived": Q(delivered_at__isnull=False),
}


def deliver_pending() -> int:
    """Send the queued deliveries, and return how many arrived. May run twice at once and be killed at any point."""
    arrived = 0
    while delivery := _claim():
        arrived += _deliver(delivery)
    return arrived


def send_again(delivery: Delivery) -> None:
    """Queue a delivery again with all its attempts, for when the receiver works again."""
    Delivery.objects.filter(pk=delivery.pk).update(
        attempts=0, given_up_at=None, delivered_at=None, not_before=timezone.now()
    )
    after_commit("curation.tasks.deliver_pending")


def _claim() -> Delivery | None:
    """Lease the delivery that is due longest. If this worker is killed, the next one takes it after the lease."""
    now = timezone.now()
    with transaction.atomic():
        due = Delivery.objects.filter(delivered_at=None, given_up_at=None, not_before__lte=now).order_by("not_before")
        delivery = due.select_for_update(skip_locked=True, of=("self",)).select_related("webhook").first()
        if delivery:
            delivery.not_before = now + LEASE
            delivery.save(update_fields=["not_before"])
    return delivery


def _deliver(delivery: Delivery) -> bool:
    try:
        _SENDERS[delivery.channel](delivery)
    except DeliveryFailed as error:
        _put_off(delivery, str(error)[:1_000])
        return False
    _note_attempt(delivery, delivered_at=timezone.now(), error="")
    return True


def _put_off(delivery: Delivery, error: str) -> None:
    now, pause = timezone.now(), next(iter(PAUSES[delivery.attempts :]), None)
    _note_attempt(delivery, error=error, **({"not_before": now + pause} if pause else {"given_up_at": now}))
    log.warning("A message did not arrive.", channel=delivery.channel, of=delivery.event, error=error)


def _note_attempt(delivery: Delivery, **outcome: Any) -> None:
    # Not by `save`, which fails where the webhook or the reader was deleted while it was sent, and the message with it.
    Delivery.objects.filter(pk=delivery.pk).update(attempts=delivery.attempts + 1, **outcome)


def _call_webhook(delivery: Delivery) -> None:
    target = target_of(delivery.webhook) if delivery.webhook else environment_webhook()
    if target is None:
        raise DeliveryFailed("No webhook is configured any more.")
    # Each attempt has the same id, by which a receiver drops what arrives twice.
    answer = send_to(target, delivery.pk, delivery.body)
    if not 200 <= answer.status < 300:
        raise DeliveryFailed(f"It answered with the status {answer.status}.")


def _send_mail(delivery: Delivery) -> None:
    person = delivery.to
    if person is None or not person.email or not person.is_active:
        raise DeliveryFailed("There is no address to send it to.")
    # What a version without HTML queued has none.
    parts = MailParts(delivery.body["text"], delivery.body.get("html", ""))
    unsubscribe = f"{settings.PUBLIC_URL}/notices/#letters"
    # Should it be sent again because this process dies before that is noted, mail programs show it once.
    subject, message_id = delivery.body["subject"], str(delivery.pk)
    message = compose_mail(subject, parts, person.email, unsubscribe=unsubscribe, message_id=message_id)
    try:
        message.send()
    except (OSError, smtplib.SMTPException) as error:
        raise DeliveryFailed(f"The mail server refuses or is away: {type(error).__name__}.") from error


_SENDERS: dict[str, Any] = {Channel.WEBHOOK: _call_webhook, Channel.EMAIL: _send_mail}


def list_deliveries(
    actor: Actor, *, state: DeliveryState = "waiting", limit: Limit = 50, offset: Offset = 0
) -> Page[Delivery]:
    """List deliveries in one state, the latest first. For admins."""
    actor.require("admin")
    rows: QuerySet[Delivery] = Delivery.objects.filter(_STATES[state]).select_related("to", "webhook")
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
        raise NotFound(
            "There is no such delivery any more.",
            hint=f"They are forgotten after {settings.KEEP_DELIVERIES_DAYS} days.",
        )
    if delivery.delivered_at:
        raise Conflict("It has arrived already.")
    send_again(delivery)
    return delivery
