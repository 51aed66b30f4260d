"""Arguments that recur in every app, described once: their limits are the product's limits."""

import re
from collections.abc import Callable
from datetime import UTC, datetime, timedelta
from decimal import Decimal
from typing import Annotated, Any

from django.utils import timezone
from pydantic import AfterValidator, BeforeValidator, Field, TypeAdapter, ValidationError

from bigmind.core.argument_checks import UNREAD_MOMENT
from bigmind.core.argument_conversion import list_in
from bigmind.core.limits import (
    CONTENT_BYTES,
    CURSOR_CHARS,
    PAGE_ROWS,
    QUERY_CHARS,
    SENTENCE_CHARS,
    TAG_CHARS,
    TAGS,
    TITLE_CHARS,
)
from bigmind.privacy.screening.policy import NoSecrets, Screened
from bigmind.text.hygiene import check_content, clean_name
from bigmind.text.periods import Period, Towards, read_period

NUMBER = re.compile(r"[-+]?[\d_.]+([eE][-+]?\d+)?")


def _within_bytes(text: str) -> str:
    size = len(text.encode())
    if size > CONTENT_BYTES:
        raise ValueError(f"is {size:,} bytes; the limit is {CONTENT_BYTES:,}. Split it or shorten it")
    return text


def _not_blank(text: str) -> str:
    if not text.strip():
        raise ValueError("is empty. Say something, or leave the argument out")
    return text


def _each_once(names: list[str]) -> list[str]:
    return list(dict.fromkeys(name for name in names if name))


def _split_commas(names: Any) -> Any:
    """Accept `"a, b"` for a list of names: models, forms and query strings write lists this way."""
    if isinstance(names, str):
        if (listed := list_in(names)) is not None:
            return listed
        return [name.strip() for name in names.split(",") if name.strip()]
    # A list of one is that one, whatever commas are in it: “Lisbon, Portugal”. Forms and queries send JSON so, too.
    if isinstance(names, list) and len(names) == 1 and isinstance(names[0], str):
        return names if (listed := list_in(names[0])) is None else listed
    return names


def _split_lines(lines: Any) -> Any:
    """Accept a text of lines or bullets for a list of sentences."""
    if isinstance(lines, str):
        if (listed := list_in(lines)) is not None:
            return listed
        return [line.strip().lstrip("-*•").strip() for line in lines.splitlines() if line.strip(" -*•\t")]
    return lines


def _not_a_number(moment: Any) -> Any:
    """Refuse what pydantic would read as seconds since 1970: a caller who sends "2026" means a year."""
    if isinstance(moment, int | float | Decimal) or (isinstance(moment, str) and NUMBER.fullmatch(moment.strip())):
        raise ValueError(UNREAD_MOMENT)
    return moment


def _read_moment(moment: Any) -> Any:
    """Read a text as pydantic would. Behind a validator of ours its strict mode, in JSON, would take no text."""
    try:
        return _ANY_MOMENT.validate_python(moment) if isinstance(moment, str) else moment
    except ValidationError:
        return moment  # which is then refused in pydantic's own words


# In every time zone these two are days of the calendar: what lies beyond could be stored, but not shown.
_FIRST = datetime(1, 1, 2, tzinfo=UTC)
_LAST = datetime(9999, 12, 30, 23, 59, 59, tzinfo=UTC)


def _in_utc(moment: datetime) -> datetime:
    """Convert a moment to UTC. One without a time zone is read in the zone of the instance.

    What means “for ever” (9999-12-31T23:59:59Z) becomes the last moment that can be shown everywhere.
    """
    try:
        aware = moment if moment.tzinfo else timezone.make_aware(moment)
        return min(max(aware.astimezone(UTC), _FIRST), _LAST)
    except (OverflowError, ValueError) as error:
        raise ValueError("lies outside the calendar. Use a year from 1 to 9999") from error


_ANY_MOMENT = TypeAdapter(datetime)
# Of several "before" validators the last one named is asked first.
Moment = Annotated[datetime, BeforeValidator(_read_moment), BeforeValidator(_not_a_number), AfterValidator(_in_utc)]
"""A point in time, in UTC."""


