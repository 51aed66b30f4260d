"""The weekly letter by e-mail: to each person who wants it, once a week, in their time zone."""

from datetime import date, datetime, time, timedelta, tzinfo
from typing import Any
from uuid import UUID

from django.conf import settings
from django.db import transaction
from django.utils import dates, timezone, translation
from django.utils.formats import date_format

from accounts.actor import Actor, acts
from accounts.people.languages import Language, language_of
from accounts.people.time_zones import TimeZone, zone_of
from bigmind.core.background import after_commit
from bigmind.core.errors import Invalid
from bigmind.core.live_settings import live
from bigmind.core.mail import MailParts, render_mail
from bigmind.core.rls import rls_scope
from bigmind.core.translation import _
from curation.models import LETTER, Channel, Delivery, Subscription
from curation.services.weekly_letter import WeeklyLetter, write_weekly_letter

from .digests import subscription_of

WEEKDAYS = ("monday", "tuesday", "wednesday", "thursday", "friday", "saturday", "sunday")
LEAST_APART = timedelta(days=4)
"""The least time between two letters, even if an admin changes the weekday or a reader the time zone."""


@transaction.atomic
def choose_letter(
    actor: Actor, *, letter: bool = False, language: Language = "", time_zone: TimeZone = ""
) -> Subscription:
    """Choose whether to get the weekly letter by e-mail, and in which language and time zone one reads.

    The first letter comes on the next day for letters, not at once. Returns the subscription.

    Raises:
        Invalid: it is wanted and there is no address, or the language or the time zone is not known.
    """
    user = actor.user
    if letter and not user.email:
        raise Invalid.of("letter", "needs an e-mail address: there is none to write to. Enter one above")
    user.language, user.time_zone = language, time_zone
    user.save(update_fields=["language", "time_zone", "updated_at"])
    wanted: dict[str, Any] = {"letter": letter}
    known = subscription_of(user)
    if letter and not known.letter:
        wanted["letter_day"] = max(known.letter_day or date.min, last_due(timezone.now(), zone_of(user)))
    # These columns alone: a digest that is written meanwhile notes when that was.
    chosen, _ = Subscription.objects.update_or_create(user=user, defaults=wanted)
    return chosen


def send_letters(now: datetime | None = None) -> int:
    """Queue the letter of everyone whose day and hour have come since their last one; return how many were queued.

    A week in which nothing happened is skipped. Does nothing if no mail server is configured. May run twice at once and
    be killed at any point; a missed hour is made up for.
    """
    if not settings.EMAIL_HOST:
        return 0
    moment = now or timezone.now()
    wanting = Subscription.objects.filter(letter=True, user__is_active=True).exclude(user__email="")
    due = [one.pk for one in wanting.select_related("user") if _is_due(one, moment)]
    queued = sum(_queue(pk, moment) for pk in due)
    if queued:
        after_commit("curation.tasks.deliver_pending")
    return queued


def last_due(now: datetime, zone: tzinfo) -> date:
    """Return the day on which letters were last due in a time zone."""
    local = now.astimezone(zone)
    day = local.date() - timedelta(days=(local.weekday() - WEEKDAYS.index(live.LETTER_WEEKDAY)) % 7)
    is_to_come = datetime.combine(day, time(live.LETTER_HOUR), zone) > now
    return day - timedelta(days=7) if is_to_come else day


def _is_due(subscription: Subscription, now: datetime) -> bool:
    zone, last = zone_of(subscription.user), subscription.letter_day
    # A letter of a day to come was sent before the clock was set back.
    if last is None or last > now.astimezone(zone).date() + timedelta(days=1):
        return True
    return last_due(now, zone) - last >= LEAST_APART


@transaction.atomic
def _queue(pk: UUID, now: datetime) -> bool:
    # Lock the subscription, so that two runs at once do not queue the same letter twice.
    subscription = Subscription.objects.select_for_update(of=("self",)).select_related("user").get(pk=pk)
    if not subscription.letter or not _is_due(subscription, now):
        return False
    person = subscription.user
    day = last_due(now, zone_of(person))
    subscription.letter_day = day
    subscription.save(update_fields=["letter_day"])
    until = day - timedelta(days=1)
    if _write(Actor.of(person), until).is_empty:
        return False
    # Without a text: what is erased before it is sent is not in it, and no copy is kept here.
    Delivery.objects.create(channel=Channel.EMAIL, to=person, event=LETTER, body={"until": until.isoformat()})
    return True


def compose_letter(delivery: Delivery) -> tuple[str, MailParts] | None:
    """Return subject and text of a queued letter; None if its reader wants none, or nothing is left to tell."""
    person = delivery.to
    if person is None or not subscription_of(person).letter:
        return None
    with translation.override(language_of(person)):
        letter = _write(Actor.of(person), date.fromisoformat(delivery.body["until"]))
        if letter.is_empty:
            return None
        subject = _("Your week in BigMind, %(days)s") % {"days": say_days(letter)}
        return subject, render_mail("curation/mail/letter", {"subject": subject, "person": person, "letter": letter})


def say_days(letter: WeeklyLetter) -> str:
    """Return the days of a letter in words: “16 November to 22 November 2026”."""
    first, last = letter.first, letter.last
    since = date_format(first, _("j F") if first.year == last.year else _("j F Y"))
    return _("%(first)s to %(last)s") % {"first": since, "last": date_format(last, _("j F Y"))}


def say_weekday() -> str:
    """Return the day on which letters are mailed, in the reader's language."""
    return str(dates.WEEKDAYS[WEEKDAYS.index(live.LETTER_WEEKDAY)])


def _write(actor: Actor, until: date) -> WeeklyLetter:
    with rls_scope(actor.user.pk), acts(actor):
        return write_weekly_letter(actor, until=until)
