"""Periods: the days, weeks and months that people and models name in words, such as `yesterday` or `in May`.

Words are compared one by one, so nothing here takes longer than its text is long. What may mean two things is refused.
"""

import re
from collections.abc import Callable, Sequence
from datetime import date, datetime, time, timedelta
from typing import Literal, NamedTuple

from django.utils import timezone

from bigmind.text.hygiene import without_accents
from bigmind.text.period_vocabulary import DAYS, MONTHS, WORDS, meanings_of, read_words
from bigmind.text.words import WORD


def _set(words: str) -> frozenset[str]:
    return frozenset(words.split())


Towards = Literal["past", "future", "either"]
"""Where a day lies that a text names without a year: since “Friday” is the last one, until “Friday” the next one."""

_SECONDS = {"minute": 60, "hour": 3600, "day": 86400, "week": 604800}
_NEAR = {"today": 0, "yesterday": -1, "tomorrow": 1, "ereyesterday": -2, "overmorrow": 2}
_STEPS = {"last": -1, "this": 0, "next": 1, "coming": 1}
_CALENDAR = frozenset({"day", "week", "month", "quarter", "year", "weekend"})
_WORDS = 6
_LONGEST = 5
_READ_CHARS = 60
_SEARCHED_CHARS = 500
_AROUND = _set(
    "in on since during at early late do done happened im am seit an vom letzten letzte letzter em en le el il "
    "depuis desde dal"
)
"""Words before a lone month, weekday or year that then says when: “in March”, and not “the March poster”."""
_GOES_ON = _set(
    "did was were had do does is are has have we i you he she they it our my your the a an and or at in on by for "
    "with when who what which where why how before after until as so already last this about from to wir ich er "
    "sie es ihr uns unser unsere mein meine der die das den dem ein eine und oder um im mit von vor nach bis wer "
    "wie wo wann warum welche welcher welches welchen noch gegen bei auf fur uber"
)
"""Words that may follow a time in a question. Any other one makes a name of it: “on Friday deploys”."""
_ARTICLES = _set("the a an our my your their this that each every any")
_NEAR_WORDS = frozenset(
    word for table in WORDS.values() for word, meaning in table.items() if len(meaning) == 1 and meaning[0] in _NEAR
)
_STOPS = frozenset(",.?!;:)…")
_SINCE = frozenset({"since", "seit", "depuis", "desde", "dal"})
_UNSTARTED = frozenset({"since", "seit", "in", "now"})
_SAYS_WHEN = frozenset({*_NEAR, *MONTHS, *DAYS, *_STEPS, "ago", "end"})
_TIME_WORDS = frozenset(
    max(phrase.split(), key=len)
    for table in WORDS.values()
    for phrase, meaning in table.items()
    if not _SAYS_WHEN.isdisjoint(meaning)
)
"""The longest word of each phrase that says when. A text that has none of them, and no digit, names no period."""
_DIGIT = re.compile(r"\d")


class Period(NamedTuple):
    """From a moment to another one, which is not in it."""

    start: datetime
    end: datetime


def read_period(text: str, *, towards: Towards = "past") -> Period | None:
    """Return the period that a text names in words of eight languages, in the zone of who reads; None for any other.

    Raises:
        ValueError: it may mean two days; the message names both.
    """
    if "/" in text or text.count(".") >= 2:
        return _read_numeric(text)
    if ":" in text or len(text) > _READ_CHARS:
        return None
    now = timezone.localtime()
    found = {period for words in meanings_of(text) if (period := _period_of(words, now, towards)) is not None}
    return _only(sorted(found))


def find_period(text: str, *, now: datetime | None = None) -> Period | None:
    """Return the first period of the past that a question names as the time it asks about: `last Tuesday`, `im Mai`.

    A day or month that belongs to the name of something, such as “the March poster” or “the Friday lock”, is none.
    Reads as many words as a question may have, each with up to four neighbours.

    Args:
        now: The moment from which `yesterday` counts. Default: now.
    """
    return find_period_and_words(text, now=now)[0]


