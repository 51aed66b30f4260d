"""T36: while 20,000 references wait for their vectors, nobody waits for them: facts, deliveries, app runs and sync."""

import json
import time
from collections import defaultdict
from collections.abc import Callable
from pathlib import Path
from threading import Event, Thread

import httpx
import pytest

from accounts.keys import new_key_text
from tests.curation.company import Company, answering
from tests.embedded.instance import Instance, command
from tests.knowledge.budibase_server import KEY, Budibase
from tests.torture.busy_day import Webhook, running_webhook
from tests.torture.conftest import Start
from tests.torture.scale import PATIENCE, REFERENCES
from tests.torture.vectors import waiting
from tests.torture.writes import client_of, query

pytestmark = [pytest.mark.torture, pytest.mark.alone]

VECTOR_WITHIN = 5.0
OTHER_WORK_WITHIN = 10.0
DOCUMENTS = 4
# They share no words, or they would wait for a decision as contradictions, and go nowhere.
RULES = (
    "Tide tables hang at the harbour office.",
    "Invoices leave before noon on Fridays.",
    "Passwords live in the vault only.",
    "Migrations get reviewed by two engineers.",
    "Screens follow our dark palette.",
)

Seconds = defaultdict[str, list[float]]
"""How long work took, by what it was."""


def test_nobody_waits_behind_an_import(running: Start, tmp_path: Path, report: Callable[[str], None]) -> None:
    documents = [_write_api(tmp_path / f"api-{number}.json", number) for number in range(DOCUMENTS)]
    with Budibase() as budibase, answering(Company()) as company, running_webhook() as webhook:
        variables = {
            "BIGMIND_BUDIBASE_URL": budibase.url,
            "BIGMIND_BUDIBASE_API_KEY": KEY,
            "BIGMIND_COMPANY_URL": company.url,
            "BIGMIND_COMPANY_KEY": new_key_text(),
            "BIGMIND_MODE": "personal",
            "BIGMIND_WEBHOOK_URL": webhook.url,
            "BIGMIND_WEBHOOK_SECRET": "whsec_c2lnbmVkIGF0IHRoZSBxdWF5IQ==",
            "BIGMIND_WEBHOOK_PRIVATE": "on",
        }
        with running(**variables) as bigmind, client_of(bigmind) as client:
            took = Seconds(list)
            slow = _work_during(client, lambda: _import_all(bigmind, documents, took))
            left = waiting(bigmind)
            for number in range(len(RULES)):
                _work_beside(bigmind, client, number, webhook, company, took)
            still = waiting(bigmind)
            memory = bigmind.processes()["worker"].memory_full_info().uss

    report(f"{left} texts waited at the beginning, {still} at the end; the worker has {memory / 1e6:.0f} MB of its own")
    for what, seconds in took.items():
        report(f"{what}: {', '.join(f'{one:.1f}' for one in seconds)} s")
    report(f"an agent meanwhile: {len(slow)} calls, the slowest {max(slow):.2f} s")
    assert still > REFERENCES / 20, "The references had their vectors before anything was measured."
    assert max(took.pop("the vector of a fact")) <= VECTOR_WITHIN
    took.pop("the import of the documents")
    assert max(second for seconds in took.values() for second in seconds) <= OTHER_WORK_WITHIN


def _work_beside(
    bigmind: Instance, client: httpx.Client, number: int, webhook: Webhook, company: Company, took: Seconds
) -> None:
    """Let one of each kind of work be done, and note how long it took."""
    took["the vector of a fact"].append(_seconds(lambda: _store_fact(bigmind, client, number)))
    entry = {"category": "standard", "title": f"Rule {number}", "content": RULES[number]}
    signatures, proposals, began = len(webhook.signatures), len(company.proposals), time.monotonic()
    client.post("company/", json=entry).raise_for_status()
    _wait_until(lambda: len(webhook.signatures) > signatures)
    took["a delivery"].append(time.monotonic() - began)
    _wait_until(lambda: len(company.proposals) > proposals)
    took["a proposal at the company"].append(time.monotonic() - began)
    took["an app run"].append(_seconds(lambda: _read_apps(bigmind, client)))


def _write_api(path: Path, number: int) -> Path:
    words = ("crane", "quay", "berth", "tide", "pilot", "cargo", "manifest", "seal", "gate", "shift")
    paths = {
        f"/{words[place % 10]}s/{number}-{place}/{words[place // 10 % 10]}": {
            "get": {
                "operationId": f"get_{words[place % 10]}_{number}_{place}",
                "summary": f"Return the {words[place // 10 % 10]} of {words[place % 10]} {place}.",
                "description": "It answers with the state of the day, who was on duty, and what was written of it.",
                "responses": {"200": {"description": "The state."}},
            }
        }
        for place in range(REFERENCES // DOCUMENTS)
    }
    api = {"openapi": "3.0.0", "info": {"title": f"Harbour {number}", "version": "1"}, "paths": paths}
    path.write_text(json.dumps(api))
    return path


def _import_all(bigmind: Instance, documents: list[Path], took: Seconds) -> None:
    for document in documents:
        began = time.monotonic()
        done = command(bigmind.home, "references_import", str(document), "--collection", document.stem)
        assert done.returncode == 0, done.stderr
        took["the import of the documents"].append(time.monotonic() - began)


def _work_during(client: httpx.Client, work: Callable[[], None]) -> list[float]:
    """Do some work while an agent writes and searches; return how long its calls took."""
    over, seconds = Event(), []

    def call_on() -> None:
        for number in range(1_000_000):
            if over.wait(0.5):
                return
            fact = {"fact": f"Meanwhile {number} the pilot boarded.", "category": "decision"}
            seconds.append(_seconds(lambda fact=fact: client.post("facts/", json=fact).raise_for_status()))
            asked = {"query": "who boarded", "limit": 3}
            seconds.append(_seconds(lambda asked=asked: client.get("search/", params=asked).raise_for_status()))

    agent = Thread(target=call_on)
    agent.start()
    try:
        work()
    finally:
        over.set()
        agent.join()
    return seconds


def _store_fact(bigmind: Instance, client: httpx.Client, number: int) -> None:
    text = f"Berth {number} is dredged in May, said the harbour master."
    client.post("facts/", json={"fact": text, "category": "decision"}).raise_for_status()
    made = (
        "SELECT 1 FROM knowledge_passage AS passage"
        " JOIN knowledge_passagevector AS made ON made.passage_id = passage.id"
        f" WHERE passage.kind = 'fact' AND strpos(passage.text, 'Berth {number} is dredged') > 0"
        " AND made.vector IS NOT NULL"
    )
    _wait_until(lambda: bool(query(bigmind.home, made)))


def _read_apps(bigmind: Instance, client: httpx.Client) -> None:
    run = client.post("apps/bootstrap/", json={"connector": "budibase"}).raise_for_status().json()["run"]["id"]
    _wait_until(lambda: query(bigmind.home, f"SELECT state FROM knowledge_apprun WHERE id = {run}") == [("done",)])


def _seconds(work: Callable[[], object]) -> float:
    began = time.monotonic()
    work()
    return time.monotonic() - began


def _wait_until(claim: Callable[[], bool]) -> None:
    give_up = time.monotonic() + PATIENCE
    while not claim():
        assert time.monotonic() < give_up, "It did not come true in time."
        time.sleep(0.05)
