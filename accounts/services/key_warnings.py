"""Warns the owners of keys before these end: when, how often, and what is said."""

from datetime import datetime

from django.utils import timezone
from django.utils.formats import date_format

from accounts.keys import KEYS_END_SOON
from accounts.models import Alert, ApiKey
from accounts.models.keys import EXPIRY_WARNING
from bigmind.text.hygiene import echo

# The nearer one comes first: after a long pause only that one is sent.
_WARNINGS = ((Alert.Topic.KEY_ENDS_SOON, EXPIRY_WARNING), (Alert.Topic.KEY_ENDS, KEYS_END_SOON))


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
    # Another worker may be at it, too: `alert_once_for_a_key` keeps one of each.
    Alert.objects.bulk_create(sorted(new, key=lambda one: (one.key_id, one.kind)), ignore_conflicts=True)
    return len(new)


def _warning(key: ApiKey, now: datetime) -> Alert | None:
    """Return the alert that a key needs now; none for a key that was made to live no longer than that."""
    assert key.expires_at is not None
    assert key.user is not None
    left = key.expires_at - now
    kind, within = next((kind, within) for kind, within in _WARNINGS if left <= within)
    if key.expires_at - key.created_at <= within:
        return None
    day = date_format(timezone.localtime(key.expires_at, key.user.zone), "j F Y")
    text = f"Your key {echo(key)} stops working on {day}. Rotate it on the page “Keys”: the old one works on meanwhile."
    return Alert(user=key.user, kind=kind, key=key, text=text[:300], created_at=now)
