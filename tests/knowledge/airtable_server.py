"""An Airtable on this machine that answers as its published Web API does."""

import re
from typing import ClassVar
from urllib.parse import parse_qs, unquote, urlsplit

from tests.knowledge.counting_server import CountingServer, Json

KEY = "airtable-test-token"
SALES, CLIENTS, DEALS = "appSALES000000001", "tblCLIENTS0000001", "tblDEALS000000001"
ELICIT = "recELICIT00000001"
_TEXT = r'"(?P<value>(?:[^"\\]|\\.)*)"'
_NAME = r"\{(?P<field>(?:[^}\\]|\\.)*)\}"
_EXACT = re.compile(rf'EXACT\({_NAME} & "", {_TEXT}\)', re.S)
_BEGINS = re.compile(rf'LEFT\(LOWER\({_NAME} & ""\), (?P<length>\d+)\) = {_TEXT}', re.S)


def field(name: str, type: str, **options: object) -> Json:
    """Return a field as the meta API tells it."""
    return {"id": f"fld{name}", "name": name, "type": type, **({"options": options} if options else {})}


class Airtable(CountingServer):
    """A real HTTP server."""

    prefix: ClassVar[str] = "/v0/"

    def __init__(self, *, page: int = 1_000) -> None:
        super().__init__()
        self.page = page
        self.bases = [{"id": SALES, "name": "Sales", "permissionLevel": "read"}]
        choices = [{"id": "sel1", "name": "Active", "color": "green"}, {"id": "sel2", "name": "Lead"}]
        clients = [
            field("Name", "singleLineText"),
            field("Notes", "multilineText"),
            field("Status", "singleSelect", choices=choices),
            field("Deals", "multipleRecordLinks", linkedTableId=DEALS),
            field("Created", "createdTime"),
        ]
        self.tables = {
            SALES: [
                {"id": CLIENTS, "name": "Clients", "primaryFieldId": "fldName", "fields": clients},
                {"id": DEALS, "name": "Deals", "primaryFieldId": "fldTitle", "fields": [field("Title", "formula")]},
            ]
        }
        self.records: dict[str, dict[str, Json]] = {
            CLIENTS: {ELICIT: {"Name": "Elicit"}, "recPLANT": {"Name": "Elicit Plant"}, "recEMPTY": {}},
            DEALS: {},
        }

    def answer(self, method: str, path: str, headers: dict[str, str], body: Json) -> tuple[int, Json]:
        """Answer one request."""
        if headers.get("authorization") != f"Bearer {KEY}":
            return 401, _error("AUTHENTICATION_REQUIRED")
        parts = urlsplit(path)
        asked = {name: values[0] for name, values in parse_qs(parts.query).items()}
        steps = [unquote(step) for step in parts.path.split("/") if step]
        self.calls["/".join(steps[:2]) if steps[0] == "meta" else "records"] += 1
        if steps == ["meta", "bases"]:
            start = int(asked.get("offset", 0))
            more = {"offset": str(start + self.page)} if start + self.page < len(self.bases) else {}
            return 200, {"bases": self.bases[start : start + self.page], **more}
        if steps[:2] == ["meta", "bases"]:
            return (200, {"tables": self.tables[steps[2]]}) if steps[2] in self.tables else (404, _error("NOT_FOUND"))
        if steps[1] not in {one["id"] for one in self.tables.get(steps[0], [])}:
            return 403, _error("INVALID_PERMISSIONS_OR_MODEL_NOT_FOUND")
        return self._records(steps[1], steps[2:], asked)

    def _records(self, table: str, rest: list[str], asked: Json) -> tuple[int, Json]:
        records = self.records[table]
        if rest:
            found = records.get(rest[0])
            return (404, {"error": "NOT_FOUND"}) if found is None else (200, _record(rest[0], found))
        exact, begins = _EXACT.fullmatch(asked["filterByFormula"]), _BEGINS.fullmatch(asked["filterByFormula"])
        condition = exact or begins
        if condition is None:
            return 422, _error("INVALID_FILTER_BY_FORMULA")
        name, value = (re.sub(r"\\(.)", r"\1", condition[part], flags=re.S) for part in ("field", "value"))
        if name not in {one["name"] for each in self.tables.values() for one in each[0]["fields"]}:
            return 422, _error("INVALID_FILTER_BY_FORMULA")
        texts = {id: str(record.get(name, "")) for id, record in records.items()}
        fit = [id for id, text in texts.items() if text == value or (begins and text.lower()[: len(value)] == value)]
        return 200, {"records": [_record(id, records[id]) for id in fit[: int(asked["pageSize"])]]}


def _record(id: str, fields: Json) -> Json:
    return {"id": id, "createdTime": "2026-02-03T00:00:00.000Z", "fields": fields}


def _error(type: str) -> Json:
    return {"error": {"type": type, "message": "See the documentation."}}
