"""Entries: the knowledge base that everybody here shares (seed 001)."""

from collections.abc import Sequence
from dataclasses import dataclass, field
from typing import Annotated, Any, Literal
from uuid import UUID

from django.contrib.postgres.fields import ArrayField
from django.db import transaction
from django.db.models import Avg, Case, CharField, Count, F, Func, IntegerField, Max, Q, QuerySet, Value, When
from django.db.models.functions import Left
from pydantic import Field

from accounts.actor import Actor
from bigmind.core.errors import Conflict, Forbidden, NotFound
from bigmind.core.pages import Page, page_of
from bigmind.core.text import digest, one_line
from bigmind.core.tokens import count_tokens
from bigmind.core.vocabulary import TAG_CHARS, Confidence, Cursor, Offset, Project, Query, SharedContent
from knowledge.entry_vocabulary import (
    EntryId,
    EntryTags,
    EntryTypeName,
    Metadata,
    MinConfidence,
    ParentId,
    RoleName,
    Roles,
    SourceFile,
    SourceStory,
)
from knowledge.models import CachedVector, Entry, Kind
from knowledge.search.hybrid import Filters, Finding, search
from knowledge.search.nearest import SUGGEST_FROM, nearest
from knowledge.search.passages import erase_passages, index_passages
from knowledge.search.seen_errors import keep_fingerprints
from knowledge.services.gaps import note_gap
from knowledge.services.likeness import Similar, lookalikes

from . import embedding

HIT_TOKENS = 100
"""What a hit costs beside its texts."""


MaxTokens = Annotated[int, Field(ge=100, le=100_000, description="What the reply may cost: whole hits that fit.")]


class _InCommon(Func):
    """How many tags are in both lists."""

    function = "cardinality"
    template = "%(function)s(ARRAY(SELECT unnest(%(expressions)s)))"
    arg_joiner = ") INTERSECT SELECT unnest("
    output_field = IntegerField()

    def __init__(self, field: str, tags: list[str]) -> None:
        super().__init__(F(field), Value(tags, ArrayField(CharField(max_length=TAG_CHARS))))


@dataclass(frozen=True)
class AddedEntry:
    """The entry as it is kept, whether it was known before, and those that say nearly the same."""

    entry: Entry
    duplicate: bool
    similar: list[Similar] = field(default_factory=list)

    @property
    def id(self) -> UUID:
        """The id of the entry, the known one for a duplicate."""
        return self.entry.pk

    @property
    def success(self) -> bool:
        """Whether something was added."""
        return not self.duplicate


@dataclass(frozen=True)
class EntryHit:
    """An entry that was found, and why."""

    entry: Entry
    score: float
    excerpt: str
    matched: list[str]
    arms: tuple[str, ...]


@dataclass(frozen=True)
class EntryHits:
    """Entries that were found, the best first. `fallback`: by their words alone, because the embedder is away.

    When nothing was found, `did_you_mean` has tags and beginnings of entries that look like the question.
    """

    items: list[EntryHit]
    total: int
    fallback: bool
    did_you_mean: list[str] = field(default_factory=list)


@dataclass(frozen=True)
class UpdatedEntry:
    """The entry as it is now."""

    entry: Entry
    re_embedded: bool
    success: bool = True


@dataclass(frozen=True)
class EntryStats:
    """The knowledge base in figures."""

    total_entries: int
    by_type: dict[str, int]
    by_role: dict[str, int]
    avg_confidence: float | None
    last_updated: Any
    cache_size: int
    waiting: int


def search_entries(
    actor: Actor,
    *,
    query: Query,
    role: RoleName | None = None,
    tags: EntryTags | None = None,
    entry_type: EntryTypeName | None = None,
    project: Project = "",
    limit: Annotated[int, Field(ge=1, le=50)] = 10,
    min_confidence: MinConfidence = 0.5,
    max_tokens: MaxTokens | None = None,
) -> EntryHits:
    """Search the knowledge base by words and meaning, for a role, tags or type.

    Call this before you begin work, and when you meet an error or write something that others may have written before.
    Returns entries, the best first, with score and what they matched.
    """
    eligible = _filtered(role, tags, entry_type).filter(confidence__gte=min_confidence)
    filters = Filters([Kind.ENTRY], shared=True, project=project, eligible={Kind.ENTRY: eligible})
    found = search(query, owner=actor.user, filters=filters, limit=limit)
    if not (role or tags or entry_type):
        note_gap(actor, query, found)
    entries = Entry.objects.select_related("created_by").in_bulk([UUID(item.source_id) for item in found.items])
    hits = [_hit(item, entries[UUID(item.source_id)]) for item in found.items if UUID(item.source_id) in entries]
    kept = hits if max_tokens is None else _within(hits, max_tokens)
    return EntryHits(kept, found.total, found.fallback, [] if hits else _did_you_mean(query))


