"""The queue of curators: proposals, reported entries and entries due for verification; claims on them."""

from collections.abc import Sequence
from dataclasses import dataclass
from datetime import datetime, time, timedelta
from typing import Annotated, Any, Literal

from django.db import transaction
from django.db.models import (
    Count,
    IntegerField,
    Min,
    Q,
    Value,
)
from django.db.models.functions import Cast
from django.utils import timezone
from pydantic import Field

from accounts.actor import Actor
from accounts.models import User
from bigmind.core.errors import Conflict
from bigmind.core.pages import Page, page_of
from bigmind.core.rls import rls_bypass
from bigmind.core.vocabulary import Cursor, Limit, Name, Offset, Project, Query
from curation.decisions.history import entry_to_change
from curation.decisions.rules import waits_for_others
from curation.models import CLAIM_LASTS, Claim
from curation.vocabulary import CompanyEntryId
from knowledge.models import CompanyEntry, Kind, Status
from knowledge.models.company import CompanyEntryQuerySet
from knowledge.references.texts_by_hand import open_drifts
from knowledge.services.feedback import open_complaints
from knowledge.vocabulary import CompanyCategoryName

from .overlaps import list_overlapping, list_unused

Why = Annotated[
    Literal["proposed", "reported", "overlapping", "unused", "due"],
    Field(
        description="proposed: new; reported: said to be wrong or outdated; overlapping: repeats or contradicts "
        "another approved one; unused: told often and never named as helpful; due: to be verified again."
    ),
]
WHYS: tuple[str, ...] = ("proposed", "reported", "overlapping", "unused", "due")
Risk = Annotated[Literal["flagged", "clear"], Field(description="Whether something looks dangerous in it.")]


@dataclass(frozen=True)
class QueueItem:
    """An entry in the queue, with its complaints and the curator who is reviewing it."""

    entry: CompanyEntry
    why: str
    complaints: int
    claimed_by: User | None
    complained_at: datetime | None = None

    @property
    def waits_since(self) -> datetime:
        """When it entered the queue: when it was proposed, first reported, or due."""
        if self.why == "reported" and self.complained_at:
            return self.complained_at
        if self.why == "due" and self.entry.review_after:
            return timezone.make_aware(datetime.combine(self.entry.review_after, time.min))
        return self.entry.created_at

    @property
    def age_days(self) -> int:
        """How many days it has been in the queue."""
        return (timezone.now() - self.waits_since).days


@dataclass(frozen=True)
class QueueSummary:
    """The number of entries in the queue by reason, and the date of the oldest proposal."""

    proposed: int
    reported: int
    overlapping: int
    unused: int
    due: int
    oldest: datetime | None
    drifts: int = 0
    """References that a person edited and whose source has changed since."""

    @property
    def waiting(self) -> int:
        """How many entries need a decision now: proposals and reported entries."""
        return self.proposed + self.reported


def list_queue(
    actor: Actor,
    *,
    why: Why = "proposed",
    category: CompanyCategoryName | None = None,
    proposer: Name | None = None,
    project: Project = "",
    text: Query | None = None,
    risk: Risk | None = None,
    older_than_days: Annotated[int, Field(ge=0, le=3650)] | None = None,
    order: Literal["importance", "oldest", "newest"] = "importance",
    limit: Limit = 20,
    offset: Offset = 0,
    cursor: Cursor | None = None,
) -> Page[QueueItem]:
    """List what waits for a curator: proposals, and entries that are reported, overlapping, unused or to be verified.

    Call this only when a curator asks what is to be decided. Returns a page, the most important and oldest first, each
    with its age, complaints, and who is looking at it.
    """
    actor.require("curate")
    entries = _filter(why, category, proposer, project, text, risk, older_than_days)
    page = page_of(entries.order_by(*_ORDERS[order]), limit=limit, offset=offset, cursor=cursor)
    return page.of(_with_company(page.items, why))


def place_of(
    entry: CompanyEntry,
    *,
    why: str = "proposed",
    category: str | None = None,
    proposer: str | None = None,
    project: str = "",
    text: str | None = None,
    risk: str | None = None,
    older_than_days: int | None = None,
    order: str = "importance",
) -> int:
    """Return how many entries precede one in the filtered queue, also if it has left the queue since."""
    entries = _filter(why, category, proposer, project, text, risk, older_than_days)
    return entries.filter(_stands_before(entry, _ORDERS[order])).count()


def queue_summary() -> QueueSummary:
    """Count the queue by reason, in one query: these figures are on every curator's page."""
    counted = [
        waiting(why)
        .annotate(why=Value(why))
        .order_by()
        .values_list("why")
        .annotate(number=Count("pk"), oldest=Min("created_at"))
        for why in WHYS
    ]
    drifts = open_drifts().annotate(why=Value("drifts")).order_by().values_list("why")
    counted.append(drifts.annotate(number=Count("pk"), oldest=Min("opened_at")))  # type: ignore[arg-type]
    figures = {why: (number, oldest) for why, number, oldest in counted[0].union(*counted[1:], all=True)}
    number = {why: figures[why][0] if why in figures else 0 for why in (*WHYS, "drifts")}
    return QueueSummary(**number, oldest=figures["proposed"][1] if "proposed" in figures else None)


