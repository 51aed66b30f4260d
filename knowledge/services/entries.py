"""Entries: the knowledge base that everybody here shares (seed 001)."""

import json
from collections.abc import Sequence
from dataclasses import dataclass, field
from typing import Annotated, Any, Literal
from uuid import UUID

from django.db import transaction
from django.db.models import Avg, Count, Max, Q, QuerySet
from pydantic import AfterValidator, BaseModel, ConfigDict, Field

from accounts.actor import Actor
from accounts.models import Role
from bigmind.core.errors import Conflict, Forbidden, NotFound
from bigmind.core.pages import Page, page_of
from bigmind.core.text import checked_content, digest
from bigmind.core.vocabulary import CONTENT_BYTES, Confidence, Content, LongText, Offset, Project, Query, Tag, Tags
from knowledge.models import CachedVector, Entry, Kind
from knowledge.search.hybrid import Filters, Finding, search
from knowledge.search.passages import forget_passages, index_passages

from . import embedding


def _storable(metadata: dict[str, Any]) -> dict[str, Any]:
    """Refuse what no text here may have, wherever it stands in the JSON, and what is too large."""
    said = json.dumps(metadata, ensure_ascii=False)
    if "\\u0000" in said:
        raise ValueError("has a NUL character")
    checked_content(said)
    if len(said.encode()) > CONTENT_BYTES:
        raise ValueError(f"is {len(said.encode()):,} bytes; the limit is {CONTENT_BYTES:,}")
    return metadata


EntryId = Annotated[UUID, Field(description="The id of the entry.")]
EntryTypeName = Annotated[Literal["fact", "summary", "template"], Field(description="What it is.")]
RoleName = Annotated[Tag, Field(description="Only what is for this role: pm, dev, qa or all.")]
Roles = Annotated[Tags, Field(description="Whom it is for: pm, dev, qa, all.", examples=[["dev"]])]
EntryTags = Annotated[Tags, Field(description="Tags.", examples=[["vercel", "routing"]])]
SourceFile = Annotated[LongText, Field(max_length=500, description="File it comes from.")]
SourceStory = Annotated[LongText, Field(max_length=200, description="Story it comes from.")]
ParentId = Annotated[UUID, Field(description="The summary it belongs to.")]
Metadata = Annotated[
    dict[str, Any], AfterValidator(_storable), Field(description="Anything else, as JSON of up to 64 KiB.")
]
MinConfidence = Annotated[Confidence, Field(description="Only what is at least so certain.")]


@dataclass(frozen=True)
class AddedEntry:
    """The entry as it is kept, and whether it was known before."""

    entry: Entry
    duplicate: bool

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
    """Entries that were found, the best first. `fallback`: by their words alone, because the embedder is away."""

    items: list[EntryHit]
    total: int
    fallback: bool


@dataclass(frozen=True)
class UpdatedEntry:
    """The entry as it is now."""

    entry: Entry
    re_embedded: bool
    success: bool = True


@dataclass
class ImportedEntries:
    """What a bulk import did, row by row where something is worth saying."""

    imported: int = 0
    skipped: int = 0
    errors: list[str] = field(default_factory=list)


@dataclass(frozen=True)
class Rebuild:
    """How far the vectors are."""

    total: int
    processed: int
    status: str


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


class NewEntry(BaseModel):
    """One entry of a bulk import."""

    model_config = ConfigDict(extra="forbid")

    content: Content
    entry_type: EntryTypeName = "fact"
    roles: Roles = []
    tags: EntryTags = []
    source_file: SourceFile = ""
    source_story: SourceStory = ""
    parent_id: ParentId | None = None
    confidence: Confidence = 1.0
    metadata: Metadata = {}
    project: Project = ""


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
) -> EntryHits:
    """Search the knowledge base by words and meaning, for a role, tags or type.

    Call this before you begin work, and when you meet an error or write something that others may have written before.
    Returns entries, the best first, with score and what they matched.
    """
    eligible = _filtered(role, tags, entry_type).filter(confidence__gte=min_confidence)
    narrowed = role or tags or entry_type or min_confidence > 0
    among = [str(pk) for pk in eligible.values_list("pk", flat=True)] if narrowed else None
    filters = Filters([Kind.ENTRY], shared=True, project=project, among=among)
    found = search(query, owner=actor.user, filters=filters, limit=limit)
    entries = Entry.objects.select_related("created_by").in_bulk([UUID(item.source_id) for item in found.items])
    hits = [_hit(item, entries[UUID(item.source_id)]) for item in found.items if UUID(item.source_id) in entries]
    return EntryHits(hits, found.total, found.fallback)


def get_entry(actor: Actor, *, id: EntryId) -> Entry:
    """Read one entry of the knowledge base, whole.

    Call this when a search returned an excerpt and you need all of it. Returns the entry.
    """
    return _entry(id)


