"""The scenarios of the first design of app maps (seed 000) through an MCP client, counting what Budibase is asked."""

from collections.abc import Awaitable, Callable, Iterator
from typing import Any

import anyio
import httpx
import httpx2
import pytest
from mcp import Client
from mcp.client.streamable_http import streamable_http_client

from knowledge.models import App, AppEntity, Healing
from tests.factories import make_key
from tests.knowledge.budibase_server import CLIENTS, CRM, ELICIT, KEY, PREFIX, Budibase
from tests.serving import Served

Reply = dict[str, Any]
Call = Callable[..., Awaitable[Reply]]
COMMENT = "add a comment on Elicit"
WORKFLOW = {
    "name": "add_comment",
    "trigger": "add comment/note on [entity]",
    "steps": "resolve entity -> update_record, append to Notes field",
    "field": "Notes",
}


def _through_mcp(served: Served, flow: Callable[[Call], Awaitable[Any]]) -> Any:
    """Let one client work through a flow; a tool that refuses gives `{"refusal": …}`, and each reply its `text`."""
    key = make_key().text

    async def run() -> Any:
        http = httpx2.AsyncClient(headers={"Authorization": f"Bearer {key}"}, timeout=30)
        async with Client(
            streamable_http_client(f"{served.mcp}?toolsets=apps&structured=full", http_client=http)
        ) as client:

            async def call(tool: str, **arguments: Any) -> Reply:
                result = await client.call_tool(tool, arguments)
                text = result.content[0].text  # type: ignore[union-attr]
                return {"refusal": text} if result.is_error else {**(result.structured_content or {}), "text": text}

            return await flow(call)

    return anyio.run(run)


@pytest.fixture
def budibase() -> Iterator[Budibase]:
    """A Budibase that counts."""
    with Budibase() as server:
        yield server


class Tools:
    """The tools that an agent has for Budibase: each is one call to it."""

    def __init__(self, budibase: Budibase) -> None:
        self._http = httpx.Client(base_url=budibase.url + PREFIX, headers={"x-budibase-api-key": KEY})

    def _ask(self, method: str, path: str, app: str = "", **body: Any) -> Any:
        reply = self._http.request(method, path, json=body or {}, headers={"x-budibase-app-id": app} if app else {})
        return None if reply.status_code == 404 else reply.raise_for_status().json()["data"]

    def discover_apps(self) -> Any:
        return self._ask("POST", "applications/search")

    def get_tables(self, app: str) -> Any:
        return self._ask("POST", "tables/search", app)

    def query_records(self, app: str, table: str, field: str, value: str) -> Any:
        return self._ask("POST", f"tables/{table}/rows/search", app, query={"equal": {field: value}})

    def get_table_schema(self, app: str, table: str) -> Any:
        return self._ask("GET", f"tables/{table}", app)

    def update_record(self, app: str, table: str, row: str, **values: Any) -> Any:
        return self._ask("PUT", f"tables/{table}/rows/{row}", app, **values)


async def _learn_elicit(call: Call) -> Reply:
    fields = {"Name": {"type": "string", "primary": True}, "Notes": {"type": "longform"}}
    return await call(
        "app_learn",
        app="CRM",
        app_id=CRM,
        tables=[{"name": "Clients", "table_id": CLIENTS, "fields": fields}],
        entities=[
            {"name": "Elicit", "table": "Clients", "row_id": ELICIT, "match_field": "Name", "match_value": "Elicit"}
        ],
        workflows=[WORKFLOW],
    )


def test_a_comment_takes_five_calls_before_and_one_after(served: Served, budibase: Budibase) -> None:
    tools = Tools(budibase)

    async def before(call: Call) -> None:
        assert (await call("app_resolve", name="Elicit", request=COMMENT))["status"] == "unknown"
        app = next(one for one in tools.discover_apps() if one["name"] == "CRM")
        table = next(one for one in tools.get_tables(app["_id"]) if one["name"] == "Clients")
        row = tools.query_records(app["_id"], table["_id"], "Name", "Elicit")[0]
        schema = tools.get_table_schema(app["_id"], table["_id"])
        tools.update_record(app["_id"], table["_id"], row["_id"], Notes="Called.")
        assert "Notes" in schema["schema"]
        await _learn_elicit(call)

    async def after(call: Call) -> None:
        known = await call("app_resolve", name="elicit", request=COMMENT)
        place = known["place"]
        assert known["workflows"][0]["name"] == "add_comment"
        assert "no discovery call" in known["next_step"]
        assert f"rowId: {ELICIT}" in known["text"]
        tools.update_record(
            place["app_id"], place["table_id"], place["row_id"], **{known["workflows"][0]["field"]: "Called again."}
        )

    _through_mcp(served, before)
    needed_before, budibase.calls = budibase.calls.copy(), budibase.calls.__class__()
    _through_mcp(served, after)

    assert needed_before.total() == 5
    assert budibase.calls == {"update_record": 1}
    assert budibase.rows[CLIENTS][ELICIT]["Notes"] == "Called again."


