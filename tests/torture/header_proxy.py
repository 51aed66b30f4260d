"""A proxy on this machine that adds a header to each request: the conformance suite sends no key of its own."""

import threading
from collections.abc import Iterator
from contextlib import contextmanager
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer

import httpx

# What belongs to one connection, and not to what is sent through it.
OF_THE_CONNECTION = {"connection", "keep-alive", "transfer-encoding", "content-length", "upgrade"}


@contextmanager
def adding_a_header(target: str, name: str, value: str) -> Iterator[str]:
    """Pass requests on to the target with one more header, and yield the address to send them to."""
    with httpx.Client(base_url=target, timeout=None, trust_env=False) as client:
        server = ThreadingHTTPServer(("127.0.0.1", 0), _handler(client, name, value))
        server.daemon_threads = True
        threading.Thread(target=server.serve_forever, daemon=True).start()
        try:
            yield f"http://localhost:{server.server_address[1]}"
        finally:
            server.shutdown()
            server.server_close()


def _handler(client: httpx.Client, name: str, value: str) -> type[BaseHTTPRequestHandler]:
    port = client.base_url.port

    class Handler(BaseHTTPRequestHandler):
        protocol_version = "HTTP/1.1"

        def pass_on(self) -> None:
            body = self.rfile.read(int(self.headers.get("Content-Length", 0)))
            own = self.headers.get("Host", "").rpartition(":")[2]
            # Addresses of this proxy become those of the server; an address of somebody else stays what it is.
            sent = [
                (key, (said.replace(f":{own}", f":{port}") if key.lower() in {"host", "origin"} else said).strip())
                for key, said in self.headers.items()
                if key.lower() not in OF_THE_CONNECTION
            ]
            with client.stream(self.command, self.path, headers=[*sent, (name, value)], content=body) as answer:
                self._answer(answer)

        def _answer(self, answer: httpx.Response) -> None:
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