def get_related_entries(
    actor: Actor, *, entry_id: EntryId, limit: Annotated[int, Field(ge=1, le=50)] = 5
) -> Page[Entry]:
    """Find entries that belong to one: its parent and children, those with the same parent, and those with two tags or
    more in common.

    Call this to see what else is known around an entry. Returns the entries, those with most tags in common first.
    """
    entry = _entry(entry_id)
    family = Q(parent=entry) | Q(pk=entry.parent_id)
    if entry.parent_id:
        family |= Q(parent=entry.parent_id)
    candidates = Entry.objects.exclude(pk=entry.pk).filter(family | Q(tags__overlap=entry.tags))[:1000]
    relatives = set(Entry.objects.exclude(pk=entry.pk).filter(family).values_list("pk", flat=True))
    in_common = {other: len(set(other.tags) & set(entry.tags)) for other in candidates}
    related = [other for other, count in in_common.items() if other.pk in relatives or count >= 2]
    related.sort(key=lambda other: (-in_common[other], other.pk not in relatives, -other.created_at.timestamp()))
    return Page(related[:limit], total=len(related), limit=limit, offset=0)


def list_entries(
    actor: Actor,
    *,
    role: RoleName | None = None,
    tags: EntryTags | None = None,
    entry_type: EntryTypeName | None = None,
    project: Project = "",
    limit: Annotated[int, Field(ge=1, le=100)] = 20,
    offset: Offset = 0,
    order_by: Literal["created_at", "updated_at", "confidence"] = "created_at",
    order: Literal["asc", "desc"] = "desc",
) -> Page[Entry]:
    """List entries of the knowledge base by role, tags (all of them), type or project; no search.

    Call this to see what there is. Returns a page of entries and the total.
    """
    entries = _filtered(role, tags, entry_type).select_related("created_by")
    if project:
        entries = entries.filter(project=project)
    return page_of(entries.order_by(f"{'-' if order == 'desc' else ''}{order_by}", "pk"), limit=limit, offset=offset)


@transaction.atomic
def add_entry(
    actor: Actor,
    *,
    content: Content,
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
    the exact same content is not added twice (`duplicate`, with the id of the known one).
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
    if is_new:
        index_entry(entry)
    return AddedEntry(entry, duplicate=not is_new)


@transaction.atomic
def update_entry(
    actor: Actor,
    *,
    id: EntryId,
    content: Content | None = None,
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
        entry.digest = digest(entry.content)
    entry.save()
    if changed:
        index_entry(entry)
    return UpdatedEntry(entry, re_embedded=changed)


@transaction.atomic
def delete_entry(actor: Actor, *, id: EntryId) -> Entry:
    """Delete an entry of your own, or any as a curator.

    Call this when it is wrong and not worth correcting. Returns what was deleted; it cannot be undone.
    """
    entry = _own_entry(actor, id)
    forget_passages(Kind.ENTRY, [entry.pk])
    deleted = entry.pk
    entry.delete()
    entry.pk = deleted
    return entry


@transaction.atomic
def import_entries(
    actor: Actor,
    *,
    entries: Annotated[list[NewEntry], Field(max_length=1000, description="Up to 1,000 entries.")],
    skip_existing: bool = True,
) -> ImportedEntries:
    """Import many entries at once. Those that are known are skipped, or reported as errors with `skip_existing` false.

    Call this to bring in what was parsed from files. Returns how many were imported and skipped, and the errors by row.
    """
    report = ImportedEntries()
    digests = [digest(entry.content) for entry in entries]
    known = dict(Entry.objects.filter(digest__in=digests).values_list("digest", "pk"))
    parents = set(
        Entry.objects.filter(pk__in=[e.parent_id for e in entries if e.parent_id]).values_list("pk", flat=True)
    )
    fresh: dict[str, Entry] = {}
    for row, (new, fingerprint) in enumerate(zip(entries, digests, strict=True), start=1):
        if fingerprint in known or fingerprint in fresh:
            report.skipped += skip_existing
            if not skip_existing:
                there = known.get(fingerprint) or fresh[fingerprint].pk
                report.errors.append(f"Entry {row} is known already: {there}.")
        elif new.parent_id and new.parent_id not in parents:
            report.errors.append(f"Entry {row}: there is no entry {new.parent_id} to be its parent.")
        else:
            fresh[fingerprint] = Entry(digest=fingerprint, created_by=actor.user, **new.model_dump())
    for entry in Entry.objects.bulk_create(fresh.values(), batch_size=500):
        index_entry(entry)
    report.imported = len(fresh)
    return report


def rebuild_embeddings(
    actor: Actor, *, batch_size: Annotated[int, Field(ge=1, le=100)] = 100, clear_cache: bool = True
) -> Rebuild:
    """Make all vectors anew, after the model changed or to be sure. Search goes on meanwhile.

    Call this as an admin. Returns how far it is; workers do the rest in the background, and may be stopped at any time.
    """
    actor.require("admin")
    progress = embedding.start_again(batch_size=batch_size, clear_cache=clear_cache)
    return Rebuild(progress.total, progress.processed, "in_progress" if progress.waiting else "complete")


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


def index_entry(entry: Entry) -> None:
    """Write the passages of an entry. They have no owner: everybody here may find them."""
    index_passages(Kind.ENTRY, entry.pk, [entry.content], owner=None, project=entry.project)


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
    if entry.created_by_id != actor.user.pk and actor.user.role == Role.MEMBER:
        raise Forbidden("This entry was added by somebody else.", hint="Ask a curator to change it.")
    return entry


def _known_already(entry: Entry) -> Conflict:
    return Conflict("This content is known already.", hint=f"See entry {entry.pk}.", entry_id=str(entry.pk))


def _hit(item: Finding, entry: Entry) -> EntryHit:
    return EntryHit(entry, item.score, item.text, item.matched, item.arms)
