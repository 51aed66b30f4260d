"""Airtable: its Web API (`/v0`, a personal access token), read and never written."""

from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from typing import Any
from urllib.parse import quote, urlencode

from bigmind.core.text import mention
from knowledge.app_maps.connectors.contract import ConnectorError, DiscoveredApp, DiscoveredRow, DiscoveredTable
from knowledge.app_maps.connectors.web_api import WebApi, server_of_settings

PATH = "/v0"
LIKE_ROWS = 100
_LINKS = "multipleRecordLinks"
_OF_THE_SYSTEM = {"autoNumber", "createdTime", "lastModifiedTime", "createdBy", "lastModifiedBy"}


def from_settings(*, is_hurried: bool = False) -> "Airtable | None":
    """Return the connector for the account in the settings, or None when they hold no token."""
    api = server_of_settings("Airtable", path=PATH, header="Authorization", scheme="Bearer ", is_hurried=is_hurried)
    return Airtable(api) if api else None


@dataclass(frozen=True)
class Airtable:
    """What one token of Airtable may read. Its bases are the apps."""

    api: WebApi

    @property
    def server(self) -> str:
        """Its address, without the path of the API."""
        return self.api.url.removesuffix(PATH)

    def apps(self) -> Iterator[DiscoveredApp]:
        """Yield every base that the token may read, page by page."""
        asked: dict[str, str] = {}
        while True:
            reply = self.api.ask("GET", f"meta/bases?{urlencode(asked)}")
            for base in _many(reply, "bases"):
                yield DiscoveredApp(_id(base), str(base.get("name") or _id(base)))
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
        return None if reply is None else _row(reply)

    def find_rows(
        self, app_id: str, table_id: str, field: str, value: str, *, limit: int = 5, loosely: bool = False
    ) -> list[DiscoveredRow]:
        """Return the records whose field equals the value, or begins with it: at most `limit`, none of a lost table."""
        asked = {
            "filterByFormula": _formula(field, value, loosely=loosely),
            "pageSize": LIKE_ROWS if loosely else limit,
        }
        reply = self.api.ask("GET", f"{_records(app_id, table_id)}?{urlencode(asked)}")
        rows = [_row(one) for one in _many(reply, "records")] if reply is not None else []
        return sorted(rows, key=lambda row: len(str(row.values.get(field))))[:limit]

    def _tables(self, app_id: str) -> list[DiscoveredTable] | None:
        reply = self.api.ask("GET", f"meta/bases/{quote(app_id, safe='')}/tables")
        if reply is None:
            return None
        found = _many(reply, "tables")
        names = {_id(one): str(one.get("name") or _id(one)) for one in found}
        return [DiscoveredTable(_id(one), names[_id(one)], _fields(one, names)) for one in found]


def _fields(table: Mapping[str, Any], tables: Mapping[str, str]) -> dict[str, dict[str, Any]]:
    primary = table.get("primaryFieldId")
    fields = [one for one in _many(table, "fields") if one.get("type") not in _OF_THE_SYSTEM]
    return {str(one.get("name")): _field(one, tables, is_primary=one["id"] == primary) for one in fields}


def _field(field: Mapping[str, Any], tables: Mapping[str, str], *, is_primary: bool) -> dict[str, Any]:
    about = field.get("options")
    options = about if isinstance(about, dict) else {}
    described: dict[str, Any] = {"type": str(field.get("type") or "singleLineText")}
    if is_primary:
        described["primary"] = True
    if values := [str(one.get("name")) for one in options.get("choices") or [] if isinstance(one, dict)]:
        described["values"] = values
    target = str(options.get("linkedTableId") or "")
    if described["type"] == _LINKS and target:
        described["target"] = tables.get(target, target)
    return described


def _formula(field: str, value: str, *, loosely: bool) -> str:
    """Return a condition in the language of Airtable's formulas, in which no text can end its quotation."""
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


def _row(record: Any) -> DiscoveredRow:
    fields = record.get("fields") if isinstance(record, dict) else None
    if not isinstance(fields, dict):
        raise _strange()
    return DiscoveredRow(_id(record), fields)


def _many(reply: Any, name: str) -> list[dict[str, Any]]:
    items = reply.get(name) if isinstance(reply, dict) else None
    if not isinstance(items, list) or not all(isinstance(one, dict) and one.get("id") for one in items):
        raise _strange()
    return items


def _id(thing: Mapping[str, Any]) -> str:
    if not thing.get("id"):
        raise _strange()
    return str(thing["id"])


def _strange() -> ConnectorError:
    return ConnectorError("What answers is not Airtable's API. Look at BIGMIND_AIRTABLE_URL.")
