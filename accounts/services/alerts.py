"""Alerts: messages to people about their keys and their sign-in. E-mails are made from them."""

from collections.abc import Iterable
from datetime import datetime, timedelta
from typing import Any

import structlog
from django.db.models import Q, QuerySet
from django.utils import timezone
from django.utils.formats import date_format

from accounts.keys import KEYS_END_SOON
from accounts.models import Alert, ApiKey, User
from accounts.models.keys import EXPIRY_WARNING
from bigmind.core.text import echo

from .audit import audit

# An e-mail about something older is no news: a mail server may be configured long after.
MAILED_WITHIN = timedelta(days=14)
# The nearer one comes first: after a long pause only that one is sent.
_WARNINGS = ((Alert.Topic.KEY_ENDS_SOON, EXPIRY_WARNING), (Alert.Topic.KEY_ENDS, KEYS_END_SOON))

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
    """Return the alerts that a user has not seen yet."""
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


def warn_of_ending_keys(now: datetime | None = None) -> int:
    """Alert the owners of keys that end within 14 and within 3 days, once each; return how many alerts were new.

    A key that was rotated is left out, because its owner has a new one; so is one that was made for no longer.
    """
    moment = now or timezone.now()
    ending = (
        ApiKey.objects.usable()
        .of_people()
        .filter(revoked_at=None, user__is_active=True, expires_at__gt=moment, expires_at__lte=moment + KEYS_END_SOON)
    )
    warnings = [warning for key in ending.select_related("user") if (warning := _warning(key, moment))]
    known = set(Alert.objects.filter(key__in=[warning.key for warning in warnings]).values_list("key", "kind"))
    new = [warning for warning in warnings if (warning.key_id, warning.kind) not in known]
    Alert.objects.bulk_create(new, ignore_conflicts=True)
    return len(new)


def _warning(key: ApiKey, now: datetime) -> Alert | None:
    """Return the alert that a key needs now; none for a key that was made to live no longer than that."""
    assert key.expires_at is not None
    assert key.user is not None
    left = key.expires_at - now
    kind, within = next((kind, within) for kind, within in _WARNINGS if left <= within)
    if key.expires_at - key.created_at <= within:
        return None
    day = date_format(timezone.localtime(key.expires_at), "j F Y")
    text = f"Your key {echo(key)} stops working on {day}. Rotate it on the page “Keys”: the old one works on meanwhile."
    return Alert(user=key.user, kind=kind, key=key, text=text[:300], created_at=now)
