"""A NocoDB on this machine that answers as the published API does: meta in version 2, records in version 3."""

import re
from fnmatch import fnmatchcase
from typing import Any, ClassVar
from urllib.parse import parse_qs, unquote, urlsplit

from tests.knowledge.counting_server import CountingServer, Json

KEY = "nocodb-test-token"
SALES, CLIENTS, DEALS = "p_sales", "m_clients", "m_deals"
_CONDITION = re.compile(
    r"""\((?P<q>["'`])(?P<field>.*)(?P=q),(?P<op>eq|like),(?P<p>["'`])(?P<value>.*)(?P=p)\)""", re.S
)


def column(title: str, uidt: str, **more: Any) -> Json:
    """Return a column as the meta API tells it."""
    return {"id": f"c_{title}", "title": title, "column_name": title.lower(), "uidt": uidt, "system": None, **more}


def _tables() -> dict[str, Json]:
    choices = {"options": [{"title": "Active"}, {"title": "Lead"}]}
    clients = [
        column("Id", "ID", pk=True),
        column("CreatedAt", "CreatedTime", system=1),
        column("Name", "SingleLineText", pv=True),
        column("Notes", "LongText"),
        column("Status", "SingleSelect", colOptions=choices),
        column("Deals", "Links", colOptions={"fk_related_model_id": DEALS, "type": "hm"}),
    ]
    return {
        CLIENTS: {"id": CLIENTS, "title": "Clients", "columns": clients},
        DEALS: {"id": DEALS, "title": "Deals", "columns": [column("Title", "SingleLineText", pv=True)]},
        "m_join": {"id": "m_join", "title": "nc_m2m_join", "mm": True, "columns": []},
    }


class Nocodb(CountingServer):
    """A real HTTP server. `workspaces`: it has them, as the cloud does, and lists no bases of its own."""

    prefix: ClassVar[str] = "/api/"

    def __init__(self, *, workspaces: bool = False, page: int = 100) -> None:
        super().__init__()
        self.workspaces, self.page = workspaces, page
        self.bases = [{"id": SALES, "title": "Sales"}, {"id": "p_old", "title": "Old", "deleted": True}]
        self.tables = {SALES: _tables()}
        self.records: dict[str, dict[int, Json]] = {
            CLIENTS: {1: {"Name": "Elicit", "Notes": ""}, 2: {"Name": "Elicit Plant", "Notes": ""}},
            DEALS: {},
        }

    def answer(self, method: str, path: str, headers: dict[str, str], body: Json) -> tuple[int, Json]:
        """Answer one request."""
        if headers.get("xc-token") != KEY:
            return 401, _error("ERR_AUTHENTICATION_REQUIRED", "Authentication required - Invalid token")
        parts = urlsplit(path)
        asked = {name: values[0] for name, values in parse_qs(parts.query).items()}
        steps = [unquote(step) for step in parts.path.split("/") if step]
        self.calls[" ".join(steps[:2])] += 1
        return self._data(steps[2:], asked) if steps[:2] == ["v3", "data"] else self._meta(steps[2:], asked)

    def _meta(self, steps: list[str], asked: Json) -> tuple[int, Json]:
        if steps == ["bases"] and not self.workspaces:
            return self._page(self.bases, asked)
        if steps == ["workspaces"] and self.workspaces:
            return self._page([{"id": "w_1", "title": "Home"}], asked)
        if steps == ["workspaces", "w_1", "bases"] and self.workspaces:
            return self._page(self.bases, asked)
        if len(steps) == 3 and steps[0] == "bases" and steps[1] in self.tables:
            return self._page([{**one, "columns": None} for one in self.tables[steps[1]].values()], asked)
        tables = {id: table for each in self.tables.values() for id, table in each.items()}
        if len(steps) == 2 and steps[0] == "tables" and steps[1] in tables:
            return 200, tables[steps[1]]
        return 404, _error("ERR_NOT_FOUND", f"{'/'.join(steps)} not found")

    def _page(self, items: list[Json], asked: Json) -> tuple[int, Json]:
        start = int(asked.get("offset", 0))
        shown = items[start : start + min(self.page, int(asked.get("limit", 25)))]
        is_last = start + len(shown) >= len(items)
        return 200, {"list": shown, "pageInfo": {"totalRows": len(items), "isLastPage": is_last}}

    def _data(self, steps: list[str], asked: Json) -> tuple[int, Json]:
        base, table, *rest = steps
        if table not in self.tables.get(base, {}):
            return 404, _error("ERR_TABLE_NOT_FOUND", f"Table '{table}' not found")
        records = self.records[table]
        if len(rest) == 2:
            found = records.get(int(rest[1]))
            if found is None:
                return 404, _error("ERR_RECORD_NOT_FOUND", f"Record '{rest[1]}' not found")
            return 200, {"id": int(rest[1]), "fields": found}
        return self._search(base, table, asked)

    def _search(self, base: str, table: str, asked: Json) -> tuple[int, Json]:
        condition = _CONDITION.fullmatch(asked["where"])
        if condition is None or condition["q"] in condition["field"] or condition["p"] in condition["value"]:
            return 422, _error("ERR_INVALID_FILTER", "Invalid filter expression")
        if condition["field"] not in {one["title"] for one in self.tables[base][table]["columns"]}:
            return 422, _error("ERR_FIELD_NOT_FOUND", f"Field '{condition['field']}' not found")
        fits = [
            {"id": id, "fields": record}
            for id, record in self.records[table].items()
            if _fits(str(record.get(condition["field"])), condition["op"], condition["value"])
        ]
        return 200, {"records": fits[: int(asked["pageSize"])], "next": None}


def _fits(text: str, operator: str, value: str) -> bool:
    if operator == "eq":
        return text == value
    pattern = value.replace("[", "[[]").replace("*", "[*]").replace("?", "[?]").replace("%", "*").replace("_", "?")
    return fnmatchcase(text.lower(), pattern.lower())


def _error(code: str, message: str) -> Json:
    return {"error": code, "message": message}