def find_period_and_words(text: str, *, now: datetime | None = None) -> tuple[Period | None, frozenset[str]]:
    """Return the period that `find_period` finds, and the words that name it.

    “Since” makes it last until now.
    """
    moment = timezone.localtime(now) if now else timezone.localtime()
    searched = without_accents(text[:_SEARCHED_CHARS])
    places = list(WORD.finditer(searched))
    words = [place.group() for place in places]
    if _TIME_WORDS.isdisjoint(words) and not _DIGIT.search(searched):
        return None, frozenset()
    found: tuple[Period | None, frozenset[str]] = (None, frozenset())
    start = 0
    while start < len(words):
        step = 1
        for length in range(min(_LONGEST, len(words) - start), 0, -1):
            end = start + length
            is_last = end == len(words) or searched[places[end - 1].end() : places[end].start()].strip() in _STOPS
            if not _is_a_time(words, start, end, is_last=is_last):
                continue
            if (period := _find(words[start:end], moment)) is not None:
                step = length
                # The search is for when something was said, which cannot lie ahead.
                if period.start < moment and (found[0] is None or any(map(_is_year, words[start:end]))):
                    since = start > 0 and words[start - 1] in _SINCE
                    named = frozenset(words[start - since : end])
                    found = Period(period.start, max(moment, period.end)) if since else period, named
                break
        start += step
    return found


def _is_year(word: str) -> bool:
    return len(word) == 4 and word.isdecimal()


def _is_a_time(words: Sequence[str], start: int, end: int, *, is_last: bool) -> bool:
    """Whether words of a question stand where a time does: behind a preposition, before nothing that they describe."""
    before = words[start - 1] if start else ""
    is_full = end - start == 3 and any(map(_is_year, words[start:end]))
    if not (is_last or is_full or words[end] in _GOES_ON or _is_german_verb(words[end])):
        return False
    if end - start > 1 or words[start] in _NEAR_WORDS:
        return before not in _ARTICLES or is_last or (start > 1 and words[start - 2] in _AROUND)
    return before in _AROUND


def _is_german_verb(word: str) -> bool:
    """Whether a word looks like a verb at the end of a German sentence: “am Freitag gemacht”."""
    return (word.startswith(("ge", "be", "ver", "ent")) and word.endswith(("t", "en"))) or word.endswith("iert")


def _find(words: Sequence[str], now: datetime) -> Period | None:
    """Return the period that all of these words name in one of the languages, beginning with none that says nothing."""
    for table in WORDS.values():
        if table.get(words[0]) == () or table.get(words[-1]) == () or words[0] in _UNSTARTED:
            continue
        meant = read_words(list(words), table)
        if not meant or not (_SAYS_WHEN.intersection(meant) or all(word.isdecimal() for word in meant)):
            continue
        try:
            found = _period_of(meant, now, "past")
        except ValueError:
            continue
        if found:
            return found
    return None


def _only(found: Sequence[Period]) -> Period | None:
    """Return the one period that a text means.

    Raises:
        ValueError: it may mean several.
    """
    if len(found) > 1:
        days = dict.fromkeys(f"{period.start:%Y-%m-%d}" for period in found)
        raise ValueError(f"may mean {' or '.join(days)}. Send the one that is meant")
    return found[0] if found else None


def _period_of(words: Sequence[str], now: datetime, towards: Towards) -> Period | None:
    """Return the period that these words name; None where the calendar has no such day.

    Raises:
        ValueError: they may mean two.
    """
    try:
        candidates = _read_words(words, now, towards)
    except (ValueError, OverflowError):
        return None
    return _only(sorted({period for period in candidates if period}))


def _read_words(words: Sequence[str], now: datetime, towards: Towards) -> Sequence[Period | None]:
    """Return what these words may mean."""
    if "since" in words:
        words, towards = [word for word in words if word != "since"], "past"
    if "end" in words:
        inner = [word for word in words if word != "end"]
        unit = inner == [*inner][:1] and inner[0] in _CALENDAR if inner else False
        return [_last_day(one) for one in _read_words(["this", *inner] if unit else inner, now, towards) if one]
    if len(words) > _WORDS:
        return []
    if "in" in words and not any(word.isdecimal() and len(word) < 4 for word in words):
        words = [word for word in words if word != "in"]
    today = now.date()
    match words:
        case ["now"]:
            return [Period(now, now)]
        case [word] if word in _NEAR:
            return [_days(today + timedelta(days=_NEAR[word]), 1)]
        case [year] if len(year) == 4 and year.isdecimal():
            return [_year(int(year))]
        case [year, month] if len(year) == 4 and year.isdecimal() and month.isdecimal():
            return [_month(int(year), int(month))]
        case [year, month, day] if len(year) == 4 and all(part.isdecimal() for part in words):
            return [_days(date(int(year), int(month), int(day)), 1)]
    if (length := _length_of(words)) is not None:
        return [_beside(now, words, *length, towards)]
    return _in_calendar(words, today, towards) or _dates(words, today, towards)


def _length_of(words: Sequence[str]) -> tuple[int, str] | None:
    """Return the number and the unit of a length of time, whatever else the words say of it."""
    rest = [word for word in words if word not in {"in", "ago", "last", "next", "coming"}]
    if len(rest) != 2 or len(words) > 3 or not rest[0].isdecimal():
        return None
    number, unit = int(rest[0]), rest[1]
    is_short = unit in _SECONDS and number * _SECONDS[unit] <= 100 * 366 * 86400
    return (number, unit) if is_short or (unit in {"month", "year"} and number <= 1200) else None


