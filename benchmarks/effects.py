"""Effects: does the interval hold when somebody looks after every session, and is harm found?

What is measured is the shipped function, `knowledge.services.confidence.compare`, on sessions of known effect. Sessions
have as many setbacks as a negative binomial distribution says (most have none, a few have many), of persons of whom
some need twice as much as others; each is told or withheld by lot with the default share.
"""

import math
from dataclasses import dataclass

import numpy as np

from knowledge.services.confidence import SURE, Sample, compare, find_sure

SHARE = 0.2
RUNS, SESSIONS = 1_000, 1_000
PEOPLE = 12
SETBACKS, SPREAD = 1.2, 2.0
"""Mean of a session, and the shape of how sessions differ: variance = mean + mean² / shape."""
ENTRIES, HARM, WITHIN = 20, 2.0, 300
"""Entries compared at once, setbacks that the harmful one of them adds to a session, and sessions until it is found."""
EFFECTS = (0.0, -0.4, 0.4)


@dataclass(frozen=True)
class Coverage:
    """How often the interval had the truth in it: in all looks of a run, at its end, and that of the textbook."""

    effect: float
    always: float
    at_end: float
    textbook: float


def simulate_sessions(rng: np.random.Generator, effect: float, sessions: int) -> tuple[np.ndarray, np.ndarray]:
    """Return whether each session was told something, and how many setbacks it had."""
    told = rng.random(sessions) >= SHARE
    people = rng.gamma(4, 1 / 4, PEOPLE)
    needs = rng.choice(people / people.mean(), sessions)
    mean = (SETBACKS + told * effect) * needs * rng.gamma(SPREAD, 1 / SPREAD, sessions)
    return told, rng.poisson(mean).astype(float)


def measure_coverage(effect: float, *, runs: int = RUNS, sessions: int = SESSIONS, seed: int = 1) -> Coverage:
    """Look after every session of many runs; return in what share of the runs the truth was always within."""
    rng = np.random.default_rng(seed)
    always = at_end = textbook = 0
    for _ in range(runs):
        looks = list(_list_looks(*simulate_sessions(rng, effect, sessions)))
        found = [one for look in looks if (one := compare(*look))]
        always += all(one.low <= effect <= one.high for one in found)
        at_end += found[-1].low <= effect <= found[-1].high
        textbook += all(_is_within_textbook(*look, effect) for look in looks if compare(*look))
    return Coverage(effect, always / runs, at_end / runs, textbook / runs)


def measure_harm(*, runs: int = 200, seed: int = 2) -> tuple[float, float, float]:
    """Return how often a harmful entry among harmless ones is found in time, how often another is, and the median."""
    rng = np.random.default_rng(seed)
    in_time, wrongly, needed = 0, 0, []
    for _ in range(runs):
        worlds = [simulate_sessions(rng, HARM * (entry == 0), WITHIN) for entry in range(ENTRIES)]
        looks = [list(_list_looks(*world)) for world in worlds]
        blamed: set[int] = set()
        for session in range(WITHIN):
            differences = {entry: compare(*of[session]) for entry, of in enumerate(looks)}
            p_of = {entry: one.p for entry, one in differences.items() if one}
            now = {entry for entry in find_sure(p_of) if (one := differences[entry]) and one.value > 0}
            if 0 in now and 0 not in blamed:
                needed.append(session + 1)
            blamed |= now
        in_time += 0 in blamed
        wrongly += bool(blamed - {0})
    return in_time / runs, wrongly / runs, float(np.median(needed)) if needed else math.inf


def _list_looks(told: np.ndarray, setbacks: np.ndarray) -> zip:
    """Return both samples as they stood after each session."""
    sides = []
    for side in (told, ~told):
        number, total, squares = np.cumsum(side), np.cumsum(side * setbacks), np.cumsum(side * setbacks**2)
        mean = total / np.maximum(number, 1)
        variance = np.maximum(0, squares - number * mean**2) / np.maximum(number - 1, 1)
        sides.append([Sample(*row) for row in zip(number.tolist(), mean.tolist(), variance.tolist(), strict=True)])
    return zip(*sides, strict=True)


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
    found, wrongly, sessions = measure_harm()
    rows.append(
        f"| entry that adds {HARM:.0f} setbacks to a session, among {ENTRIES}, found within {WITHIN} sessions |"
        f" {found:.1%} | ≥ 95 % | after {sessions:.0f} sessions in the median |"
    )
    rows.append(f"| any of the other {ENTRIES - 1} blamed in the same runs | {wrongly:.1%} | ≤ {SURE:.0%} | |")
    return ["| what | figure | target | beside |", "|---|---|---|---|", *rows]
