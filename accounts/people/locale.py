"""The language and the time zone of a person: what they chose, else those of their browser or of the instance."""

from typing import Annotated

from django.conf import settings
from django.utils.translation import get_supported_language_variant
from django.utils.translation.trans_real import parse_accept_lang_header
from pydantic import AfterValidator, Field

from accounts.actor import Actor
from accounts.models import User
from accounts.models.people import list_zones
from bigmind.database.read_only import is_read_only
from bigmind.text.hygiene import echo

COOKIE = "bigmind_zone"
"""What a script of the pages keeps the zone of the browser in."""


def _require_language(code: str) -> str:
    if code and code not in dict(settings.LANGUAGES):
        known = ", ".join(dict(settings.LANGUAGES))
        raise ValueError(f"is no language that BigMind speaks: {echo(code)}. Use one of {known}")
    return code


Language = Annotated[
    str,
    Field(max_length=16, description="Such as de; empty: that of the browser."),
    AfterValidator(_require_language),
]


def language_of(user: User | None, *, browser: str = "") -> str:
    """Return the language in which someone reads pages and mails.

    `browser` is its header `Accept-Language`, if anything. What is not spoken here counts as not said.
    """
    preferred = [(user.language, 1.0)] if user and user.language else []
    for code, _weight in [*preferred, *parse_accept_lang_header(browser.lower())]:
        try:
            return get_supported_language_variant(code)
        except LookupError:
            continue
    return settings.LANGUAGE_CODE


def _require_zone(name: str) -> str:
    if name and name not in list_zones():
        raise ValueError(f"is no time zone: {echo(name)}. Use a name such as Europe/Berlin")
    return name


TimeZone = Annotated[
    str,
    Field(max_length=64, description="Such as Europe/Berlin; empty: that of the last browser, else of the instance."),
    AfterValidator(_require_zone),
]


def note_browser(user: User, zone: str) -> None:
    """Note the time zone that a browser names. Agents of this person, which name none, go by it from now on."""
    if zone != user.browser_zone and zone in list_zones():
        user.browser_zone = zone
        if not is_read_only():
            User.objects.filter(pk=user.pk).update(browser_zone=zone)


def choose_locale(actor: Actor, *, language: Language = "", time_zone: TimeZone = "") -> User:
    """Choose one's language and time zone; empty: those of the browser and of the instance. Returns the user.

    Raises:
        Invalid: the language or the time zone is not known.
    """
    user = actor.user
    user.language, user.time_zone = language, time_zone
    user.save(update_fields=["language", "time_zone", "updated_at"])
    return user
