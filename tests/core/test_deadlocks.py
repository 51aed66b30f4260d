"""Rows that several transactions change are locked in one order; where two collide all the same, one tries again."""

import ast
import threading
from collections.abc import Callable, Iterator
from concurrent.futures import ThreadPoolExecutor
from dataclasses import replace
from pathlib import Path

import pytest
from django.conf import settings
from django.db import OperationalError, connection, transaction
from psycopg.errors import DeadlockDetected

from accounts.actor import Actor
from bigmind.core.background import BackgroundTask
from bigmind.core.deadlocks import TRIES, retry_collisions
from bigmind.database.rls import rls_bypass
from bigmind.gate import perform
from bigmind.operations import CATALOGUE
from tests.factories import make_actor
from tests.knowledge.factories import make_fact

APPS = ("bigmind", "accounts", "knowledge", "curation")
ONE_ROW = {
    "accounts/sign_in/sso.py": "the newest invitation",
    "accounts/sign_in/second_factors.py": "the authenticator of one user",
    "knowledge/capture/conversations.py": "one conversation, by its digest",
    "knowledge/references/editing.py": "one reference, by its id",
    "knowledge/conversation/chunks.py": "one chunk, by its id",
    "knowledge/conversation/current_sessions.py": "the session of one conversation",
    "knowledge/indexing/embedding.py": "one space",
    "knowledge/kb/entry_reading.py": "one entry, by its id",
    "knowledge/memory/facts.py": "one fact, by its id",
    "knowledge/memory/notes.py": "one note, by its key",
    "knowledge/context/sessions.py": "one session, by its id",
    "curation/decisions/history.py": "one entry, by its number",
}
"""Where what is locked is narrowed to one row in another statement."""


def _locks(tree: ast.Module) -> Iterator[tuple[set[str], set[str | None]]]:
    """Yield of each `select_for_update` the methods of its chain, and its own arguments."""
    above = {child: node for node in ast.walk(tree) for child in ast.iter_child_nodes(node)}
    for node in ast.walk(tree):
        if isinstance(node, ast.Attribute) and node.attr == "select_for_update":
            top: ast.AST = node
            while isinstance(above[top], ast.Attribute) or getattr(above[top], "func", None) is top:
                top = above[top]
            call = above[node]
            chain = {one.attr for one in ast.walk(top) if isinstance(one, ast.Attribute)}
            yield chain, {word.arg for word in call.keywords} if isinstance(call, ast.Call) else set()


def test_several_rows_are_locked_in_the_order_of_their_keys() -> None:
    unordered = set()
    for path in (path for app in APPS for path in Path(settings.BASE_DIR, app).rglob("*.py")):
        text = path.read_text()
        for chain, arguments in _locks(ast.parse(text)) if "select_for_update" in text else ():
            if not ({"get", "first", "get_or_create", "order_by"} & chain or "skip_locked" in arguments):
                unordered.add(str(path.relative_to(settings.BASE_DIR)))

    assert unordered == set(ONE_ROW)


@pytest.mark.django_db(transaction=True)
def test_of_two_that_wait_for_each_other_both_get_done() -> None:
    actor = make_actor()
    ids = [make_fact(actor, text).pk for text in ("Deploys go out on Tuesdays.", "The kiln is hot.")]
    both_hold_one = threading.Barrier(2)
    tries: list[int] = []

    def change(order: list[int]) -> None:
        @transaction.atomic
        def act() -> None:
            tries.append(order[0])
            for pk in order:
                with connection.cursor() as cursor:
                    cursor.execute("UPDATE knowledge_fact SET project = %s WHERE id = %s", [str(order[0]), pk])
                if pk == order[0] and tries.count(pk) == 1:
                    both_hold_one.wait(30)

        _in_a_thread_of_its_own(act)

    with ThreadPoolExecutor(2) as threads:
        list(threads.map(change, [ids, ids[::-1]]))

    assert len(tries) == 3


def _in_a_thread_of_its_own(act: Callable[[], None]) -> None:
    try:
        with rls_bypass():
            retry_collisions(act)
    finally:
        connection.close()


def _collides(times: int) -> Callable[..., list[int]]:
    """Return work that PostgreSQL breaks off so many times; then it says how often it was begun."""
    begun: list[int] = []

    def work(*_: object) -> list[int]:
        begun.append(len(begun))
        if len(begun) <= times:
            raise OperationalError("deadlock detected") from DeadlockDetected("deadlock detected")
        return begun

    return work


def test_what_collides_again_and_again_is_given_up() -> None:
    with pytest.raises(OperationalError):
        retry_collisions(_collides(TRIES))

    assert retry_collisions(_collides(TRIES - 1)) == [*range(TRIES)]


def test_another_trouble_of_the_database_is_not_tried_again() -> None:
    begun = []

    def work() -> None:
        begun.append(1)
        raise OperationalError("the connection is lost")

    with pytest.raises(OperationalError):
        retry_collisions(work)
    assert begun == [1]


@pytest.mark.django_db
def test_inside_a_transaction_nothing_is_tried_again() -> None:
    with pytest.raises(OperationalError), transaction.atomic():
        retry_collisions(_collides(1))


def test_a_task_that_collides_is_tried_again() -> None:
    work = _collides(1)
    task = type("Task", (BackgroundTask,), {"run": staticmethod(work), "name": "tests.collide"})()

    task()

    assert work() == [0, 1, 2]


@pytest.mark.django_db(transaction=True)
def test_an_operation_that_collides_is_tried_again() -> None:
    stats, times = CATALOGUE["memory_get_stats"], iter([1])

    def collide_once(actor: Actor) -> object:
        for _ in times:
            raise OperationalError("deadlock detected") from DeadlockDetected("deadlock detected")
        return stats.call(actor)

    reply = perform(replace(stats, call=collide_once), make_actor(), {}, transport="rest")

    assert reply.operation.name == stats.name
