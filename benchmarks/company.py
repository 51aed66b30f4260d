"""A company of 20,000 people with 20,000,000 passages, simulated from pieces that other benchmarks have measured.

Nothing is measured here. What a call costs stands in docs/benchmarks.md, its embedding included, how search grows and
what a million passages take in docs/growing.md; the assumptions stand below, and in the table.
"""

import heapq
import math
import random
import re
from collections.abc import Iterator
from dataclasses import dataclass
from itertools import count
from pathlib import Path

import numpy as np

DOCS = Path(__file__).parent.parent / "docs"

PEOPLE, PASSAGES = 20_000, 20_000_000
AT_WORK = 0.7
"""What share of the people works with agents on a day."""
SESSIONS = 3
"""Of each of them, a day."""
BUSIEST_HOUR = 0.2
"""What share of the day's calls comes within one hour."""
CALLS = {"start_session": 1, "get_context": 1, "semantic_search": 4, "store_fact": 2, "list_facts": 1}
"""Of one session."""
SEARCHING = {"start_session", "get_context", "semantic_search", "store_fact"}
"""Each of these asks a scope that grows, once: that costs what a search costs then, beside what the call costs."""
NEW_PASSAGES = 3
"""Of one session: its facts and its summary."""
MORNING_MINUTES = 15
"""On a Monday everybody who works that day begins a session within so many minutes."""
MOST_WAIT = 100.0
"""Milliseconds that 95 of 100 calls may wait for a processor; machines are added until they do not wait longer."""
SEED = 20


@dataclass(frozen=True)
class Pieces:
    """What was measured, in milliseconds and GB. `calls` has the time in the web process and in PostgreSQL."""

    calls: dict[str, tuple[float, float]]
    texts_a_second: float
    searches: dict[int, tuple[float, float]]
    gigabytes: float

    @property
    def growth(self) -> float:
        """How many times as long a search takes with ten times as many passages, by the two largest sizes."""
        (small, (before, _)), (large, (after, _)) = sorted(self.searches.items())[-2:]
        return float((after / before) ** (1 / math.log10(large / small)))

    @property
    def spread(self) -> float:
        """How much calls of one kind differ: sigma of a lognormal distribution that has the measured p95."""
        median, p95 = self.searches[max(self.searches)]
        return math.log(p95 / median) / 1.645

    def search_in_database(self, passages: int) -> float:
        """What of a search is PostgreSQL's work at a size: its growth is taken for the database's alone."""
        largest = max(self.searches)
        now = self.searches[largest][0] - self.calls["semantic_search"][0]
        return float(now * self.growth ** math.log10(passages / largest))


@dataclass(frozen=True)
class Hour:
    """How calls of one kind were answered: milliseconds from asking to the answer, and of these waiting."""

    taken: "np.ndarray[tuple[int], np.dtype[np.float64]]"
    waited: "np.ndarray[tuple[int], np.dtype[np.float64]]"

    def p(self, share: int) -> float:
        """Return within how many milliseconds that share was answered."""
        return float(np.percentile(self.taken, share))


def measure() -> list[str]:
    """Simulate the busiest hour and a Monday morning, and say what they need."""
    pieces = read_pieces()
    times = {name: _times(pieces, name, PASSAGES) for name in CALLS}
    sessions = round(PEOPLE * AT_WORK * SESSIONS * BUSIEST_HOUR)
    asked = [name for name, times_each in CALLS.items() for _ in range(sessions * times_each)]
    web, database = _machines(asked, 3600, times, pieces.spread)
    hour = simulate(asked, 3600, times, pieces.spread, web=web, database=database)
    morning = ["start_session"] * round(PEOPLE * AT_WORK)
    begun = simulate(morning, MORNING_MINUTES * 60, times, pieces.spread, web=web, database=database)
    return [
        *_load(asked, times, web, database),
        *(_answered(name, hour[name], times[name]) for name in ("semantic_search", "store_fact", "start_session")),
        _morning(begun["start_session"]),
        _doubled(asked, times, pieces),
        *_rest(pieces),
    ]


def read_pieces() -> Pieces:
    """Read what was measured from the published tables.

    Raises:
        LookupError: a table lacks a row that is needed.
    """
    measured, grown = ((DOCS / name).read_text() for name in ("benchmarks.md", "growing.md"))
    cost = r"\| `memory_(\w+)` \| ([\d.]+) \+ ([\d.]+) \| [\d.]+ \+ "
    acts = measured.partition("<!-- acts -->")[2].partition("<!-- end of acts -->")[0]
    calls = {name: (float(own), float(theirs)) for name, own, theirs in re.findall(cost, acts)}
    size = r"`memory_semantic_search` in the process, p50 / p95, ([\d,]+) passages \| (\d+) / (\d+) ms"
    searches = {int(n.replace(",", "")): (float(p50), float(p95)) for n, p50, p95 in re.findall(size, grown)}
    if not calls.keys() >= CALLS.keys() or len(searches) < 2:
        raise LookupError("The tables of costs and of growth are not complete.")
    disk = _only(rf"{max(searches):,} passages \|.* ([\d.]+) GB on disk", grown) / max(searches)
    return Pieces(calls, _only(r"texts a second, built-in model, one core \| (\d+)", measured), searches, disk)


def _only(pattern: str, text: str) -> float:
    found = re.search(pattern, text)
    if found is None:
        raise LookupError(f"No table has {pattern}.")
    return float(found.group(1))