def _in_words(towards: Towards, edge: Callable[[Period], datetime]) -> BeforeValidator:
    """Accept a day or a period in words, and take its edge: every argument for a moment reads them here."""

    def read(value: Any) -> Any:
        period = read_period(value, towards=towards) if isinstance(value, str) else None
        return edge(period) if period else value

    return BeforeValidator(read)


def _start_of(period: Period) -> datetime:
    return period.start


def _last_of(period: Period) -> datetime:
    return period.end - timedelta(microseconds=1) if period.end > period.start else period.start


Since = Annotated[Moment, _in_words("past", _start_of), Field(description="From this date on.")]
Before = Annotated[Moment, _in_words("past", _start_of), Field(description="Before this date.")]
From = Annotated[Moment, _in_words("either", _start_of)]
"""Where something begins: at the start of a day or period in words."""
Until = Annotated[Moment, _in_words("future", _last_of)]
"""Where something ends: with the last moment of a day or period, which lies ahead unless its words say otherwise."""

UnscreenedLongText = Annotated[str, AfterValidator(check_content), AfterValidator(_within_bytes)]
UnscreenedContent = Annotated[UnscreenedLongText, AfterValidator(_not_blank)]

Content = Annotated[UnscreenedContent, Screened]
"""A personal text that is kept byte for byte, up to 64 KiB. BIGMIND_SECRETS says what becomes of secrets in it."""

LongText = Annotated[UnscreenedLongText, Screened]
"""Like Content, but it may be empty."""

SharedContent = Annotated[UnscreenedContent, NoSecrets]
"""A text that others will read. One that gives a secret away is refused, whatever the settings."""

SharedLongText = Annotated[UnscreenedLongText, NoSecrets]
"""Like SharedContent, but it may be empty."""

# Sizes hold for what was sent, so that a schema can tell them, and for what is kept: NFC lengthens some texts.
Name = Annotated[
    str, Field(max_length=TITLE_CHARS), AfterValidator(clean_name), Field(min_length=1, max_length=TITLE_CHARS)
]
"""A name or a key: NFC, stripped, without hidden characters, up to 200 characters."""

Tag = Annotated[str, Field(max_length=TAG_CHARS), AfterValidator(clean_name), Field(max_length=TAG_CHARS)]
Tags = Annotated[
    list[Annotated[Tag, Screened]], Field(max_length=TAGS), BeforeValidator(_split_commas), AfterValidator(_each_once)
]
SharedTags = Annotated[
    list[Annotated[Tag, NoSecrets]], Field(max_length=TAGS), BeforeValidator(_split_commas), AfterValidator(_each_once)
]
Sentence = Annotated[Content, Field(max_length=SENTENCE_CHARS)]
Lines = Annotated[list[Sentence], Field(max_length=TAGS), BeforeValidator(_split_lines)]
"""Up to 50 sentences of up to 2,000 characters; a text with one a line is accepted too."""

Query = Annotated[
    str,
    AfterValidator(check_content),
    Field(min_length=1, max_length=QUERY_CHARS, description="What to look for, in plain words."),
]
Project = Annotated[
    str,
    Field(max_length=TAG_CHARS, description="Repository or product."),
    AfterValidator(clean_name),
    Field(max_length=TAG_CHARS),
]
Reason = Annotated[str, AfterValidator(check_content), AfterValidator(_not_blank), Screened, Field(max_length=1_000)]
Limit = Annotated[int, Field(ge=1, le=PAGE_ROWS)]
Offset = Annotated[int, Field(ge=0, le=10**9)]
Cursor = Annotated[
    str,
    AfterValidator(check_content),
    Field(min_length=1, max_length=CURSOR_CHARS, description="The previous page's `next_cursor`, not an offset."),
]
Confidence = Annotated[float, Field(ge=0, le=1, allow_inf_nan=False, description="0 to 1.")]
Importance = Annotated[int, Field(ge=1, le=10, description="1 to 10.")]
RowId = Annotated[int, Field(ge=1, le=2**63 - 1)]
AsOf = Annotated[
    str,
    AfterValidator(check_content),
    Field(min_length=1, max_length=TITLE_CHARS, description="What held then: March."),
]
