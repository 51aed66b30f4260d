"""What an agent is told when something fails: a sentence with the request's id, never a traceback."""

from typing import Any

import anyio
import httpx
import pytest
from django.db import DataError, OperationalError, connection, transaction
from mcp import MCPError

from accounts.actor import Actor
from bigmind.asgi import application, lifespan
from bigmind.core.errors import TooMany
from bigmind.core.operations import Operation
from bigmind.gate import perform
from bigmind.operations import CATALOGUE
from bigmind.transports.mcp.protocol_errors import as_protocol_error
from knowledge.shapes.facts import FactShape
from tests.factories import make_actor, make_key
from tests.transports.mcp_wire import STATELESS_REVISION, envelope

REQUEST_ID = "request-of-the-test"


def _break_down(actor: Actor) -> None:
    """Fail in a way that nobody has thought of."""
    raise ZeroDivisionError("the secret of the user")


def _lose_the_database(actor: Actor) -> None:
    """Fail as when PostgreSQL goes away."""
    raise OperationalError("connection to server at 10.0.0.7 failed")


@pytest.fixture(autouse=True)
def _connections_end_with_the_call(monkeypatch: pytest.MonkeyPatch) -> None:
    """The pool's threads outlive the test; a connection they kept would stop its database from being dropped."""
    monkeypatch.setitem(connection.settings_dict, "CONN_MAX_AGE", 0)


def _offer(monkeypatch: pytest.MonkeyPatch, call: Any) -> None:
    operation = Operation("broken", call, FactShape, "POST broken/", "core", "facts.md", "Break")
    monkeypatch.setitem(CATALOGUE, "broken", operation)


async def _call(key: str) -> Any:
    params = {"name": "broken", "_meta": envelope(STATELESS_REVISION)}
    message = {"jsonrpc": "2.0", "id": 1, "method": "tools/call", "params": params}
    headers = {
        "Authorization": f"Bearer {key}",
        "Accept": "application/json, text/event-stream",
        "MCP-Protocol-Version": STATELESS_REVISION,
        "Mcp-Method": "tools/call",
        "Mcp-Name": "broken",
        "X-Request-Id": REQUEST_ID,
    }
    transport = httpx.ASGITransport(application)
    async with lifespan(None), httpx.AsyncClient(transport=transport, base_url="http://localhost") as client:
        response = await client.post("/mcp", json=message, headers=headers)
    return response.json()["result"]


def _divide_in_the_database(actor: Actor) -> None:
    with connection.cursor() as cursor:
        cursor.execute("SELECT 1 / 0")


@pytest.mark.django_db
def test_what_failed_inside_a_transaction_is_named_and_not_what_could_not_be_recorded_of_it() -> None:
    operation = Operation("broken", _divide_in_the_database, FactShape, "POST broken/", "core", "facts.md", "Break")

    with pytest.raises(DataError, match="division by zero"), transaction.atomic():
        perform(operation, make_actor(), {}, transport="mcp")


@pytest.mark.django_db(transaction=True)
def test_a_fault_of_ours_is_a_tool_error_with_the_id_of_the_request(
    monkeypatch: pytest.MonkeyPatch, caplog: pytest.LogCaptureFixture
) -> None:
    _offer(monkeypatch, _break_down)

    result = anyio.run(_call, make_key().text)

    assert result["isError"]
    assert f"Something went wrong here (request {REQUEST_ID})" in result["content"][0]["text"]
    assert "secret" not in str(result)
    assert "ZeroDivisionError" in caplog.text


@pytest.mark.django_db(transaction=True)
def test_a_database_that_went_away_is_a_tool_error_that_says_so(monkeypatch: pytest.MonkeyPatch) -> None:
    _offer(monkeypatch, _lose_the_database)

    result = anyio.run(_call, make_key().text)

    assert result["isError"]
    assert "database does not answer" in result["content"][0]["text"]
    assert "10.0.0.7" not in str(result)


def test_whoever_called_too_often_is_told_once_when_to_come_back() -> None:
    error = as_protocol_error(TooMany("Too many calls are waiting.", retry_after=5), REQUEST_ID)

    assert error.message == "Too many calls are waiting. Try again in 5 s."
    assert error.data == {"code": "too_many", "retryAfter": 5, "requestId": REQUEST_ID}


def test_a_protocol_error_passes_as_it_is() -> None:
    error = MCPError(-32602, "Unknown tool: x.")

    assert as_protocol_error(error, REQUEST_ID) is error
