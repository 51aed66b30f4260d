"""Reading the shared knowledge base: searching, listing, browsing, what belongs together, figures."""

from collections import Counter
from collections.abc import Sequence
from dataclasses import dataclass, field
from typing import Annotated, Literal
from uuid import UUID

from django.contrib.postgres.fields import ArrayField
from django.db.models import Avg, Case, CharField, Count, F, Func, IntegerField, Max, Q, QuerySet, Value, When
from pydantic import Field

from accounts.actor import Actor
from bigmind.core.argument_types import Confidence, Cursor, Offset, Project, Query
from bigmind.core.errors import NotFound
from bigmind.core.limits import TAG_CHARS
from bigmind.database.pagination import Page, page_of
from knowledge.argument_types import EntryId, EntryTags, EntryTypeName, MinConfidence, Risk, RoleName
from knowledge.exposures.ledgers import Sent, note_sent
from knowledge.exposures.recent_questions import QuestionRecord
from knowledge.indexing import embedding
from knowledge.models import CachedVector, Entry, Kind, Passage
from knowledge.models.injection_signs import filter_by_risk, signs_of
from knowledge.recall.reply_budget import MaxTokens, within_tokens
from knowledge.search.filters import Filters
from knowledge.search.hybrid import search
from knowledge.search.nearest_names import SUGGEST_FROM
from knowledge.shapes.entries import EntryStatsShape

from .found_entries import HITS, PROJECTS_SHOWN, FoundEntries, FoundEntry, entries_found, page_of_found, page_of_listed

TAGS_SHOWN = 12

Order = Literal["newest", "oldest", "changed", "certain"]
_ORDERS: dict[Order, tuple[str, ...]] = {
    "newest": ("-created_at", "pk"),
    "oldest": ("created_at", "pk"),
    "changed": ("-updated_at", "pk"),
    "certain": ("-confidence", "-created_at", "pk"),
}


class _InCommon(Func):
    """How many tags are in both lists: `cardinality(ARRAY(SELECT unnest(tags) INTERSECT SELECT unnest(%s)))`."""

    function = "cardinality"
    template = "%(function)s(ARRAY(SELECT unnest(%(expressions)s)))"
    arg_joiner = ") INTERSECT SELECT unnest("
    output_field = IntegerField()

    def __init__(self, field: str, tags: list[str]) -> None:
        super().__init__(F(field), Value(tags, ArrayField(CharField(max_length=TAG_CHARS))))


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
) -> FoundEntries[Entry]:
    """Search the knowledge base by words and meaning, for a role, tags or type.

    Call this before you begin work, and when you meet an error or write something that others may have written before.
    Returns entries, the best first. If nothing matches, the reply says so and shows the closest.
    """
    eligible = _filter(role, tags, entry_type).filter(confidence__gte=min_confidence)
    filters = Filters([Kind.ENTRY], project=project, eligible={Kind.ENTRY: eligible})
    found = search(query, owner=actor.user, filters=filters, limit=limit)
    # A narrowed question that finds nothing does not show that nothing is known.
    if not (role or tags or entry_type):
        note_sent(Sent(actor, question=QuestionRecord(query, None, found)))
    entries = Entry.objects.select_related("created_by").in_bulk([UUID(item.source_id) for item in found.items])
    reply = entries_found(query, found, {str(pk): entry for pk, entry in entries.items()}, names=_names)
    return within_tokens(reply, max_tokens, template="entry_hits.md", hit_template="_entry_hit.md")


def get_entry(actor: Actor, *, id: EntryId) -> Entry:
    """Read one entry of the knowledge base, whole.

    Call this when a search returned an excerpt and you need all of it. Returns the entry.
    """
    return entry_of_id(id)


def get_related_entries(
    actor: Actor,
    *,
    entry_id: EntryId,
    limit: Annotated[int, Field(ge=1, le=50)] = 5,
    offset: Offset = 0,
    cursor: Cursor | None = None,
) -> Page[Entry]:
    """Find entries related to one: its parent and children, those with the same parent, and those that share two tags
    or more.

    Call this to see what else is known around an entry. Returns the entries, those that share most tags first.
    """
    entry = entry_of_id(entry_id)
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
    risk: Risk | None = None,
) -> Page[Entry]:
    """List entries of the knowledge base by role, tags (all of them), type or project; no search.

    Call this to see what there is. Returns a page of entries and the total.
    """
    entries = filter_by_risk(_filter(role, tags, entry_type), risk).select_related("created_by")
    if project:
        entries = entries.filter(project=project)
    ordered = entries.order_by(f"{'-' if order == 'desc' else ''}{order_by}", "pk")
    return page_of(ordered, limit=limit, offset=offset, cursor=cursor)


