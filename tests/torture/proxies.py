"""A proxy on this machine that adds a header, since the conformance suite sends no key."""

import threading
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager, suppress
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer

import httpx

# What belongs to one connection, and not to what is sent through it.
OF_THE_CONNECTION = {"connection", "keep-alive", "transfer-encoding", "content-length", "upgrade"}

Choose = Callable[[], Sequence[httpx.Client]]


@contextmanager
def adding_a_header(target: str, name: str, value: str) -> Iterator[str]:
    """Pass requests on to the target with one more header, and yield the address to send them to."""
    with (
        httpx.Client(base_url=target, timeout=None, trust_env=False) as client,
        _serving(lambda: [client], [(name, value)]) as url,
    ):
        yield url


@contextmanager
def _serving(choose: Choose, added: list[tuple[str, str]]) -> Iterator[str]:
    server = ThreadingHTTPServer(("127.0.0.1", 0), _handler(choose, added))
    server.daemon_threads = True
    threading.Thread(target=server.serve_forever, daemon=True).start()
    try:
        yield f"http://localhost:{server.server_address[1]}"
    finally:
        server.shutdown()
        server.server_close()


def _handler(choose: Choose, added: list[tuple[str, str]]) -> type[BaseHTTPRequestHandler]:
    class Handler(BaseHTTPRequestHandler):
        protocol_version = "HTTP/1.1"
        has_begun = False

        def pass_on(self) -> None:
            self.has_begun = False
            body = self.rfile.read(int(self.headers.get("Content-Length", 0)))
            for client in choose():
                try:
                    with client.stream(self.command, self.path, headers=self._sent(client), content=body) as answer:
                        return self._answer(answer)
                except httpx.ConnectError:
                    continue
                except httpx.TransportError:
                    break
            self.close_connection = True
            if not self.has_begun:
                with suppress(OSError):
                    self.send_error(502)
            return None

        def _sent(self, client: httpx.Client) -> list[tuple[str, str]]:
            """The headers. Addresses of this proxy become those of the server; those of somebody else stay."""
            own, port = self.headers.get("Host", "").rpartition(":")[2], client.base_url.port
            sent = [
                (key, (said.replace(f":{own}", f":{port}") if key.lower() in {"host", "origin"} else said).strip())
                for key, said in self.headers.items()
                if key.lower() not in OF_THE_CONNECTION
            ]
            return [*sent, *added]

        def _answer(self, answer: httpx.Response) -> None:
            self.has_begun = True
            self.send_response(answer.status_code)
            for key, said in answer.headers.multi_items():
                if key.lower() not in {*OF_THE_CONNECTION, "server", "date"}:
                    self.send_header(key, said)
            self.send_header("Connection", "close")
            self.end_headers()
            # The end of the connection is the end of the body: streams of events have no length.
            for part in answer.iter_raw():
                self.wfile.write(part)
                self.wfile.flush()

        do_GET = do_POST = do_DELETE = do_PUT = do_OPTIONS = pass_on

        def log_message(self, format: str, *arguments: object) -> None:
            """Say nothing: the server has a log of its own."""

    return Handler
