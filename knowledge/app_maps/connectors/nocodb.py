"""NocoDB: bases and tables by its meta API (v2), records by its data API (v3), token in `xc-token`, read-only."""

from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from typing import Any
from urllib.parse import quote, urlencode

from bigmind.core.text import mention
from knowledge.app_maps.connectors.contract import ConnectorError, DiscoveredApp, DiscoveredRow, DiscoveredTable
from knowledge.app_maps.connectors.web_api import PAGES, WebConnector, describe_field, mapping_in, objects_in

QUOTES = ('"', "'", "`")
LIKE_ROWS = 100
_OF_THE_SYSTEM = {"ID", "CreatedTime", "LastModifiedTime", "CreatedBy", "LastModifiedBy", "Order", "ForeignKey"}
_LINKS = {"Links", "LinkToAnotherRecord"}


@dataclass(frozen=True)
class NocoDB(WebConnector):
    """One NocoDB server, self-hosted or in the cloud. Its bases are the apps."""

    system = "NocoDB"
    path = "/api"
    header = "xc-token"

    def apps(self) -> Iterator[DiscoveredApp]:
        """Yield every base: those of the server, or of each workspace where it has any."""
        bases = self._all("v2/meta/bases/")
        if bases is None:
            spaces = self._all("v2/meta/workspaces") or []
            bases = [one for space in spaces for one in self._all(f"v2/meta/workspaces/{self._id(space)}/bases") or []]
        yield from (DiscoveredApp(self._id(one), _title(one)) for one in bases if not one.get("deleted"))

    def tables(self, app_id: str) -> Iterator[DiscoveredTable]:
        """Yield the tables of a base, with one call for the schema of each."""
        titles = self._titles(app_id)
        if titles is None:
            raise ConnectorError(f"NocoDB has no base {mention(app_id)}.")
        schemas = (self._schema(table_id, titles) for table_id in titles)
        yield from (found for found in schemas if found)

    def table(self, app_id: str, table_id: str) -> DiscoveredTable | None:
        """Return one table, or None when it is gone, with the names of the tables that it links to."""
        return self._schema(table_id, self._titles(app_id) or {})

    def row(self, app_id: str, table_id: str, row_id: str) -> DiscoveredRow | None:
        """Return one record, or None when it is gone."""
        reply = self.api.ask("GET", f"{_records(app_id, table_id)}/{quote(row_id, safe='')}")
        return None if reply is None else self._row(reply)

    def find_rows(
        self, app_id: str, table_id: str, field: str, value: str, *, limit: int = 5, loosely: bool = False
    ) -> list[DiscoveredRow]:
        """Return the records whose field equals the value, or begins with it: at most `limit`, none of a lost table."""
        where = {"where": _where(field, value, loosely=loosely), "pageSize": LIKE_ROWS}
        reply = self.api.ask("GET", f"{_records(app_id, table_id)}?{urlencode(where)}")
        rows = [self._row(one) for one in self._objects(reply, "records")] if reply is not None else []
        # What is asked for may be wider than what is wanted: `_` and `%` in a value stand for anything.
        told = [(str(row.values.get(field) or ""), row) for row in rows]
        fit = [(text, row) for text, row in told if text == value or (loosely and _begins(text, value))]
        return [row for _, row in sorted(fit, key=lambda pair: len(pair[0]))][:limit]

    def _titles(self, app_id: str) -> dict[str, str] | None:
        """The names of the tables of a base by their ids, without those that only join others."""
        tables = self._all(f"v2/meta/bases/{quote(app_id, safe='')}/tables")
        return None if tables is None else {self._id(one): _title(one) for one in tables if not one.get("mm")}

    def _all(self, path: str) -> list[dict[str, Any]] | None:
        """Return all of a list, however many pages it has; None where there is no such thing."""
        found: list[dict[str, Any]] = []
        for _ in range(PAGES):
            reply = self.api.ask("GET", f"{path}?{urlencode({'limit': LIKE_ROWS, 'offset': len(found)})}")
            if reply is None:
                return None
            page = self._objects(reply, "list")
            found += page
            about = mapping_in(reply, "pageInfo")
            total = about.get("totalRows")
            is_whole = not isinstance(total, int) or len(found) >= total
            if not page or is_whole or about.get("isLastPage", True):
                break
        return found

    def _schema(self, table_id: str, titles: Mapping[str, str]) -> DiscoveredTable | None:
        found = self.api.ask("GET", f"v2/meta/tables/{quote(table_id, safe='')}")
        if found is None:
            return None
        columns = [one for one in self._objects(found, "columns") if not one.get("system")]
        fields = {_title(one): _field(one, titles) for one in columns if str(one.get("uidt")) not in _OF_THE_SYSTEM}
        return DiscoveredTable(self._id(found), _title(found), fields)


def _field(column: Mapping[str, Any], titles: Mapping[str, str]) -> dict[str, Any]:
    options = mapping_in(column, "colOptions")
    kind = str(column.get("uidt") or "SingleLineText")
    target = str(options.get("fk_related_model_id") or "") if kind in _LINKS else ""
    return describe_field(
        kind,
        is_primary=column.get("pv"),
        values=[_title(one) for one in objects_in(options, "options")],
        target=titles.get(target, target),
    )


def _where(field: str, value: str, *, loosely: bool) -> str:
    """Return a condition, with its texts in quotes. A text that has all three of them is searched by a pattern."""
    wanted = value.replace("\\", "_")
    if all(mark in wanted for mark in QUOTES):
        wanted = wanted.replace(QUOTES[0], "_")
    operator = "like" if loosely or wanted != value else "eq"
    return f"({_enclose(field)},{operator},{_enclose(wanted + '%' * loosely)})"


def _enclose(text: str) -> str:
    mark = next((mark for mark in QUOTES if mark not in text), QUOTES[0])
    return f"{mark}{text}{mark}"


def _begins(text: str, value: str) -> bool:
    return text.casefold().startswith(value.casefold())


def _records(app_id: str, table_id: str) -> str:
    return f"v3/data/{quote(app_id, safe='')}/{quote(table_id, safe='')}/records"


def _title(thing: Mapping[str, Any]) -> str:
    return str(thing.get("title") or thing.get("id") or "")
