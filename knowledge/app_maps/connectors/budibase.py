"""Budibase: its public API (`/api/public/v1`, key in `x-budibase-api-key`), read-only."""

from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from typing import Any
from urllib.parse import quote

from bigmind.core.text import mention
from knowledge.app_maps.connectors.contract import ConnectorError, DiscoveredApp, DiscoveredRow, DiscoveredTable
from knowledge.app_maps.connectors.web_api import PAGES, WebConnector, describe_field, mapping_in

PAGE_ROWS = 100
_WITH_VALUES = {"options", "array"}


@dataclass(frozen=True)
class Budibase(WebConnector):
    """One Budibase server."""

    system = "Budibase"
    path = "/api/public/v1"
    header = "x-budibase-api-key"
    id_field = "_id"

    def apps(self) -> Iterator[DiscoveredApp]:
        """Yield every app once: the published version if there is one, else the one in development."""
        found = {str(one["_id"]): str(one.get("name") or one["_id"]) for one in self._all("applications/search", {})}
        for app_id, name in found.items():
            # The two copies of an app have two ids, which differ by this alone.
            if app_id.replace("app_dev_", "app_", 1) == app_id or app_id.replace("app_dev_", "app_", 1) not in found:
                yield DiscoveredApp(app_id, name)

    def tables(self, app_id: str) -> Iterator[DiscoveredTable]:
        """Yield the tables of an app. Budibase sends their schemas along."""
        found = list(self._all("tables/search", {}, app_id=app_id))
        for table in found:
            yield _table(table, found)

    def table(self, app_id: str, table_id: str) -> DiscoveredTable | None:
        """Return one table, or None when it is gone. What its links lead to costs a second call, where it has any."""
        reply = self.api.ask("GET", f"tables/{quote(table_id, safe='')}", headers=_of_app(app_id))
        if reply is None:
            return None
        found = self._one(reply)
        links = any(_type(known) == "link" for known in _schema(found).values())
        return _table(found, list(self._all("tables/search", {}, app_id=app_id)) if links else [])

    def row(self, app_id: str, table_id: str, row_id: str) -> DiscoveredRow | None:
        """Return one row, or None when it is gone."""
        path = f"tables/{quote(table_id, safe='')}/rows/{quote(row_id, safe='')}"
        reply = self.api.ask("GET", path, headers=_of_app(app_id))
        return None if reply is None else self._row(self._one(reply))

    def find_rows(
        self, app_id: str, table_id: str, field: str, value: str, *, limit: int = 5, loosely: bool = False
    ) -> list[DiscoveredRow]:
        """Return the rows whose field equals the value, or begins with it: at most `limit`, none of a lost table."""
        path = f"tables/{quote(table_id, safe='')}/rows/search"
        asked = {
            "query": {"string" if loosely else "equal": {field: value}},
            # The value itself before what only begins with it.
            "sort": {"column": field, "order": "ascending", "type": "string"},
            "paginate": True,
            "limit": min(limit, PAGE_ROWS),
        }
        found = []
        for row in self._all(path, asked, app_id=app_id, may_be_gone=True):
            found.append(self._row(row))
            if len(found) >= limit:
                break
        return found

    def _all(
        self, path: str, asked: Mapping[str, Any], *, app_id: str = "", may_be_gone: bool = False
    ) -> Iterator[dict[str, Any]]:
        """Yield what a search finds, page by page, for as long as the answer says that there is another."""
        bookmark: str | int | None = None
        for _ in range(PAGES):
            body = {**asked, **({"bookmark": bookmark} if bookmark is not None else {})}
            reply = self.api.ask("POST", path, json=body, headers=_of_app(app_id))
            if reply is None:
                if may_be_gone:
                    return
                raise ConnectorError(
                    f"Budibase has no app {mention(app_id)}." if app_id else "Budibase cannot list its apps."
                )
            yield from self._objects(reply, "data")
            following = reply.get("bookmark")
            if not reply.get("hasNextPage") or following in (None, bookmark):
                return
            bookmark = following

    def _one(self, reply: Any) -> dict[str, Any]:
        return self._objects({"data": [reply.get("data")]} if isinstance(reply, dict) else reply, "data")[0]

    def _row(self, record: Any) -> DiscoveredRow:
        """Return a record, whose values stand beside its id."""
        return DiscoveredRow(self._id(record), record)


def _of_app(app_id: str) -> dict[str, str]:
    return {"x-budibase-app-id": app_id} if app_id else {}


def _schema(found: Mapping[str, Any]) -> dict[str, dict[str, Any]]:
    return {name: known for name, known in mapping_in(found, "schema").items() if isinstance(known, dict)}


def _type(known: Mapping[str, Any]) -> str:
    return str(known.get("type") or "string")


def _table(found: Mapping[str, Any], others: list[dict[str, Any]]) -> DiscoveredTable:
    by_id = {str(other["_id"]): other for other in others}
    fields = {
        name: _field(known, by_id, is_primary=name == found.get("primaryDisplay"))
        for name, known in _schema(found).items()
        # Fields that Budibase fills in itself are of no use for writing a row.
        if not known.get("autocolumn") and not name.startswith("_")
    }
    return DiscoveredTable(str(found["_id"]), str(found.get("name") or found["_id"]), fields)


def _field(known: Mapping[str, Any], tables: Mapping[str, Mapping[str, Any]], *, is_primary: bool) -> dict[str, Any]:
    kind = _type(known)
    values = mapping_in(known, "constraints").get("inclusion") if kind in _WITH_VALUES else None
    target = str(known.get("tableId") or "") if kind == "link" else ""
    linked = tables.get(target, {})
    described = describe_field(
        kind,
        is_primary=is_primary,
        values=[str(value) for value in values] if isinstance(values, list) else [],
        target=str(linked.get("name") or target),
    )
    return described | ({"display": str(linked["primaryDisplay"])} if linked.get("primaryDisplay") else {})
