"""A company server for tests of the laptop's side: it answers as BigMind's REST API does, and fails when told to."""

import json
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass, field
from http.server import BaseHTTPRequestHandler
from itertools import count
from typing import Any
from urllib.parse import parse_qs, urlsplit

from tests.local_server import serve_http

MOMENT = "2026-03-30T09:15:00Z"


@dataclass
class Company:
    """What the company knows and was told, and how it behaves."""

    url: str = ""
    approved: list[dict[str, Any]] = field(default_factory=list)
    proposals: dict[str, dict[str, Any]] = field(default_factory=dict)
    reports: list[dict[str, Any]] = field(default_factory=list)
    asked: list[tuple[str, str]] = field(default_factory=list)
    keys: list[str] = field(default_factory=list)
    answers: dict[str, tuple[int, Any]] = field(default_factory=dict)
    loses_answers: bool = False
    is_away: bool = False
    headers: dict[str, str] = field(default_factory=dict)
    meanwhile: Callable[[], None] | None = None
    numbers: Iterator[int] = field(default_factory=lambda: count(100))

    def approve(self, **said: Any) -> dict[str, Any]:
        """Know something more."""
        entry = as_entry(next(self.numbers), **said)
        self.approved.append(entry)
        return entry

    def decide(self, status: str, notes: str = "") -> None:
        """Decide about all that was proposed."""
        for proposal in self.proposals.values():
            told = {"decided_by": "cora", "decided_at": MOMENT, "decision_notes": notes}
            proposal.update(status=status, revision=2, **told)
            if status == "approved":
                self.approved.append(proposal)

    def asked_for(self, method: str, path: str) -> int:
        """Count the requests of one kind."""
        return self.asked.count((method, path))

    @property
    def mark(self) -> str:
        """What changes when the knowledge does."""
        return str(hash(json.dumps(self.approved, sort_keys=True)))


def as_entry(number: int, **said: Any) -> dict[str, Any]:
    """An entry as the API shows it."""
    return {
        "id": number,
        "handle": f"C{number}",
        "category": "standard",
        "title": f"Rule {number}",
        "content": f"Every service of kind {number} answers /healthz.",
        "importance": 5,
        "status": "approved",
        "revision": 1,
        "project": "",
        "topics": [],
        "evidence": "",
        "origin": "inferred",
        "proposed_by": "ada",
        "owner": "ada",
        "decided_by": "cora",
        "decided_at": MOMENT,
        "decision_notes": "",
        "verified_at": MOMENT,
        "review_after": "2036-03-30",
        "created_at": MOMENT,
        "something_newer": True,
        **said,
    }


@contextmanager
def answering(company: Company) -> Iterator[Company]:
    """Let the company answer at its address, until the end."""
    with serve_http(_handler(company)) as server:
        company.url = f"http://127.0.0.1:{server.server_port}"
        yield company


def _handler(company: Company) -> type[BaseHTTPRequestHandler]:
    class Handler(BaseHTTPRequestHandler):
        """Answers like the API."""

        def do_GET(self) -> None:
            self._answer("GET", None)

        def do_PUT(self) -> None:
            self._answer("PUT", self._body())

        def do_POST(self) -> None:
            self._answer("POST", self._body())

        def log_message(self, *said: Any) -> None:
            """Say nothing."""

        def _body(self) -> Any:
            return json.loads(self.rfile.read(int(self.headers["Content-Length"])))

        def _answer(self, method: str, body: Any) -> None:
            parts = urlsplit(self.path)
            path = parts.path.removeprefix("/api/v1/")
            company.asked.append((method, "instances" if "instances" in path else path))
            company.keys.append(self.headers["Authorization"])
            if company.meanwhile:
                company.meanwhile()
            if company.is_away:
                self.close_connection = True
                self.connection.close()
                return
            status, said = company.answers.get(path) or _said(company, method, path, body, self.headers, parts.query)
            if method == "POST" and company.loses_answers:
                self.close_connection = True
                self.connection.close()
                return
            self._send(status, said)

        def _send(self, status: int, said: Any) -> None:
            text = said if isinstance(said, bytes) else json.dumps(said).encode()
            self.send_response(status)
            for name, value in {"Content-Length": str(len(text)), **company.headers}.items():
                self.send_header(name, value)
            self.end_headers()
            self.wfile.write(text)

    return Handler


def _said(company: Company, method: str, path: str, body: Any, headers: Any, query: str) -> tuple[int, Any]:
    if method == "PUT":
        company.reports.append(body)
        listed = {"username": "ada", "profile_url": f"{company.url}/u/ada/"}
        return 200, {"instance": listed, "knowledge": company.mark, "entries": len(company.approved)}
    if method == "POST":
        key = headers["Idempotency-Key"]
        entry = company.proposals.get(key) or as_entry(
            next(company.numbers), **body, status="pending", decided_by=None, decided_at=None
        )
        company.proposals[key] = entry
        return 201, {"entry": entry, "status": entry["status"], "duplicate": False, "held_back": ""}
    rows = list(reversed(company.proposals.values())) if path == "company/mine/" else company.approved
    asked = parse_qs(query)
    offset, limit = int(asked["offset"][0]), int(asked["limit"][0])
    return 200, {"items": rows[offset : offset + limit], "total": len(rows), "limit": limit, "offset": offset}
