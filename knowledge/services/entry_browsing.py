"""The shelf: the knowledge base as people browse it, a page of entries with what there is beside them."""

from collections import Counter
from dataclasses import dataclass, field
from typing import Annotated, Literal

from django.db.models import CharField, Count, F, Func, Q, QuerySet
from pydantic import Field

from accounts.actor import Actor
from bigmind.core.pages import Page, page_of
from bigmind.core.vocabulary import Confidence, Offset, Project, Query
from knowledge.entry_vocabulary import EntryTags, EntryTypeName, RoleName
from knowledge.models import Entry
from knowledge.services.entry_reading import EntryHit, search_entries

HITS = 50
TAGS_SHOWN = 12
PROJECTS_SHOWN = 200

Order = Literal["newest", "oldest", "changed", "certain"]
_ORDERS: dict[Order, tuple[str, ...]] = {
    "newest": ("-created_at", "pk"),
    "oldest": ("created_at", "pk"),
    "changed": ("-updated_at", "pk"),
    "certain": ("-confidence", "-created_at", "pk"),
}


@dataclass(frozen=True)
class Shelved:
    """One entry on the shelf; `excerpt` and `matched` say why it was found, where something was looked for."""

    entry: Entry
    excerpt: str = ""
    matched: list[str] = field(default_factory=list)


@dataclass(frozen=True)
class EntryListing:
    """What stands on the shelf: a page of it, how many of each type there are beside it, and its most frequent tags.

    Types are not counted where something was looked for: only the best matches are known then. `fallback` says that
    they were found by their words alone, `weak` that nothing answers the question; `did_you_mean` has words that exist.
    """

    page: Page[Shelved]
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
    order: Order | None = None,
    limit: Annotated[int, Field(ge=1, le=HITS)] = 25,
    offset: Offset = 0,
) -> EntryListing:
    """Browse the knowledge base: what matches a question, the best first, or all of it, the newest first."""
    if query:
        narrowed = {"role": role, "tags": tags, "entry_type": entry_type, "project": project}
        found = search_entries(actor, query=query, limit=HITS, min_confidence=min_confidence, **narrowed)  # type: ignore[arg-type]
        page = _page_of_hits(found.items, order, limit, offset)
        return EntryListing(page, None, _tags_of(found.items), found.fallback, found.did_you_mean, found.weak)
    beside = _standing(role, tags, project, min_confidence)
    entries = beside.filter(entry_type=entry_type) if entry_type else beside
    ordered = entries.select_related("created_by").order_by(*_ORDERS[order or "newest"])
    listed = page_of(ordered, limit=limit, offset=offset)
    shelved = listed.of([Shelved(entry) for entry in listed.items])
    return EntryListing(shelved, _types_in(beside), _tags_in(entries))


def projects_with_entries() -> list[str]:
    """Return the projects that entries belong to."""
    names = Entry.objects.exclude(project="").order_by("project").values_list("project", flat=True)
    return list(names.distinct()[:PROJECTS_SHOWN])


def _page_of_hits(hits: list[EntryHit], order: Order | None, limit: int, offset: int) -> Page[Shelved]:
    found = [Shelved(hit.entry, hit.excerpt, hit.matched) for hit in hits]
    for name in reversed(_ORDERS[order] if order else ()):
        found.sort(key=lambda one: getattr(one.entry, name.lstrip("-")), reverse=name.startswith("-"))
    return Page(found[offset : offset + limit], len(found), limit, offset)


def _standing(role: str | None, tags: list[str] | None, project: str, min_confidence: float) -> QuerySet[Entry]:
    entries = Entry.objects.all()
    if role and role != "all":
        entries = entries.filter(Q(roles__contains=[role]) | Q(roles__contains=["all"]) | Q(roles=[]))
    if tags:
        entries = entries.filter(tags__contains=tags)
    if project:
        entries = entries.filter(project=project)
    return entries.filter(confidence__gte=min_confidence) if min_confidence else entries


def _types_in(entries: QuerySet[Entry]) -> dict[str, int]:
    return dict(entries.order_by().values_list("entry_type").annotate(Count("pk")))


def _tags_in(entries: QuerySet[Entry]) -> dict[str, int]:
    each = Func(F("tags"), function="unnest", output_field=CharField(), set_returning=True)
    counted = entries.order_by().annotate(tag=each).values_list("tag").annotate(count=Count("pk"))
    return dict(counted.order_by("-count", "tag")[:TAGS_SHOWN])


def _tags_of(hits: list[EntryHit]) -> dict[str, int]:
    return dict(Counter(tag for hit in hits for tag in hit.entry.tags).most_common(TAGS_SHOWN))
