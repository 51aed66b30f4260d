"""Question periods: the time that a question is about, named as a date, in words, or by an event (“before the move”).

The search for what was true then includes what was replaced since. Words are compared one by one, so nothing here takes
longer than its text is long.
"""

import unicodedata
from collections.abc import Sequence
from datetime import UTC, datetime, timedelta

from django.contrib.postgres.search import SearchQuery
from django.db.models import Q
from django.utils import timezone
from pydantic import TypeAdapter, ValidationError

from accounts.actor import Actor
from bigmind.core.argument_types import Moment
from bigmind.core.errors import Invalid
from bigmind.text.days import iso_day
from bigmind.text.periods import Period, find_period, read_period
from bigmind.text.words import WORD
from knowledge.models import Category, Fact, Kind, Passage
from knowledge.search.question_tense import (
    asks_for_former,
    asks_for_history,
    find_past,
    is_past_tense,
    words_of,
)

DAY = timedelta(days=1)
EVENTS_READ = 10
EVENT_WORDS = 5

_MOMENT = TypeAdapter(Moment)
_BEFORE = frozenset({"before", "until", "bevor", "vor", "bis", "ehe"})
_AFTER = frozenset({"after", "nach", "nachdem"})
_BEGINNING = datetime(1970, 1, 1, tzinfo=UTC)
_NOT_OF_EVENT = "what which who whom whose where when why how did do does was were is are had has have"
_ENDS_EVENT = frozenset(_NOT_OF_EVENT.split())
_ARTICLES = frozenset(
    {"the", "a", "an", "our", "my", "this", "that", "der", "dem", "den", "die", "das", "unser", "unserem", "unserer"}
)


def read_then(actor: Actor, as_of: str) -> Period:
    """Return the period that `as_of` names: a date, a moment, days in words, or what lies before or after an event.

    Raises:
        Invalid: it names none, or may mean two days.
    """
    try:
        found = read_period(as_of) or _read_moment(as_of) or _beside(actor, as_of)
    except ValueError as error:
        raise Invalid.of("as_of", str(error)) from error
    if found is None:
        hint = "Send YYYY-MM-DD, “March”, “last Tuesday” or “before …” with an event that a fact gives a date."
        raise Invalid.of("as_of", "names no day, period or event that is known", hint=hint)
    # The end of a period is not in it, so a single moment needs a length.
    return found if found.end > found.start else Period(found.start, found.start + timedelta(microseconds=1))


def find_then(actor: Actor, query: str) -> Period | None:
    """Return the period of the past that a question asks about, or None: it asks for what holds.

    Whatever day, month or year stands in a question, it asks about the past only with “as of”, in a past tense with a
    date or a dated event, or for what was so before.
    """
    query = unicodedata.normalize("NFKC", query)
    words = words_of(query)
    is_past = is_past_tense(words)
    if (is_past or _is_dated_label(words)) and (around := _beside(actor, query)) is not None:
        return around
    if (past := find_past(query, words)) is not None:
        return past
    return Period(_BEGINNING, timezone.now()) if asks_for_former(words) or asks_for_history(words) else None


def say_period(period: Period) -> str:
    """Return the first day of a period, and the last one if it is another."""
    if period.start == _BEGINNING:
        return f"every day until {iso_day(period.end)}"
    first, last = iso_day(period.start), iso_day(period.end - timedelta(microseconds=1))
    return first if first == last else f"{first} to {last}"


def _read_moment(text: str) -> Period | None:
    try:
        moment = _MOMENT.validate_python(text)
    except ValidationError:
        return None
    return Period(moment, moment)


def _beside(actor: Actor, text: str) -> Period | None:
    """Return the day before or after what “before” or “after” in a text names: a period, or an event with a date."""
    words = WORD.findall(text.casefold())
    place = next((at for at, word in enumerate(words) if word in _BEFORE | _AFTER), None)
    if place is None:
        return None
    named = [word for word in words[place + 1 :] if word not in _ARTICLES][: 2 * EVENT_WORDS]
    # “vor 3 Tagen” is three days ago.
    if not named or (words[place] == "vor" and (named[0].isdecimal() or find_period(f"vor {' '.join(named[:2])}"))):
        return None
    period = find_period(f"in {' '.join(named[:EVENT_WORDS])}")
    if period is None or period.start > timezone.now():
        end = next((at for at, word in enumerate(named) if word in _ENDS_EVENT), len(named))
        day = _day_of_event(actor, named[: min(end, EVENT_WORDS)])
        period = Period(day, day) if day else None
    if period is None:
        return None
    if words[place] in _BEFORE:
        return Period(period.start - DAY, period.start)
    return Period(period.end, period.end + DAY)


def _is_dated_label(words: Sequence[str]) -> bool:
    """Whether a question is no sentence and names a year of the past: “port before March 2024”."""
    place = next((at for at, word in enumerate(words) if word in _BEFORE | _AFTER), len(words))
    years = [int(word) for word in words[place:] if len(word) == 4 and word.isdecimal()]
    return (
        _ENDS_EVENT.isdisjoint(words)
        and len(words) <= 2 * EVENT_WORDS
        and any(year <= timezone.now().year for year in years)
    )


def _day_of_event(actor: Actor, words: Sequence[str]) -> datetime | None:
    """Return when the newest fact or company entry with all of these words says that something happened."""
    named = SearchQuery(" ".join(words), config="english", search_type="plain")
    where = Q(owner=actor.user, kind=Kind.FACT) | Q(owner=None, kind=Kind.COMPANY)
    passages = list(Passage.objects.filter(where, lexemes=named).order_by("-created_at", "-pk")[:EVENTS_READ])
    facts = Fact.objects.of(actor.user).in_bulk([int(one.source_id) for one in passages if one.kind == Kind.FACT])
    for passage in passages:
        fact = facts.get(int(passage.source_id)) if passage.kind == Kind.FACT else None
        period = find_period(passage.words, now=passage.created_at)
        is_decision = fact is not None and fact.category == Category.DECISION
        day = (period and period.start) or (fact and fact.valid_from) or (passage.created_at if is_decision else None)
        if day and day <= timezone.now():
            return day
    return None