def _times(pieces: Pieces, name: str, passages: int) -> tuple[float, float]:
    """Return the milliseconds of one call in the web process and in PostgreSQL, at a size."""
    own, theirs = pieces.calls[name]
    if name == "semantic_search":
        return own, pieces.search_in_database(passages)
    if name in SEARCHING:
        return own, theirs + pieces.search_in_database(passages)
    return own, theirs


def simulate(
    asked: list[str], seconds: int, times: dict[str, tuple[float, float]], spread: float, *, web: int, database: int
) -> dict[str, Hour]:
    """Let calls come at random moments, wait for a web process, work, wait for a core of the database, and work there.

    Web processes and cores take what has waited longest.
    """
    chance = random.Random(SEED)
    calls = sorted((chance.uniform(0, seconds * 1000), name) for name in asked)
    free, cores = [0.0] * web, [0.0] * database
    arrivals: list[tuple[float, int, str, float, float]] = []
    for (moment, name), number in zip(calls, count(), strict=False):
        begun = max(moment, heapq.heappop(free))
        ended = begun + chance.lognormvariate(math.log(times[name][0]), spread)
        heapq.heappush(free, ended)
        arrivals.append((ended, number, name, moment, begun - moment))
    found: dict[str, list[tuple[float, float]]] = {name: [] for name in times}
    for arrived, _, name, moment, waited in sorted(arrivals):
        begun = max(arrived, heapq.heappop(cores))
        ended = begun + chance.lognormvariate(math.log(times[name][1]), spread)
        heapq.heappush(cores, ended)
        found[name].append((ended - moment, waited + begun - arrived))
    return {name: Hour(*np.array(rows).T) for name, rows in found.items() if rows}


def _machines(asked: list[str], seconds: int, times: dict[str, tuple[float, float]], spread: float) -> tuple[int, int]:
    """Return the fewest web processes and cores of the database with which nearly nobody waits for long."""
    web, database = (math.ceil(_busy(asked, seconds, times, part)) for part in (0, 1))
    while _waits(simulate(asked, seconds, times, spread, web=web, database=10_000)):
        web += 1
    while _waits(simulate(asked, seconds, times, spread, web=web, database=database)):
        database += 1
    return web, database


def _waits(hour: dict[str, Hour]) -> bool:
    return float(np.percentile(np.concatenate([one.waited for one in hour.values()]), 95)) > MOST_WAIT


def _busy(asked: list[str], seconds: int, times: dict[str, tuple[float, float]], part: int) -> float:
    return sum(times[name][part] for name in asked) / 1000 / seconds


def _row(what: str, figure: str, said: str) -> str:
    return f"| {what} | {figure} | {said} |"


def _load(asked: list[str], times: dict[str, tuple[float, float]], web: int, database: int) -> Iterator[str]:
    said = f"{PEOPLE:,} people, {AT_WORK:.0%} at work, {SESSIONS} sessions of {sum(CALLS.values())} calls, "
    yield _row("calls in the busiest hour", f"{len(asked):,}", f"{said}{BUSIEST_HOUR:.0%} of the day in it")
    for part, (what, many) in enumerate((("web processes", web), ("cores of PostgreSQL", database))):
        said = f"{_busy(asked, 3600, times, part):.1f} at work on average; 95 % wait {MOST_WAIT:.0f} ms at most"
        yield _row(f"{what} that this needs", f"{many}", said)


def _answered(name: str, hour: Hour, times: tuple[float, float]) -> str:
    said = f"{times[0]:.0f} ms in the web process and {times[1]:.0f} ms in PostgreSQL where nobody else asks"
    return _row(f"`memory_{name}` in that hour, p50 / p95", f"{hour.p(50):.0f} / {hour.p(95):.0f} ms", said)


def _morning(begun: Hour) -> str:
    said = f"{len(begun.taken):,} sessions begin within {MORNING_MINUTES} minutes, on the same machines"
    what = "`memory_start_session` on a Monday morning, p50 / p95"
    return _row(what, f"{begun.p(50):.0f} / {begun.p(95):.0f} ms", said)


def _doubled(asked: list[str], times: dict[str, tuple[float, float]], pieces: Pieces) -> str:
    more = {name: pieces.search_in_database(PASSAGES) if name in SEARCHING else 0.0 for name in times}
    slower = {name: (own, theirs + more[name]) for name, (own, theirs) in times.items()}
    cores = _machines(asked, 3600, slower, pieces.spread)[1]
    return _row(
        "cores of PostgreSQL, did searches take it twice as long", f"{cores}", "what they take then is extrapolated"
    )


def _rest(pieces: Pieces) -> Iterator[str]:
    disk = f"{pieces.gigabytes * PASSAGES:.0f} GB"
    yield _row("database on disk", disk, f"{PASSAGES:,} passages as large as those measured")
    new = round(PEOPLE * AT_WORK * SESSIONS * NEW_PASSAGES)
    hours = new / pieces.texts_a_second / 3600
    said = f"{new:,} new texts, {pieces.texts_a_second:.0f} a second"
    yield _row("vectors of a day, built-in model", f"{hours:.1f} hours of one core", said)
    hours = PASSAGES / pieces.texts_a_second / 3600
    said = "once, beside the daily work"
    yield _row("vectors of everything with another model", f"{hours:.0f} hours of one core", said)
