"""What somebody without a key can do to the server: nothing that others notice. Over raw sockets."""

import json
import socket
from collections.abc import Iterator
from contextlib import ExitStack
from pathlib import Path
from time import monotonic, sleep
from urllib.parse import urlsplit
from uuid import uuid4

import httpx
import psutil
import pytest
from django.conf import settings

from knowledge.models import Chunk, Session
from tests.capture.hooking import choose_mode
from tests.copies import Copied, serving_copy
from tests.factories import browser_of, make_key, make_user
from tests.half_open import attacking
from tests.half_open import connect as half_open
from tests.serving import Served, end_its_database_sessions

MIB = 1024 * 1024
TCP_ESTABLISHED = 1
JSON = {"Content-Type": "application/json"}
pytestmark = pytest.mark.django_db(transaction=True)


@pytest.fixture(scope="module")
def hurried(
    django_db_setup: None, django_db_blocker, tmp_path_factory: pytest.TempPathFactory
) -> Iterator[tuple[Served, Copied]]:
    """The web process with short deadlines."""
    log: Path = tmp_path_factory.mktemp("hurried") / "log.txt"
    with serving_copy(log, BIGMIND_HEADER_SECONDS="1", BIGMIND_BODY_SECONDS="2") as started:
        for path in ("/api/v1/facts/", "/sign-in/"):  # The first request makes Django import its pages.
            httpx.get(f"{started[0].url}{path}", timeout=60)
        yield started
    with django_db_blocker.unblock():
        end_its_database_sessions()


def connect(served: Served, sent: str = "") -> socket.socket:
    connection = socket.create_connection(("127.0.0.1", urlsplit(served.url).port or 0), timeout=30)
    connection.sendall(sent.replace("\n", "\r\n").replace("HOST", urlsplit(served.url).netloc).encode())
    return connection


def everything_from(connection: socket.socket) -> bytes:
    """Return what is answered until the connection is closed."""
    answer = b""
    try:
        while piece := connection.recv(65536):
            answer += piece
    except ConnectionResetError:
        pass
    return answer


@pytest.mark.parametrize("begun", ["", "GET / HTTP/1.1\nHost: HOST\nX-Begun: y"])
def test_two_hundred_unfinished_heads_are_closed_and_stop_nobody(hurried, begun):
    served, _ = hurried
    with ExitStack() as held:
        unfinished = [held.enter_context(connect(served, begun)) for _ in range(200)]

        assert httpx.get(f"{served.url}/healthz", timeout=5).status_code == 200
        assert [everything_from(connection) for connection in unfinished] == [b""] * 200


def test_a_head_that_comes_byte_by_byte_puts_nothing_off(hurried):
    served, _ = hurried
    begun = monotonic()
    with connect(served, "GET / HTTP/1.1\n") as connection:
        connection.settimeout(0.2)
        while monotonic() - begun < 20:
            try:
                connection.send(b"X")
                if connection.recv(1) == b"":
                    break
            except TimeoutError:
                continue
            except ConnectionError:
                break

    assert monotonic() - begun < 10


@pytest.mark.parametrize("path", ["/mcp", "/api/v1/facts/", "/api/v1/import/", "/hooks/codex/"])
def test_without_a_key_no_body_is_waited_for(hurried, path):
    served, _ = hurried
    size = 900_000
    with connect(served, f"POST {path} HTTP/1.1\nHost: HOST\nContent-Length: {size}\n\n") as connection:
        assert b" 401 " in connection.recv(4096).split(b"\r\n")[0]


@pytest.mark.parametrize("path", ["/api/v1/facts/", "/hooks/codex/"])
@pytest.mark.parametrize("key", ["Bearer bm_wrong", "Basic YTpi"])
def test_with_a_wrong_key_no_large_body_is_waited_for(hurried, key, path):
    served, _ = hurried
    head = f"POST {path} HTTP/1.1\nHost: HOST\nAuthorization: {key}\nContent-Length: 900000\n\n"
    with connect(served, head) as connection:
        assert b" 401 " in connection.recv(4096).split(b"\r\n")[0]


@pytest.mark.parametrize("path", ["/", "/api/v1/facts/", "/hooks/codex/", "/nowhere/", "/mcp"])
def test_sixty_unfinished_bodies_of_eight_megabytes_take_no_memory(hurried, path):
    served, process = hurried
    before = psutil.Process(process.pid).memory_info().rss
    head = f"POST {path} HTTP/1.1\nHost: HOST\nContent-Length: {8 * MIB}\n\n"
    with ExitStack() as held:
        for _ in range(60):
            connection = held.enter_context(connect(served, head))
            connection.settimeout(0.02)
            try:
                connection.sendall(b"x" * (8 * MIB - 1))
            except OSError:
                continue
        grown = psutil.Process(process.pid).memory_info().rss - before

    assert grown < 60 * MIB


