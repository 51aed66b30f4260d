"""Effects: does the interval hold when somebody looks after every session, and is harm found?

What is measured is the shipped function, `knowledge.services.effect_intervals.compare`, on sessions of known effect.
Sessions have as many setbacks as a negative binomial distribution says (most have none, a few have many), of persons of
whom some need twice as much as others; each is told or withheld by lot with the share that BigMind takes then.
"""

import math
from dataclasses import dataclass

import numpy as np

from knowledge.services.effect_intervals import SURE, MeanDifference, Sample, compare, find_sure, looks_harmful
from knowledge.services.holdout import DOUBTED_PERCENT

SHARE = 0.2
RUNS, SESSIONS = 1_000, 1_000
PEOPLE = 12
SETBACKS, SPREAD = 1.2, 2.0
"""Mean of a session, and the shape of how sessions differ: variance = mean + mean² / shape."""
ENTRIES, HARM, WITHIN = 20, 1.5, 300
"""Entries compared at once, setbacks that the harmful one of them adds to a session, and sessions until it is found."""
EFFECTS = (0.0, -0.4, 0.4)


@dataclass(frozen=True)
class Coverage:
    """How often the interval had the truth in it: in all looks of a run, at its end, and that of the textbook."""

    effect: float
    always: float
    at_end: float
    textbook: float


@dataclass(frozen=True)
class Harm:
    """How often the harmful entry is found in time and another one blamed, after how many sessions in the median, and
    from what share of the sessions the others were withheld."""

    found: float
    wrongly: float
    sessions: float
    withheld: float


class SimulatedEntry:
    """The sessions of one entry as they come: told it or not by lot, with the share that holds then."""

    def __init__(self, rng: np.random.Generator, effect: float, sessions: int) -> None:
        people = rng.gamma(4, 1 / 4, PEOPLE)
        needs = rng.choice(people / people.mean(), sessions) * rng.gamma(SPREAD, 1 / SPREAD, sessions)
        self.lots = rng.random(sessions).tolist()
        self.setbacks = [rng.poisson((SETBACKS + more) * needs).tolist() for more in (effect, 0.0)]
        self.sides = {share: ([0, 0, 0], [0, 0, 0]) for share in (SHARE, DOUBTED_PERCENT / 100)}
        self.share = SHARE

    def look_after(self, session: int) -> MeanDifference | None:
        """Add a session; return what may be said then."""
        is_withheld = self.lots[session] < self.share
        setbacks, side = self.setbacks[is_withheld][session], self.sides[self.share][is_withheld]
        for place, more in enumerate((1, setbacks, setbacks**2)):
            side[place] += more
        strata = self.strata
        self.share = DOUBTED_PERCENT / 100 if looks_harmful(*strata) else SHARE
        return compare(*strata)

    @property
    def strata(self) -> list[tuple[Sample, Sample]]:
        """Those that were told it and the others, by the share of their time."""
        return [(_sample(*told), _sample(*withheld)) for told, withheld in self.sides.values()]

    @property
    def withheld(self) -> int:
        """How many sessions it was withheld from."""
        return sum(withheld[0] for _, withheld in self.sides.values())


def _sample(number: int, total: int, squares: int) -> Sample:
    mean = total / max(1, number)
    return Sample(number, mean, max(0.0, squares - number * mean**2) / max(1, number - 1))


def measure_coverage(effect: float, *, runs: int = RUNS, sessions: int = SESSIONS, seed: int = 1) -> Coverage:
    """Look after every session of many runs; return in what share of the runs the truth was always within."""
    rng = np.random.default_rng(seed)
    always = at_end = textbook = 0
    for _ in range(runs):
        entry, is_always, is_textbook, last = SimulatedEntry(rng, effect, sessions), True, True, None
        for session in range(sessions):
            if last := entry.look_after(session):
                is_always &= last.low <= effect <= last.high
                is_textbook = is_textbook and _is_within_textbook(*entry.strata[0], effect)
        always += is_always
        textbook += is_textbook
        at_end += last is not None and last.low <= effect <= last.high
    return Coverage(effect, always / runs, at_end / runs, textbook / runs)


def measure_harm(*, runs: int = 200, seed: int = 2) -> Harm:
    """Look at many entries after every session, of which one does harm; return what became of that."""
    rng = np.random.default_rng(seed)
    in_time, wrongly, needed, withheld = 0, 0, [], 0
    for _ in range(runs):
        entries = [SimulatedEntry(rng, HARM * (number == 0), WITHIN) for number in range(ENTRIES)]
        blamed: set[int] = set()
        for session in range(WITHIN):
            found = {number: entry.look_after(session) for number, entry in enumerate(entries)}
            differences = {number: one for number, one in found.items() if one}
            sure = find_sure({number: one.p for number, one in differences.items()})
            now = {number for number in sure if differences[number].value > 0}
            if 0 in now and 0 not in blamed:
                needed.append(session + 1)
            blamed |= now
        in_time += 0 in blamed
        wrongly += bool(blamed - {0})
        withheld += sum(entry.withheld for entry in entries[1:])
    median = float(np.median(needed)) if needed else math.inf
    return Harm(in_time / runs, wrongly / runs, median, withheld / runs / (ENTRIES - 1) / WITHIN)


def _is_within_textbook(told: Sample, withheld: Sample, effect: float) -> bool:
    error = math.sqrt(told.variance / told.number + withheld.variance / withheld.number)
    return abs(told.mean - withheld.mean - effect) <= 1.96 * error


def measure() -> list[str]:
    """Return the table of docs/benchmarks.md."""
    rows = [
        f"| truth within the interval at every look, effect {one.effect:+.1f} | {one.always:.1%} | 93 to 97 % |"
        f" {one.at_end:.1%} at the last look alone; textbook interval {one.textbook:.1%} at every look |"
        for one in map(measure_coverage, EFFECTS)
    ]
    harm = measure_harm()
    rows.append(
        f"| entry that adds {HARM:.1f} setbacks to a session, among {ENTRIES}, found within {WITHIN} sessions |"
        f" {harm.found:.1%} | ≥ 95 % | after {harm.sessions:.0f} sessions in the median |"
    )
    rows.append(
        f"| any of the other {ENTRIES - 1} blamed in the same runs | {harm.wrongly:.1%} | ≤ {SURE:.0%} |"
        f" they were withheld from {harm.withheld:.1%} of the sessions |"
    )
    return ["| what | figure | target | beside |", "|---|---|---|---|", *rows]