def get_entry(actor: Actor, *, id: EntryId) -> Entry:
    """Read one entry of the knowledge base, whole.

    Call this when a search returned an excerpt and you need all of it. Returns the entry.
    """
    return _entry(id)


def get_related_entries(
    actor: Actor,
    *,
    entry_id: EntryId,
    limit: Annotated[int, Field(ge=1, le=50)] = 5,
    offset: Offset = 0,
    cursor: Cursor | None = None,
) -> Page[Entry]:
    """Find entries that belong to one: its parent and children, those with the same parent, and those with two tags or
    more in common.

    Call this to see what else is known around an entry. Returns the entries, those with most tags in common first.
    """
    entry = _entry(entry_id)
    family = Q(parent=entry) | Q(pk=entry.parent_id)
    if entry.parent_id:
        family |= Q(parent=entry.parent_id)
    related = (
        Entry.objects.exclude(pk=entry.pk)
        .filter(family | Q(tags__overlap=entry.tags))
        .annotate(in_common=_InCommon("tags", entry.tags), is_family=Case(When(family, then=1), default=0))
        .filter(Q(is_family=1) | Q(in_common__gte=2))
        .select_related("created_by")
    )
    nearest_first = related.order_by("-in_common", "-is_family", "-created_at", "pk")
    return page_of(nearest_first, limit=limit, offset=offset, cursor=cursor)


def list_entries(
    actor: Actor,
    *,
    role: RoleName | None = None,
    tags: EntryTags | None = None,
    entry_type: EntryTypeName | None = None,
    project: Project = "",
    limit: Annotated[int, Field(ge=1, le=100)] = 20,
    offset: Offset = 0,
    cursor: Cursor | None = None,
    order_by: Literal["created_at", "updated_at", "confidence"] = "created_at",
    order: Literal["asc", "desc"] = "desc",
) -> Page[Entry]:
    """List entries of the knowledge base by role, tags (all of them), type or project; no search.

    Call this to see what there is. Returns a page of entries and the total.
    """
    entries = _filtered(role, tags, entry_type).select_related("created_by")
    if project:
        entries = entries.filter(project=project)
    ordered = entries.order_by(f"{'-' if order == 'desc' else ''}{order_by}", "pk")
    return page_of(ordered, limit=limit, offset=offset, cursor=cursor)


@transaction.atomic
def add_entry(
    actor: Actor,
    *,
    content: SharedContent,
    entry_type: EntryTypeName,
    roles: Roles | None = None,
    tags: EntryTags | None = None,
    source_file: SourceFile = "",
    source_story: SourceStory = "",
    parent_id: ParentId | None = None,
    confidence: Confidence = 1.0,
    metadata: Metadata | None = None,
    project: Project = "",
) -> AddedEntry:
    """Add an entry to the knowledge base: a learning, a summary of a story, a template. Everybody here sees it.

    Call this when you learned something that others should not have to learn again. Returns the entry with its id;
    the exact same content is not added twice (`duplicate`, with the id of the known one). What says nearly the same is
    listed (`similar`) and pointed to; nothing is merged.
    """
    parent = _entry(parent_id) if parent_id else None
    entry, is_new = Entry.objects.get_or_create(
        digest=digest(content),
        defaults={
            "content": content,
            "entry_type": entry_type,
            "roles": roles or [],
            "tags": tags or [],
            "source_file": source_file,
            "source_story": source_story,
            "parent": parent,
            "confidence": confidence,
            "metadata": metadata or {},
            "project": project,
            "created_by": actor.user,
        },
    )
    if not is_new:
        return AddedEntry(entry, duplicate=True)
    similar = _point_to_similar(entry)
    index_entry(entry, made=True)
    return AddedEntry(entry, duplicate=False, similar=similar)


@transaction.atomic
def update_entry(
    actor: Actor,
    *,
    id: EntryId,
    content: SharedContent | None = None,
    roles: Roles | None = None,
    tags: EntryTags | None = None,
    confidence: Confidence | None = None,
    metadata: Metadata | None = None,
) -> UpdatedEntry:
    """Change an entry of your own, or any as a curator. What you leave out stays as it is.

    Call this when an entry is out of date, or to raise its confidence once it is proven. Returns the entry, and whether
    it was embedded anew.
    """
    entry = _own_entry(actor, id)
    changed = content is not None and digest(content) != entry.digest
    sent = {"content": content, "roles": roles, "tags": tags, "confidence": confidence, "metadata": metadata}
    for name, value in sent.items():
        if value is not None:
            setattr(entry, name, value)
    if changed:
        known = Entry.objects.filter(digest=digest(entry.content)).exclude(pk=entry.pk).first()
        if known:
            raise _known_already(known)
        entry.digest, entry.similar_to = digest(entry.content), None
    entry.save()
    if changed:
        _point_to_similar(entry)
        index_entry(entry)
    return UpdatedEntry(entry, re_embedded=changed)


