"""A GitHub on this machine that answers as its published REST API does: pages, marks, limits, and what goes wrong."""

import base64
import hashlib
import json
import re
from collections import Counter, deque
from dataclasses import dataclass, field
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from threading import Thread
from typing import Any, Self
from urllib.parse import parse_qs, urlsplit

TOKEN = "github-test-token"
Json = dict[str, Any]


@dataclass
class Trouble:
    """One answer in place of the usual one."""

    status: int
    headers: dict[str, str] = field(default_factory=dict)
    body: str = '{"message": "API rate limit exceeded", "documentation_url": "https://docs.github.com/rest"}'


class GitHub:
    """A real HTTP server with one repository. `asked` counts the paths it was asked for."""

    def __init__(
        self, *, issues: list[Json], comments: list[Json], timelines: dict[int, list[Json]], files: Json
    ) -> None:
        self.issues, self.comments, self.timelines, self.files = issues, comments, timelines, files
        self.asked: Counter[str] = Counter()
        self.tokens: set[str] = set()
        self.troubles: deque[Trouble] = deque()
        self.has_issues = True

    @property
    def url(self) -> str:
        """What BIGMIND_GITHUB_URL would be."""
        return f"http://127.0.0.1:{self._server.server_port}"

    def __enter__(self) -> Self:
        self._server = ThreadingHTTPServer(("127.0.0.1", 0), _handler(self))
        Thread(target=self._server.serve_forever, kwargs={"poll_interval": 0.01}, daemon=True).start()
        return self

    def __exit__(self, *error: object) -> None:
        self._server.shutdown()
        self._server.server_close()

    def answer(self, path: str, query: dict[str, str]) -> tuple[int, Any, int]:
        """Return status, document and number of pages."""
        self.asked[path] += 1
        if path == "/repos/acme/widgets":
            told = {
                "full_name": "acme/widgets",
                "html_url": "https://github.com/acme/widgets",
                "default_branch": "main",
            }
            return 200, {**told, "private": True, "has_wiki": True}, 1
        rest = path.removeprefix("/repos/acme/widgets")
        if rest == path:
            return 404, {"message": "Not Found", "documentation_url": "https://docs.github.com/rest"}, 1
        if rest == "/issues":
            return self._page(self.issues, query) if self.has_issues else (410, {"message": "Issues are disabled"}, 1)
        if rest == "/issues/comments":
            return self._page(self.comments, query)
        if found := re.fullmatch(r"/issues/(\d+)/timeline", rest):
            return self._page(self.timelines.get(int(found[1]), []), query)
        if rest == "/git/trees/main":
            tree = [
                {"path": name, "type": "blob", "mode": "100644", "sha": _sha(text), "size": len(text)}
                for name, text in self.files.items()
            ]
            return 200, {"sha": "0" * 40, "tree": [{"path": "docs", "type": "tree"}, *tree], "truncated": False}, 1
        if found := re.fullmatch("/git/blobs/([0-9a-f]{40})", rest):
            text = next(text for text in self.files.values() if _sha(text) == found[1])
            # GitHub breaks the lines of what it encodes.
            return 200, {"encoding": "base64", "content": base64.encodebytes(text.encode()).decode()}, 1
        return 404, {"message": "Not Found"}, 1

    def _page(self, rows: list[Json], query: dict[str, str]) -> tuple[int, list[Json], int]:
        size, number = int(query.get("per_page", 30)), int(query.get("page", 1))
        ordered = rows
        if query.get("sort") == "updated":
            ordered = sorted(rows, key=lambda row: row["updated_at"], reverse=query.get("direction") == "desc")
        return 200, ordered[(number - 1) * size : number * size], -(-len(rows) // size) or 1


def _sha(text: str) -> str:
    return hashlib.sha1(text.encode()).hexdigest()


def _handler(server: GitHub) -> type[BaseHTTPRequestHandler]:
    class Handler(BaseHTTPRequestHandler):
        protocol_version = "HTTP/1.1"

        def do_GET(self) -> None:
            parts = urlsplit(self.path)
            query = {name: values[0] for name, values in parse_qs(parts.query).items()}
            server.tokens.add(self.headers.get("Authorization", ""))
            if self.headers.get("Authorization") not in ("", None, f"Bearer {TOKEN}"):
                self._send(
                    401, '{"message": "Bad credentials", "documentation_url": "https://docs.github.com/rest"}', {}
                )
                return
            if server.troubles:
                trouble = server.troubles.popleft()
                self._send(trouble.status, trouble.body, trouble.headers)
                return
            status, document, pages = server.answer(parts.path, query)
            body = json.dumps(document)
            headers = {"ETag": f'W/"{hashlib.sha256(body.encode()).hexdigest()}"', "X-RateLimit-Remaining": "4999"}
            number = int(query.get("page", 1))
            if status == 200 and number < pages:
                base = f"{server.url}{parts.path}?{'&'.join(f'{k}={v}' for k, v in query.items() if k != 'page')}"
                headers["Link"] = f'<{base}&page={number + 1}>; rel="next", <{base}&page={pages}>; rel="last"'
            if status == 200 and self.headers.get("If-None-Match") == headers["ETag"]:
                self._send(304, "", headers)
                return
            self._send(status, body, headers)

        def _send(self, status: int, body: str, headers: dict[str, str]) -> None:
            raw = body.encode() if status != 304 else b""
            self.send_response(status)
            for name, value in headers.items():
                self.send_header(name, value)
            self.send_header("Content-Type", "application/json; charset=utf-8")
            if status != 304:
                self.send_header("Content-Length", str(len(raw)))
            self.end_headers()
            self.wfile.write(raw)

        def log_message(self, *args: object) -> None:
            """Say nothing."""

    return Handler