def _beside(now: datetime, words: Sequence[str], number: int, unit: str, towards: Towards) -> Period | None:
    """Return the day or moment so far ahead or back; for “the next 3 days”, all from now until then."""
    if "ago" in words:
        return _shift(now, -number, unit)
    if "last" in words:
        since = _shift(now, -number, unit)
        return Period(since.start, now)
    if "in" in words:
        return _shift(now, number, unit)
    if "next" in words or "coming" in words or towards == "future":
        return Period(now, _shift(now, number, unit).end)
    return None


def _in_calendar(words: Sequence[str], today: date, towards: Towards) -> Sequence[Period | None]:
    """Return this, the last or the next week, month, quarter, year, weekend, weekday or month of a name."""
    steps = [word for word in words if word in _STEPS]
    rest = [word for word in words if word not in _STEPS]
    days = [word for word in rest if word in DAYS or word == "weekend"]
    if len(steps) != 1 or not rest or len(rest) > 2:
        return [_weekend_in(today, 0)] if list(words) == ["weekend"] else []
    step = _STEPS[steps[0]]
    if len(rest) == 2:
        months = [word for word in rest if word in MONTHS]
        if months and "year" in rest:
            return [_month(today.year + step, MONTHS.index(months[0]) + 1)]
        if len(days) != 1 or "week" not in rest:
            return []
        monday = today - timedelta(days=today.weekday() - 7 * step)
        return [_of_week(monday, days[0])]
    [name] = rest
    if days:
        return _step_day(name, steps[0], today)
    if name in MONTHS:
        return _step_month(MONTHS.index(name) + 1, steps[0], today)
    return [_unit(name, step, today)] if name in _CALENDAR else []


