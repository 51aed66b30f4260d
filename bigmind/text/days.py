"""Days as people read them: each moment is on a day of the calendar in the zone of the reader, not in that of UTC."""

from collections.abc import Sequence
from datetime import date, datetime

from django.utils import timezone


def local_day(moment: datetime) -> date:
    """Return the day that a moment is on in the zone of the reader; today for now."""
    try:
        return timezone.localtime(moment).date()
    except OverflowError:  # The last day of the calendar, in a zone where it has passed.
        return moment.date()


def iso_day(moment: datetime) -> str:
    """Return that day as agents and lists show it: 2026-03-01."""
    try:
        return timezone.localtime(moment).isoformat()[:10]
    except OverflowError:
        return moment.isoformat()[:10]


def iso_days(moments: Sequence[datetime]) -> list[str]:
    """Return the days that several moments are on so."""
    zone = timezone.get_current_timezone()
    try:
        return [moment.astimezone(zone).isoformat()[:10] for moment in moments]
    except OverflowError:
        return [*map(iso_day, moments)]
