"""HTTP to other servers: connections are kept, and not for longer or for more than they are good for."""

import os
import re
import time
from collections.abc import Iterator
from concurrent.futures import ThreadPoolExecutor
from contextlib import contextmanager
from http.server import BaseHTTPRequestHandler
from typing import Any

import httpx
import pytest

from bigmind.network.addresses import fetch, post
from bigmind.network.http_clients import client_for, deadline
from knowledge.embeddings.openai_compatible import OpenAICompatible
from tests.embedded.instance import ROOT
from tests.local_server import serve_http


class Counting:
    """A server that counts the connections it accepted, and remembers the cookies it was shown."""

    def __init__(self) -> None:
        self.accepted = 0
        self.cookies: list[str | None] = []
        self.url = ""


@pytest.fixture
def server() -> Iterator[Counting]:
    counting = Counting()

    class Polite(BaseHTTPRequestHandler):
        protocol_version = "HTTP/1.1"

        def setup(self) -> None:
            counting.accepted += 1
            super().setup()

        def do_POST(self) -> None:
            self.rfile.read(int(self.headers["Content-Length"]))
            self.do_GET(b'{"data": [{"index": 0, "embedding": [1, 0, 0]}]}' if "embeddings" in self.path else b"ok")

        def do_GET(self, body: bytes = b"ok") -> None:
            counting.cookies.append(self.headers["Cookie"])
            self.send_response(200)
            self.send_header("Set-Cookie", "who=me")
            self.send_header("Content-Type", "application/json")
            self.send_header("Content-Length", str(len(body)))
            self.end_headers()
            self.wfile.write(body)

        def log_message(self, *message: object) -> None: ...

    with serve_http(Polite) as listening:
        counting.url = f"http://127.0.0.1:{listening.server_port}/"
        yield counting
    client_for.cache_clear()


def test_two_hundred_deliveries_take_one_connection(server: Counting) -> None:
    for number in range(200):
        assert post(server.url, b"%d" % number, {}, may_be_private=True).status == 200

    assert server.accepted <= 2


def test_two_hundred_look_ups_take_one_connection_and_show_no_cookie(server: Counting) -> None:
    for _ in range(200):
        assert fetch(server.url, most_bytes=100, seconds=5, may_be_private=True).body == b"ok"

    assert server.accepted <= 2
    assert set(server.cookies) == {None}


def test_two_hundred_texts_are_embedded_over_a_connection_for_each_thread(server: Counting) -> None:
    embedder = OpenAICompatible(server.url, "three-numbers", 3)

    with ThreadPoolExecutor(4) as threads:
        vectors = list(threads.map(lambda number: embedder.embed([f"Text {number}."]), range(200)))

    assert len(vectors) == 200
    assert server.accepted <= 4


def test_a_copy_of_a_process_uses_no_connection_of_its_parent(server: Counting) -> None:
    post(server.url, b"parent", {}, may_be_private=True)
    if not (copy := os.fork()):
        try:
            post(server.url, b"copy", {}, may_be_private=True)
        finally:
            os._exit(0)
    os.waitpid(copy, 0)
    post(server.url, b"parent", {}, may_be_private=True)

    assert server.accepted == 2


def test_the_deadline_ends_an_exchange_on_a_connection_that_was_open_already() -> None:
    with _dribbling() as url:
        client = client_for(url)
        assert client.get(f"{url}/whole").text == "whole"
        begun = time.monotonic()
        with deadline(0.5), pytest.raises(httpx.TimeoutException):
            client.get(f"{url}/slow")

    assert time.monotonic() - begun < 2


@contextmanager
def _dribbling() -> Iterator[str]:
    class Dribbling(BaseHTTPRequestHandler):
        protocol_version = "HTTP/1.1"

        def do_GET(self) -> None:
            self.send_response(200)
            self.send_header("Content-Length", "5")
            self.end_headers()
            for letter in b"whole":
                time.sleep(0.3 if self.path == "/slow" else 0)
                self.wfile.write(bytes([letter]))

        def log_message(self, *message: Any) -> None: ...

    with serve_http(Dribbling) as listening:
        yield f"http://127.0.0.1:{listening.server_port}"
    client_for.cache_clear()


def test_nothing_that_is_asked_often_makes_a_client_of_its_own() -> None:
    """What people run themselves may: `doctor`, the trial of a hook, a snippet that is read and not run."""
    makers = re.compile(r"httpx2?\.(?:Client|AsyncClient|get|post|stream|request)\(")
    found = {
        str(file.relative_to(ROOT))
        for part in ("bigmind", "accounts", "knowledge", "curation")
        for file in (ROOT / part).rglob("*.py")
        if makers.search(file.read_text())
    }

    assert found == {
        "accounts/connecting/hook_trials.py",
        "accounts/connecting/snippets.py",
        "bigmind/network/http_clients.py",
        "bigmind/embedded/doctor_checks.py",
        "bigmind/transports/rest/reference_pages.py",
    }
