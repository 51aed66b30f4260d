"""Queries of Django's whose SQL is made once in a process: making it takes longer than PostgreSQL takes to answer it.

Sessions of PostgreSQL keep their plans (`bigmind/database/postgresql/kept_plans.py`).

A query is built by a function of its values. The first time it is built with marks in their place, and compiled; from
then on the values are put where the marks were. What the SQL depends on besides, such as whether a value is empty, is
part of what it is known by.
"""

from collections.abc import Callable, Mapping, Sequence
from copy import copy
from dataclasses import dataclass
from datetime import UTC, date, datetime, timedelta
from functools import cache, partial
from operator import itemgetter
from typing import Any
from uuid import UUID

from django.db import connections
from django.db.models import Field, ForeignObject, Lookup, QuerySet
from django.db.models.query import ValuesListIterable

from bigmind.database.postgresql.kept_plans import JOINS_IN_ORDER, Repeated, Together


@ForeignObject.register_lookup
@Field.register_lookup
class AnyOf(Lookup):
    """`id__any_of=[1, 2]`: as `in`, but one parameter however many there are. An `ArraySubquery` is asked first."""

    lookup_name = "any_of"
    prepare_rhs = False

    def as_sql(self, compiler: Any, connection: Any) -> tuple[str, list[Any]]:  # type: ignore[override]
        """Return the comparison with an array."""
        column, parameters = self.process_lhs(compiler, connection)
        array, given = self.process_rhs(compiler, connection) if hasattr(self.rhs, "as_sql") else ("%s", [self.rhs])
        return f"{column} = ANY({array})", [*parameters, *given]


_FIRST_MARK = 7_700_770_077_000
_NEAR = timedelta(days=3650)
"""Moments may be computed from a value, such as thirty days before it: what lies this near to a mark is made of it. The
marks lie fifty years apart."""
_MARKS: dict[type, Callable[[int], Any]] = {
    int: lambda at: _FIRST_MARK + at,
    str: lambda at: f"mark {_FIRST_MARK + at}",
    UUID: lambda at: UUID(int=_FIRST_MARK + at),
    datetime: lambda at: datetime(100 + 50 * at, 1, 1, tzinfo=UTC),
    list: lambda at: [f"mark {_FIRST_MARK + at}"],
}
"""What stands for a value of each type: nothing that occurs."""

Values = Sequence[Any]
Build = Callable[..., QuerySet[Any, Any]]


class FixedQuery:
    """A query that is compiled once for each form of its values; call it with them, and it returns its rows.

    Args:
        build: Returns the query for these values. Each must reach the SQL as it is: not within a pattern of LIKE, a
            list of IN, or a LIMIT; but a slice may begin at one. The present moment must be one of them.
        joins_in_order: Whether the tables are best read in the order in which the query names them.
        keeps_plan: Whether sessions of PostgreSQL keep its plan. Searches are faster without (decision 91).
    """

    def __init__(self, build: Build, *, joins_in_order: bool = False, keeps_plan: bool = True) -> None:
        self._compiled = cache(partial(_Compiled, build, JOINS_IN_ORDER if joins_in_order else "", keeps_plan))

    def __call__(self, *values: Any) -> list[Any]:
        return self._compiled(*_forms_of(values)).rows(values)

    def compile(self, *values: Any) -> "_Compiled":
        """Return the form of the query that these values have."""
        return self._compiled(*_forms_of(values))

    def statement(self, *values: Any) -> tuple[Repeated, tuple[Any, ...]]:
        """Return the SQL for these values, of which sessions keep the plan, with its parameters; ask nothing."""
        made = self.compile(*values)
        assert isinstance(made.sql, Repeated)
        return made.sql, made.parameters(values)


Asked = tuple[FixedQuery, Values]
"""A query with its values."""


def ask_together(*asked: Asked) -> list[list[Any]]:
    """Ask several queries in one message to the database; return the rows of each."""
    made = [query.compile(*values) for query, values in asked]
    statements = [(one.sql, one.parameters(values)) for one, (_, values) in zip(made, asked, strict=True)]
    with connections[made[0].queryset.db].cursor() as cursor:
        cursor.execute(Together(statements))
        rows = [cursor.fetchall()]
        while cursor.nextset():
            rows.append(cursor.fetchall())
    return [one.read(some) for one, some in zip(made, rows, strict=True)]


def pad(values: Sequence[str]) -> list[str]:
    """Return values with the last repeated up to a power of two.

    Where a query takes any number of them, and one twice means the same as once, it has few forms then.
    """
    padded = list(values)
    return padded + padded[-1:] * (2 ** (len(padded) - 1).bit_length() - len(padded)) if padded else padded


