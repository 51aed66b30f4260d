"""Lists with a limit, a total, and an offset or a cursor, which goes on right where the last page ended."""

import json
from base64 import b64decode, urlsafe_b64encode
from collections.abc import Callable, Sequence
from dataclasses import dataclass, replace
from datetime import date
from functools import partial, reduce
from typing import Any, Generic, TypeVar

from django.core.exceptions import EmptyResultSet
from django.db.models import Count, Model, Q, QuerySet, Value
from django.utils.crypto import constant_time_compare, salted_hmac
from pydantic import BaseModel, ConfigDict, Field

from bigmind.core.errors import Invalid
from bigmind.database.fixed_queries import FixedQuery

Row = TypeVar("Row", bound=Model)

SEAL_BYTES = 12
"""Enough to tell lists apart. A forged seal would open nothing: each query has its own conditions. Decision 20."""

Item = TypeVar("Item")
Other = TypeVar("Other")
Shape = TypeVar("Shape", bound=BaseModel)


def in_total_order(rows: QuerySet[Row]) -> QuerySet[Row]:
    """Return the rows ordered without ties: the primary key decides where their own order leaves some."""
    order = _order(rows)
    return rows if order[-1:] and order[-1].lstrip("-") in {"pk", "id"} else rows.order_by(*order, "pk")


def cursor_behind(row: Row, rows: QuerySet[Row]) -> str:
    """Return the cursor of the page that begins after `row`."""
    return _cursor(row, _order(rows), *_statement_of(rows))


def _cursor(row: Model, order: Sequence[str], sql: str, given: Sequence[Any]) -> str:
    keys = [_value(row, key.lstrip("-")) for key in order]
    place = json.dumps(keys, default=str, ensure_ascii=False, separators=(",", ":")).encode()
    return urlsafe_b64encode(_seal(place, sql, given) + place).decode().rstrip("=")


def behind(cursor: str, rows: QuerySet[Row]) -> QuerySet[Row]:
    """Return the rows after the position that a cursor names.

    Raises:
        Invalid: this list issued no such cursor: it belongs to another list, or the filters differ.
    """
    try:
        sealed = b64decode(cursor + "=" * (-len(cursor) % 4), altchars=b"-_", validate=True)
    except ValueError as error:
        raise _foreign() from error
    seal, place = sealed[:SEAL_BYTES], sealed[SEAL_BYTES:]
    if not constant_time_compare(seal, _seal(place, *_statement_of(rows))):
        raise _foreign()
    return rows.filter(_stands_behind(_order(rows), json.loads(place)))


def _order(rows: QuerySet[Any]) -> tuple[str, ...]:
    """The names that order the rows. An expression has none: annotate it, and order by the annotation."""
    return tuple(str(key) for key in rows.query.order_by or rows.model._meta.ordering)


def _value(row: Model, key: str) -> Any:
    return reduce(getattr, key.split("__"), row)


def _statement_of(rows: QuerySet[Any]) -> tuple[str, Sequence[Any]]:
    try:
        return rows.query.sql_with_params()
    except EmptyResultSet:
        return "nothing", ()


def _seal(place: bytes, sql: str, given: Sequence[Any]) -> bytes:
    """Return the signature of a position in the list that a statement makes.

    Dates and times are left out: many queries compare with the present moment, which differs on the next request.
    """
    # Sorted, because the order of a set of strings differs from process to process.
    conditions = sorted(repr(value) for value in given if not isinstance(value, date))
    return salted_hmac("bigmind.cursor", f"{sql}{conditions}".encode() + place, algorithm="sha256").digest()[
        :SEAL_BYTES
    ]


def _stands_behind(order: Sequence[str], values: Sequence[Any]) -> Q:
    """Return the condition for rows after these values.

    The first key also gets a bound of its own: PostgreSQL uses an index for that, but not for the `OR` alone.
    """
    further, alike = Q(pk__in=[]), Q()
    for key, value in zip(order, values, strict=True):
        further |= alike & _further(key, value)
        alike &= _is(key, value)
    # A null comes first, and rows with any value follow it: there is no bound.
    return further if values[0] is None else _not_before(order[0], values[0]) & further


def _further(key: str, value: Any) -> Q:
    # PostgreSQL sorts nulls first in descending order. No list here is ordered by an ascending key that can be null.
    name = key.removeprefix("-")
    if value is None:
        return Q(**{f"{name}__isnull": False})
    return Q(**{f"{name}__{'lt' if key.startswith('-') else 'gt'}": value})


def _not_before(key: str, value: Any) -> Q:
    return Q(**{f"{key.removeprefix('-')}__{'lte' if key.startswith('-') else 'gte'}": value})


