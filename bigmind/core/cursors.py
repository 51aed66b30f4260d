"""Cursors: where a page of a list ended, so that the next page starts right after it even if rows come or go meanwhile.

A cursor holds the sort keys of the last row of the page, and a signature. The signature also covers the query, with the
user in its filters: a cursor works only for the list that issued it, with the same filters.
"""

import json
from base64 import b64decode, urlsafe_b64encode
from collections.abc import Sequence
from datetime import date
from functools import reduce
from typing import Any, TypeVar

from django.core.exceptions import EmptyResultSet
from django.db.models import Model, Q, QuerySet
from django.utils.crypto import constant_time_compare, salted_hmac

from bigmind.core.errors import Invalid

Row = TypeVar("Row", bound=Model)

SEAL_BYTES = 12


def in_total_order(rows: QuerySet[Row]) -> QuerySet[Row]:
    """Return the rows ordered without ties: the primary key decides where their own order leaves some."""
    order = _order(rows)
    return rows if order[-1:] and order[-1].lstrip("-") in {"pk", "id"} else rows.order_by(*order, "pk")


def cursor_behind(row: Row, rows: QuerySet[Row]) -> str:
    """Return the cursor of the page that begins after `row`."""
    keys = [_value(row, key.lstrip("-")) for key in _order(rows)]
    place = json.dumps(keys, default=str, ensure_ascii=False, separators=(",", ":")).encode()
    return urlsafe_b64encode(_seal(place, rows) + place).decode().rstrip("=")


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
    if not constant_time_compare(seal, _seal(place, rows)):
        raise _foreign()
    return rows.filter(_stands_behind(_order(rows), json.loads(place)))


def _order(rows: QuerySet[Any]) -> tuple[str, ...]:
    """The names that order the rows. An expression has none: annotate it, and order by the annotation."""
    return tuple(str(key) for key in rows.query.order_by or rows.model._meta.ordering)


def _value(row: Model, key: str) -> Any:
    return reduce(getattr, key.split("__"), row)


def _seal(place: bytes, rows: QuerySet[Any]) -> bytes:
    """Return the signature of a position in a list.

    Dates and times are left out: many queries compare with the present moment, which differs on the next request.
    """
    try:
        sql, given = rows.query.sql_with_params()
    except EmptyResultSet:
        sql, given = "nothing", ()
    # Sorted, because the order of a set of strings differs from process to process.
    asked = sorted(repr(value) for value in given if not isinstance(value, date))
    return salted_hmac("bigmind.cursor", f"{sql}{asked}".encode() + place, algorithm="sha256").digest()[:SEAL_BYTES]


def _stands_behind(order: Sequence[str], values: Sequence[Any]) -> Q:
    """Return the condition for rows after these values.

    The first key also gets a bound of its own: PostgreSQL uses an index for that, but not for the `OR` alone.
    """
    further, alike = Q(pk__in=[]), Q()
    for key, value in zip(order, values, strict=True):
        further |= alike & _further(key, value)
        alike &= _is(key, value)
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
