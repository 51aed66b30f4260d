"""Statements whose plans a session of PostgreSQL keeps: planning one takes longer than answering it (decision 71)."""

from collections.abc import Callable, Iterable, Sequence
from datetime import date, datetime
from typing import Any
from uuid import UUID

import psycopg
import structlog
from psycopg import Error, ProgrammingError
from psycopg.adapt import Dumper

MOST_KEPT = 50
"""How many statements a session keeps at most: each takes some 250 KB in its process of PostgreSQL."""

JOINS_IN_ORDER = "/* joins in order */ "
"""What a statement begins with that names its tables in the order in which they are best read: with a dozen of them,
PostgreSQL takes ten times as long to try other orders as to answer."""

_TYPES: dict[type, str] = {UUID: "uuid", datetime: "timestamptz", date: "date"}
"""The types that PostgreSQL gives the literals of values; a text is of the type that its place asks for."""

log = structlog.get_logger(__name__)


class Repeated(str):
    """A statement that is asked time and again with other values. Make one of it in a process, and keep it.

    Attributes:
        changing: The places of the parameters that change; the others are part of what is planned, so two statements of
            one text are not the same.
    """

    changing: tuple[int, ...]

    def __new__(cls, sql: str, changing: tuple[int, ...] = ()) -> "Repeated":
        """Make one of its SQL."""
        statement = super().__new__(cls, sql)
        statement.changing = changing
        return statement

    __eq__, __ne__ = object.__eq__, object.__ne__
    __hash__ = object.__hash__


Statement = tuple[str, Sequence[Any]]
"""A statement with its parameters."""


class Together(str):
    """Several statements which are sent in one message: they are one transaction."""

    parts: Sequence[Statement]

    def __new__(cls, parts: Sequence[Statement]) -> "Together":
        """Make one of the statements."""
        statement = super().__new__(cls, ";".join([sql for sql, _ in parts]))
        statement.parts = parts
        return statement

    def as_one(self, call: Callable[..., tuple[str, tuple[Any, ...]]] | None = None) -> tuple[str, list[Any]]:
        """Return what to send, with all parameters.

        Args:
            call: Returns what is sent for a statement that is repeated.
        """
        parts = [call(*part) if call and isinstance(part[0], Repeated) else part for part in self.parts]
        return ";".join([sql for sql, _ in parts]), [value for _, values in parts for value in values]


class KeptPlans:
    """The statements that one session keeps, by name, and those that are due. An empty name: one is not kept.

    Attributes:
        due: The statements that are to be prepared, with the types of their parameters and all that does not change.
    """

    def __init__(self) -> None:
        self._seen: set[Repeated] = set()
        self._names: dict[Repeated, str] = {}
        self.due: dict[Repeated, tuple[list[str], list[Any]]] = {}

    def call(self, statement: Repeated, parameters: tuple[Any, ...]) -> tuple[str, tuple[Any, ...]]:
        """Return what to send, with its parameters: EXECUTE and the name of a kept statement, else the statement.

        A statement that is asked for the second time becomes due.
        """
        values = tuple(map(parameters.__getitem__, statement.changing))
        if (name := self._names.get(statement)) and (int not in set(map(type, values)) or _are_sendable(values)):
            places = f" ({', '.join(['%s'] * len(values))})" if values else ""
            # `DatabaseWrapper.statements_before` looks for this at the beginning of what is sent.
            first = JOINS_IN_ORDER if statement.startswith(JOINS_IN_ORDER) else ""
            return f"{first}EXECUTE {name}{places}", values
        if statement not in self._seen:
            self._seen.add(statement)
        elif name is None and statement not in self.due and len(self._names) + len(self.due) < MOST_KEPT:
            self.due[statement] = _without_values(statement, parameters)
        return statement, parameters

    def forget(self, statement: "Repeated | Together") -> None:
        """Ask a statement as it is from now on, or each of several: PostgreSQL has refused what it keeps of it."""
        # Empty, and not taken out: what has no entry here is prepared again.
        several = [one for one, _ in statement.parts] if isinstance(statement, Together) else [statement]
        self._names |= {one: "" for one in several if isinstance(one, Repeated)}

    def prepare(self, execute: Callable[[str, tuple[Any, ...]], Any]) -> None:
        """Prepare what is due, outside of transactions: one that cannot be prepared would end it.

        PostgreSQL plans the first five calls for their values. From then on it keeps a plan for any, unless those were
        much cheaper.
        """
        while self.due:
            statement, (types, given) = self.due.popitem()
            self._names[statement] = name = f"kept_{len(self._names)}"
            declared = f" ({', '.join(types)})" if types else ""
            try:
                execute(f"PREPARE {name}{declared} AS {statement}", tuple(given))
            except Error as error:
                self.forget(statement)
                log.warning("A statement cannot be prepared.", reason=str(error), statement=statement[:200])
                if not isinstance(error, ProgrammingError):
                    # A table is locked, or the server has gone. The statement that comes next must not wait for each of
                    # those that are due.
                    return


def _without_values(statement: Repeated, parameters: tuple[Any, ...]) -> tuple[list[str], list[Any]]:
    """Return the types of the values that change, and the parameters with a place for each: no value is kept."""
    given = list(parameters)
    for number, at in enumerate(statement.changing, start=1):
        given[at] = _Place(number)
    return [_type_of(parameters[at]) for at in statement.changing], given


class _Place:
    """Where a prepared statement takes a value."""

    def __init__(self, number: int) -> None:
        self.number = number


class _PlaceDumper(Dumper):
    def dump(self, obj: _Place) -> bytes:
        return b"$%d" % obj.number

    def quote(self, obj: _Place) -> bytes:
        return self.dump(obj)


psycopg.adapters.register_dumper(_Place, _PlaceDumper)


def _are_sendable(values: Iterable[Any]) -> bool:
    """Whether all have the type of their place: a number beyond it is refused there, where a literal is found nowhere.

    A plain loop: every kept statement pays for it.
    """
    for value in values:  # noqa: SIM110
        if isinstance(value, int) and abs(value) >= 2**63:
            return False
    return True


def _type_of(value: Any) -> str:
    if isinstance(value, int):
        return "bigint"
    return next((name for kind, name in _TYPES.items() if isinstance(value, kind)), "unknown")
