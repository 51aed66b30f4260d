"""Periods: the days, weeks and months that people and models name in words, such as `yesterday` or `in May`.

Words are compared one by one, so nothing here takes longer than its text is long. What may mean two things is refused.
"""

import re
from collections.abc import Sequence
from datetime import date, datetime, time, timedelta
from typing import NamedTuple

from django.utils import timezone

_MONTHS = (
    "january february march april may june july august september october november december".split()  # noqa: SIM905
)
_DAYS = ["monday", "tuesday", "wednesday", "thursday", "friday", "saturday", "sunday"]
_NUMBERS = ["zero", "one", "two", "three", "four", "five", "six", "seven", "eight", "nine", "ten", "eleven", "twelve"]
_UNITS = {"minute": 60, "min": 60, "hour": 3600, "hr": 3600, "day": 86400, "week": 604800}
_NEAR = {"today": 0, "yesterday": -1, "tomorrow": 1}
_PAST = frozenset({"last", "past", "previous"})
_FILLERS = frozenset({"in", "on", "of", "the", "since", "from", "during", "at", "for"})
_WORDS = 6
_LONGEST = 5
_SEARCHED_CHARS = 500
_WORD = re.compile(r"[^\W_]+")


_SPELT = frozenset(
    [*_MONTHS, *_DAYS, *_NUMBERS, *_PAST, *_NEAR, "a", "an", "ago", "before", "this"]
    + [unit + plural for unit in ("day", "week", "month", "year") for plural in ("", "s")]
)


class Period(NamedTuple):
    """From a moment to another one, which is not in it."""

    start: datetime
    end: datetime


def read_period(text: str) -> Period | None:
    """Return the period that a text names in words, counted from now in the zone of the instance; None for any other.

    Raises:
        ValueError: it may mean two days; the message names both.
    """
    if "/" in text or text.count(".") == 2:
        _refuse_two_orders(text)
        return None
    if not text.isascii() or ":" in text or len(text) > 60:
        return None
    words = [word for word in _WORD.findall(text.casefold()) if word not in _FILLERS]
    return _period_of(words, timezone.localtime()) if 0 < len(words) <= _WORDS else None


def find_period(text: str, *, now: datetime | None = None) -> Period | None:
    """Return the first period that a question names among its other words, such as `last Tuesday` or `on 14 May`.

    Words that are also something else (`may`, `march`, `second`) count only where a preposition, a day or a year
    stands beside them. Reads as many words as a question may have, each with up to four neighbours.

    Args:
        now: The moment from which `yesterday` counts. Default: now.
    """
    words = _WORD.findall(text[:_SEARCHED_CHARS].casefold())
    moment = timezone.localtime(now) if now else timezone.localtime()
    for start in range(len(words)):
        for length in range(min(_LONGEST, len(words) - start), 0, -1):
            phrase = [word for word in words[start : start + length] if word not in _FILLERS]
            if not phrase or phrase[0] != words[start] or not _is_meant(words, start, phrase):
                continue
            if (found := _period_of(phrase, moment)) is not None:
                # The search is for when something was said, which cannot lie ahead.
                return found if found.start < moment else None
    return None


def _is_meant(words: Sequence[str], start: int, phrase: Sequence[str]) -> bool:
    """Whether a phrase within a question can only mean a time: abbreviations, clock times and lone verbs do not."""
    if len(phrase) > 1:
        return all(word in _SPELT or not word.isalpha() for word in phrase)
    (word,) = phrase
    if word in _DAYS or word in _NEAR:
        return True
    before = words[start - 1] if start else ""
    return before in _FILLERS and (word in _MONTHS or (len(word) == 4 and word.isdecimal()))


def _period_of(words: Sequence[str], now: datetime) -> Period | None:
    """Return the period that these words name; None where the calendar has no such day."""
    try:
        return _read_words(words, now)
    except (ValueError, OverflowError):
        return None


def _read_words(words: Sequence[str], now: datetime) -> Period | None:
    today = now.date()
    match words:
        case ["now"]:
            return Period(now, now)
        case [word] if word in _NEAR:
            return _days(today + timedelta(days=_NEAR[word]), 1)
        case ["day", "before", "yesterday"]:
            return _days(today - timedelta(days=2), 1)
        case [year] if len(year) == 4 and year.isdecimal():
            return _year(int(year))
        case [year, month] if len(year) == 4 and year.isdecimal() and month.isdecimal():
            return _month(int(year), int(month))
        case [year, month, day] if len(year) == 4 and all(part.isdecimal() for part in words):
            return _days(date(int(year), int(month), int(day)), 1)
        case [*before, "ago"]:
            return _ago(before, now)
        case [past, *span] if past in _PAST and len(span) == 2 and _number(span[0]) is not None:
            since = _ago(span, now)
            return Period(since.start, now) if since else None
        case [past, name] if past in _PAST | {"this"}:
            return _calendar(name, today, back=int(past in _PAST))
    return _latest_day(words, today)


