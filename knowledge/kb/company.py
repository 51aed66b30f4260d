"""Company knowledge as it is read: listed, browsed and searched."""

from dataclasses import dataclass, field
from typing import Annotated, Any, Literal

from django.db.models import Count, QuerySet
from pydantic import Field

from accounts.actor import Actor
from bigmind.core.argument_types import Cursor, Limit, Offset, Project, Query
from bigmind.database.pagination import Page, page_of
from knowledge.argument_types import CompanyCategoryName, Risk
from knowledge.exposures.exposures import Exposure
from knowledge.exposures.ledgers import Sent, note_sent
from knowledge.exposures.recent_questions import QuestionRecord
from knowledge.models import AskedForm, CompanyEntry, Kind
from knowledge.models.company import CompanyEntryQuerySet
from knowledge.models.injection_signs import filter_by_risk
from knowledge.search.filters import Filters
from knowledge.search.hybrid import search
from knowledge.search.passages import erase_passages, index_passages

from .found_entries import HITS, PROJECTS_SHOWN, FoundEntries, FoundEntry, entries_found, page_of_found, page_of_listed

Strict = Annotated[bool, Field(description="Leave out entries nobody verified, or long overdue for review.")]

FreshnessName = Literal["verified", "due", "stale", "never"]
Order = Literal["importance", "newest"]
ORDERS: dict[Order, tuple[str, ...]] = {
    "importance": ("-importance", "-decided_at", "-pk"),
    "newest": ("-decided_at", "-pk"),
}


def list_global(
    actor: Actor,
    *,
    category: CompanyCategoryName | None = None,
    project: Project = "",
    strict: Strict = False,
    limit: Limit = 20,
    offset: Offset = 0,
    cursor: Cursor | None = None,
    risk: Risk | None = None,
) -> Page[CompanyEntry]:
    """List approved company knowledge: architecture, standards, decisions, patterns, glossary.

    Call this to see what applies to everybody here. Returns entries, most important first, each with its handle, owner
    and whether it was recently verified.
    """
    entries = filter_by_risk(select_approved_entries(), risk).order_by("-importance", "-decided_at", "-pk")
    if category:
        entries = entries.filter(category=category)
    if project:
        entries = entries.filter(project=project)
    if strict:
        entries = entries.fresh()
    return page_of(entries, limit=limit, offset=offset, cursor=cursor)


def search_global(
    actor: Actor,
    *,
    query: Query,
    category: CompanyCategoryName | None = None,
    project: Project = "",
    strict: Strict = False,
    limit: Limit = 5,
) -> FoundEntries[CompanyEntry]:
    """Search approved company knowledge by words and meaning.

    Call this before you decide how to build something: there may be a standard. Returns the best first, each with
    handle, freshness and who approved it. If nothing matches, the reply says so and shows the closest.
    """
    eligible = select_approved_entries()
    if category:
        eligible = eligible.filter(category=category)
    if strict:
        eligible = eligible.fresh()
    return find_among(actor, eligible, query=query, project=project, narrows=bool(category or strict), limit=limit)


def find_among(
    actor: Actor, eligible: CompanyEntryQuerySet, *, query: str, project: str, narrows: bool, limit: int
) -> FoundEntries[CompanyEntry]:
    """Search some of the approved entries. `narrows`: whether they are not all of them."""
    narrowed: dict[str, QuerySet[Any]] = {Kind.COMPANY: eligible} if narrows else {}
    filters = Filters([Kind.COMPANY], project=project, eligible=narrowed)
    found = search(query, owner=actor.user, filters=filters, limit=limit)
    # A narrowed question that finds nothing does not show that nothing is known.
    question = None if narrows else QuestionRecord(query, AskedForm.COMPANY, found, project=project, limit=limit)
    note_sent(Sent(actor, [Exposure(item.kind, item.source_id) for item in found.items], question))
    entries = eligible.in_bulk([int(item.source_id) for item in found.items])
    return entries_found(query, found, {str(pk): entry for pk, entry in entries.items()})


def select_approved_entries() -> CompanyEntryQuerySet:
    """The approved entries, with the people they name and their figures."""
    named = ("proposed_by", "owner", "decided_by", "copy__server", "dispatch__server", "proof")
    return CompanyEntry.objects.approved().select_related(*named)


def index_company_entry(entry: CompanyEntry, *, was_approved: bool = True) -> None:
    """Index an approved entry. Undecided, rejected and outdated ones have no passages, so search never finds them.

    Args:
        was_approved: Whether it may have passages, which are replaced or erased.
    """
    if entry.is_approved:
        is_new = not was_approved
        index_passages(Kind.COMPANY, entry.pk, [entry.text], owner=None, project=entry.project, is_new=is_new)
    elif was_approved:
        erase_passages(Kind.COMPANY, [entry.pk])


@dataclass(frozen=True)
class CompanyListing:
    """A page of what is approved. Categories are not counted where something was looked for: only the best are known.

    `fallback` says that matches were found by their words alone, `weak` that none answers the question.
    """

    page: Page[FoundEntry[CompanyEntry]]
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
    risk: Risk | None = None,
    order: Order | None = None,
    limit: Annotated[int, Field(ge=1, le=HITS)] = 20,
    offset: Offset = 0,
) -> CompanyListing:
    """Browse what is approved: what matches a question, the best first, or all of it, the most important first."""
    beside = select_approved_entries().labelled(freshness) if freshness else select_approved_entries()
    beside = filter_by_risk(beside, risk)
    entries = beside.filter(category=category) if category else beside
    if query:
        narrows = bool(category or freshness or risk)
        found = find_among(actor, entries, query=query, project=project, narrows=narrows, limit=HITS)
        page = page_of_found(found.items, ORDERS[order] if order else (), limit, offset)
        return CompanyListing(page, None, found.fallback, found.weak, found.did_you_mean)
    if project:
        beside, entries = beside.filter(project=project), entries.filter(project=project)
    listed = page_of(entries.order_by(*ORDERS[order or "importance"]), limit=limit, offset=offset)
    return CompanyListing(page_of_listed(listed), _categories_in(beside))


def lately_approved(number: int) -> CompanyEntryQuerySet:
    """Return what was approved last: what is new for everybody."""
    return select_approved_entries().order_by("-decided_at", "-pk")[:number]


def projects_with_company_entries() -> list[str]:
    named = CompanyEntry.objects.approved().exclude(project="").order_by("project")
    return list(named.values_list("project", flat=True).distinct()[:PROJECTS_SHOWN])


def _categories_in(entries: CompanyEntryQuerySet) -> dict[str, int]:
    return dict(entries.order_by().values_list("category").annotate(Count("pk")))
