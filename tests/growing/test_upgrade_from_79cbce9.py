"""An instance of revision 79cbce9 upgrades: everybody gets the answers of before, and nothing of it is lost."""

import json
import os
import re
from collections.abc import Iterator
from functools import partial
from io import StringIO
from typing import Any
from uuid import UUID

import psycopg
import pytest
from django.conf import settings
from django.core.management import call_command
from django.db import connection
from django.test import Client
from pytest_django.plugin import DjangoDbBlocker

from bigmind.operations import CATALOGUE
from bigmind.transports.rest.routes import path_parameters
from knowledge.indexing import embedding
from knowledge.models import Session
from knowledge.tasks import embed_pending, find_missing_signs, index_people, index_replaced_facts, rewrite_passages
from tests.backup.conftest import database, on_database
from tests.growing.revision_79cbce9 import Before, restore

_ADDRESS = ("host", "port", "user", "password", "passfile", "dbname")
OLD_PORT, PORT = (f"The ledger of Ada listens on port {port}." for port in (7013, 7014))
ARCHIVED = "Ada prefers unittest to pytest."
SEARCHES = {
    *("memory_semantic_search", "memory_search_chunks", "memory_search_global", "knowledge_search", "kb_search"),
    *("search_knowledge", "directory_search"),
}
"""What is found first stays first; what comes after it, and why it was found, is for ranking to improve."""
NOT_COMPARED = {
    "freshness": "Knowledge grows old.",
    "cache_size": "The embedder of the tests has changed.",
    "asked_before": "It was asked before, when the answer was kept.",
}
UPGRADED = f"bigmind_upgraded_{os.getpid()}"
_SCHEMA = r"""
SELECT 'column', table_name, column_name,
    concat_ws(' ', udt_name, character_maximum_length, is_nullable, column_default, identity_generation, is_generated)
    FROM information_schema.columns WHERE table_schema = 'public'
UNION SELECT 'index', tablename, indexname, indexdef FROM pg_indexes WHERE schemaname = 'public'
UNION SELECT 'constraint', conrelid::regclass::text, conname, pg_get_constraintdef(oid)
    FROM pg_constraint WHERE connamespace = 'public'::regnamespace
UNION SELECT 'trigger', tgrelid::regclass::text, tgname, pg_get_triggerdef(oid) FROM pg_trigger WHERE NOT tgisinternal
UNION SELECT 'policy', tablename, policyname, concat_ws(' ', roles, cmd, qual, with_check)
    FROM pg_policies WHERE schemaname = 'public'
UNION SELECT 'relation', '', relname, concat_ws(' ', relkind, relrowsecurity, relforcerowsecurity)
    FROM pg_class WHERE relnamespace = 'public'::regnamespace AND relname !~ '^bigmind_(memory|records|sessions)_\d+$'
UNION SELECT 'function', '', proname, concat_ws(' ', prosecdef, proconfig, proacl, prosrc)
    FROM pg_proc WHERE pronamespace = 'public'::regnamespace
    AND prolang <> (SELECT oid FROM pg_language WHERE lanname = 'c')
"""


@pytest.fixture(scope="module")
def before() -> Before:
    return Before.read()


@pytest.fixture(scope="module")
def schema(django_db_setup: None, django_db_blocker: DjangoDbBlocker) -> set[tuple[str, ...]]:
    """What a new instance has."""
    with django_db_blocker.unblock():
        return _schema()


@pytest.fixture(scope="module")
def upgraded(before: Before, schema: set[tuple[str, ...]], django_db_blocker: DjangoDbBlocker) -> Iterator[None]:
    """Restore the dump into a database of its own and upgrade it as `bigmind migrate` does."""
    with (
        pytest.MonkeyPatch.context() as patch,
        django_db_blocker.unblock(),
        database(UPGRADED),
        on_database(UPGRADED),
    ):
        patch.setattr(settings, "SECRET_KEY_FALLBACKS", [before.secret_key])
        patch.setattr(settings, "BIGMIND_MODE", "team")
        # A process that has made vectors in another database would take this one's for those of a newer model.
        patch.setattr(embedding, "_worked_in", set())
        restore(psycopg.connect(**_address()))
        call_command("migrate", verbosity=0)
        # The embedder of the tests has changed since: until a worker has made its vectors, search goes by words alone.
        embed_pending()
        yield


pytestmark = [pytest.mark.usefixtures("upgraded"), pytest.mark.django_db]


def test_everybody_gets_the_answers_of_before(before: Before) -> None:
    wrong = {
        f"{question['who']}: {question['operation']} {question['arguments']}": differences
        for question in before.questions
        if question["operation"] not in SEARCHES
        and (differences := list(_differences(question["answer"], _ask_again(before, question))))
    }

    assert wrong == {}


def test_everybody_finds_first_what_they_found_first_and_nothing_where_they_found_nothing(before: Before) -> None:
    searches = [question for question in before.questions if question["operation"] in SEARCHES]

    found = [(_first(question["answer"]), _first(_ask_again(before, question))) for question in searches]

    assert [then for then, now in found] == [now for then, now in found]
    assert {bool(then) for then, _ in found} == {True, False}


def test_the_schema_is_that_of_a_new_instance(schema: set[tuple[str, ...]]) -> None:
    upgraded = _schema()

    assert (upgraded - schema, schema - upgraded) == (set(), set())