def test_hundreds_of_half_open_connections_and_large_bodies_stop_nobody(hurried):
    served, process = hurried
    before, lines = psutil.Process(process.pid).memory_info().rss, len(served.log.read_text().splitlines())
    with attacking(served.url, 1_200, 2, ["127.0.0.1", "127.0.0.2", "127.0.0.3"]):
        begun = monotonic()
        while monotonic() - begun < 1:
            assert httpx.get(f"{served.url}/healthz", timeout=10).status_code == 200
        grown = psutil.Process(process.pid).memory_info().rss - before

    assert grown < 50 * MIB
    assert len(served.log.read_text().splitlines()) - lines < 20


def test_at_the_limit_of_an_address_others_are_served(hurried):
    served, _ = hurried
    with ExitStack() as held:
        theirs = [held.enter_context(half_open(served.url, "GET /", "127.0.0.9")) for _ in range(260)]

        assert theirs[0].recv(1) == b""
        assert httpx.get(f"{served.url}/healthz", timeout=5).status_code == 200


def test_an_answer_that_nobody_reads_is_given_up(hurried):
    served, _ = hurried
    begun = monotonic()
    with socket.socket() as connection:
        connection.setsockopt(socket.SOL_SOCKET, socket.SO_RCVBUF, 4096)
        connection.settimeout(30)
        connection.connect(("127.0.0.1", urlsplit(served.url).port or 0))
        question = f"GET /api/v1/openapi.json HTTP/1.1\r\nHost: {urlsplit(served.url).netloc}\r\n\r\n".encode()
        connection.sendall(question * 40)
        while not _is_cut(connection) and monotonic() - begun < 25:
            sleep(0.05)

    assert monotonic() - begun < 20


def _is_cut(connection: socket.socket) -> bool:
    """Whether the server has closed the connection, looked up without reading from it."""
    state = connection.getsockopt(socket.IPPROTO_TCP, socket.TCP_INFO, 1)[0]
    return state != TCP_ESTABLISHED


def test_of_a_large_body_that_was_refused_little_is_read(hurried):
    served, _ = hurried
    head = f"POST /mcp HTTP/1.1\nHost: HOST\nContent-Length: {200 * MIB}\n\n"
    begun, sent = monotonic(), 0
    with connect(served, head) as connection:
        try:
            while sent < 200 * MIB:
                sent += connection.send(b"x" * MIB)
        except OSError:
            pass

    assert sent < 32 * MIB
    assert monotonic() - begun < 10


@pytest.mark.parametrize("size", [2 * MIB, 20 * MIB])
def test_whoever_sent_a_large_body_reads_the_refusal_and_that_no_request_can_follow(hurried, size):
    """Else a proxy, which has handed all of it to the kernel, sends the next request after it, and loses that."""
    served, _ = hurried
    head = f"POST /api/v1/facts/ HTTP/1.1\nHost: HOST\nContent-Length: {size}\n\n"
    begun = monotonic()
    with connect(served, head) as connection:
        connection.sendall(b"x" * MIB)
        answer = everything_from(connection)

    assert answer.startswith((b"HTTP/1.1 401 ", b"HTTP/1.1 413 "))
    assert b"connection: close" in answer.lower()
    assert answer.endswith(b"}")
    assert monotonic() - begun < 10


def test_a_small_body_that_comes_after_its_refusal_costs_nobody_the_connection(hurried):
    served, _ = hurried
    body = '{"fact": "Tabs."}'
    head = f"POST /api/v1/facts/ HTTP/1.1\nHost: HOST\nContent-Length: {len(body)}\n\n"
    with connect(served, head) as connection:
        first = connection.recv(65536)
        while not first.endswith(b"}"):
            first += connection.recv(65536)
        connection.sendall(f"{body}GET /healthz HTTP/1.1\r\nHost: {urlsplit(served.url).netloc}\r\n\r\n".encode())

        assert first.startswith(b"HTTP/1.1 401 ")
        assert connection.recv(4096).startswith(b"HTTP/1.1 200 ")


def test_a_body_in_chunks_without_a_session_is_not_gathered(hurried):
    served, _ = hurried
    chunk = b"%x\r\n%s\r\n" % (32 * 1024, b"x" * 32 * 1024)
    with connect(served, "POST /sign-in/ HTTP/1.1\nHost: HOST\nTransfer-Encoding: chunked\n\n") as connection:
        for _ in range(4):
            connection.sendall(chunk)

        assert connection.recv(4096).startswith(b"HTTP/1.1 4")


