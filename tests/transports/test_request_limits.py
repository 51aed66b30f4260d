"""Pages and REST as the running server hands them to Django."""

import json
import socket
from urllib.parse import urlsplit

import anyio
import httpx
from starlette.types import Message, Receive, Scope, Send

from bigmind.core.errors import TooMany
from bigmind.transports.request_limits import WholeRequests, _too_many
from tests.serving import Served


def test_static_files_are_served(web_process: Served) -> None:
    response = httpx.get(f"{web_process.url}/static/css/tokens.css")

    assert response.status_code == 200
    assert response.headers["Content-Type"].startswith("text/css")


def test_a_page_carries_the_id_of_the_request(web_process: Served) -> None:
    response = httpx.get(f"{web_process.url}/healthz", headers={"X-Request-Id": "deploy-42.page"})

    assert response.headers["X-Request-Id"] == "deploy-42.page"


def test_a_page_that_does_not_exist_is_not_found(web_process: Served) -> None:
    response = httpx.get(f"{web_process.url}/nowhere/")

    assert response.status_code == 404


def test_a_request_larger_than_any_limit_is_refused(web_process: Served) -> None:
    response = httpx.post(f"{web_process.url}/healthz", content=b"x" * (9 * 1024 * 1024))

    assert response.status_code == 413


def test_clients_that_send_slowly_or_leave_hold_up_nobody(web_process: Served) -> None:
    address = urlsplit(web_process.url)
    slow = [socket.create_connection(("127.0.0.1", address.port or 0)) for _ in range(40)]
    for connection in slow:
        head = f"POST /sign-in/ HTTP/1.1\r\nHost: {address.netloc}\r\nContent-Length: 1000\r\n\r\nusername="
        connection.sendall(head.encode())

    response = httpx.get(f"{web_process.url}/healthz", timeout=5)

    assert response.status_code == 200
    for connection in slow:
        connection.close()
    assert httpx.get(f"{web_process.url}/healthz", timeout=5).status_code == 200


async def _handed_on(*received: Message, headers: tuple[tuple[bytes, bytes], ...] = ()) -> list[tuple[Scope, Message]]:
    """Send a request through `WholeRequests`, and return what the application behind it was given."""
    seen: list[tuple[Scope, Message]] = []
    messages = iter(received)

    async def application(scope: Scope, receive: Receive, send: Send) -> None:
        seen.append((scope, await receive()))

    async def receive() -> Message:
        return next(messages)

    async def send(message: Message) -> None:
        pass

    await WholeRequests(application)({"type": "http", "method": "POST", "path": "/", "headers": headers}, receive, send)
    return seen


def test_a_request_is_handed_on_whole() -> None:
    pieces: list[Message] = [
        {"type": "http.request", "body": b"name=", "more_body": True},
        {"type": "http.request", "body": b"Ada", "more_body": False},
    ]

    ((_, message),) = anyio.run(lambda: _handed_on(*pieces))

    assert message == {"type": "http.request", "body": b"name=Ada", "more_body": False}


def test_a_request_that_breaks_off_is_not_handed_on() -> None:
    pieces: list[Message] = [
        {"type": "http.request", "body": b"name=A", "more_body": True},
        {"type": "http.disconnect"},
    ]

    assert anyio.run(lambda: _handed_on(*pieces)) == []


def test_whoever_asked_too_often_is_told_once_when_to_come_back() -> None:
    refusal = TooMany("Too many requests are waiting.", retry_after=5)

    page, report = _too_many("/memory/facts/", refusal), _too_many("/hooks/codex/", refusal)

    assert bytes(page.body) == b"Too many requests are waiting. Try again in 5 s.\n"
    assert json.loads(bytes(report.body))["hint"] == "Try again in 5 s."
    assert page.headers["Retry-After"] == report.headers["Retry-After"] == "5"


def test_a_header_with_an_underscore_cannot_pass_for_the_proxys() -> None:
    request: Message = {"type": "http.request", "body": b"", "more_body": False}
    headers = ((b"x_forwarded_proto", b"https"), (b"accept", b"*/*"))

    ((scope, _),) = anyio.run(lambda: _handed_on(request, headers=headers))

    assert scope["headers"] == [(b"accept", b"*/*")]
