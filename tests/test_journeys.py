"""Journeys stay within their budgets: an act runs only what its reply needs.

Counted as users work: over MCP, in a session, warm, with 900 facts and 50 sessions.
"""

from collections.abc import Callable, Iterator
from dataclasses import replace
from itertools import count
from typing import Any

import pytest
from django.test import Client, override_settings
from django.urls import reverse
from mcp import types

from accounts.actor import Actor
from accounts.services.agents import note_agent
from bigmind.core.after_reply import AFTER_REPLY
from bigmind.text.hygiene import digest
from bigmind.transports.mcp.request_context import RequestContext
from bigmind.transports.mcp.tools import call_tool
from curation.decisions.overlaps import compare_proposals
from knowledge.indexing.embedding import embed_pending
from knowledge.models import CompanyEntry, Passage
from tests.conftest import _empty_database
from tests.curation.factories import approved_entry, propose
from tests.factories import make_actor, make_key, make_user
from tests.journeys import Cost, warm
from tests.knowledge.factories import make_facts

FACTS, SESSIONS, APPROVED = 900, 50, 30
SERVICES = ("router", "gateway", "ledger", "scheduler", "mailer", "archive", "console", "billing", "search", "cache")
ACTS = ("is deployed by hand", "keeps its logs for a week", "listens on the second port", "answers within a second")
PASSWORD = "correct horse battery"

BUDGETS = {
    "memory_store_fact": Cost(55, 330, 11),
    "memory_start_session": Cost(54, 850, 12),
    "memory_get_context": Cost(40, 560, 6),
    "memory_end_session": Cost(53, 400, 10),
    "memory_flag_important": Cost(50, 320, 8),
    "memory_list_facts": Cost(35, 600, 3),
    "memory_recall": Cost(60, 880, 12),
    "memory_semantic_search": Cost(58, 790, 12),
    "kb_search": Cost(48, 380, 8),
    "a curator opens a proposal": Cost(56, 860, 11),
    "a curator approves": Cost(55, 900, 20),
    "sign-in": Cost(25, 120, 19),
}
"""What a journey may run. Many are what is run today, until the goals in `docs/architecture.md` are reached."""

_numbers = count(1)


class Worker:
    """A person with a key, whose agent calls tools in a session, and a curator in a browser."""

    def __init__(self) -> None:
        user = make_user("worker", password=PASSWORD)
        key = make_key(user).key
        agent = note_agent(user, client_name="claude-code", client_version="1.0", host="laptop")
        self.actor = replace(Actor.of(user, key=key, agent=agent), connection=digest("a connection"))
        self._context = RequestContext(self.actor, frozenset({"core"}), "journey", False)
        self.proposer = make_actor()
        self.curator, self.newcomer = Client(), Client()
        self.curator.force_login(make_user("curator", role="curator"))

    def call(self, tool: str, **arguments: Any) -> str:
        """Call a tool as MCP does, and return what the agent reads."""
        reply = call_tool(self._context, types.CallToolRequestParams(name=tool, arguments=arguments))
        [content] = reply.content
        assert isinstance(content, types.TextContent)
        assert not reply.is_error, content.text
        return content.text


@pytest.fixture(scope="module")
def worker(django_db_setup: None, django_db_blocker: Any) -> Iterator[Worker]:
    """A person with 900 facts and 50 sessions, embedded, at work in the 51st."""
    with django_db_blocker.unblock(), AFTER_REPLY.gather(), override_settings(BIGMIND_MODE="team"):
        worker = Worker()
        _fill(worker)
        yield worker
        _empty_database()


def _fill(worker: Worker) -> None:
    make_facts(
        worker.actor,
        [f"The {SERVICES[n % 10]} of team {n // 40} {ACTS[n % 4]} since release {n}." for n in range(FACTS)],
        category="codebase",
        project="freight",
    )
    for number in range(SESSIONS):
        worker.call("memory_start_session", project="freight")
        worker.call(
            "memory_end_session",
            one_liner=f"Moved the {SERVICES[number % 10]}, part {number}",
            topics=["deploys", SERVICES[number % 10]],
            outcome=f"The {SERVICES[number % 10]} runs on the new machines.",
        )
    for number in range(APPROVED):
        approved_entry(worker.actor, content=f"Teams deploy the {SERVICES[number % 10]} of area {number} on Tuesdays.")
    Passage.objects.update(compared=True)
    while embed_pending():
        pass
    worker.call("memory_start_session", project="freight", topics=["deploys"])


