"""Pairs of statements, written by hand: contradictions of each class, repetitions, and what can hold side by side.

Beside them, what people store day by day (`ordinary.txt`, the memories of two people, in order), and entries written
from one template.
"""

import csv
from collections.abc import Iterator
from dataclasses import dataclass
from hashlib import sha256
from itertools import groupby
from operator import itemgetter
from pathlib import Path

FOLDER = Path(__file__).parent
TUNED, HELD_OUT, RULES, OLDER, BLIND = (
    "teams, half A",
    "teams, half B, held out",
    "rules of a company",
    "facts",
    "written after fitting",
)
PARTS = (TUNED, HELD_OUT, BLIND, OLDER, RULES)
"""The rules were fitted on half A of `teams.tsv`, and on `rules.tsv` and `pairs.tsv`, which are older. `blind.tsv` was
written afterwards, in three sets, from fields of work that the rest has nothing of."""


@dataclass(frozen=True)
class Pair:
    """Two statements, the older one first, and whether they are a `contradiction`, a `duplicate` or `compatible`."""

    sort: str
    relation: str
    older: str
    newer: str
    part: str


def read_pairs() -> list[Pair]:
    """Return all pairs. To which half one belongs is decided by its text, so that nobody chose it."""
    return [*_read("teams.tsv"), *_read("pairs.tsv", OLDER), *_read("rules.tsv", RULES), *_read("blind.tsv", BLIND)]


def _read(name: str, part: str = "") -> list[Pair]:
    with (FOLDER / name).open(newline="") as file:
        rows = csv.DictReader(file, delimiter="\t", quoting=csv.QUOTE_NONE)
        return [
            Pair(
                row["class"], row["relation"], _text(row["older"]), _text(row["newer"]), part or _half_of(row["older"])
            )
            for row in rows
        ]


def _text(cell: str) -> str:
    return cell.replace("\\n", "\n")


def _half_of(text: str) -> str:
    return (TUNED, HELD_OUT)[int(sha256(text.encode()).hexdigest(), 16) % 2]


def read_ordinary_facts() -> list[list[str]]:
    """Return what two people store in the order of their days."""
    return [part.strip().splitlines() for part in (FOLDER / "ordinary.txt").read_text().split("\n\n")]


def read_days() -> Iterator[tuple[str, list[str], set[tuple[int, int]]]]:
    """Yield what the people of a company wrote on a day, each written as a whole without a look at the comparison.

    With the name of the day: its texts, and which of them contradict each other, the later place first.
    """
    with (FOLDER / "days.tsv").open(newline="") as file:
        rows = list(csv.DictReader(file, delimiter="\t", quoting=csv.QUOTE_NONE))
    for day, of_day in groupby(rows, itemgetter("day")):
        texts = list(of_day)
        against = {(int(row["number"]), int(other)) for row in texts for other in row["contradicts"].split()}
        yield day, [row["text"] for row in texts], against


def entries_from_one_template(number: int = 150) -> list[str]:
    """Return service cards that differ in their filled places only: text, a table and code."""
    names = [(f"{_FIRST[at % 15]}{_SECOND[at // 15]}", _SECOND[at % 10].title()) for at in range(number)]
    return [
        f"Service card: {name}-api\n\n| Field | Value |\n|---|---|\n| Port | {8000 + 7 * at} |\n"
        f"| Owner | team {owner} |\n"
        f"| Tier | {at % 4} |\n\nThe service answers within {50 + 10 * (at % 37)} ms "
        f"and keeps logs for {7 + at % 90} days. "
        f"It is deployed on {_DAYS[at % 5]}s{'' if at % 2 else ' and never restarted by hand'}.\n\n"
        f"```python\nclient = Client('{name}', timeout={5 + at % 50}, retries={at % 6})\n```"
        for at, (name, owner) in enumerate(names)
    ]


_DAYS = ("Monday", "Tuesday", "Wednesday", "Thursday", "Friday")
_FIRST = [
    "ship",
    "price",
    "order",
    "claim",
    "route",
    "stock",
    "label",
    "slot",
    "fleet",
    "dock",
    "tariff",
    "audit",
    "quote",
    "parcel",
    "depot",
]
_SECOND = ["ing", "book", "view", "store", "gate", "flow", "sync", "hub", "desk", "plan"]
