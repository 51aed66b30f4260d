"""Alerts: messages to people about their keys and their sign-in. E-mails are made from them."""

from collections.abc import Iterable
from datetime import datetime, timedelta
from typing import Any

import structlog
from django.db.models import Q, QuerySet
from django.utils import timezone

from accounts.models import Alert, User

from .audit import audit

# An e-mail about something older is no news: a mail server may be configured long after.
MAILED_WITHIN = timedelta(days=14)

log = structlog.get_logger()


def tell(user: User, kind: Alert.Topic, text: str, *, by: User | None = None, **details: Any) -> Alert:
    """Alert a user to a change of their sign-in or a look at their rows; `by` names who it was, if someone else."""
    by_name = str(by)[:200] if by else ""
    log.info("A user was alerted.", kind=str(kind), user=str(user.pk), by=str(by.pk) if by else "")
    audit(str(kind), about=user, by=by, **details)
    return Alert.objects.create(user=user, kind=kind, text=text[:300], by_name=by_name)


def alerts_of(user: User) -> QuerySet[Alert]:
    """Return the alerts of a user, the newest first."""
    return Alert.objects.filter(user=user).order_by("-created_at", "-pk")


def unseen_alerts(user: User) -> QuerySet[Alert]:
    return Alert.objects.filter(user=user, seen_at=None)


def mark_alerts_seen(user: User) -> int:
    """Mark all alerts of a user as seen; return how many were new."""
    return unseen_alerts(user).update(seen_at=timezone.now())


def alerts_to_write(now: datetime | None = None) -> QuerySet[Alert]:
    """Return alerts that wait for an e-mail, the oldest first.

    Those that the user has seen in the app need none, except where someone else who signs in as them may have
    marked them as seen (`Alert.MAILED_THOUGH_SEEN`).
    """
    since = (now or timezone.now()) - MAILED_WITHIN
    needed = Q(seen_at=None) | Q(kind__in=Alert.MAILED_THOUGH_SEEN)
    return Alert.objects.filter(needed, mailed_at=None, created_at__gt=since).order_by("created_at", "pk")


def note_mailed(alerts: Iterable[Alert], now: datetime) -> None:
    """Record that these were e-mailed: nobody gets the same message twice."""
    Alert.objects.filter(pk__in=[alert.pk for alert in alerts]).update(mailed_at=now)
