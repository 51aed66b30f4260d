"""Airtable: its Web API (`/v0`, a personal access token), read-only."""

from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from typing import Any
from urllib.parse import quote, urlencode

from bigmind.core.text import mention
from knowledge.app_maps.connectors.contract import ConnectorError, DiscoveredApp, DiscoveredRow, DiscoveredTable
from knowledge.app_maps.connectors.web_api import PAGES, WebConnector, describe_field, mapping_in, objects_in

LIKE_ROWS = 100
_LINKS = "multipleRecordLinks"
_OF_THE_SYSTEM = {"autoNumber", "createdTime", "lastModifiedTime", "createdBy", "lastModifiedBy"}


@dataclass(frozen=True)
class Airtable(WebConnector):
    """What one token of Airtable may read. Its bases are the apps."""

    system = "Airtable"
    path = "/v0"
    header = "Authorization"
    scheme = "Bearer "

    def apps(self) -> Iterator[DiscoveredApp]:
        """Yield every base that the token may read, page by page."""
        asked: dict[str, str] = {}
        for _ in range(PAGES):
            reply = self.api.ask("GET", f"meta/bases?{urlencode(asked)}")
            for base in self._objects(reply, "bases"):
                yield DiscoveredApp(self._id(base), str(base.get("name") or self._id(base)))
            following = reply.get("offset") if isinstance(reply, dict) else None
            if not following or asked.get("offset") == following:
                return
            asked = {"offset": str(following)}

    def tables(self, app_id: str) -> Iterator[DiscoveredTable]:
        """Yield the tables of a base. Airtable sends their schemas along, all in one answer."""
        tables = self._tables(app_id)
        if tables is None:
            raise ConnectorError(f"Airtable has no base {mention(app_id)} that the token may read.")
        yield from tables

    def table(self, app_id: str, table_id: str) -> DiscoveredTable | None:
        """Return one table, or None when it is gone. The API tells all tables of a base at once."""
        return next((one for one in self._tables(app_id) or [] if one.table_id == table_id), None)

    def row(self, app_id: str, table_id: str, row_id: str) -> DiscoveredRow | None:
        """Return one record, or None when it is gone."""
        reply = self.api.ask("GET", f"{_records(app_id, table_id)}/{quote(row_id, safe='')}")
        return None if reply is None else self._row(reply)

    def find_rows(
        self, app_id: str, table_id: str, field: str, value: str, *, limit: int = 5, loosely: bool = False
    ) -> list[DiscoveredRow]:
        """Return the records whose field equals the value, or begins with it: at most `limit`, none of a lost table."""
        asked = {
            "filterByFormula": _formula(field, value, loosely=loosely),
            "pageSize": LIKE_ROWS if loosely else limit,
        }
        reply = self.api.ask("GET", f"{_records(app_id, table_id)}?{urlencode(asked)}")
        rows = [self._row(one) for one in self._objects(reply, "records")] if reply is not None else []
        # The value itself before what only begins with it.
        return sorted(rows, key=lambda row: len(str(row.values.get(field))))[:limit]

    def _tables(self, app_id: str) -> list[DiscoveredTable] | None:
        reply = self.api.ask("GET", f"meta/bases/{quote(app_id, safe='')}/tables")
        if reply is None:
            return None
        found = self._objects(reply, "tables")
        names = {self._id(one): str(one.get("name") or self._id(one)) for one in found}
        return [DiscoveredTable(self._id(one), names[self._id(one)], self._fields(one, names)) for one in found]

    def _fields(self, table: Mapping[str, Any], tables: Mapping[str, str]) -> dict[str, dict[str, Any]]:
        primary = table.get("primaryFieldId")
        fields = [one for one in self._objects(table, "fields") if str(one.get("type")) not in _OF_THE_SYSTEM]
        return {str(one.get("name")): _field(one, tables, is_primary=self._id(one) == primary) for one in fields}


def _field(field: Mapping[str, Any], tables: Mapping[str, str], *, is_primary: bool) -> dict[str, Any]:
    options = mapping_in(field, "options")
    kind = str(field.get("type") or "singleLineText")
    target = str(options.get("linkedTableId") or "") if kind == _LINKS else ""
    return describe_field(
        kind,
        is_primary=is_primary,
        values=[str(one.get("name")) for one in objects_in(options, "choices")],
        target=tables.get(target, target),
    )


def _formula(field: str, value: str, *, loosely: bool) -> str:
    """Return a condition in the language of Airtable's formulas, in which no text can end its quotation."""
    # `& ""` makes a text of any value; a number or a list would equal none.
    name = "{" + _escape(field, "}") + "}"
    if loosely:
        return f'LEFT(LOWER({name} & ""), {len(value.lower())}) = {_enclose(value.lower())}'
    return f'EXACT({name} & "", {_enclose(value)})'


def _enclose(text: str) -> str:
    return '"' + _escape(text, '"') + '"'


def _escape(text: str, end: str) -> str:
    return text.replace("\\", "\\\\").replace(end, f"\\{end}")


def _records(app_id: str, table_id: str) -> str:
    return f"{quote(app_id, safe='')}/{quote(table_id, safe='')}"