def _calendar(name: str, today: date, *, back: int) -> Period | None:
    """Return this or the last week, month, year or weekday."""
    if name == "week":
        return _days(today - timedelta(days=today.weekday() + 7 * back), 7)
    if name == "month":
        month = today.year * 12 + today.month - 1 - back
        return _month(month // 12, month % 12 + 1)
    if name == "year":
        return _year(today.year - back)
    return _latest_day([name], today) if back else None


def _latest_day(words: Sequence[str], today: date) -> Period | None:
    """Return the latest weekday, month or day of a month of this name that has begun."""
    weekday = _starting(words[0], _DAYS) if len(words) == 1 else None
    if weekday is not None:
        # One to seven days back: said on a Tuesday, “Tuesday” is a week ago.
        return _days(today - timedelta(days=(today.weekday() - weekday - 1) % 7 + 1), 1)
    months = [(place, month) for place, word in enumerate(words) if (month := _starting(word, _MONTHS)) is not None]
    if len(months) != 1:
        return None
    place, month = months[0]
    rest = [_ordinal(word) for word in (*words[:place], *words[place + 1 :])]
    years, days = [part for part in rest if part and part > 31], [part for part in rest if part and part <= 31]
    if None in rest or len(years) > 1 or len(days) > 1 or len(rest) != len(years) + len(days):
        return None
    day = days[0] if days else 1
    year = years[0] if years else today.year - ((month + 1, day) > (today.month, today.day))
    return _days(date(year, month + 1, day), 1) if days else _month(year, month + 1)


def _ago(words: Sequence[str], now: datetime) -> Period | None:
    """Return the day, or the minute or hour, that lies so far back: `3 days`, `a week`, `two months`."""
    if len(words) != 2 or (number := _number(words[0])) is None:
        return None
    unit = words[1].removesuffix("s")
    if unit in {"month", "year"}:
        month = now.year * 12 + now.month - 1 - number * (12 if unit == "year" else 1)
        # A month before the 31st is the last day of a shorter month.
        last = _month(month // 12, month % 12 + 1)
        return _days(min(last.start.date() + timedelta(days=now.day - 1), last.end.date() - timedelta(days=1)), 1)
    if unit not in _UNITS or number * _UNITS[unit] > 100 * 366 * 86400:
        return None
    then = now - timedelta(seconds=number * _UNITS[unit])
    return Period(then, then) if _UNITS[unit] < 86400 else _days(then.date(), 1)


def _number(word: str) -> int | None:
    if word in {"a", "an"}:
        return 1
    if word.isdecimal() and len(word) <= 6:
        return int(word)
    return _NUMBERS.index(word) if word in _NUMBERS else None


def _ordinal(word: str) -> int | None:
    digits = word[:-2] if word[-2:] in {"st", "nd", "rd", "th"} else word
    return int(digits) if digits.isdecimal() and len(digits) <= 4 and int(digits) else None


def _starting(word: str, names: Sequence[str]) -> int | None:
    found = [place for place, name in enumerate(names) if len(word) >= 3 and name.startswith(word)]
    return found[0] if len(found) == 1 else None


def _refuse_two_orders(text: str) -> None:
    """Refuse 05/06/2026: half of the world reads a day of June there, the other half of May."""
    parts = _WORD.findall(text)
    if len(parts) != 3 or not all(part.isdecimal() and len(part) <= 4 for part in parts) or len(parts[2]) != 4:
        return
    first, second, year = map(int, parts)
    days = []
    for month, day in ((first, second), (second, first)):
        try:
            days.append(date(year, month, day).isoformat())
        except ValueError:
            continue
    if days:
        raise ValueError(f"is written as {text.strip()[:20]}. Send {' or '.join(dict.fromkeys(days))}")


def _days(first: date, number: int) -> Period:
    return Period(_midnight(first), _midnight(first + timedelta(days=number)))


def _month(year: int, month: int) -> Period:
    following = date(year + month // 12, month % 12 + 1, 1)
    return Period(_midnight(date(year, month, 1)), _midnight(following))


def _year(year: int) -> Period:
    return Period(_midnight(date(year, 1, 1)), _midnight(date(year + 1, 1, 1)))


def _midnight(day: date) -> datetime:
    return timezone.make_aware(datetime.combine(day, time.min))
