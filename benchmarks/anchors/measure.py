"""100 entries on the histories of three packages: how much of what becomes false is found, and how soon."""

import os
import random
from collections import Counter
from dataclasses import dataclass, field
from itertools import pairwise
from pathlib import Path

from knowledge.anchors.history import Repository
from knowledge.anchors.verifying import AnchoredEntry, Verification, verify

from .histories import PACKAGES, commits_of, history_of
from .truth import Thing, things_at, what_became_of

ENTRIES = 100
SEED = 20261123
FOLDER = "BIGMIND_BENCH_FOLDER"


@dataclass
class Tally:
    """What was right and wrong in one history."""

    commits: int = 0
    checks: int = 0
    found: int = 0
    missed: list[str] = field(default_factory=list)
    alarms: int = 0
    false_alarms: list[str] = field(default_factory=list)
    named: Counter[tuple[str, str]] = field(default_factory=Counter)
    seconds: list[float] = field(default_factory=list)


def measure(temporary: Path) -> list[str]:
    """Return a table with a line for each history and one for all. Set BIGMIND_BENCH_FOLDER to keep the downloads."""
    folder = Path(os.environ.get(FOLDER, temporary))
    tallies = {package: measure_history(history_of(package, folder), package) for package in PACKAGES}
    lines = [
        "| history | commits | entries affected | found | alarms | false alarms | verdict right | slowest | median |",
        "|---|---|---|---|---|---|---|---|---|",
        *(_line(package, [tally]) for package, tally in tallies.items()),
        _line("all", list(tallies.values())),
    ]
    for package, tally in tallies.items():
        lines += [f"<!-- {package}: missed {tally.missed[:5]}, false {tally.false_alarms[:5]} -->"]
    return lines


def measure_history(folder: Path, package: str) -> Tally:
    """Check every commit of a history with the same number of live entries."""
    chance, tally, repository = random.Random(SEED), Tally(), Repository(folder)
    commits = commits_of(folder)
    before = things_at(folder, commits[0])
    live: list[Thing] = []
    for base, head in pairwise(commits):
        after = things_at(folder, head)
        live = _fill(live, before, chance)
        entries = [_entry(number, thing) for number, thing in enumerate(live)]
        begins = _processor_seconds()
        done = verify(repository, entries, base=base, head=head, name=package)
        tally.seconds.append(_processor_seconds() - begins)
        _count(tally, done, live, before, after)
        live = [after[thing.path, thing.name] for thing in live if (thing.path, thing.name) in after]
        before = after
    repository.close()
    return tally


def _processor_seconds() -> float:
    """Return the processor time of this process and of what it started: what else the machine does is no matter."""
    spent = os.times()
    return spent.user + spent.system + spent.children_user + spent.children_system


def _fill(live: list[Thing], there: dict[tuple[str, str], Thing], chance: random.Random) -> list[Thing]:
    """Keep the number of entries: what became false is put right, and what is gone makes room for another."""
    known = {(thing.path, thing.name) for thing in live}
    others = sorted(place for place in there if place not in known)
    constants = [place for place in others if there[place].value]
    wanted = ENTRIES - len(live)
    chosen = chance.sample(constants, min(len(constants), wanted // 4))
    rest = [place for place in others if place not in set(chosen)]
    chosen += chance.sample(rest, min(len(rest), wanted - len(chosen)))
    return [*live, *(there[place] for place in chosen)]


def _entry(number: int, thing: Thing) -> AnchoredEntry:
    says = f"{thing.name} is {thing.value}." if thing.value else f"{thing.name} does what we need."
    anchor = f"{thing.path}:{thing.name}"
    return AnchoredEntry(id=str(number), handle=f"C{number}", title="Seeded", content=says, anchors=[anchor])


def _count(
    tally: Tally,
    done: Verification,
    live: list[Thing],
    before: dict[tuple[str, str], Thing],
    after: dict[tuple[str, str], Thing],
) -> None:
    tally.commits += 1
    tally.checks += len(live)
    results = {int(result.entry.id): result for result in done.results}
    for number, thing in enumerate(live):
        truth = what_became_of(thing, before, after)
        result = results.get(number)
        verdict = result.verdict.value if result else "unknown"
        is_alarm, is_affected = verdict in {"false", "doubtful"}, truth != "holds"
        said = f"{done.head[:8]} {thing.path}:{thing.name} is {truth}, said {verdict}"
        tally.alarms += is_alarm
        if is_affected:
            tally.named[truth, verdict] += 1
            tally.found += is_alarm
            if not is_alarm:
                tally.missed.append(said)
        elif is_alarm:
            tally.false_alarms.append(said)


def _line(name: str, tallies: list[Tally]) -> str:
    found, alarms = sum(tally.found for tally in tallies), sum(tally.alarms for tally in tallies)
    missed = sum(len(tally.missed) for tally in tallies)
    false = sum(len(tally.false_alarms) for tally in tallies)
    named = sum((tally.named for tally in tallies), Counter[tuple[str, str]]())
    right = sum(number for (truth, verdict), number in named.items() if truth == verdict)
    seconds = sorted(second for tally in tallies for second in tally.seconds)
    return (
        f"| {name} | {sum(tally.commits for tally in tallies)} | {found + missed} | {_share(found, found + missed)} "
        f"| {alarms} | {_share(false, alarms)} | {_share(right, named.total())} "
        f"| {seconds[-1]:.2f} s | {seconds[len(seconds) // 2]:.2f} s |"
    )


def _share(part: int, whole: int) -> str:
    return f"{part / whole:.3f}" if whole else "–"
