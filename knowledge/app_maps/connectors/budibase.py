"""Budibase: its public API (`/api/public/v1`, key in `x-budibase-api-key`), read-only."""

from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from typing import Any, Self
from urllib.parse import quote

from django.conf import settings

from bigmind.text.hygiene import mention
from knowledge.app_maps.connectors.contract import ConnectorError, DiscoveredApp, DiscoveredRow, DiscoveredTable
from knowledge.app_maps.connectors.web_api import WebApi

PATH = "/api/public/v1"
PAGE_ROWS = 100
PAGES = 1_000
"""How many pages of a list are read: a server may say for ever that there is another."""
_WITH_VALUES = {"options", "array"}


@dataclass(frozen=True)
class Budibase:
    """One Budibase server."""

    api: WebApi

    @classmethod
    def from_settings(cls, *, is_hurried: bool = False) -> Self | None:
        """Return the connector for the server in the settings, or None when they name none."""
        address, key = settings.BUDIBASE_URL, settings.BUDIBASE_API_KEY
        if not (address and key):
            return None
        api = WebApi(
            url=address.rstrip("/").removesuffix(PATH) + PATH,
            headers={"x-budibase-api-key": key, "Accept": "application/json"},
            system="Budibase",
            url_setting="BIGMIND_BUDIBASE_URL",
            key_setting="BIGMIND_BUDIBASE_API_KEY",
            is_hurried=is_hurried,
        )
        return cls(api)

    @property
    def server(self) -> str:
        """Its address, without the path of the API."""
        return self.api.url.removesuffix(PATH)

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
        path = f"tables/{quote(table_id, safe='')}/rows/{quote(row_id, safe='')}"
        reply = self.api.ask("GET", path, headers=_of_app(app_id))
        return None if reply is None else _row(self._one(reply))

    def find_rows(
        self, app_id: str, table_id: str, field: str, value: str, *, limit: int = 5, loosely: bool = False
    ) -> list[DiscoveredRow]:
        """Return the rows whose field equals the value, or begins with it: at most `limit`, none of a lost table."""
        path = f"tables/{quote(table_id, safe='')}/rows/search"
        body = {
            "query": {"string" if loosely else "equal": {field: value}},
            # The value itself before what only begins with it.
            "sort": {"column": field, "order": "ascending", "type": "string"},
            "paginate": True,
            "limit": min(limit, PAGE_ROWS),
        }
        found = []
        for row in self._all(path, body, app_id=app_id, may_be_gone=True):
            found.append(_row(row))
            if len(found) >= limit:
                break
        return found

    def _all(
        self, path: str, query: Mapping[str, Any], *, app_id: str = "", may_be_gone: bool = False
    ) -> Iterator[dict[str, Any]]:
        """Yield what a search finds, page by page, for as long as the answer says that there is another."""
        bookmark: str | int | None = None
        for _ in range(PAGES):
            body = {**query, **({"bookmark": bookmark} if bookmark is not None else {})}
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

    def _objects(self, reply: Any, name: str) -> list[dict[str, Any]]:
        """Return the list of objects under a name of an answer; each has an id."""
        found = reply.get(name) if isinstance(reply, dict) else None
        if not isinstance(found, list) or not all(isinstance(one, dict) and one.get("_id") for one in found):
            raise ConnectorError(f"What answers is not Budibase's API. Look at {self.api.url_setting}.")
        return found


def _row(record: Mapping[str, Any]) -> DiscoveredRow:
    """Return a record, whose values stand beside its id."""
    return DiscoveredRow(str(record["_id"]), record)


def _of_app(app_id: str) -> dict[str, str]:
    return {"x-budibase-app-id": app_id} if app_id else {}


def _schema(found: Mapping[str, Any]) -> dict[str, dict[str, Any]]:
    return {name: known for name, known in _mapping(found, "schema").items() if isinstance(known, dict)}


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
    values = _mapping(known, "constraints").get("inclusion") if kind in _WITH_VALUES else None
    target = str(known.get("tableId") or "") if kind == "link" else ""
    linked = tables.get(target, {})
    described: dict[str, Any] = {"type": kind}
    if is_primary:
        described["primary"] = True
    if values and isinstance(values, list):
        described["values"] = [str(value) for value in values]
    if target:
        described["target"] = str(linked.get("name") or target)
    if linked.get("primaryDisplay"):
        described["display"] = str(linked["primaryDisplay"])
    return described


def _mapping(thing: Mapping[str, Any], name: str) -> dict[str, Any]:
    """Return the object under a name; an empty one where there is none."""
    inner = thing.get(name)
    return inner if isinstance(inner, dict) else {}