def test_an_upload_that_comes_too_slowly_is_told(hurried):
    served, _ = hurried
    head = "POST /api/v1/facts/ HTTP/1.1\nHost: HOST\nAuthorization: Bearer {}\nContent-Length: 500000\n\n{{"
    with connect(served, head.format(make_key().text)) as connection:
        answer = everything_from(connection)

    assert answer.startswith(b"HTTP/1.1 408 ")
    assert b"connection: close" in answer.lower()


def test_a_refused_request_is_not_drained_for_ever(hurried):
    served, _ = hurried
    begun = monotonic()
    with connect(served, "POST /api/v1/facts/ HTTP/1.1\nHost: HOST\nContent-Length: 900000\n\n") as connection:
        everything_from(connection)

    assert monotonic() - begun < 20


@pytest.mark.parametrize("path", ["/", "/mcp", "/api/v1/facts/", "/healthz"])
def test_two_lengths_are_refused_and_the_connection_is_closed(hurried, path):
    served, _ = hurried
    head = f"POST {path} HTTP/1.1\nHost: HOST\nContent-Length: 5\nTransfer-Encoding: chunked\n\n0\n\n"
    with connect(served, f"{head}GET /healthz HTTP/1.1\nHost: HOST\n\n") as connection:
        answer = everything_from(connection)

    assert answer.startswith(b"HTTP/1.1 400 ")
    assert answer.count(b"HTTP/1.1") == 1


def test_a_key_opens_the_way_for_a_large_body(hurried):
    served, _ = hurried
    headers = {"Authorization": f"Bearer {make_key().text}", "Content-Type": "application/json"}

    small = httpx.post(f"{served.url}/api/v1/facts/", content=b"[" + b" " * 900_000, headers=headers, timeout=30)
    large = httpx.post(f"{served.url}/api/v1/facts/", content=b"x" * (2 * MIB), headers=headers, timeout=30)

    assert small.status_code == 400
    assert large.status_code == 413
    assert "1,048,576" in large.text


def test_a_session_does_not_stand_for_the_key_of_a_hook(hurried):
    served, _ = hurried
    browser = browser_of(make_user())
    cookie = f"{settings.SESSION_COOKIE_NAME}={browser.cookies[settings.SESSION_COOKIE_NAME].value}"
    head = f"POST /hooks/codex/ HTTP/1.1\nHost: HOST\nCookie: {cookie}\nContent-Length: 900000\n\n"
    with connect(served, head) as connection:
        assert b" 401 " in connection.recv(4096).split(b"\r\n")[0]


def test_a_long_report_of_a_hook_is_stored_whole(hurried):
    served, _ = hurried
    user = make_user()
    choose_mode(user, "automatic")
    headers = JSON | {"Authorization": f"Bearer {make_key(user, scopes={'read', 'write'}).text}"}
    address, start = f"{served.url}/hooks/claude-code/", {"session_id": "s-1", "hook_event_name": "SessionStart"}
    httpx.post(address, json=start, headers=headers, timeout=30)
    said = [{"role": ("user", "assistant")[at % 2], "text": f"{at} " + "naïve 🧠 " * 440} for at in range(16)]
    told = {"event_id": str(uuid4()), "closing": {"commits": ["1a2b3c4 Moved the ledger"], "messages": said}}
    report = {"session_id": "s-1", "hook_event_name": "SessionEnd", "reason": "other", "bigmind": told}
    body = json.dumps(report).encode()

    without_key = httpx.post(address, content=body, headers=JSON, timeout=30)
    answer = httpx.post(address, content=body, headers=headers, timeout=30)

    assert len(body) > 64 * 1024
    assert answer.status_code == 200
    assert "Moved the ledger" in Session.objects.get().one_liner
    assert Chunk.objects.filter(content__contains="naïve 🧠").exists()
    assert without_key.status_code == 401
    assert without_key.headers["Content-Type"] == "application/problem+json"


def test_a_report_that_is_too_large_is_refused_with_a_problem(hurried):
    served, _ = hurried
    headers = JSON | {"Authorization": f"Bearer {make_key().text}"}

    answer = httpx.post(f"{served.url}/hooks/codex/", content=b"x" * (2 * MIB), headers=headers, timeout=30)

    assert answer.status_code == 413
    assert answer.headers["Content-Type"] == "application/problem+json"


def test_as_many_files_may_be_open_as_the_machine_allows(hurried):
    _, process = hurried
    soft, hard = psutil.Process(process.pid).rlimit(psutil.RLIMIT_NOFILE)

    assert soft == hard or soft >= MIB


def test_connections_that_cannot_be_accepted_are_told_once(hurried, monkeypatch):
    from bigmind.embedded import web

    said, server = [], web.Server.__new__(web.Server)
    monkeypatch.setattr(web.log, "error", lambda *_, **told: said.append(told))
    for _ in range(1000):
        server._note(None, {"exception": OSError(24, "Too many open files"), "socket": object()})

    assert len(said) == 1
