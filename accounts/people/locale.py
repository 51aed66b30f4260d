"""The choice of the language and the time zone in which a person reads pages and mails."""

from accounts.actor import Actor
from accounts.models import User
from accounts.people.languages import Language
from accounts.people.time_zones import TimeZone


def choose_locale(actor: Actor, *, language: Language = "", time_zone: TimeZone = "") -> User:
    """Choose one's language and time zone; empty: those of the browser and of the instance. Returns the user.

    Raises:
        Invalid: the language or the time zone is not known.
    """
    user = actor.user
    user.language, user.time_zone = language, time_zone
    user.save(update_fields=["language", "time_zone", "updated_at"])
    return user