@transaction.atomic
def delete_entry(actor: Actor, *, id: EntryId) -> Entry:
    """Delete an entry of your own, or any as a curator.

    Call this when it is wrong and not worth correcting. Returns what was deleted; it cannot be undone.
    """
    entry = _own_entry(actor, id)
    erase_passages(Kind.ENTRY, [entry.pk])
    deleted = entry.pk
    entry.delete()
    entry.pk = deleted
    return entry


def entry_stats(actor: Actor) -> EntryStats:
    """Count the knowledge base: entries by type and role, their confidence, and the vectors that wait.

    Call this when asked how much the knowledge base holds.
    """
    summary = Entry.objects.aggregate(total=Count("pk"), confidence=Avg("confidence"), updated=Max("updated_at"))
    by_role: dict[str, int] = {}
    for roles, count in Entry.objects.values_list("roles").annotate(Count("pk")):
        for role in roles:
            by_role[role] = by_role.get(role, 0) + count
    return EntryStats(
        total_entries=summary["total"],
        by_type=dict(Entry.objects.values_list("entry_type").annotate(Count("pk")).order_by()),
        by_role=by_role,
        avg_confidence=summary["confidence"],
        last_updated=summary["updated"],
        cache_size=CachedVector.objects.count(),
        waiting=embedding.progress().waiting,
    )


def index_entry(entry: Entry, *, made: bool = False) -> None:
    """Write the passages of an entry. They have no owner: everybody here may find them."""
    index_passages(Kind.ENTRY, entry.pk, [entry.content], owner=None, project=entry.project, made=made)
    keep_fingerprints([entry])


def may_change(actor: Actor, entry: Entry) -> bool:
    """Whether an actor may change an entry: their own, or anybody's with the scope of curators."""
    return entry.created_by_id == actor.user.pk or "curate" in actor.scopes


def _point_to_similar(entry: Entry) -> list[Similar]:
    """Let an entry point to the one most like it, if any. A worker looks again, by meaning, once it has a vector."""
    others = Entry.objects.exclude(pk=entry.pk)
    similar = lookalikes(entry.content, kind=Kind.ENTRY, owner=None, among=others, field="content")
    if similar:
        entry.similar_to_id = similar[0].id
        entry.save(update_fields=["similar_to"])
    return similar


def _within(hits: list[EntryHit], budget: int) -> list[EntryHit]:
    """As many of the first hits, whole, as fit the budget."""
    kept, spent = [], 0
    for hit in hits:
        spent += count_tokens(hit.entry.content) + count_tokens(hit.excerpt) + HIT_TOKENS
        if spent > budget:
            break
        kept.append(hit)
    return kept


def _did_you_mean(query: str) -> list[str]:
    """Tags and beginnings of entries that look like the question: what exists, never inventions."""
    rows = Entry.objects.order_by("-updated_at").annotate(start=Left("content", 80)).values_list("tags", "start")
    return nearest(query, [name for tags, start in rows[:SUGGEST_FROM] for name in (*tags, one_line(start))])


def _filtered(role: str | None, tags: Sequence[str] | None, entry_type: str | None) -> QuerySet[Entry]:
    entries = Entry.objects.all()
    if role and role != "all":
        entries = entries.filter(Q(roles__contains=[role]) | Q(roles__contains=["all"]) | Q(roles=[]))
    if tags:
        entries = entries.filter(tags__contains=list(tags))
    return entries.filter(entry_type=entry_type) if entry_type else entries


def _entry(id: UUID) -> Entry:
    try:
        return Entry.objects.select_related("created_by").get(pk=id)
    except Entry.DoesNotExist as error:
        raise NotFound(f"There is no entry {id}.", hint="kb_search and kb_list show those there are.") from error


def _own_entry(actor: Actor, id: UUID) -> Entry:
    entry = _entry(id)
    if not may_change(actor, entry):
        hint = "Ask a curator to change it; a curator’s key needs the scope `curate`."
        raise Forbidden("This entry was added by somebody else.", hint=hint)
    return entry


def _known_already(entry: Entry) -> Conflict:
    return Conflict("This content is known already.", hint=f"See entry {entry.pk}.", entry_id=str(entry.pk))


def _hit(item: Finding, entry: Entry) -> EntryHit:
    return EntryHit(entry, item.score, item.text, item.matched, item.arms)
