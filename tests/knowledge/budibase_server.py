"""A Budibase on this machine that answers as the published public API does, counts what it is asked, and can fail."""

import re
from collections.abc import Callable
from typing import Any

from tests.knowledge.counting_server import Answer, CountingServer, Json

__all__ = ["Answer", "Budibase"]

KEY = "budibase-test-key"
PREFIX = "/api/public/v1/"
CRM, BILLING, BILLING_DEV = "app_abc123", "app_def456", "app_dev_def456"
CLIENTS, PROJECTS, CUSTOMERS = "ta_xyz789", "ta_abc345", "ta_cust01"
ELICIT, ACME = "ro_def456", "ro_ghi012"


def _column(name: str, type: str, **more: Any) -> Json:
    return {"name": name, "type": type, "constraints": {"presence": False}, **more}


def _table(id: str, name: str, primary: str, *columns: Json) -> Json:
    return {"_id": id, "name": name, "primaryDisplay": primary, "schema": {one["name"]: one for one in columns}}


def _tables() -> dict[str, list[Json]]:
    status = {"constraints": {"inclusion": ["Active", "Inactive", "Lead"], "type": "string"}}
    link = {"relationshipType": "many-to-many"}
    clients = _table(
        CLIENTS,
        "Clients",
        "Name",
        _column("Name", "string"),
        _column("Notes", "longform"),
        _column("Status", "options", **status),
        _column("Projects", "link", tableId=PROJECTS, fieldName="Client", **link),
        _column("Created At", "datetime", autocolumn=True),
    )
    client = _column("Client", "link", tableId=CLIENTS, fieldName="Projects", **link)
    projects = _table(PROJECTS, "Projects", "Name", _column("Name", "string"), client, _column("Status", "options"))
    customers = _table(CUSTOMERS, "Customers", "Company", _column("Company", "string"), _column("Notes", "longform"))
    return {CRM: [clients, projects], BILLING: [customers], BILLING_DEV: [customers]}


def _app(id: str, name: str, status: str) -> Json:
    return {"_id": id, "name": name, "url": f"/{name.lower()}", "status": status, "version": "3.3.0"}


class Budibase(CountingServer):
    """A real HTTP server. `calls` counts what it was asked, by what agents call it."""

    prefix = PREFIX

    def __init__(self, *, page_rows: int = 100) -> None:
        super().__init__()
        self.apps = [
            _app(CRM, "CRM", "published"),
            _app(BILLING_DEV, "Billing", "development"),
            _app(BILLING, "Billing", "published"),
        ]
        self.tables = _tables()
        self.rows: dict[str, dict[str, Json]] = {
            CLIENTS: {ELICIT: {"Name": "Elicit", "Notes": ""}, ACME: {"Name": "Acme Corp", "Notes": ""}},
            PROJECTS: {},
            CUSTOMERS: {"ro_cust07": {"Company": "Elicit", "Notes": ""}},
        }
        self.page_rows = page_rows
        self.refuses_unknown_fields = False
        self.on_call: Callable[[str], object] = lambda name: None

    @property
    def discovery(self) -> int:
        """How many calls found something out; writing a row is what was wanted all along."""
        return sum(count for name, count in self.calls.items() if name != "update_record")

    def answer(self, method: str, path: str, headers: dict[str, str], body: Json) -> tuple[int, Json]:
        """Answer one request as the published API does."""
        if headers.get("x-budibase-api-key") != KEY:
            return 403, _trouble(403, "Invalid API key - may need re-generated, or user doesn't exist")
        if (method, path) == ("POST", "applications/search"):
            return self._counted("discover_apps", 200, {"data": self.apps})
        app = headers.get("x-budibase-app-id", "")
        if app not in self.tables:
            return 404, _trouble(404, "App not found")
        if (method, path) == ("POST", "tables/search"):
            return self._counted("get_tables", 200, {"data": self.tables[app]})
        if found := re.fullmatch("tables/([^/]+)", path):
            table = next((one for one in self.tables[app] if one["_id"] == found[1]), None)
            return self._counted("get_table_schema", *(_one(table) if table else _gone()))
        if found := re.fullmatch("tables/([^/]+)/rows/search", path):
            return self._counted("query_records", *self._search(found[1], body))
        if found := re.fullmatch("tables/([^/]+)/rows/([^/]+)", path):
            return self._row(method, found[1], found[2], body)
        return 404, _trouble(404, "Not Found")

    def _counted(self, name: str, status: int, answer: Json) -> tuple[int, Json]:
        self.calls[name] += 1
        self.on_call(name)
        return status, answer

    def _search(self, table: str, body: Json) -> tuple[int, Json]:
        if table not in self.rows:
            return _gone()
        wanted, begins = body["query"].get("equal", {}), body["query"].get("string", {})
        schema = next((one["schema"] for each in self.tables.values() for one in each if one["_id"] == table), {})
        if self.refuses_unknown_fields and not {*wanted, *begins} <= schema.keys():
            return 400, _trouble(400, "Invalid search field")
        rows = [
            {"_id": id, "tableId": table, **row}
            for id, row in self.rows[table].items()
            if all(row.get(name) == value for name, value in wanted.items())
            and all(str(row.get(name, "")).lower().startswith(value.lower()) for name, value in begins.items())
        ]
        if column := body.get("sort", {}).get("column"):
            rows.sort(key=lambda row: str(row.get(column, "")))
        start, size = int(body.get("bookmark", 0)), min(body.get("limit", self.page_rows), self.page_rows)
        page = rows[start : start + size]
        return 200, {"data": page, "hasNextPage": start + size < len(rows), "bookmark": start + size}

    def _row(self, method: str, table: str, id: str, body: Json) -> tuple[int, Json]:
        row = self.rows.get(table, {}).get(id)
        if method == "PUT" and row is not None:
            row.update(body)
        answer = _one({"_id": id, "tableId": table, **row}) if row is not None else _gone()
        return self._counted("update_record" if method == "PUT" else "get_record", *answer)


def _one(thing: Json) -> tuple[int, Json]:
    return 200, {"data": thing}


def _gone() -> tuple[int, Json]:
    return 404, _trouble(404, "missing")


def _trouble(status: int, message: str) -> Json:
    return {"message": message, "status": status}