def test_a_row_that_moved_is_found_by_its_field_with_one_call_and_healed_for_all(
    served: Served, budibase: Budibase
) -> None:
    tools = Tools(budibase)

    async def one(call: Call) -> None:
        await _learn_elicit(call)
        budibase.rows[CLIENTS]["ro_new999"] = budibase.rows[CLIENTS].pop(ELICIT)
        assert tools.update_record(CRM, CLIENTS, ELICIT, Notes="x") is None
        told = await call("app_report_failure", app="CRM", failure="row_gone", entity="Elicit", failed_id=ELICIT)
        assert told["status"] == "next_step"
        assert f"Query Clients ({CLIENTS}) by Name = Elicit (1 call)" in told["next_step"]
        row = tools.query_records(CRM, CLIENTS, "Name", "Elicit")[0]
        healed = await call(
            "app_report_failure",
            app="CRM",
            failure="row_gone",
            entity="Elicit",
            outcome="found",
            found_id=row["_id"],
            failed_id=ELICIT,
        )
        assert healed["status"] == "healed"

    async def another(call: Call) -> None:
        assert (await call("app_resolve", name="Elicit"))["place"]["row_id"] == "ro_new999"
        late = await call(
            "app_report_failure", app="CRM", failure="row_gone", entity="Elicit", failed_id=ELICIT, outcome="not_found"
        )
        assert late["status"] == "healed"
        assert late["place"]["row_id"] == "ro_new999"

    _through_mcp(served, one)
    _through_mcp(served, another)

    assert budibase.discovery == 1
    assert Healing.objects.get().found == "row id ro_new999"


def test_a_row_that_was_deleted_is_forgotten(served: Served, budibase: Budibase) -> None:
    async def flow(call: Call) -> None:
        await _learn_elicit(call)
        gone = await call("app_report_failure", app="CRM", failure="row_gone", entity="Elicit", outcome="not_found")
        again = await call("app_report_failure", app="CRM", failure="row_gone", entity="Elicit")
        assert gone["status"] == again["status"] == "forgotten"
        assert (await call("app_resolve", name="Elicit"))["status"] == "unknown"

    _through_mcp(served, flow)

    assert not AppEntity.objects.exists()


def test_a_schema_that_changed_is_read_again_and_overwritten(served: Served, budibase: Budibase) -> None:
    async def flow(call: Call) -> None:
        await _learn_elicit(call)
        told = await call("app_report_failure", app="CRM", failure="schema_changed", table="Clients")
        assert f"get_table_schema for Clients ({CLIENTS}) (1 call)" in told["next_step"]
        fields = {"Name": {"type": "string", "primary": True}, "Remarks": {"type": "longform"}}
        await call(
            "app_report_failure", app="CRM", failure="schema_changed", table="Clients", outcome="found", fields=fields
        )
        assert list((await call("app_resolve", name="Clients"))["fields"]) == ["Name", "Remarks"]

    _through_mcp(served, flow)

    assert Healing.objects.get().found == "new fields Remarks; gone Notes; workflows to look at add_comment"


def test_an_app_with_a_new_id_is_found_by_its_name(served: Served) -> None:
    async def flow(call: Call) -> None:
        await _learn_elicit(call)
        told = await call("app_report_failure", app="CRM", failure="app_gone")
        assert "discover_apps (1 call)" in told["next_step"]
        await call("app_report_failure", app="CRM", failure="app_gone", outcome="found", found_id="app_new")
        assert (await call("app_resolve", name="Elicit"))["place"]["app_id"] == "app_new"

    _through_mcp(served, flow)


def test_an_app_that_is_gone_is_forgotten_where_one_person_uses_bigmind(served: Served) -> None:
    async def flow(call: Call) -> None:
        await _learn_elicit(call)
        told = await call("app_report_failure", app="CRM", failure="app_gone", outcome="not_found")
        assert told["status"] == "forgotten"
        assert (await call("app_resolve", name="Elicit"))["status"] == "unknown"

    _through_mcp(served, flow)

    assert not App.objects.exists()
