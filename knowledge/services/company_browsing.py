"""Company knowledge as people browse it: a page of approved entries, with how many of each category there are."""

from dataclasses import dataclass, field
from typing import Annotated, Literal

from django.db.models import Count
from pydantic import Field

from accounts.actor import Actor
from bigmind.core.pages import Page, page_of
from bigmind.core.vocabulary import Offset, Project, Query
from knowledge.models import CompanyEntry
from knowledge.models.company import CompanyEntryQuerySet
from knowledge.services.company import find_among, select_approved_entries
from knowledge.vocabulary import CompanyCategoryName

HITS = 50
PROJECTS_SHOWN = 200

FreshnessName = Literal["verified", "due", "stale", "never"]
Order = Literal["importance", "newest"]
_ORDERS: dict[Order, tuple[str, ...]] = {
    "importance": ("-importance", "-decided_at", "-pk"),
    "newest": ("-decided_at", "-pk"),
}


@dataclass(frozen=True)
class ShelvedCompanyEntry:
    """One entry on the shelf; `excerpt` and `matched` say why it was found, where something was looked for."""

    entry: CompanyEntry
    excerpt: str = ""
    matched: list[str] = field(default_factory=list)


@dataclass(frozen=True)
class CompanyListing:
    """A page of what is approved. Categories are not counted where something was looked for: only the best are known.

    `fallback` says that matches were found by their words alone, `weak` that none answers the question.
    """

    page: Page[ShelvedCompanyEntry]
    categories: dict[str, int] | None
    fallback: bool = False
    weak: bool = False
    did_you_mean: list[str] = field(default_factory=list)


def browse_company(
    actor: Actor,
    *,
    query: Query | None = None,
    category: CompanyCategoryName | None = None,
    project: Project = "",
    freshness: FreshnessName | None = None,
    order: Order | None = None,
    limit: Annotated[int, Field(ge=1, le=HITS)] = 20,
    offset: Offset = 0,
) -> CompanyListing:
    """Browse what is approved: what matches a question, the best first, or all of it, the most important first."""
    beside = select_approved_entries().labelled(freshness) if freshness else select_approved_entries()
    entries = beside.filter(category=category) if category else beside
    if query:
        narrows = bool(category or freshness)
        found = find_among(actor, entries, query=query, project=project, narrows=narrows, limit=HITS)
        hits = [ShelvedCompanyEntry(hit.entry, hit.excerpt, hit.matched) for hit in found.items]
        for name in reversed(_ORDERS[order] if order else ()):
            hits.sort(key=lambda hit: getattr(hit.entry, name.lstrip("-")), reverse=True)
        page = Page(hits[offset : offset + limit], len(hits), limit, offset)
        return CompanyListing(page, None, found.fallback, found.weak, found.did_you_mean)
    if project:
        beside, entries = beside.filter(project=project), entries.filter(project=project)
    listed = page_of(entries.order_by(*_ORDERS[order or "importance"]), limit=limit, offset=offset)
    shelved = listed.of([ShelvedCompanyEntry(entry) for entry in listed.items])
    return CompanyListing(shelved, _categories_in(beside))


def lately_approved(number: int) -> CompanyEntryQuerySet:
    """Return what was approved last: what is new for everybody."""
    return select_approved_entries().order_by("-decided_at", "-pk")[:number]


def projects_with_company_entries() -> list[str]:
    """Return the projects that approved entries belong to."""
    named = CompanyEntry.objects.approved().exclude(project="").order_by("project")
    return list(named.values_list("project", flat=True).distinct()[:PROJECTS_SHOWN])


def _categories_in(entries: CompanyEntryQuerySet) -> dict[str, int]:
    return dict(entries.order_by().values_list("category").annotate(Count("pk")))
