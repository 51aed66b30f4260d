"""Briefing: everything a curator needs to decide about one entry, on one screen."""

from collections.abc import Sequence
from copy import copy
from dataclasses import dataclass

from django.db.models import Count
from django.utils import timezone

from accounts.actor import Actor
from accounts.models import User
from bigmind.core.rls import rls_bypass
from curation.decisions.entries import readable_entry
from curation.models import Claim, Comment, Review
from curation.shapes.briefings import ProposerRecordShape, SuspicionShape
from curation.vocabulary import CompanyEntryId
from knowledge.models import CompanyEntry, Feedback, Kind, Status
from knowledge.services.company import by_relevance, most_relevant
from knowledge.services.context import CompanyLine, company_line, company_lines
from knowledge.services.feedback import open_complaints

from .neighbours import Neighbour, neighbours_of
from .screening import suspicions_about


@dataclass(frozen=True)
class ContextEffect:
    """What approval would change in the start context of a session of the entry's project and topics."""

    line: CompanyLine
    is_told: bool
    leaving: list[CompanyLine]
    top: list[CompanyLine]


@dataclass(frozen=True)
class Briefing:
    """One entry with everything a curator needs to decide about it."""

    entry: CompanyEntry
    nearest: list[Neighbour]
    nearest_waiting: list[Neighbour]
    same_waiting: int
    record: ProposerRecordShape
    effect: ContextEffect
    suspicions: list[SuspicionShape]
    complaints: Sequence[Feedback]
    history: Sequence[Review]
    comments: Sequence[Comment]
    claimed_by: User | None
    fallback: bool


def brief(actor: Actor, *, entry_id: CompanyEntryId) -> Briefing:
    """Gather what a curator needs to decide about an entry: what is near it, approved or waiting, contradictions,
    provenance, the proposer's record, what it costs and pushes out, warnings, complaints.

    Call this when a curator asks about one entry of the queue. Returns all of it.
    """
    actor.require("curate")
    entry = readable_entry(actor, entry_id)
    near = neighbours_of(actor, entry)
    claim = Claim.objects.current().filter(entry=entry).select_related("by").first()
    with rls_bypass():
        complaints = list(open_complaints(Kind.COMPANY).filter(source_id=str(entry.pk)).select_related("user")[:20])
    return Briefing(
        entry=entry,
        nearest=near.approved,
        nearest_waiting=near.waiting,
        same_waiting=CompanyEntry.objects.undecided().filter(digest=entry.digest).exclude(pk=entry.pk).count(),
        record=record_of(entry),
        effect=effect_of(entry),
        suspicions=suspicions_about(entry),
        complaints=complaints,
        history=list(entry.reviews.order_by("number")),
        comments=list(entry.comments.select_related("by").order_by("created_at", "pk")),
        claimed_by=claim.by if claim else None,
        fallback=near.fallback,
    )


def record_of(entry: CompanyEntry) -> ProposerRecordShape:
    """Return how many of the proposer's other proposals were approved, rejected or are pending."""
    others = CompanyEntry.objects.filter(proposed_by=entry.proposed_by_id).exclude(pk=entry.pk)
    counted = dict(others.values_list("status").annotate(Count("pk")).order_by()) if entry.proposed_by_id else {}
    once_approved = sum(counted.get(status, 0) for status in (Status.APPROVED, Status.DEPRECATED, Status.SUPERSEDED))
    waiting = counted.get(Status.PENDING, 0) + counted.get(Status.CHANGES_REQUESTED, 0)
    return ProposerRecordShape(approved=once_approved, rejected=counted.get(Status.REJECTED, 0), waiting=waiting)


def effect_of(entry: CompanyEntry) -> ContextEffect:
    """Return what approval would change in the start contexts of the sessions that the entry concerns."""
    others = [other for other in most_relevant(entry.project, entry.topics) if other.pk != entry.pk]
    approved = _as_if_verified(entry)
    before = company_lines(others)
    after = company_lines(by_relevance([*others, approved], entry.project, entry.topics))
    shown = {line.id for line in after}
    return ContextEffect(
        line=company_line(approved),
        is_told=entry.pk in shown,
        leaving=[line for line in before if line.id not in shown],
        top=after,
    )


def _as_if_verified(entry: CompanyEntry) -> CompanyEntry:
    """Return a copy of the entry as approval would leave it: start contexts rank and label entries by these dates."""
    verified = copy(entry)
    verified.verified_at = timezone.now()
    verified.review_after = entry.review_date_after(verified.verified_at)
    return verified
