"""What is noticed when something is stored: every pair through the service that agents use, with the built-in model."""

from collections import Counter
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from statistics import median
from time import perf_counter
from typing import Any
from unittest.mock import patch

from accounts.actor import Actor
from accounts.people.users import add_user
from benchmarks.truth.pairs import HELD_OUT, RULES, TUNED, Pair, read_pairs
from knowledge.indexing.embedding import embed_pending
from knowledge.memory import facts
from knowledge.memory.facts import erase_fact, store_fact
from knowledge.models import CompanyEntry, Fact, Passage
from knowledge.truth.near_duplicates import Similar


@dataclass(frozen=True)
class Told:
    """What storing the newer statement of a pair said of the older one, and of others; how long comparing took."""

    pair: Pair
    relation: str
    others_against: int
    seconds: float


def measure() -> list[str]:
    """Store the older statements of a part as one memory, then each newer one; return the tables."""
    CompanyEntry.objects.all().delete()
    told = [one for part in (TUNED, HELD_OUT, RULES) for one in _store(part)]
    milliseconds = 1000 * median(one.seconds for one in told)
    return [
        "| statements | contradicting | shown | others | false alarms | repetitions named | also shown |",
        "|---|---|---|---|---|---|---|",
        *(_row(part, [one for one in told if one.pair.part == part]) for part in (TUNED, HELD_OUT, RULES)),
        "",
        *_by_sort(told),
        "",
        f"Comparing adds {milliseconds:.0f} ms to a store (median of {len(told)}, embedding included).",
    ]


def _row(part: str, told: Sequence[Told]) -> str:
    against = [one for one in told if one.pair.relation == "contradiction"]
    agreeing = [one for one in told if one.pair.relation != "contradiction"]
    repeated = [one for one in told if one.pair.relation == "duplicate"]
    cells = [
        part,
        str(len(against)),
        _share(against, lambda one: one.relation == "contradicts"),
        str(len(agreeing)),
        _share(agreeing, lambda one: one.relation == "contradicts"),
        _share(repeated, lambda one: bool(one.relation)) if repeated else "–",
        _share(told, lambda one: one.others_against > 0),
    ]
    return f"| {' | '.join(cells)} |"


def _by_sort(told: Sequence[Told]) -> list[str]:
    found: dict[str, Counter[str]] = {}
    for one in told:
        if one.pair.relation == "contradiction":
            found.setdefault(one.pair.sort, Counter()).update(["all", one.relation or "nothing"])
    lines = ["| contradiction by | pairs | shown | at least named |", "|---|---|---|---|"]
    for sort, counts in found.items():
        named = counts["all"] - counts["nothing"]
        lines.append(f"| {sort} | {counts['all']} | {counts['contradicts']} | {named} |")
    return lines


def _share(told: Sequence[Told], holds: Callable[[Told], bool]) -> str:
    return f"{sum(map(holds, told)) / max(1, len(told)):.1%}"


def _store(part: str) -> list[Told]:
    pairs = [pair for pair in read_pairs() if pair.part == part]
    Passage.objects.filter(owner=None).delete()
    actor = Actor.of(add_user(f"truth-{len(pairs)}-{part[-1]}"))
    older = {text: _fact(actor, text).pk for text in dict.fromkeys(pair.older for pair in pairs)}
    embed_pending()
    return [_store_newer(actor, pair, older) for pair in pairs if pair.newer not in older]


def _fact(actor: Actor, text: str) -> Fact:
    return store_fact(actor, category="decision", fact=text).fact


def _store_newer(actor: Actor, pair: Pair, older: dict[str, int]) -> Told:
    seconds: list[float] = []
    compare = facts.compare_with_stored

    def timed(*given: Any, **named: Any) -> Any:
        started = perf_counter()
        compared = compare(*given, **named)
        seconds.append(perf_counter() - started)
        return compared

    with patch.object(facts, "compare_with_stored", timed):
        stored = store_fact(actor, category="decision", fact=pair.newer)
    erase_fact(actor, fact_id=stored.fact.pk)
    mine: list[Similar] = [one for one in stored.similar if one.id == older[pair.older]]
    others = sum(one.contradicts for one in stored.similar if one.id != older[pair.older])
    return Told(pair, mine[0].relation if mine else "", others, sum(seconds))
