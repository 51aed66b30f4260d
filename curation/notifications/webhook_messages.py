"""Webhook messages: those about decisions and about the head of the audit log, and who gets them."""

from datetime import timedelta

from django.conf import settings
from django.db.models import Min
from django.utils import timezone

from accounts.models import User
from accounts.services.audit import head_of_audit, head_text
from bigmind.core.background import after_commit
from curation.models import FORMER_USER, Channel, Delivery, Review, Webhook

from .webhook_requests import AUDIT_HEAD

QUEUED_WITHIN = timedelta(minutes=10)
"""How long after its step a message is queued at most: both are written in one transaction."""


def queue_webhook(review: Review) -> None:
    """Queue the message about a decision for every webhook that chose it. Call this in the deciding transaction.

    The message names the entry and links to it; the text of the entry does not leave this instance.
    """
    event = _event_of(review)
    receivers = _receivers(event)
    if not receivers:
        return
    entry = review.entry
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
    Delivery.objects.bulk_create(
        Delivery(channel=Channel.WEBHOOK, event=event, body=body, webhook=webhook) for webhook in receivers
    )
    after_commit("curation.tasks.deliver_pending")


def take_author_from_webhooks(user: User) -> None:
    """Replace the name of a user in the messages about their decisions, also in those that wait to be sent."""
    messages = Delivery.objects.filter(channel=Channel.WEBHOOK)
    oldest = messages.aggregate(first=Min("created_at"))["first"]
    if oldest is None:
        return
    reviews = Review.objects.filter(by_id_kept=user.pk, created_at__gte=oldest - QUEUED_WITHIN).select_related("entry")
    # A message does not say of which step it is: event, moment and entry are those of one.
    names = {(_event_of(one), one.created_at.isoformat(), one.entry.handle): one.by_name for one in reviews}
    for message in messages.filter(body__data__by__in=set(names.values())):
        body, data = message.body, message.body["data"]
        if names.get((body["type"], body["timestamp"], data["handle"])) == data["by"]:
            Delivery.objects.filter(pk=message.pk).update(body={**body, "data": {**data, "by": FORMER_USER}})


def _event_of(review: Review) -> str:
    return f"company.{review.action}"


def queue_audit_head() -> bool:
    """Queue the last line of the audit log for the webhook, if it is new.

    The receiver can later prove what the log had: the owner of the database cannot change it there.
    """
    head, receivers = head_of_audit(), _receivers(AUDIT_HEAD)
    if head is None or not receivers:
        return False
    body = {"type": AUDIT_HEAD, "timestamp": timezone.now().isoformat(), "data": {"head": head_text(head)}}
    is_new = False
    for webhook in receivers:
        sent = Delivery.objects.filter(channel=Channel.WEBHOOK, event=AUDIT_HEAD, webhook=webhook)
        last = sent.order_by("-created_at").first()
        if not last or last.body["data"] != body["data"]:
            Delivery.objects.create(channel=Channel.WEBHOOK, event=AUDIT_HEAD, body=body, webhook=webhook)
            is_new = True
    return is_new


def _receivers(event: str) -> list[Webhook | None]:
    """Return the webhooks that chose an event; None stands for the one of the environment, which is sent all."""
    return [*([None] if settings.WEBHOOK_URL else []), *Webhook.objects.filter(is_on=True, events__contains=[event])]