def waiting(why: str) -> CompanyEntryQuerySet:
    """Return the entries that are in the queue for one reason, with the users they refer to."""
    entries = CompanyEntry.objects.select_related("proposed_by", "owner", "decided_by", "agent", "endorsed_by")
    if why == "proposed":
        return entries.filter(status=Status.PENDING)
    if why == "reported":
        # Start from the complaints, which are few: the other way round would scan all entries.
        numbers = open_complaints(Kind.COMPANY).annotate(number=Cast("source_id", IntegerField()))
        with rls_bypass():
            complained = list(numbers.values_list("number", flat=True).distinct())
        return entries.own().approved().filter(pk__in=complained)
    found = {"overlapping": list_overlapping, "unused": list_unused}
    return entries.filter(pk__in=found[why]().values("pk")) if why in found else entries.due()


@transaction.atomic
def claim_entry(actor: Actor, *, entry_id: CompanyEntryId) -> Claim:
    """Say that you are looking at an entry, for ten minutes, so that another curator takes the next one.

    Call this when a curator opens it. Returns the claim, which is somebody else's when they were first. A proposal of
    your own is not claimed: another curator reviews it.
    """
    actor.require("curate")
    entry = entry_to_change(entry_id)
    if waits_for_others(actor, entry):
        raise Conflict(f"You proposed {entry.handle} yourself.", hint="Another curator reviews it.", entry_id=entry.pk)
    now = timezone.now()
    claim = Claim.objects.select_related("by").filter(entry=entry).first()
    if claim is None or claim.until <= now or claim.by_id == actor.user.pk:
        claim = Claim(entry=entry, by=actor.user, until=now + CLAIM_LASTS)
        Claim.objects.bulk_create(
            [claim], update_conflicts=True, unique_fields=["entry"], update_fields=["by", "until"]
        )
    return claim


def look_at(actor: Actor, *, entry: CompanyEntry) -> Claim | None:
    """Claim an entry and release the actor's other claims: a curator reviews one entry at a time.

    Returns the claim on the entry, if any: curators do not claim their own proposals, which others must review.
    """
    actor.require("curate")
    if waits_for_others(actor, entry):
        Claim.objects.filter(by=actor.user).delete()
        return Claim.objects.current().select_related("by").filter(entry=entry).first()
    Claim.objects.filter(by=actor.user).exclude(entry=entry).delete()
    return claim_entry(actor, entry_id=entry.pk)


def release_entry(actor: Actor, *, entry_id: CompanyEntryId, until: datetime | None = None) -> None:
    """Release the actor's claim on an entry, so that other curators see it is free.

    Args:
        until: The expiry of the claim to release. A page that closes late must not release a newer claim.
    """
    claims = Claim.objects.filter(entry_id=entry_id, by=actor.user)
    (claims if until is None else claims.filter(until=until)).delete()


_ORDERS = {
    "importance": ("-importance", "created_at", "pk"),
    "oldest": ("created_at", "pk"),
    "newest": ("-created_at", "-pk"),
}


def _filter(
    why: str,
    category: str | None,
    proposer: str | None,
    project: str,
    text: str | None,
    risk: str | None,
    older_than_days: int | None,
) -> CompanyEntryQuerySet:
    entries = waiting(why)
    if category:
        entries = entries.filter(category=category)
    if proposer:
        entries = entries.filter(proposed_by__username__iexact=proposer)
    if project:
        entries = entries.filter(project=project)
    if text:
        entries = entries.filter(Q(title__icontains=text) | Q(content__icontains=text))
    if risk:
        entries = entries.exclude(warnings=[]) if risk == "flagged" else entries.filter(warnings=[])
    if older_than_days is not None:
        entries = entries.filter(created_at__lt=timezone.now() - timedelta(days=older_than_days))
    return entries


def _stands_before(entry: CompanyEntry, order: Sequence[str]) -> Q:
    before, alike = Q(pk__in=[]), Q()
    for name in order:
        field, sign = (name[1:], "gt") if name.startswith("-") else (name, "lt")
        value: Any = getattr(entry, field)
        before |= alike & Q(**{f"{field}__{sign}": value})
        alike &= Q(**{field: value})
    return before


def _with_company(entries: Sequence[CompanyEntry], why: str) -> list[QueueItem]:
    """Add to each entry who is reviewing it, how many complained and since when, in two queries."""
    numbers = [entry.pk for entry in entries]
    claims = {
        claim.entry_id: claim.by for claim in Claim.objects.current().filter(entry__in=numbers).select_related("by")
    }
    complaints_about = open_complaints(Kind.COMPANY).filter(source_id__in=[str(number) for number in numbers])
    rows = complaints_about.order_by().values_list("source_id")
    with rls_bypass():
        counted = {id: (number, first) for id, number, first in rows.annotate(Count("pk"), Min("created_at"))}
    no_complaints = (0, None)
    return [
        QueueItem(entry, why, complaints, claims.get(entry.pk), complained_at)
        for entry in entries
        for complaints, complained_at in [counted.get(str(entry.pk), no_complaints)]
    ]