def _text() -> str:
    number = next(_numbers)
    return f"Release {number} of the {SERVICES[number % 10]} went out on day {number + 3}."


def _store(worker: Worker) -> Callable[[], object]:
    return lambda: worker.call("memory_store_fact", category="codebase", fact=_text())


def _start(worker: Worker) -> Callable[[], object]:
    return lambda: worker.call("memory_start_session", project="freight", topics=["deploys"])


def _context(worker: Worker) -> Callable[[], object]:
    return lambda: worker.call("memory_get_context", project="freight")


def _end(worker: Worker) -> Callable[[], object]:
    return lambda: worker.call("memory_end_session", one_liner=_text(), topics=["deploys"], outcome=_text())


def _flag(worker: Worker) -> Callable[[], object]:
    return lambda: worker.call("memory_flag_important", content=_text(), flag_reason="A decision.")


def _list(worker: Worker) -> Callable[[], object]:
    return lambda: worker.call("memory_list_facts")


def _recall(worker: Worker) -> Callable[[], object]:
    return lambda: worker.call("memory_recall", query=f"How is the {SERVICES[next(_numbers) % 10]} deployed?")


def _search(worker: Worker) -> Callable[[], object]:
    return lambda: worker.call("memory_semantic_search", query=f"logs of the {SERVICES[next(_numbers) % 10]}")


def _kb_search(worker: Worker) -> Callable[[], object]:
    return lambda: worker.call("kb_search", query=f"deploying the {SERVICES[next(_numbers) % 10]}")


def _propose(worker: Worker) -> CompanyEntry:
    """Propose something that a worker compares at once, and whose page the browser of a curator reads ahead."""
    number = next(_numbers)
    content = f"The {SERVICES[number % 10]} of the {number}th team is deployed on Wednesdays."
    entry = propose(worker.proposer, title=f"Deploys {number}", content=content)
    compare_proposals()
    worker.curator.get(reverse("curation-entry", args=[entry.pk]), headers={"X-Read-Ahead": "1"})
    return entry


def _open_proposal(worker: Worker) -> Callable[[], object]:
    entry = _propose(worker)
    return lambda: worker.curator.get(reverse("curation-entry", args=[entry.pk]))


def _approve(worker: Worker) -> Callable[[], object]:
    entries = iter([_propose(worker) for _ in range(5)])

    def approve() -> None:
        entry = next(entries)
        sent = {"decision": "approve", "notes": "Matches ADR 7.", "revision": entry.revision}
        reply = worker.curator.post(reverse("curation-decide", args=[entry.pk]), sent)
        assert reply.status_code == 302, reply.text

    return approve


def _sign_in(worker: Worker) -> Callable[[], object]:
    def sign_in() -> None:
        worker.newcomer.cookies.clear()
        reply = worker.newcomer.post(reverse("sign-in"), {"username": "worker", "password": PASSWORD})
        assert reply.status_code == 302, reply.text

    return sign_in


JOURNEYS = {
    "memory_store_fact": _store,
    "memory_start_session": _start,
    "memory_get_context": _context,
    "memory_end_session": _end,
    "memory_flag_important": _flag,
    "memory_list_facts": _list,
    "memory_recall": _recall,
    "memory_semantic_search": _search,
    "kb_search": _kb_search,
    "a curator opens a proposal": _open_proposal,
    "a curator approves": _approve,
    "sign-in": _sign_in,
}


@pytest.mark.parametrize("name", JOURNEYS)
def test_a_journey_stays_within_its_budget(worker: Worker, name: str) -> None:
    journey = warm(JOURNEYS[name](worker))

    report = "\n".join([f"{name}: {journey.cost}", *(f"{calls:5} {file}" for file, calls in journey.by_file())])
    assert all(seen <= most for seen, most in zip(journey.cost, BUDGETS[name], strict=True)), report
