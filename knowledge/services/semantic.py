"""Semantic search: one question over everything the actor may see, by words and by meaning."""

from dataclasses import dataclass
from datetime import datetime
from typing import Annotated, Any, Literal
from uuid import UUID

from django.utils import timezone
from pydantic import Field

from accounts.actor import Actor
from accounts.models import User
from bigmind.core.vocabulary import Before, Limit, Offset, Project, Query, Since
from knowledge.models import Chunk, Entry, Fact, Hypothesis, Kind, Note, Session
from knowledge.search.hybrid import Filters, Finding, search

AnyKind = Annotated[
    list[Literal["fact", "chunk", "summary", "note", "hypothesis", "entry"]],
    Field(description="What to look among. Default: everything."),
]
TIERS: dict[str, str] = {
    Kind.FACT: "1",
    Kind.NOTE: "1",
    Kind.HYPOTHESIS: "1",
    Kind.SUMMARY: "2",
    Kind.CHUNK: "3",
    Kind.ENTRY: "kb",
}


@dataclass(frozen=True)
class Recollection:
    """One thing that was found, with what an agent needs to judge it."""

    kind: str
    id: str
    tier: str
    title: str
    excerpt: str
    score: float
    matched: list[str]
    arms: tuple[str, ...]
    created_at: datetime
    age_days: int
    project: str
    owner: str


@dataclass(frozen=True)
class Recollections:
    """What fits a question best. `fallback`: by words alone, because the embedder is away."""

    items: list[Recollection]
    total: int
    limit: int
    offset: int
    fallback: bool


def semantic_search(
    actor: Actor,
    *,
    query: Query,
    kinds: AnyKind | None = None,
    project: Project = "",
    since: Since | None = None,
    before: Before | None = None,
    limit: Limit = 10,
    offset: Offset = 0,
) -> Recollections:
    """Search all you may see by words and meaning: facts, exchanges, summaries, notes, hypotheses, shared entries.

    Call this first when you need to know something, before you ask the user or look elsewhere. Returns the best first,
    each with kind, id, tier, age, owner, score and what it matched.
    """
    wanted = [Kind(kind) for kind in kinds or Kind.values]
    filters = Filters(wanted, shared=Kind.ENTRY in wanted, project=project, since=since, before=before)
    found = search(query, owner=actor.user, filters=filters, limit=limit, offset=offset)
    sources = {kind: _sources(actor.user, kind, found.items) for kind in {item.kind for item in found.items}}
    read = [(item, sources[item.kind].get(item.source_id)) for item in found.items]
    items = [_recollection(item, source, actor.user) for item, source in read if source is not None]
    return Recollections(items, found.total - (len(read) - len(items)), limit, offset, found.fallback)


def _sources(user: User, kind: str, items: list[Finding]) -> dict[str, Any]:
    """The things themselves: what has expired since it was indexed is left out."""
    visible: dict[str, Any] = {
        Kind.FACT: Fact.objects.of(user).current(),
        Kind.CHUNK: Chunk.objects.filter(user=user).select_related("session"),
        Kind.SUMMARY: Session.objects.of(user).in_view(),
        Kind.NOTE: Note.objects.of(user).current(),
        Kind.HYPOTHESIS: Hypothesis.objects.filter(user=user, set_aside_at=None),
        Kind.ENTRY: Entry.objects.select_related("created_by"),
    }
    ids: list[Any] = [item.source_id for item in items if item.kind == kind]
    if kind in {Kind.SUMMARY, Kind.ENTRY}:
        ids = [UUID(id) for id in ids]
    return {str(row.pk): row for row in visible[kind].filter(pk__in=ids)}


def _recollection(item: Finding, source: Any, user: User) -> Recollection:
    title = str(source.session) if isinstance(source, Chunk) else str(source)
    author = source.created_by if isinstance(source, Entry) else user
    return Recollection(
        kind=item.kind,
        id=item.source_id,
        tier=TIERS[item.kind],
        title=title,
        excerpt=item.text,
        score=item.score,
        matched=item.matched,
        arms=item.arms,
        created_at=item.created_at,
        age_days=(timezone.now() - item.created_at).days,
        project=item.project,
        owner=str(author) if author else "",
    )
