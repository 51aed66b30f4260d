"""Expertise: “who worked on X?”, answered from what people share, with the reason for each name."""

import re
from collections.abc import Iterable
from dataclasses import dataclass
from uuid import UUID

from django.db.models import QuerySet

from accounts.actor import Actor
from accounts.models import User
from accounts.people.profiles import people_shown
from bigmind.core.sections import ProfileSection
from bigmind.core.vocabulary import Limit, Offset, Query
from knowledge.models import CompanyEntry, Kind
from knowledge.search.hybrid import CANDIDATES, Filters, Finding, search

from .people import lines_of

REASONS = 5
_ASKING = re.compile(
    r"^\s*who\s+(?:(?:here|has|have|is|are|else|did|do|can)\s+)*"
    r"(?:work(?:s|ed|ing)?|kn[eo]ws?|help|expert|ask)?\s*(?:on|about|with|in|of|for)?\s+",
    re.IGNORECASE,
)


@dataclass(frozen=True)
class Reason:
    """Why someone was found: a topic or headline they share, or a company entry they contributed.

    `matched` is empty where it is only near in meaning.
    """

    kind: str
    text: str
    score: float
    matched: list[str]
    entry_id: int | None = None


@dataclass(frozen=True)
class Expert:
    """Someone who was found, and why: the best reason first."""

    username: str
    name: str
    role: str
    score: float
    reasons: list[Reason]


@dataclass(frozen=True)
class Experts:
    """A page of people who were found, the best first. `fallback`: by words alone, because the embedder is away."""

    items: list[Expert]
    total: int
    limit: int
    offset: int
    fallback: bool
    notice: str = ""

    @property
    def left(self) -> int:
        """How many more people there are after this page."""
        return max(0, self.total - self.offset - len(self.items))

    @property
    def no_word(self) -> bool:
        """Whether no word of the question was found: these are what is nearest in meaning, near or not."""
        return bool(self.items) and not any(reason.matched for one in self.items for reason in one.reasons)


def search_directory(actor: Actor, *, query: Query, limit: Limit = 10, offset: Offset = 0) -> Experts:
    """Find who worked on something, by words and meaning, over the topics, headlines and contributions people share.

    Call this when you need a person to ask, or the user asks “who worked on X?”. Returns people, the best first, each
    with the reasons: which topic, headline or company entry.
    """
    subject = _ASKING.sub("", query).strip(" ?") or query
    eligible = {Kind.PERSON: _people_to_find(actor.user), Kind.COMPANY: _entries_to_find(actor.user)}
    filters = Filters(list(eligible), shared=True, eligible=eligible)
    found = search(subject, owner=actor.user, filters=filters, limit=2 * CANDIDATES)
    experts = _experts(_reasons(actor.user, found.items))
    return Experts(experts[offset : offset + limit], len(experts), limit, offset, found.fallback, found.notice)


def _people_to_find(viewer: User) -> QuerySet[User]:
    return people_shown(viewer, ProfileSection.TOPICS) | people_shown(viewer, ProfileSection.HEADLINES)


def _entries_to_find(viewer: User) -> QuerySet[CompanyEntry]:
    contributors = people_shown(viewer, ProfileSection.CONTRIBUTIONS)
    return CompanyEntry.objects.approved().filter(proposed_by__in=contributors.order_by().values("pk"))


def _reasons(viewer: User, found: Iterable[Finding]) -> list[tuple[UUID, Reason]]:
    """Read what was found once more: what is not shared at this moment is no reason."""
    people = [item for item in found if item.kind == Kind.PERSON]
    lines = lines_of([UUID(item.source_id) for item in people])
    entries = _entries_to_find(viewer).in_bulk([int(item.source_id) for item in found if item.kind == Kind.COMPANY])
    reasons = []
    for item in found:
        if item.kind == Kind.PERSON:
            person = UUID(item.source_id)
            kind = lines.get(person, {}).get(item.text)
            reasons += [(person, Reason(kind, item.text, item.score, item.matched))] if kind else []
        elif entry := entries.get(int(item.source_id)):
            reason = Reason("entry", entry.title, item.score, item.matched, entry.pk)
            reasons += [(entry.proposed_by_id, reason)] if entry.proposed_by_id else []
    return reasons


def _experts(reasons: Iterable[tuple[UUID, Reason]]) -> list[Expert]:
    """Gather the reasons of each person. Anyone who has the best reason comes first; more reasons put nobody ahead."""
    of_each: dict[UUID, list[Reason]] = {}
    for person, reason in reasons:
        of_each.setdefault(person, []).append(reason)
    users = User.objects.in_bulk(list(of_each))
    return [
        Expert(user.username, str(user), user.role, told[0].score, told[:REASONS])
        for pk, told in of_each.items()
        if (user := users.get(pk))
    ]