def _unit(name: str, step: int, today: date) -> Period | None:
    if name == "day":
        return _days(today + timedelta(days=step), 1) if step >= 0 else None
    if name == "week":
        return _days(today - timedelta(days=today.weekday() - 7 * step), 7)
    if name == "quarter":
        quarter = today.year * 4 + (today.month - 1) // 3 + step
        return _quarter(quarter // 4, quarter % 4 + 1)
    if name == "month":
        month = today.year * 12 + today.month - 1 + step
        return _month(month // 12, month % 12 + 1)
    return _year(today.year + step)


def _of_week(monday: date, name: str) -> Period:
    return (
        _days(monday + timedelta(days=5), 2)
        if name == "weekend"
        else _days(monday + timedelta(days=DAYS.index(name)), 1)
    )


def _weekend_in(today: date, step: int) -> Period:
    return _of_week(today - timedelta(days=today.weekday() - 7 * step), "weekend")


def _step_day(name: str, word: str, today: date) -> Sequence[Period | None]:
    """Return the weekday that is meant; two where half of the people mean one week and half the other."""
    monday = today - timedelta(days=today.weekday())
    weeks = {step: _of_week(monday + timedelta(days=7 * step), name) for step in (-1, 0, 1)}
    if word == "last":
        past = [weeks[step] for step in (-1, 0) if weeks[step].end <= _midnight(today)]
        # One to seven days back: said on a Tuesday, “last Tuesday” is a week ago.
        return [past[-1]]
    nearest = next(one for one in (*(weeks[step] for step in (0, 1)),) if one.end > _midnight(today))
    following = next(one for one in (weeks[0], weeks[1]) if one.start > _midnight(today)) if weeks[1] else nearest
    if word == "coming":
        return [following]
    return [following, weeks[1]] if word == "next" else [weeks[0], nearest]


def _step_month(month: int, word: str, today: date) -> Sequence[Period | None]:
    this_year = _month(today.year, month)
    if word == "last":
        return (
            [_month(today.year - (month >= today.month), month)]
            if month != today.month
            else [_month(today.year - 1, month)]
        )
    if word == "this":
        return [this_year]
    following = _month(today.year + (month <= today.month), month)
    return [following] if word == "coming" else [following, _month(today.year + 1, month)]


def _dates(words: Sequence[str], today: date, towards: Towards) -> Sequence[Period | None]:
    """Return the weekday, month, quarter or day of a month of this name, on the side of today that is meant."""
    days = [word for word in words if word in DAYS]
    rest = [word for word in words if word not in DAYS]
    if len(days) == 1 and not rest:
        return _weekdays(DAYS.index(days[0]), today, towards)
    if len(rest) in {1, 2} and rest[0][0] == "q" and not days:
        return _on_side(today, towards, rest[1:], lambda year: _quarter(year, int(rest[0][1])))
    months = [word for word in rest if word in MONTHS]
    numbers = [int(word) for word in rest if word.isdecimal() and len(word) <= 4]
    if len(months) != 1 or len(days) > 1 or len(numbers) != len(rest) - 1 or 0 in numbers:
        return []
    years, dates = [one for one in numbers if one > 31], [one for one in numbers if one <= 31]
    if len(years) > 1 or len(dates) > 1 or (days and not dates):
        return []
    month = MONTHS.index(months[0]) + 1

    def make(year: int) -> Period:
        return _days(date(year, month, dates[0]), 1) if dates else _month(year, month)

    found = _on_side(today, towards, [str(year) for year in years], make)
    # “Friday, 3 December” is a Friday.
    return [one for one in found if one and (not days or one.start.weekday() == DAYS.index(days[0]))]


def _on_side(
    today: date, towards: Towards, years: Sequence[str], make: Callable[[int], Period]
) -> Sequence[Period | None]:
    if years:
        return [make(int(years[0]))] if years[0].isdecimal() and len(years[0]) == 4 else []
    tomorrow = _midnight(today + timedelta(days=1))
    around = [_or_none(make, today.year + step) for step in (-1, 0, 1)]
    past = [one for one in around if one and one.start < tomorrow]
    ahead = [one for one in around if one and one.end > _midnight(today)]
    return {"past": past[-1:], "future": ahead[:1], "either": past[-1:] + ahead[:1]}[towards]


def _or_none(make: Callable[[int], Period], year: int) -> Period | None:
    try:
        return make(year)
    except ValueError:
        return None  # 29 February


def _weekdays(weekday: int, today: date, towards: Towards) -> Sequence[Period | None]:
    # One to seven days back: said on a Tuesday, “since Tuesday” is a week ago. “Until Tuesday” may be today as well.
    past = _days(today - timedelta(days=(today.weekday() - weekday - 1) % 7 + 1), 1)
    ahead = _days(today + timedelta(days=(weekday - today.weekday() - 1) % 7 + 1), 1)
    both = [_days(today, 1), ahead] if weekday == today.weekday() else [ahead]
    return {"past": [past], "future": both, "either": [past, *both]}[towards]


def _shift(now: datetime, number: int, unit: str) -> Period:
    """Return the day, or the minute or hour, that lies so far ahead or back."""
    if unit in {"month", "year"}:
        month = now.year * 12 + now.month - 1 + number * (12 if unit == "year" else 1)
        # A month before the 31st is the last day of a shorter month.
        last = _month(month // 12, month % 12 + 1)
        return _days(min(last.start.date() + timedelta(days=now.day - 1), last.end.date() - timedelta(days=1)), 1)
    then = now + timedelta(seconds=number * _SECONDS[unit])
    return (
        Period(then, then)
        if _SECONDS[unit] < 86400
        else _days(now.date() + timedelta(days=number * _SECONDS[unit] // 86400), 1)
    )


def _last_day(period: Period) -> Period:
    return _days((period.end - timedelta(microseconds=1)).date(), 1)


def _read_numeric(text: str) -> Period | None:
    """Read 31/12/2026, and refuse 05/06/2026: half of the world reads a day of June there, the other half of May."""
    parts = WORD.findall(text)
    if len(parts) != 3 or not all(part.isdecimal() and len(part) <= 4 for part in parts):
        return None
    if len(parts[0]) == 4:
        orders = [(int(parts[0]), int(parts[1]), int(parts[2]))]
    elif len(parts[2]) == 4:
        first, second, year = map(int, parts)
        orders = [(year, first, second), (year, second, first)]
    else:
        return None
    days = []
    for order in orders:
        try:
            days.append(date(*order))
        except ValueError:
            continue
    if len(set(days)) > 1:
        raise ValueError(f"is written as {text.strip()[:20]}. Send {' or '.join(day.isoformat() for day in days)}")
    return _days(days[0], 1) if days else None


def _days(first: date, number: int) -> Period:
    return Period(_midnight(first), _midnight(first + timedelta(days=number)))


def _month(year: int, month: int) -> Period:
    following = date(year + month // 12, month % 12 + 1, 1)
    return Period(_midnight(date(year, month, 1)), _midnight(following))


def _quarter(year: int, quarter: int) -> Period:
    return Period(_month(year, 3 * quarter - 2).start, _month(year, 3 * quarter).end)


def _year(year: int) -> Period:
    return Period(_midnight(date(year, 1, 1)), _midnight(date(year + 1, 1, 1)))


def _midnight(day: date) -> datetime:
    return timezone.make_aware(datetime.combine(day, time.min))
