"""What is noticed when something is stored: every pair through the service that agents use, with the built-in model."""

from collections import Counter
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from itertools import combinations
from statistics import median
from time import perf_counter

from accounts.actor import Actor
from accounts.people.users import add_user
from benchmarks.truth.pairs import (
    PARTS,
    Pair,
    entries_from_one_template,
    read_days,
    read_ordinary_facts,
    read_pairs,
)
from knowledge.context.sessions import start_session
from knowledge.indexing.embedding import embed_pending
from knowledge.memory.facts import erase_fact, store_fact
from knowledge.models import CompanyEntry, Fact, Passage, Recall
from knowledge.truth.contradictions import contradictions
from knowledge.truth.near_duplicates import Similar, read_comparison


@dataclass(frozen=True)
class Told:
    """What storing the newer statement of a pair said of the older one, and of others; how long storing took."""

    pair: Pair
    relation: str
    others_against: int
    seconds: float


def measure() -> list[str]:
    """Store the older statements of a part as one memory, then each newer one; return the tables."""
    CompanyEntry.objects.all().delete()
    told = [one for part in PARTS for one in _store(part)]
    milliseconds = 1000 * median(one.seconds for one in told)
    return [
        "| statements | contradicting | shown | others | false alarms | repetitions named | also shown |",
        "|---|---|---|---|---|---|---|",
        *(_row(part, [one for one in told if one.pair.part == part]) for part in PARTS),
        "",
        *_by_sort(told),
        "",
        *_ordinary(),
        "",
        *_days(),
        "",
        f"A store takes {milliseconds:.0f} ms (median of {len(told)}); a worker compares by meaning afterwards.",
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


def _ordinary() -> list[str]:
    """Return how many facts of ordinary weeks, stored in order, and how many entries of one template raise an alarm."""
    alarms, stored = 0, 0
    for number, facts in enumerate([*read_ordinary_facts(), entries_from_one_template()]):
        actor = Actor.of(add_user(f"truth-weeks-{number}"))
        start_session(actor)
        found = [_is_alarmed(actor, text) for text in facts]
        if number < 2:
            alarms, stored = alarms + sum(found), stored + len(found)
    return [
        f"Of {stored} ordinary facts of two people, stored in order, {alarms} are said to contradict an older one "
        f"({100 * alarms / stored:.1f} of 100); of {len(found)} texts written from one template, {sum(found)}."
    ]


def _days() -> list[str]:
    """Return what the comparison alone notices among all texts of a company's day."""
    lines = [
        "| day of a company | texts | contradicting | shown | other pairs | false alarms |",
        "|---|---|---|---|---|---|",
    ]
    for day, texts, against in read_days():
        pairs = list(combinations(range(len(texts)), 2))
        shown = {(new, old) for old, new in pairs if contradictions(texts[new], texts[old])}
        counts = len(texts), len(against), len(shown & against), len(pairs) - len(against), len(shown - against)
        lines.append(f"| {day} | {' | '.join(map(str, counts))} |")
    return lines


def _is_alarmed(actor: Actor, text: str) -> bool:
    stored = store_fact(actor, category="codebase", fact=text)
    embed_pending()
    compared = Recall.objects.filter(user=actor.user, found__fact=stored.fact.pk).first()
    found = read_comparison(compared.found) if compared else None
    return any(one.contradicts for one in [*stored.similar, *(found[1] if found else [])])


def _share(told: Sequence[Told], holds: Callable[[Told], bool]) -> str:
    return f"{sum(map(holds, told)) / max(1, len(told)):.1%}"


def _store(part: str) -> list[Told]:
    pairs = [pair for pair in read_pairs() if pair.part == part]
    Passage.objects.filter(owner=None).delete()
    actor = Actor.of(add_user(f"truth-{len(pairs)}-{part[-1]}"))
    start_session(actor)  # Its next replies say what the worker finds.
    older = {text: _fact(actor, text).pk for text in dict.fromkeys(pair.older for pair in pairs)}
    embed_pending()
    return [_store_newer(actor, pair, older) for pair in pairs if pair.newer not in older]


def _fact(actor: Actor, text: str) -> Fact:
    return store_fact(actor, category="decision", fact=text).fact


def _store_newer(actor: Actor, pair: Pair, older: dict[str, int]) -> Told:
    began = perf_counter()
    stored = store_fact(actor, category="decision", fact=pair.newer)
    seconds = perf_counter() - began
    embed_pending()
    compared = Recall.objects.filter(user=actor.user, found__fact=stored.fact.pk).first()
    found = read_comparison(compared.found) if compared else None
    similar = [*stored.similar, *(found[1] if found else [])]
    erase_fact(actor, fact_id=stored.fact.pk)
    mine: list[Similar] = [one for one in similar if one.id == older[pair.older]]
    others = sum(one.contradicts for one in similar if one.id != older[pair.older])
    return Told(pair, mine[0].relation if mine else "", others, seconds)
