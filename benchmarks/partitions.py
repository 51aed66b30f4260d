"""What partitions by owner cost and bring: the same data in both shapes, in turns."""

from collections.abc import Callable, Iterator
from contextlib import contextmanager
from statistics import median
from time import perf_counter

from django.db import DEFAULT_DB_ALIAS, connection, connections, transaction
from django.db.backends.base.base import BaseDatabaseWrapper

from accounts.actor import Actor
from accounts.models import Role, User
from benchmarks.library import Library, fill
from benchmarks.rows import row, took
from knowledge.embeddings.providers import provider
from knowledge.search.indexes import keep_indexes
from knowledge.search.partitions.planning import USUAL, change_partitions
from knowledge.services.entry_reading import search_entries
from knowledge.services.facts import store_fact
from knowledge.services.semantic_search import semantic_search

PASSAGES, PEOPLE, SHARED = 100_000, 200, 0.2
WARMED, QUESTIONS = 20, 200
COPY = "divided"
_LOCKS = "SELECT count(*), count(*) FILTER (WHERE NOT fastpath) FROM pg_locks WHERE pid = pg_backend_pid()"

Asks = dict[str, Callable[[Actor, str], object]]


def measure() -> list[str]:
    """Fill an instance, divide a copy of its database, and ask both the same, question by question in turns."""
    library = Library()
    people = User.objects.bulk_create([User(username=f"person-{n}", role=Role.MEMBER) for n in range(PEOPLE)])
    fill(library, int(PASSAGES * SHARED))
    fill(library, int(PASSAGES * (1 - SHARED)), owners=people)
    keep_indexes()
    shapes = {0: connections[DEFAULT_DB_ALIAS], USUAL: _copy_database()}
    with _at(shapes[USUAL]):
        changes = [(shape, *_change(shape)) for shape in (USUAL, 0, USUAL)]
    asks: Asks = {
        "`memory_semantic_search`": lambda actor, text: semantic_search(actor, query=text),
        "`kb_search`": lambda actor, text: search_entries(actor, query=text),
        "`memory_store_fact`": lambda actor, text: store_fact(actor, category="decision", fact=text),
    }
    rows = [_compared(name, *_in_turns(library, people, ask, shapes)) for name, ask in asks.items()]
    locks = []
    for one in shapes.values():
        with _at(one):
            locks.append(_locks(Actor.of(people[0]), library.question()))
    return [*rows, *(_changed(*change) for change in changes[:2]), _locked(*locks)]


def _copy_database() -> BaseDatabaseWrapper:
    plain = connections[DEFAULT_DB_ALIAS]
    divided, aside = plain.copy(), plain.copy()
    divided.settings_dict["NAME"], aside.settings_dict["NAME"] = COPY, "postgres"
    plain.close()
    with aside.cursor() as cursor:
        cursor.execute("SET statement_timeout TO 0")
        cursor.execute(f'CREATE DATABASE {COPY} TEMPLATE "{plain.settings_dict["NAME"]}"')
    aside.close()
    return divided


@contextmanager
def _at(one: BaseDatabaseWrapper) -> Iterator[None]:
    """Let everything go over another connection meanwhile."""
    before = connections[DEFAULT_DB_ALIAS]
    connections[DEFAULT_DB_ALIAS] = one
    try:
        yield
    finally:
        connections[DEFAULT_DB_ALIAS] = before


def _change(shape: int) -> tuple[float, float]:
    began = perf_counter()
    held = change_partitions(shape).held_seconds
    return perf_counter() - began, held * 1000


def _in_turns(
    library: Library, people: list[User], ask: Callable[[Actor, str], object], shapes: dict[int, BaseDatabaseWrapper]
) -> tuple[float, float]:
    """Ask each question of both, first now of one and then of the other; each by somebody else."""
    taken: dict[int, list[float]] = {shape: [] for shape in shapes}
    for number in range(WARMED + QUESTIONS):
        actor, text = Actor.of(people[number * 7 % PEOPLE]), f"{library.question()} ({number})"
        provider().embed([text])
        for shape in (0, USUAL) if number % 2 else (USUAL, 0):
            with _at(shapes[shape]):
                taken[shape].append(took(lambda: ask(actor, text)))  # noqa: B023
    return median(taken[0][WARMED:]), median(taken[USUAL][WARMED:])


def _locks(actor: Actor, text: str) -> tuple[int, int]:
    """Count the locks that a write holds at its end, and those of them in the table that all sessions share."""
    with transaction.atomic(), connection.cursor() as cursor:
        store_fact(actor, category="decision", fact=f"{text} Locks are counted.")
        cursor.execute(_LOCKS)
        all_of_them, in_shared_table = cursor.fetchone()
        transaction.set_rollback(True)
    return all_of_them, in_shared_table


def _compared(name: str, plain: float, divided: float) -> str:
    said = f"p50 of {QUESTIONS} each, in turns; {PASSAGES:,} passages, {PEOPLE} people, {SHARED:.0%} shared"
    what = f"{name}, plain tables → {USUAL} partitions"
    return row(what, f"{plain:.1f} → {divided:.1f} ms ({divided / plain:.2f} ×)", "", said, met=True)


def _changed(shape: int, seconds: float, held: float) -> str:
    what = "`bigmind partition`" if shape else "`bigmind partition --undo`"
    return row(what, f"{seconds:.0f} s", "", f"everybody would have waited for {held:.0f} ms of it", met=True)


def _locked(plain: tuple[int, int], divided: tuple[int, int]) -> str:
    said = f"{plain[1]} → {divided[1]} of them in the table of locks that all sessions share"
    return row("locks that storing a fact holds", f"{plain[0]} → {divided[0]}", "", said, met=True)
