"""Expertise: who worked on something, answered from what people share, with the reason."""

import re
from collections.abc import Iterable
from dataclasses import dataclass
from uuid import UUID

from django.db.models import QuerySet

from accounts.actor import Actor
from accounts.models import User
from accounts.people.sharing import nobody_to_find, people_shown
from bigmind.core.argument_types import Limit, Offset, Query
from bigmind.database.pagination import Page
from bigmind.environment.profile_sections import ProfileSection
from knowledge.models import CompanyEntry, Kind
from knowledge.search.abstention import answering
from knowledge.search.filters import Filters
from knowledge.search.findings import Finding
from knowledge.search.hybrid import search
from knowledge.search.retrievers import CANDIDATES
from knowledge.shapes.directory import ExpertShape, ReasonShape

from .people_index import lines_of

REASONS = 5
_ASKING = re.compile(
    r"^\s*who\s+(?:(?:here|has|have|is|are|else|did|do|can)\s+)*"
    r"(?:work(?:s|ed|ing)?|kn[eo]ws?|help|expert|ask)?\s*(?:on|about|with|in|of|for)?\s+",
    re.IGNORECASE,
)


@dataclass(frozen=True, kw_only=True)
class Experts(Page[ExpertShape]):
    """A page of people who were found, the best first. `fallback`: by words alone, because the embedder is away."""

    fallback: bool
    notice: str = ""

    @property
    def no_word(self) -> bool:
        """Whether no word of the question was found: then these are only the nearest in meaning."""
        return bool(self.items) and not any(reason.matched for one in self.items for reason in one.reasons)


def search_directory(actor: Actor, *, query: Query, limit: Limit = 10, offset: Offset = 0) -> Experts:
    """Find who worked on something, by words and meaning, over the topics, headlines and contributions people share.

    Call this when you need a person to ask, or the user asks “who worked on X?”. Returns people, the best first, each
    with the reasons: which topic, headline or company entry. People merely near in meaning are left out.
    """
    subject = _ASKING.sub("", query).strip(" ?") or query
    eligible = {Kind.PERSON: _people_to_find(actor.user), Kind.COMPANY: _entries_to_find(actor.user)}
    filters = Filters(list(eligible), eligible=eligible)
    found = search(subject, owner=actor.user, filters=filters, limit=2 * CANDIDATES)
    # Something is always nearest: below the floor of every search it is no reason to name anyone.
    experts = _experts(_reasons(actor.user, answering(found.items)))
    notice = " ".join(filter(None, (found.notice, nobody_to_find(actor.user))))
    return Experts(
        experts[offset : offset + limit], len(experts), limit, offset, fallback=found.fallback, notice=notice
    )


def _people_to_find(viewer: User) -> QuerySet[User]:
    return people_shown(viewer, ProfileSection.TOPICS) | people_shown(viewer, ProfileSection.HEADLINES)


def _entries_to_find(viewer: User) -> QuerySet[CompanyEntry]:
    contributors = people_shown(viewer, ProfileSection.CONTRIBUTIONS)
    return CompanyEntry.objects.approved().filter(proposed_by__in=contributors.order_by().values("pk"))


def _reasons(viewer: User, found: Iterable[Finding]) -> list[tuple[UUID, ReasonShape]]:
    """Read the hits again: what is no longer shared is no reason."""
    people = [item for item in found if item.kind == Kind.PERSON]
    lines = lines_of([UUID(item.source_id) for item in people])
    entries = _entries_to_find(viewer).in_bulk([int(item.source_id) for item in found if item.kind == Kind.COMPANY])
    reasons = []
    for item in found:
        if item.kind == Kind.PERSON:
            person = UUID(item.source_id)
            if kind := lines.get(person, {}).get(item.text):
                reasons.append((person, _reason(item, kind, item.text)))
        elif (entry := entries.get(int(item.source_id))) and entry.proposed_by_id:
            reasons.append((entry.proposed_by_id, _reason(item, "entry", entry.title, entry.pk)))
    return reasons


def _reason(item: Finding, kind: str, text: str, entry_id: int | None = None) -> ReasonShape:
    return ReasonShape(kind=kind, text=text, score=item.score, matched=item.matched, entry_id=entry_id)


def _experts(reasons: Iterable[tuple[UUID, ReasonShape]]) -> list[ExpertShape]:
    """Collect each person's reasons. The best reason comes first; the number of reasons does not count."""
    of_each: dict[UUID, list[ReasonShape]] = {}
    for person, reason in reasons:
        of_each.setdefault(person, []).append(reason)
    users = User.objects.in_bulk(list(of_each))
    return [
        ExpertShape(
            username=user.username, name=str(user), role=user.role, score=findings[0].score, reasons=findings[:REASONS]
        )
        for pk, findings in of_each.items()
        if (user := users.get(pk))
    ]