def _forms_of(values: Values) -> list[Any]:
    """Return the types of values that may change from call to call; those that the SQL may depend on, as they are."""
    return [(type(value) if value else _EMPTY[type(value)]) if type(value) in _MARKS else value for value in values]


@dataclass(frozen=True)
class _Empty:
    """The empty value of a type: 0 and False are equal, and a list has no hash."""

    kind: type


_EMPTY = {kind: _Empty(kind) for kind in _MARKS}


class _Compiled:
    """One form of a query: its SQL, and where each of its parameters comes from."""

    def __init__(self, build: Build, prefix: str, keeps_plan: bool, *form: Any) -> None:
        marks = {at: _MARKS[kind](at) for at, kind in enumerate(form) if isinstance(kind, type)}
        self.queryset = build(
            *(one.kind() if isinstance(one, _Empty) else marks.get(at, one) for at, one in enumerate(form))
        )
        self._compiler = self.queryset.query.get_compiler(self.queryset.db)
        sql, parameters = self._compiler.as_sql()
        self._converters: Any = None
        used: set[int] = set()
        sources = [_source_of(parameter, marks, used) for parameter in parameters]
        self._constants = [*parameters]
        begins = next((at for at, mark in marks.items() if sql.endswith(f" OFFSET {mark}")), None)
        if begins is not None:
            # Django writes it into the SQL.
            sql = f"{sql.removesuffix(str(marks[begins]))}%s"
            sources.append(itemgetter(begins))
            self._constants.append(None)
            used.add(begins)
        columns = [column for column, *_ in self._compiler.select]
        # What the database returns is what is asked for: nothing is left for Django to do.
        is_listed = self.queryset._iterable_class is ValuesListIterable
        self._is_plain = is_listed and not self._compiler.get_converters(columns)
        self._sources = [(place, source) for place, source in enumerate(sources) if source]
        sql = f"{prefix}{sql}"
        self.sql = Repeated(sql, tuple(place for place, _ in self._sources)) if keeps_plan else sql
        if missing := marks.keys() - used:
            raise TypeError(f"values {sorted(missing)} do not reach the statement as they are")

    def parameters(self, values: Values) -> tuple[Any, ...]:
        """Return the parameters of the SQL for these values."""
        parameters = [*self._constants]
        for place, source in self._sources:
            parameters[place] = source(values)
        return tuple(parameters)

    def rows(self, values: Values) -> list[Any]:
        """Ask the query with these values."""
        with connections[self.queryset.db].cursor() as cursor:
            cursor.execute(self.sql, self.parameters(values))
            rows = cursor.fetchall()
        return self.read(rows) if rows and not self._is_plain else rows

    def read(self, rows: list[Any]) -> list[Any]:
        """Return what the query returns where these rows are the answer of the database."""
        if self._is_plain:
            return rows
        made = self.queryset
        # Copies: threads share what was compiled, and each has a connection of its own.
        compiler: Any = copy(self._compiler)
        query: Any = copy(made.query)
        compiler.connection = connections[made.db]
        compiler.execute_sql = lambda *_, **__: [rows]
        compiler.get_converters = self._get_converters
        query.get_compiler = lambda *_, **__: compiler
        asked: Any = QuerySet(made.model, query, made.db)
        asked._iterable_class = made._iterable_class
        asked._fields = made._fields  # type: ignore[attr-defined]
        return list(asked)

    def _get_converters(self, columns: Sequence[Any]) -> Any:
        if self._converters is None:
            self._converters = self._compiler.__class__.get_converters(self._compiler, columns)
        return self._converters


def _source_of(parameter: Any, marks: Mapping[int, Any], used: set[int]) -> Callable[[Values], Any] | None:
    """Return what makes a parameter of the values, or None. Moments may stand before or after one of them."""
    at = next((at for at, mark in marks.items() if _is_made_of(parameter, mark)), None)
    if at is None:
        if isinstance(parameter, date):
            raise TypeError("the present moment would be kept with the statement: it must be one of the values")
        return None
    used.add(at)
    mark, kind = marks[at], type(parameter)
    if kind is type(mark) and parameter == mark:
        return itemgetter(at)
    if kind is datetime:
        return lambda values: values[at] + (parameter - mark)
    if kind is date:
        return lambda values: values[at].date() + (parameter - mark.date())
    # Numbers say to psycopg how long they are by their type.
    return (lambda values: kind(values[at])) if isinstance(mark, int) else itemgetter(at)


def _is_made_of(parameter: Any, mark: Any) -> bool:
    if isinstance(mark, datetime) and isinstance(parameter, date):
        day = parameter.date() if isinstance(parameter, datetime) else parameter
        return abs(day - mark.date()) < _NEAR
    return isinstance(parameter, type(mark)) and bool(parameter == mark)
