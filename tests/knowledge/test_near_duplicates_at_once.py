"""Several workers compare the texts of one import that says nearly the same again and again: nothing is lost."""

import threading
from collections.abc import Callable
from concurrent.futures import ThreadPoolExecutor
from time import sleep
from typing import Any

import pytest
from django.db import connection

from accounts.actor import Actor
from bigmind.database.rls import rls_bypass
from knowledge.indexing import embedding
from knowledge.indexing.embedding import embed_pending
from knowledge.models import EmbeddingSpace, Fact, Kind, Passage, PassageVector
from knowledge.truth.near_duplicates import compare_next
from tests.factories import make_actor
from tests.knowledge.factories import make_facts

pytestmark = pytest.mark.django_db(transaction=True)

WORKERS = 4
TEXTS = [
    f"The {thing} of the router {where} is kept for {days} days {when}."
    for days in (7, 14, 30)
    for thing in ("backup", "log", "copy")
    for where in ("in Berlin", "in Oslo", "on the second server", "of the office")
    for when in ("by operations", "as agreed in May", "and no longer")
]
"""Each contradicts many others, and is nearest to others in another order than they are to it."""


def _slow_disk(execute: Callable[..., Any], sql: str, params: Any, many: bool, context: Any) -> Any:
    """Let a moment pass after each change of a fact, in which the others come to change theirs."""
    result = execute(sql, params, many, context)
    if 'UPDATE "knowledge_fact"' in sql:
        sleep(0.01)
    return result


def _work_at_once() -> None:
    start = threading.Barrier(WORKERS)

    @rls_bypass()
    def work(_: int) -> None:
        try:
            start.wait(30)
            with connection.execute_wrapper(_slow_disk):
                embed_pending()
        finally:
            connection.close()

    with ThreadPoolExecutor(WORKERS) as threads:
        list(threads.map(work, range(WORKERS)))


def _marks(actor: Actor) -> dict[str, tuple[str | None, bool]]:
    """Return for each fact which one it repeats, and whether a newer one contradicts it."""
    facts = Fact.objects.of(actor.user).select_related("similar_to")
    return {
        fact.fact: (fact.similar_to.fact if fact.similar_to else None, fact.contradicted_by_id is not None)
        for fact in facts
    }


def test_four_workers_compare_all_of_an_import_as_one_does() -> None:
    alone, actor = make_actor(), make_actor()
    make_facts(alone, TEXTS, category="codebase")
    embed_pending()
    make_facts(actor, TEXTS, category="codebase")

    _work_at_once()

    assert not Passage.objects.filter(kind=Kind.FACT, compared=False).exists()
    assert _marks(actor) == _marks(alone)
    assert any(same for same, _ in _marks(actor).values())
    assert any(is_contradicted for _, is_contradicted in _marks(actor).values())


def test_what_a_worker_leaves_when_it_fails_is_compared_by_the_next(monkeypatch, actor):
    make_facts(actor, TEXTS, category="codebase")
    worker_dies = RuntimeError("killed")

    def compare_some(space: EmbeddingSpace, most: int) -> None:
        compare_next(space, 3)
        raise worker_dies

    monkeypatch.setattr(embedding, "compare_next", compare_some)
    with pytest.raises(RuntimeError):
        embed_pending()
    left = Passage.objects.filter(kind=Kind.FACT, compared=False).count()

    monkeypatch.undo()
    embed_pending()

    assert not PassageVector.objects.filter(vector=None).exists()
    assert left == len(TEXTS) - 3
    assert not Passage.objects.filter(kind=Kind.FACT, compared=False).exists()
