"""Replays past session starts: which company entries each would receive before a decision and after it."""

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from itertools import islice
from typing import Any
from uuid import UUID

from django.db import connection

from knowledge.context.company import ENTRIES_SHOWN, READ_PER_GROUP, company_line, rank
from knowledge.exposures.uncited_entries import find_demoted
from knowledge.kb.company import select_approved_entries
from knowledge.models import CompanyEntry

from .afterwards import EntryChange
from .questions import MOST, read_outline

_STARTS = """
SELECT user_id, project, times, outline FROM knowledge_askedquestion
WHERE how = 'start' AND asked_at > %s ORDER BY asked_at DESC, id DESC LIMIT %s
"""


@dataclass(frozen=True)
class Start:
    """The start of a session: its project and topics, and the tokens that company knowledge had."""

    user_id: UUID
    project: str
    topics: tuple[str, ...]
    room: int
    times: int


@dataclass(frozen=True)
class ChangedStart:
    """A start that would have other entries, or the same ones in another order."""

    start: Start
    before: tuple[int, ...]
    after: tuple[int, ...]


def read_starts(since: Any) -> list[Start]:
    """Return everyone's session starts since then, the newest first."""
    with connection.cursor() as cursor:
        cursor.execute(_STARTS, [since, MOST])
        rows = [(user, project, times, read_outline(outline)) for user, project, times, outline in cursor.fetchall()]
    return [Start(user, project, tuple(one["topics"]), one["room"], times) for user, project, times, one in rows]


def replay_starts(starts: Sequence[Start], changes: Sequence[EntryChange]) -> list[ChangedStart]:
    """Return the starts that would have other entries."""
    if not starts:
        return []
    ids = {change.entry.pk for change in changes}
    before = list(select_approved_entries())
    after = [one for one in before if one.pk not in ids] + [one.after for one in changes if one.after]
    behind = find_demoted({one.pk for one in [*before, *after]})
    old, new = _StartRanking(before, behind), _StartRanking(after, behind)
    changed = [ChangedStart(start, old.choose(start), new.choose(start)) for start in starts]
    return [one for one in changed if one.before != one.after]


class _StartRanking:
    """Which entries a start has in one world, as `most_relevant` and the context choose them."""

    def __init__(self, entries: Sequence[CompanyEntry], behind: set[int]) -> None:
        newest = sorted(entries, key=lambda one: (one.decided_at is not None, one.decided_at, one.pk), reverse=True)
        self.entries = sorted(newest, key=lambda one: -one.importance)
        self.behind = behind
        self.costs: dict[int, int] = {}
        self.known: dict[tuple[str, tuple[str, ...]], list[CompanyEntry]] = {}

    def choose(self, start: Start) -> tuple[int, ...]:
        """Return the entries of the first five that fit."""
        key = start.project, start.topics
        if key not in self.known:
            self.known[key] = self._first(*key)
        chosen, left = list[int](), start.room
        for entry in self.known[key]:
            cost = self._cost(entry)
            if cost <= left:
                chosen.append(entry.pk)
                left -= cost
        return tuple(chosen)

    def _first(self, project: str, topics: tuple[str, ...]) -> list[CompanyEntry]:
        groups: list[Callable[[CompanyEntry], bool]] = [lambda one: True]
        groups += [lambda one: one.project == project] if project else []
        groups += [lambda one: not set(topics).isdisjoint(one.topics)] if topics else []
        candidates = {one.pk: one for group in groups for one in islice(filter(group, self.entries), READ_PER_GROUP)}
        ranked = rank(candidates.values(), project, topics)
        return sorted(ranked, key=lambda one: one.pk in self.behind)[:ENTRIES_SHOWN]

    def _cost(self, entry: CompanyEntry) -> int:
        if entry.pk not in self.costs:
            self.costs[entry.pk] = company_line(entry).tokens + 1
        return self.costs[entry.pk]
