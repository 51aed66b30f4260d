"""What a company costs as it grows: a thousand people, and as many passages as BENCH_PASSAGES says (1,000,000)."""

import os
from itertools import pairwise
from time import perf_counter
from typing import NamedTuple

import numpy as np
import psutil
from django.db import connection

from accounts.actor import Actor
from accounts.models import Role, User
from benchmarks.library import Library, fill
from benchmarks.rows import row
from knowledge.recall.semantic_search import semantic_search
from knowledge.search.frequencies import forget_statistics
from knowledge.search.indexes import keep_indexes
from knowledge.search.spelling import forget_vocabularies

PEOPLE = 1_000
STEPS = (10_000, 100_000)
SHARED = 0.2
"""What share of the passages everybody here may find; the rest are facts, in turns of each person."""
AT_ONCE = 50_000
"""So many are loaded at a time: texts and vectors of all would not fit in memory."""
QUESTIONS = 60


class Figures(NamedTuple):
    """What was measured at one size."""

    passages: int
    p50: float
    p95: float
    gigabytes: float
    index_seconds: float


def measure() -> list[str]:
    """Grow an instance step by step; at each size let people search among what is shared and what is theirs."""
    library, total = Library(), int(os.environ.get("BENCH_PASSAGES", "1000000"))
    people = User.objects.bulk_create([User(username=f"person-{n}", role=Role.MEMBER) for n in range(PEOPLE)])
    sizes = [*(size for size in STEPS if size < total), total]
    figures = [_at(library, people, grown, size - grown, size) for grown, size in pairwise([0, *sizes])]
    return [*map(_row, figures), _growth(figures), *_memory()]


def _at(library: Library, people: list[User], grown: int, more: int, size: int) -> Figures:
    for begin in range(0, more, AT_ONCE):
        count = min(AT_ONCE, more - begin)
        shared = int(count * SHARED)
        fill(library, shared)
        fill(library, count - shared, owners=people)
    began = perf_counter()
    keep_indexes()
    built = perf_counter() - began
    forget_statistics()
    forget_vocabularies()
    p50, p95 = _searched(library, people)
    return Figures(size, p50, p95, _disk(), built)


def _searched(library: Library, people: list[User]) -> tuple[float, float]:
    """Each question is asked by someone else: what the one before warmed is not theirs."""
    taken = []
    for number in range(QUESTIONS):
        actor, question = Actor.of(people[number * 7 % PEOPLE]), library.question()
        began = perf_counter()
        semantic_search(actor, query=question)
        taken.append((perf_counter() - began) * 1000)
    kept = taken[QUESTIONS // 10 :]
    return float(np.percentile(kept, 50)), float(np.percentile(kept, 95))


def _row(one: Figures) -> str:
    said = (
        f"{PEOPLE:,} people, {SHARED:.0%} shared; indexes in {one.index_seconds:.0f} s; {one.gigabytes:.2f} GB on disk"
    )
    what = f"`memory_semantic_search` in the process, p50 / p95, {one.passages:,} passages"
    return row(what, f"{one.p50:.0f} / {one.p95:.0f} ms", "", said, met=True)


def _growth(figures: list[Figures]) -> str:
    first, last = figures[0], figures[-1]
    ratio = last.p50 / first.p50
    what = f"search time, {last.passages:,} passages against {first.passages:,}"
    return row(what, f"{ratio:.2f} ×", "≤ 3 ×", f"p50 {last.p50:.1f} ms against {first.p50:.1f} ms", met=ratio <= 3)


def _memory() -> list[str]:
    """Of this process, which asked as a web process does."""
    asking = psutil.Process().memory_info().rss
    said = "resident, with the built-in model and what loading needed"
    return [row("memory of the process that asks", f"{asking / 2**20:.0f} MB", "", said, met=True)]


def _disk() -> float:
    with connection.cursor() as cursor:
        cursor.execute("SELECT pg_database_size(current_database())")
        return float(cursor.fetchone()[0]) / 2**30
