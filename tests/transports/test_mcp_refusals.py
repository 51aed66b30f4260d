"""What the endpoint refuses before the protocol begins (T13), each with the status the specification asks for."""

import httpx
import pytest

from accounts.keys import revoke_key, rotate_key
from tests.factories import make_key
from tests.serving import Served, eventually
from tests.transports.mcp_wire import Wire

TOOLS_LIST = {"jsonrpc": "2.0", "id": 1, "method": "tools/list"}


def _message(response: httpx.Response) -> str:
    message: str = response.json()["error"]["message"]
    return message


def test_without_a_key_the_answer_is_401_and_advertises_no_oauth(served: Served) -> None:
    response = httpx.post(served.mcp, json=TOOLS_LIST)

    assert response.status_code == 401
    assert response.headers["WWW-Authenticate"] == 'Bearer realm="BigMind"'
    assert "Authorization: Bearer" in _message(response)


@pytest.mark.parametrize("key", ["nonsense", "bm_0123456789abcdefghijklmnopqrstuvwxyzAB", "bm_" + "é" * 38])
def test_a_wrong_key_is_401_and_named_invalid(served: Served, key: str) -> None:
    response = httpx.post(served.mcp, json=TOOLS_LIST, headers={b"Authorization": f"Bearer {key}".encode()})

    assert response.status_code == 401
    assert response.headers["WWW-Authenticate"] == 'Bearer realm="BigMind", error="invalid_token"'
    assert key not in response.text


def test_a_key_is_refused_within_a_second_of_being_revoked(served: Served) -> None:
    key = make_key()
    wire = Wire(served, key.text, revision="2025-11-25")
    wire.initialize()

    revoke_key(key.key)

    assert eventually(lambda: wire.send("tools/list").status_code == 401, within=1.0)


@pytest.mark.parametrize("path", ["", "/mcp", "/.well-known", "/mcp/.well-known"])
@pytest.mark.parametrize("document", ["oauth-protected-resource", "oauth-authorization-server", "openid-configuration"])
def test_oauth_discovery_finds_nothing(served: Served, document: str, path: str) -> None:
    response = httpx.get(f"{served.url}/.well-known/{document}{path}")

    assert response.status_code == 404


@pytest.mark.parametrize("host", ["evil.example", "evil.example:7700", "localhost.evil.example", ""])
def test_another_host_is_misdirected(served: Served, host: str) -> None:
    wire = Wire(served, make_key().text)
    wire.http.headers["Host"] = host

    response = wire.send("tools/list")

    assert response.status_code == 421
    assert "BIGMIND_PUBLIC_URL" in _message(response)


@pytest.mark.parametrize("origin", ["https://evil.example", "http://localhost.evil.example", "null"])
def test_another_origin_is_forbidden(served: Served, origin: str) -> None:
    wire = Wire(served, make_key().text)
    wire.http.headers["Origin"] = origin

    response = wire.send("tools/list")

    assert response.status_code == 403
    assert "BIGMIND_PUBLIC_URL" in _message(response)


@pytest.mark.parametrize("port", ["", ":3000"])
def test_this_machine_is_welcome_from_any_port(served: Served, port: str) -> None:
    wire = Wire(served, make_key().text)
    wire.http.headers["Origin"] = f"http://localhost{port}" if port else served.url

    response = wire.send("tools/list")

    assert response.status_code == 200


def test_a_revision_that_does_not_exist_is_a_bad_request(served: Served) -> None:
    wire = Wire(served, make_key().text, revision="1999-01-01")

    response = wire.send("tools/list", stateless=True)

    assert response.status_code == 400
    assert response.json()["error"]["data"]["supported"] == ["2026-07-28"]


def test_a_foreign_session_answers_exactly_like_one_that_does_not_exist(served: Served) -> None:
    owner, stranger = (Wire(served, make_key().text, revision="2025-11-25") for _ in range(2))
    owner.initialize()
    stranger.http.headers["Mcp-Session-Id"] = "0" * 32
    random = stranger.send("tools/list")

    stranger.http.headers["Mcp-Session-Id"] = owner.http.headers["Mcp-Session-Id"]
    foreign = stranger.send("tools/list")

    assert (foreign.status_code, foreign.text) == (random.status_code, random.text)


def test_a_session_goes_on_with_the_successor_of_its_key(served: Served) -> None:
    key = make_key()
    wire = Wire(served, key.text, revision="2025-11-25")
    wire.initialize()

    wire.http.headers["Authorization"] = f"Bearer {rotate_key(key.key).text}"

    assert wire.send("tools/list").status_code == 200


@pytest.mark.parametrize("chunked", [False, True])
def test_five_megabytes_are_too_many(served: Served, chunked: bool) -> None:
    wire = Wire(served, make_key().text)
    piece = b" " * 1_000_000
    content = (piece for _ in range(5)) if chunked else piece * 5

    response = wire.http.post("/mcp", content=content, headers={"Content-Type": "application/json"})

    assert response.status_code == 413


def test_an_unknown_toolset_is_refused_with_those_there_are(served: Served) -> None:
    wire = Wire(served, make_key().text, path="/mcp?toolsets=core,memry")

    response = wire.send("tools/list")

    assert response.status_code == 400
    assert "memry" in _message(response)
    assert "memory" in _message(response)


@pytest.mark.parametrize("body", [b"", b"{", b"[]", b"null", b"\xff\xfe", b'{"jsonrpc":"2.0"}', b"[" * 100_000])
def test_what_is_not_a_message_is_a_bad_request(served: Served, body: bytes) -> None:
    wire = Wire(served, make_key().text)
    headers = {"Content-Type": "application/json", "MCP-Protocol-Version": "2026-07-28"}

    response = wire.http.post("/mcp", content=body, headers=headers)

    assert response.status_code == 400
