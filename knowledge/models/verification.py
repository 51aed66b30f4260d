"""When company knowledge is to be verified again, and how fresh it is until then."""

from datetime import date, datetime, timedelta

from django.db.models import Q, TextChoices
from django.utils import timezone

STALE_AFTER_REVIEW = timedelta(days=30)


class Freshness(TextChoices):
    """Whether someone has lately said that an entry still holds."""

    VERIFIED = "verified"
    DUE = "due"
    STALE = "stale"
    NEVER = "never"


def freshness_of(verified_at: datetime | None, review_after: date | None) -> Freshness:
    """Return how fresh something is that was verified then, and is to be verified again on that day."""
    if verified_at is None:
        return Freshness.NEVER
    today = timezone.localdate()
    if review_after is None or review_after > today:
        return Freshness.VERIFIED
    return Freshness.DUE if review_after > today - STALE_AFTER_REVIEW else Freshness.STALE


def has_freshness(freshness: str) -> Q:
    """Return the condition under which a row has this freshness: `freshness_of`, as PostgreSQL is asked."""
    today = timezone.localdate()
    conditions = {
        Freshness.NEVER: Q(verified_at=None),
        Freshness.VERIFIED: Q(review_after=None) | Q(review_after__gt=today),
        Freshness.DUE: Q(review_after__lte=today, review_after__gt=today - STALE_AFTER_REVIEW),
        Freshness.STALE: Q(review_after__lte=today - STALE_AFTER_REVIEW),
    }
    condition = conditions[Freshness(freshness)]
    return condition if freshness == Freshness.NEVER else condition & Q(verified_at__isnull=False)


def is_overdue(today: date) -> Q:
    """Return the condition under which the day of a row's review has come, or nobody has verified it."""
    return Q(review_after__lte=today) | Q(verified_at=None)


def is_fresh() -> Q:
    """Return the condition under which a row is not stale: verified, and not long past its review date."""
    long_past = timezone.localdate() - STALE_AFTER_REVIEW
    return Q(verified_at__isnull=False) & (Q(review_after=None) | Q(review_after__gt=long_past))