def entry_stats(actor: Actor) -> EntryStatsShape:
    """Count the knowledge base: entries by type and role, their confidence, and missing vectors.

    Call this when asked how much the knowledge base holds.
    """
    summary = Entry.objects.aggregate(total=Count("pk"), confidence=Avg("confidence"), updated=Max("updated_at"))
    by_role: dict[str, int] = {}
    for roles, count in Entry.objects.values_list("roles").annotate(Count("pk")):
        for role in roles:
            by_role[role] = by_role.get(role, 0) + count
    shared = Passage.objects.filter(owner=None)
    return EntryStatsShape(
        total_entries=summary["total"],
        by_type=dict(Entry.objects.values_list("entry_type").annotate(Count("pk")).order_by()),
        by_role=by_role,
        avg_confidence=summary["confidence"],
        last_updated=summary["updated"],
        # Private texts have vectors as well: their number would leak.
        cache_size=CachedVector.objects.filter(digest__in=shared.values("digest")).count(),
        waiting=embedding.progress(shared=True).waiting,
    )


def entry_of_id(id: UUID, *, lock: bool = False) -> Entry:
    """Return the entry with this id, locked until the transaction ends if asked for.

    Raises:
        NotFound: there is none.
    """
    entries = Entry.objects.select_related("created_by")
    try:
        return (entries.select_for_update(of=("self",)) if lock else entries).get(pk=id)
    except Entry.DoesNotExist as error:
        raise NotFound(f"There is no entry {id}.", hint="kb_search and kb_list show those there are.") from error


def _names() -> list[str]:
    """The tags of entries."""
    tags = Entry.objects.exclude(tags=[]).order_by("-updated_at").values_list("tags", flat=True)
    return [tag for row in tags[:SUGGEST_FROM] for tag in row]


def _filter(role: str | None, tags: Sequence[str] | None, entry_type: str | None) -> QuerySet[Entry]:
    entries = Entry.objects.all()
    if role and role != "all":
        entries = entries.filter(Q(roles__contains=[role]) | Q(roles__contains=["all"]) | Q(roles=[]))
    if tags:
        entries = entries.filter(tags__has_names=tags)
    return entries.filter(entry_type=entry_type) if entry_type else entries


@dataclass(frozen=True)
class EntryListing:
    """A page of entries, how many of each type there are beside it, and its most frequent tags.

    Types are not counted for a search: only the best matches are known then. `fallback` says that they were found by
    their words alone, `weak` that nothing answers the question; `did_you_mean` has words that exist.
    """

    page: Page[FoundEntry[Entry]]
    types: dict[str, int] | None
    tags: dict[str, int]
    fallback: bool = False
    did_you_mean: list[str] = field(default_factory=list)
    weak: bool = False


def browse_entries(
    actor: Actor,
    *,
    query: Query | None = None,
    role: RoleName | None = None,
    tags: EntryTags | None = None,
    entry_type: EntryTypeName | None = None,
    project: Project = "",
    min_confidence: Confidence = 0.0,
    risk: Risk | None = None,
    order: Order | None = None,
    limit: Annotated[int, Field(ge=1, le=HITS)] = 25,
    offset: Offset = 0,
) -> EntryListing:
    """Browse the knowledge base: what matches a question, the best first, or all of it, the newest first."""
    if query:
        narrowed = {"role": role, "tags": tags, "entry_type": entry_type, "project": project}
        found = search_entries(actor, query=query, limit=HITS, min_confidence=min_confidence, **narrowed)  # type: ignore[arg-type]
        # Signs stand beside entries and not beside passages (decision 62), so what was found is narrowed afterwards.
        hits = [hit for hit in found.items if not risk or bool(signs_of(hit.entry)) is (risk == "flagged")]
        page = page_of_found(hits, _ORDERS[order] if order else (), limit, offset)
        return EntryListing(page, None, _tags_of(hits), found.fallback, found.did_you_mean, found.weak)
    beside = filter_by_risk(_filter(role, tags, None), risk).filter(confidence__gte=min_confidence)
    if project:
        beside = beside.filter(project=project)
    entries = beside.filter(entry_type=entry_type) if entry_type else beside
    ordered = entries.select_related("created_by").order_by(*_ORDERS[order or "newest"])
    listed = page_of(ordered, limit=limit, offset=offset)
    return EntryListing(page_of_listed(listed), _types_in(beside), _tags_in(entries))


def projects_with_entries() -> list[str]:
    names = Entry.objects.exclude(project="").order_by("project").values_list("project", flat=True)
    return list(names.distinct()[:PROJECTS_SHOWN])


def _types_in(entries: QuerySet[Entry]) -> dict[str, int]:
    return dict(entries.order_by().values_list("entry_type").annotate(Count("pk")))


def _tags_in(entries: QuerySet[Entry]) -> dict[str, int]:
    each = Func(F("tags"), function="unnest", output_field=CharField(), set_returning=True)
    counted = entries.order_by().annotate(tag=each).values_list("tag").annotate(count=Count("pk"))
    return dict(counted.order_by("-count", "tag")[:TAGS_SHOWN])


def _tags_of(hits: list[FoundEntry[Entry]]) -> dict[str, int]:
    return dict(Counter(tag for hit in hits for tag in hit.entry.tags).most_common(TAGS_SHOWN))
