"""Question periods: whether a question asks for what holds or for what held, and when, in English and German.

A time is named as a date, in words, or by an event (“before the move”); the search for what was true then includes what
was replaced since. A day, a month or a year alone says nothing about it: “When does the bar close on Sunday?” asks for
what holds. Words are looked up one by one, so nothing here takes longer than its text is long.
"""

import re
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


def _set(words: str) -> frozenset[str]:
    return frozenset(words.split())


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

_READ_CHARS = 500
_AS_OF = ("as of", "as at", "stand", "back in")
_NAMED_WORDS = 6

_GERMAN = _set(
    "der das den dem des ein eine einen wir ich ist sind wer wie wo wann welche welcher welches welchen im am vom "
    "zum zur und nicht haben hat hatte hatten wurde wurden war waren letzte letzten letzter letztes gestern heute "
    "für mit bei auf uns unser unsere gab galt es sich davor vorher früher seit bis mal"
)
_ENGLISH = _set(
    "the is are a an of to did do does we our my who what where when which how has have had were it at by with "
    "and for from used before"
)
_PAST = _set("did was were had wasn weren didn hadn")
_PRESENT = _set(
    "is are am do does has have can could may might must shall should will would isn aren doesn don hasn haven ll"
)
_TENSES = _PAST | _PRESENT
_IRREGULAR = _set(
    "ran held led paid took made wrote came went said kept sent got gave built chose won lost left began spoke "
    "stood knew found met bought sold broke fell drew drove ate flew grew hid rode saw slept taught threw wore "
    "thought told felt"
)
_ASKS = frozenset({"who", "what", "which", "whose", "where", "when", "how", "why"})
_PEOPLE = frozenset({"i", "we", "you", "they", "he", "she", "it"})
_GERMAN_PAST = _set(
    "war waren warst wart wurde wurden hatte hatten hattet hieß hiess hießen galt galten lief liefen nutzten "
    "nutzte benutzten benutzte verwendeten verwendete wollten musste mussten konnte konnten gab ging gingen kam "
    "kamen stand hielt hielten lag lagen zahlte zahlten kostete kosteten gehörte gehörten betrieb betrieben nahm "
    "nahmen fuhr leitete arbeitete arbeiteten hostete hosteten speicherten machte machten schloss öffnete besaß "
    "setzten setzte"
)
_GERMAN_PRESENT = _set(
    "ist sind bin bist gilt gelten wird werden kann können muss müssen soll sollen darf dürfen läuft laufen gibt "
    "nutzen benutzen verwenden machen heißt kostet gehört schließt öffnet macht zahlt leitet"
)
_HAVE = frozenset({"hat", "haben", "habe", "habt", "hast"})
_BEGINS_PARTICIPLE = ("ge", "be", "ver", "ent", "er", "zer")
_IS_SO = frozenset(
    {"geöffnet", "geschlossen", "gesperrt", "gern", "gerade", "genau", "gemeinsam", "gegen", "gleich", "gut"}
)
"""“Hat am Sonntag geöffnet” says what is so, although it looks like a past."""

_FORMER = _set(
    "previous previously former formerly earlier originally initially vorherige vorheriger vorheriges vorherigen "
    "frühere früherer früheres früheren ursprünglich ursprüngliche ehemalige ehemaliger vorher davor zuvor früher "
    "bisherige"
)
_CHAIN = re.compile(
    "(?<![^ ])(?:history of|verlauf|geschichte|changed over time|used to be|used to have|how has)(?![^ ])"
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


def words_of(text: str) -> list[str]:
    """Return the words of a question in lower case."""
    return [word.casefold() for word in WORD.findall(text[:_READ_CHARS])]


def find_past(query: str, words: Sequence[str] = (), *, now: datetime | None = None) -> Period | None:
    """Return the period of the past that a question asks about, or None: it asks for what holds.

    It asks about the past if it says “as of” or “Stand”, or names a period in a past tense. `words` are its own, where
    they are known.
    """
    words = words or words_of(query)
    moment = now or timezone.now()
    if (stated := _read_stated(words, moment)) is not None:
        return stated if stated.end <= moment else None
    return find_period(query, now=now) if is_past_tense(words) else None


def _read_stated(words: Sequence[str], now: datetime) -> Period | None:
    """Return the period behind “as of” or “Stand”."""
    for place, word in enumerate(words):
        pair = f"{word} {words[place + 1]}" if place + 1 < len(words) else ""
        length = 2 if pair in _AS_OF else 1 if word in _AS_OF else 0
        if length and (found := find_period(f"in {' '.join(words[place + length :][:_NAMED_WORDS])}", now=now)):
            return found
    return None


def is_past_tense(words: Sequence[str]) -> bool:
    """Whether a question is in the past tense: its first verb of time decides."""
    return _is_german_past(words) if is_german(words) else _is_english_past(words)


def is_german(words: Sequence[str]) -> bool:
    """Whether a question has more small words of German than of English."""
    return len(_GERMAN.intersection(words)) > len(_ENGLISH.intersection(words))


def asks_for_former(words: Sequence[str]) -> bool:
    """Whether a question asks what was so before, whenever that was: the previous value, the former owner."""
    if not _FORMER.isdisjoint(words):
        return True
    # “What was the port before?”
    return len(words) > 2 and words[-1] == "before" and is_past_tense(words)


def asks_for_history(words: Sequence[str]) -> bool:
    """Whether a question asks for all that was so, one after the other."""
    return _CHAIN.search(" ".join(words)) is not None


def _is_english_past(words: Sequence[str]) -> bool:
    tense = next(filter(_TENSES.__contains__, words), "")
    if tense:
        return tense in _PAST
    verbs = [place for place, word in enumerate(words) if word in _IRREGULAR or (word.endswith("ed") and len(word) > 3)]
    return any(_is_verb(words, place) for place in verbs)


def _is_verb(words: Sequence[str], place: int) -> bool:
    """Whether a word that may be a past tense stands where a verb does: “who owned”, “which host served”, “we used”."""
    before = words[place - 1] if place else ""
    second = words[place - 2] if place > 1 else ""
    return before in _PEOPLE or before in {"who", "what"} or second in {"which", "whose", "what"}


def _is_german_past(words: Sequence[str]) -> bool:
    for word in words:
        if word in _GERMAN_PAST:
            return True
        if word in _GERMAN_PRESENT:
            return False
        if word in _HAVE and any(_is_participle(one) for one in words):
            return True
    return False


def _is_participle(word: str) -> bool:
    if word in _IS_SO or len(word) < 5:
        return False
    ending = word.endswith(("t", "en"))
    return ending and (word.startswith(_BEGINS_PARTICIPLE) or word.endswith("iert") or "ge" in word[2:5])


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
