"""Digests by e-mail, as often as a user likes: decisions, alerts about their keys, and for curators the queue."""

from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from datetime import datetime, timedelta
from typing import Any

from django.conf import settings
from django.core.exceptions import ValidationError
from django.core.validators import validate_email
from django.db import transaction
from django.db.models import Q, QuerySet
from django.utils import timezone, translation

from accounts.actor import Actor
from accounts.models import Alert, Role, User
from accounts.people.locale import language_of
from accounts.services.alerts import alerts_to_write, note_mailed
from bigmind.core.background import after_commit
from bigmind.core.errors import Invalid
from bigmind.core.mail import render_mail
from bigmind.core.translation import _, ngettext
from curation.models import PAUSE, Channel, Delivery, Frequency, Notice, Subscription
from curation.proposals.queue import QueueSummary, queue_summary, waiting

SHOWN = 10
ADDRESS_CHARS = 254


@dataclass(frozen=True)
class News:
    """What a digest tells of one kind: the first ten, and how many there are."""

    shown: Sequence[Any] = ()
    count: int = 0

    @property
    def more(self) -> int:
        """How many are only counted."""
        return self.count - len(self.shown)


def subscription_of(user: User) -> Subscription:
    """Return the subscription of a user; daily if they have not chosen."""
    return Subscription.objects.filter(user=user).first() or Subscription(user=user)


@transaction.atomic
def subscribe(actor: Actor, *, frequency: Frequency, address: str | None = None) -> Subscription:
    """Choose how often to get e-mail, and where; without an address the known one stays. Returns the subscription.

    Raises:
        Invalid: the address is not valid, or e-mail is wanted and there is no address.
    """
    if address is not None:
        _write_from_now_on_to(actor.user, address.strip())
    if frequency != Frequency.NEVER and not actor.user.email:
        raise _invalid_address("is required: there is no address to write to")
    chosen, _ = Subscription.objects.update_or_create(user=actor.user, defaults={"frequency": frequency})
    return chosen


def _write_from_now_on_to(person: User, address: str) -> None:
    try:
        if address:
            validate_email(address)
    except ValidationError as error:
        raise _invalid_address("is not an e-mail address. It looks like ada@example.com") from error
    if len(address) > ADDRESS_CHARS:
        raise _invalid_address(f"is {len(address)} characters; the limit is {ADDRESS_CHARS}")
    # An address that users type themselves could be anyone's, so no account is looked up by it.
    person.is_email_vouched = person.is_email_vouched and person.email.lower() == address.lower()
    person.email = address
    person.save(update_fields=["email", "is_email_vouched", "updated_at"])


def _invalid_address(message: str) -> Invalid:
    return Invalid.of("address", message)


def send_digests(now: datetime | None = None) -> int:
    """Queue a digest for every user who is due and has news; return how many were queued.

    Does nothing where no mail server is configured.
    """
    if not settings.EMAIL_HOST:
        return 0
    moment, summary = now or timezone.now(), queue_summary()
    written = sum(_write_to(person, summary, moment) for person in _readers(moment))
    if written:
        after_commit("curation.tasks.deliver_pending")
    return written


def _readers(now: datetime) -> Iterable[User]:
    """Return the users with an address who have unseen notices or alerts, and the curators."""
    concerned = Q(notices__seen_at=None, notices__isnull=False) | Q(role__in=[Role.CURATOR, Role.ADMIN])
    concerned |= Q(pk__in=alerts_to_write(now).values("user"))
    people = User.objects.filter(concerned, is_active=True).exclude(email="")
    return people.select_related("subscription").distinct()


@transaction.atomic
def _write_to(person: User, summary: QueueSummary, now: datetime) -> bool:
    # Lock the subscription, so that two runs at once do not send the same digest twice.
    Subscription.objects.get_or_create(user=person)
    subscription = Subscription.objects.select_for_update().get(user=person)
    since = subscription.last_sent_at
    pause = PAUSE.get(subscription.frequency)
    alerts = list(alerts_to_write(now).filter(user=person)[:SHOWN])
    if pause is None or not _is_time(since, pause, alerts, now):
        return False
    notices = Notice.objects.filter(user=person, seen_at=None).select_related("entry").order_by("created_at")
    news = _news(notices, since)
    queue = _news_of_queue(person, summary, since)
    if not (news.count or alerts or queue):
        return False
    with translation.override(language_of(person)), timezone.override(person.zone):
        subject = _subject(len(alerts), news.count, queue)
        context = {"subject": subject, "person": person, "alerts": alerts, "notices": news, "queue": queue}
        parts = render_mail("curation/mail/digest", context)
    body = {"subject": subject, "text": parts.text, "html": parts.html}
    Delivery.objects.create(channel=Channel.EMAIL, to=person, event="digest", body=body)
    note_mailed(alerts, now)
    subscription.last_sent_at = now
    subscription.save(update_fields=["last_sent_at"])
    return True


def _is_time(since: datetime | None, pause: timedelta, alerts: list[Alert], now: datetime) -> bool:
    """Whether a digest is due. Urgent alerts do not wait for the day or week: a key could expire before that."""
    return since is None or now - since >= pause or any(alert.is_urgent for alert in alerts)


def _news_of_queue(person: User, summary: QueueSummary, since: datetime | None) -> dict[str, object] | None:
    """Return the queue for a curator, or None if nothing has come since the last digest."""
    if person.role == Role.MEMBER or not summary.waiting:
        return None
    entries = waiting("proposed").order_by("-importance", "created_at")
    is_news = since is None or entries.filter(updated_at__gt=since).exists() or summary.reported > 0
    return {"summary": summary, "entries": list(entries[:SHOWN])} if is_news else None


def _news(rows: "QuerySet[Any]", since: datetime | None) -> News:
    """Return what came since the last digest, which is the only one that mentions it."""
    new = rows.filter(created_at__gt=since) if since else rows
    shown = list(new[:SHOWN])
    return News(shown, len(shown) if len(shown) < SHOWN else new.count())


def _subject(alerts: int, notices: int, queue: dict[str, object] | None) -> str:
    summary = queue["summary"] if queue else None
    parts = [_("your keys and sign-in")] if alerts else []
    parts += (
        [
            ngettext("%(notices)s decision or comment", "%(notices)s decisions and comments", notices)
            % {"notices": notices}
        ]
        if notices
        else []
    )
    if isinstance(summary, QueueSummary):
        parts.append(_("%(waiting)s waiting for a curator") % {"waiting": summary.waiting})
    return _("BigMind: %(join)s") % {"join": ", ".join(parts)}
