"""The interface of a connector: the apps, tables, schemas and rows of one outside system, read-only.

Another system is another small file that offers a `Connector` and one row in `__init__.py` beside it.
"""

from collections.abc import Iterator, Mapping
from dataclasses import dataclass, field
from typing import Any, Protocol


class ConnectorError(Exception):
    """The outside system could not be read. The text says what happened and what to do next, for people and agents."""


class RequestRefusedError(ConnectorError):
    """The outside system does not accept this one request, such as a search in a computed field."""


@dataclass(frozen=True)
class DiscoveredApp:
    """One app of the outside system, under its own id."""

    app_id: str
    name: str


@dataclass(frozen=True)
class DiscoveredTable:
    """One table of an app.

    Attributes:
        fields: Of each field, what an app map keeps: `type`, and where they apply `primary`, `values`, `target` (the
            name of the table it links to) and `display`. Empty where the system was asked for names alone.
    """

    table_id: str
    name: str
    fields: Mapping[str, Mapping[str, Any]] = field(default_factory=dict)


@dataclass(frozen=True)
class DiscoveredRow:
    """One row of a table: its id and its values as the system gives them."""

    row_id: str
    values: Mapping[str, Any]


class Connector(Protocol):
    """One outside system that can be read. Every method raises `ConnectorError` when the system cannot answer."""

    @property
    def server(self) -> str:
        """The address that ids of its apps belong to, as people write it."""

    def apps(self) -> Iterator[DiscoveredApp]:
        """Yield every app, however many pages the system needs for them."""

    def tables(self, app_id: str) -> Iterator[DiscoveredTable]:
        """Yield the tables of one app, with their schemas where the system sends them along."""

    def table(self, app_id: str, table_id: str) -> DiscoveredTable | None:
        """Return one table with its schema, or None when it is gone."""

    def row(self, app_id: str, table_id: str, row_id: str) -> DiscoveredRow | None:
        """Return one row, or None when it is gone."""

    def find_rows(
        self, app_id: str, table_id: str, field: str, value: str, *, limit: int = 5, loosely: bool = False
    ) -> list[DiscoveredRow]:
        """Return the rows whose field equals the value, at most `limit`; `loosely`: or begins with it, in any case."""