def _is(key: str, value: Any) -> Q:
    name = key.removeprefix("-")
    return Q(**{f"{name}__isnull": True}) if value is None else Q(**{name: value})


def _foreign() -> Invalid:
    return Invalid.of("cursor", "is not one that this list gave with these arguments. Leave it out to start over")


@dataclass(frozen=True)
class Page(Generic[Item]):
    """A page of a list: `items` from `offset` on, out of `total`; `next_cursor` leads to the next, if there is one."""

    items: Sequence[Item]
    total: int
    limit: int
    offset: int
    cursor: Callable[[], str] | None = None
    """Makes the cursor of the next page. Pages of people show an offset and never ask, and it compiles a statement."""

    @property
    def next_cursor(self) -> str | None:
        """The cursor of the next page; None if this is the last."""
        return self.cursor() if self.cursor else None

    @property
    def left(self) -> int:
        """How many items follow this page."""
        return max(0, self.total - self.offset - len(self.items))

    def of(self, items: Sequence[Other]) -> "Page[Other]":
        """Return the same page with something else in the place of each item."""
        return replace(self, items=items)  # type: ignore[return-value, arg-type]


def page_of(rows: QuerySet[Row], *, limit: int, offset: int = 0, cursor: str | None = None) -> Page[Row]:
    """Return the page of `rows` that starts at `offset` or after `cursor`, with the number of all rows.

    Paging by cursor returns each row that existed all along exactly once. Paging by offset does not: a row that is
    added meanwhile pushes another onto the next page, where it appears again.

    Raises:
        Invalid: the cursor does not belong to this list, or came together with an offset.
    """
    rows = in_total_order(rows)
    total = rows.count()
    if cursor is None:
        found = rows[offset : offset + limit + 1]
    elif offset:
        raise Invalid.of("cursor", "cannot be sent together with offset. Send one of the two")
    else:
        rest = behind(cursor, rows)
        offset, found = max(0, total - rest.count()), rest[: limit + 1]
    # One extra row shows whether there is a next page. The count cannot: rows may have come or gone since.
    items = list(found)
    has_next, items = len(items) > limit, items[:limit]
    return Page(items, total, limit, offset, partial(cursor_behind, items[-1], rows) if has_next else None)


class FixedList(Generic[Row]):
    """The first page of a list, of `limit` rows, whose statements are made once in a process: call it with the values.

    It is the page that `page_of` gives. Each other limit or offset would be a statement of its own, to be kept.

    Args:
        build: Returns all rows for some values, as `FixedQuery` takes them; the order does not depend on them.
    """

    def __init__(self, build: Callable[..., QuerySet[Row]], *, limit: int) -> None:
        self._build, self.limit = build, limit
        self._order: tuple[str, ...] = ()
        self._all = FixedQuery(self._rows)
        self._first = FixedQuery(lambda *values: self._rows(*values)[: limit + 1])
        self._number = FixedQuery(self._number_of_rows)

    def __call__(self, *values: Any) -> Page[Row]:
        [(total,)] = self._number(*values)
        found = self._first(*values)
        has_next, items = len(found) > self.limit, found[: self.limit]
        return Page(items, total, self.limit, 0, partial(self._cursor_behind, items[-1], values) if has_next else None)

    def _cursor_behind(self, row: Row, values: Sequence[Any]) -> str:
        return _cursor(row, self._order, *self._all.statement(*values))

    def _rows(self, *values: Any) -> QuerySet[Row]:
        rows = in_total_order(self._build(*values))
        self._order = _order(rows)
        return rows

    def _number_of_rows(self, *values: Any) -> QuerySet[Any, Any]:
        # Not `count()`, which would ask at once. The constant makes one group of all; Django keeps it out of the SQL.
        whole = self._build(*values).order_by().annotate(whole=Value(1)).values("whole")
        number: QuerySet[Any, Any] = whole.annotate(number=Count("*")).values_list("number")
        return number


class PageShape(BaseModel, Generic[Shape]):
    """One page of a list. `total` counts all that match; ask again with a larger `offset` for more."""

    model_config = ConfigDict(from_attributes=True)

    items: list[Shape]
    total: int = Field(description="How many match in all.")
    limit: int
    offset: int

    @property
    def left(self) -> int:
        """How many items follow this page."""
        return max(0, self.total - self.offset - len(self.items))


class ListShape(PageShape[Shape], Generic[Shape]):
    """One page of a list. `total` counts all that match; ask again with `next_cursor` as `cursor` for more."""

    next_cursor: str | None = Field(description="What to send as `cursor` for the next page; null: this is the last.")
