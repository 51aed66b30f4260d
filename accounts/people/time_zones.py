"""The time zone of a person: what they chose, else that of the browser they used last, else that of the instance."""

from typing import Annotated
from zoneinfo import ZoneInfo, available_timezones

from django.utils import timezone
from pydantic import AfterValidator, Field

from accounts.models import User
from bigmind.core.load_once import load_once
from bigmind.database.read_only import is_read_only
from bigmind.text.hygiene import echo

COOKIE = "bigmind_zone"
"""What a script of the pages keeps the zone of the browser in."""


@load_once
def list_zones() -> frozenset[str]:
    """Return the names of all time zones. It is read from disk once."""
    return frozenset(available_timezones())


def _require_known(name: str) -> str:
    if name and name not in list_zones():
        raise ValueError(f"is no time zone: {echo(name)}. Use a name such as Europe/Berlin")
    return name


TimeZone = Annotated[
    str,
    Field(max_length=64, description="Such as Europe/Berlin; empty: that of the instance."),
    AfterValidator(_require_known),
]


def zone_of(user: User) -> ZoneInfo:
    """Return the time zone in which a person reads times, on pages, in mails and through agents."""
    named = next((name for name in (user.time_zone, user.browser_zone) if name in list_zones()), "")
    return ZoneInfo(named or timezone.get_default_timezone_name())


def in_zone_of(user: User) -> timezone.override:
    """Read and say days and times inside this block as the person does: “yesterday” is a day of theirs."""
    return timezone.override(zone_of(user))


def note_browser(user: User, zone: str) -> None:
    """Note the time zone that a browser names. Agents of this person, which name none, go by it from now on."""
    if zone != user.browser_zone and zone in list_zones():
        user.browser_zone = zone
        if not is_read_only():
            User.objects.filter(pk=user.pk).update(browser_zone=zone)
