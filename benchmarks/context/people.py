"""Reads the people of `people/*.yaml`: what each of them has stored, and tasks with the keys of what they need."""

from dataclasses import dataclass
from pathlib import Path

import yaml

HERE = Path(__file__).parent / "people"


@dataclass(frozen=True)
class Line:
    """One thing that is stored: its key in the file, its project, how many days ago, and its fields."""

    key: str
    project: str
    days: int
    label: str
    text: str
    topics: tuple[str, ...] = ()
    outcome: str = ""


@dataclass(frozen=True)
class Task:
    """What someone asks for, in which project and with which topics, and the keys of what is needed for it."""

    project: str
    topics: tuple[str, ...]
    prompt: str
    needs: tuple[str, ...]


@dataclass(frozen=True)
class Person:
    """A person: profile, facts, sessions, hypotheses, tasks. The half `b` is measured and never tuned to."""

    name: str
    half: str
    role: str
    preferences: str
    pinned: tuple[str, ...]
    facts: tuple[Line, ...]
    sessions: tuple[Line, ...]
    hypotheses: tuple[Line, ...]
    tasks: tuple[Task, ...]

    @property
    def lines(self) -> tuple[Line, ...]:
        """All that a task may need."""
        return (*self.facts, *self.sessions, *self.hypotheses)

    @property
    def projects(self) -> list[str]:
        """The projects, in the order of the file."""
        return list(dict.fromkeys(line.project for line in self.facts if line.project))


def read_people() -> list[Person]:
    """Return all people, in the order of their names."""
    return [_person(path) for path in sorted(HERE.glob("*.yaml"))]


def _person(path: Path) -> Person:
    told = yaml.safe_load(path.read_text(encoding="utf-8"))
    return Person(
        name=path.stem,
        half=told["half"],
        role=told["role"],
        preferences=told["preferences"].strip(),
        pinned=tuple(told["pinned"]),
        facts=tuple(map(_fact, told["facts"].splitlines())),
        sessions=tuple(map(_session, told["sessions"].splitlines())),
        hypotheses=tuple(map(_hypothesis, told["hypotheses"].splitlines())),
        tasks=tuple(map(_task, told["tasks"].splitlines())),
    )


def _fact(row: str) -> Line:
    key, category, project, days, text = row.split(maxsplit=4)
    return Line(key, project.strip("-"), int(days), category, text)


def _session(row: str) -> Line:
    head, topics, headline, outcome = row.split(" | ")
    key, project, days = head.split()
    return Line(key, project, int(days), "session", headline, tuple(topics.split(", ")), outcome)


def _hypothesis(row: str) -> Line:
    key, project, days, confidence, text = row.split(maxsplit=4)
    return Line(key, project, int(days), confidence, text)


def _task(row: str) -> Task:
    project, topics, prompt, needs = row.split(" | ")
    return Task(project, tuple(topics.split(", ")), prompt, tuple(needs.split()))