def test_sessions_are_numbered_for_each_user_in_the_order_of_their_start() -> None:
    numbers: dict[UUID, list[int]] = {}
    for user, number in Session.objects.order_by("started_at", "id").values_list("user", "number"):
        numbers.setdefault(user, []).append(number)

    assert numbers
    assert all(given == list(range(1, len(given) + 1)) for given in numbers.values())


def test_a_key_that_was_revoked_opens_nothing(before: Before) -> None:
    assert _ask(before.revoked_key, "memory_list_facts", {})["status"] == 401


def test_search_finds_all_that_is_stored_before_and_after_the_worker_has_read_it_again() -> None:
    at_once = _run("reindex", "--dry-run")
    for task in (rewrite_passages, index_replaced_facts, find_missing_signs, index_people, embed_pending):
        task()

    assert at_once["found"] == _run("reindex", "--dry-run")["found"] == []


def test_history_audit_log_and_reports_of_erasures_are_whole() -> None:
    report = _run("audit_verify")

    assert (report["broken"], report["history"], report["reports"]) == ([], [], [])
    assert min(report["checked"].values()) > 0


def test_work_goes_on_where_it_was(before: Before) -> None:
    ada, cora = partial(_ask, before.keys["ada"]), partial(_ask, before.keys["cora"])
    facts = {fact["fact"]: fact["id"] for fact in ada("memory_list_facts", {"include_deprecated": True})["items"]}
    (going_on,) = [one["id"] for one in ada("memory_list_sessions", {})["items"] if one["is_open"]]
    (waiting,) = [one["entry"] for one in cora("memory_list_queue", {"text": "Retries wait"})["items"]]

    new = ada(
        "memory_store_fact", {"category": "codebase", "fact": "The depot has a gate.", "source_session": going_on}
    )
    corrected = ada("memory_correct_fact", {"fact_id": facts[PORT], "fact": "The ledger of Ada moved to port 7015."})
    ada("memory_restore", {"kind": "fact", "id": str(facts[ARCHIVED])})
    ada("memory_flag_important", {"content": "The gate is painted green.", "session_id": going_on})
    ada("knowledge_set", {"domain": "email", "key": "rules", "content": "Be briefer."})
    ended = ada("memory_end_session", {"one_liner": "Looked at the ledger", "session_id": going_on})
    decision = {"entry_id": waiting["id"], "revision": waiting["revision"], "action": "approve"}
    approved = cora("memory_approve_global", decision)
    embed_pending()

    now = {fact["fact"]: fact["id"] for fact in ada("memory_list_facts", {})["items"]}
    assert {new["fact"]["id"], corrected["id"]}.isdisjoint(facts.values())
    assert now.keys() == facts.keys() - {PORT, OLD_PORT} | {new["fact"]["fact"], corrected["fact"]}
    assert now[ARCHIVED] == facts[ARCHIVED]
    assert ada("memory_semantic_search", {"query": "port of the ledger"})["items"][0]["id"] == str(corrected["id"])
    assert ended["ended_at"]
    assert approved["status"] == "approved"
    assert (_run("reindex", "--dry-run")["found"], _run("audit_verify")["history"]) == ([], [])


def _address() -> dict[str, Any]:
    parameters = connection.get_connection_params()
    return {name: parameters[name] for name in _ADDRESS if parameters.get(name)}


def _schema() -> set[tuple[str, ...]]:
    with connection.cursor() as cursor:
        cursor.execute(_SCHEMA)
        # A dump writes casts and brackets otherwise than what it is a dump of.
        return {(*names, re.sub(r"::[a-z ]+(\[\])?|[()\s]", "", text or "")) for *names, text in cursor.fetchall()}


def _ask(key: str, name: str, arguments: dict[str, Any]) -> Any:
    """Perform an operation over REST; return its reply, whatever it is."""
    operation = CATALOGUE[name]
    places = {part: arguments[part] for part in path_parameters(operation)}
    others = {part: value for part, value in arguments.items() if part not in places}
    path = f"/api/v1/{operation.path.format(**places)}"
    client = Client(headers={"Authorization": f"Bearer {key}"})
    if operation.method in {"GET", "DELETE"}:
        return getattr(client, operation.method.lower())(path, query_params=others).json()
    return client.generic(operation.method, path, json.dumps(others), content_type="application/json").json()


def _ask_again(before: Before, question: dict[str, Any]) -> Any:
    return _ask(before.keys[question["who"]], question["operation"], question["arguments"])


def _first(answer: Any) -> str:
    """Return the id of what was found first."""
    for item in answer["items"]:
        thing = item.get("entry") or item.get("reference") or item
        return str(thing.get("id") or thing["username"])
    return ""


def _differences(old: Any, new: Any, place: str = "") -> Iterator[str]:
    """Say where an answer no longer says what it did. That it says more is no difference."""
    if isinstance(old, dict) and isinstance(new, dict):
        for name, value in old.items():
            if name not in NOT_COMPARED:
                yield from _differences(value, new.get(name), f"{place}.{name}")
    elif isinstance(old, list) and isinstance(new, list) and len(old) == len(new):
        for number, (one, other) in enumerate(zip(old, new, strict=True)):
            yield from _differences(one, other, f"{place}[{number}]")
    elif old != new:
        yield f"{place}: {old!r} became {new!r}"


def _run(command: str, *options: str) -> Any:
    """Run a command; return what it prints as JSON."""
    said = StringIO()
    call_command(command, *options, "--json", stdout=said)
    return json.loads(said.getvalue())
