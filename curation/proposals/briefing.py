"""Briefing: everything a curator needs to decide about one entry, on one screen."""

from collections.abc import Sequence
from dataclasses import dataclass, replace
from datetime import datetime, timedelta
from typing import Annotated, Any
from uuid import UUID

from django.contrib.postgres.expressions import ArraySubquery
from django.db.models import Count, DateTimeField, OuterRef, Q, QuerySet, Subquery
from django.db.models.functions import Coalesce, JSONObject
from django.utils import timezone
from pydantic import Field

from accounts.actor import Actor
from accounts.models import User
from bigmind.database.fixed_queries import FixedQuery
from bigmind.database.rls import rls_bypass
from curation.argument_types import CompanyEntryId
from curation.decisions.entry_details import READ_WITH_ENTRY
from curation.decisions.history import no_such_entry
from curation.decisions.neighbours import Neighbour, measure_nearness
from curation.decisions.screening import suspicions_about
from curation.models import Action, Comment, Review
from curation.shapes.briefings import ProposerRecordShape, SuspicionShape
from knowledge.context.company import (
    ENTRIES_SHOWN,
    CompanyLine,
    CompanyRow,
    by_relevance,
    company_line,
    company_lines,
    most_relevant,
)
from knowledge.exposures.feedback import open_complaints
from knowledge.models import UNDECIDED, CompanyEntry, Feedback, Kind, Status

from .blast_radius import BlastRadius, blast_radius
from .claims import claimer_of

UNDO_OFFERED = timedelta(minutes=10)
COMPLAINTS_SHOWN = 20
_LEFT_OUT = ("evidence", "anchor_checks", "decision_notes", "decided_at", "told_at", "created_at", "updated_at")
_MOMENTS_OF_USER = [field.name for field in User._meta.fields if isinstance(field, DateTimeField)]
_OF_REPLIES = (*_LEFT_OUT, *(f"proposed_by__{name}" for name in _MOMENTS_OF_USER))
"""What replies say of a neighbour, and the page does not."""
_OF_ENTRY = tuple(f"entry__{name}" for name in ("content", "verified_at", *_LEFT_OUT))
"""What a step of the history needs not know of its entry."""


@dataclass(frozen=True)
class ContextEffect:
    """What approval would change in the start context of a session of the entry's project and topics."""

    line: CompanyLine
    is_told: Annotated[bool, Field(description="Whether it would be among the first five.")]
    leaving: Annotated[list[CompanyLine], Field(description="What would no longer be shown.")]
    top: list[CompanyLine]


@dataclass(frozen=True)
class Briefing:
    """One entry with all that is known about it."""

    entry: CompanyEntry
    nearest: Annotated[list[Neighbour], Field(description="Approved entries that are similar.")]
    nearest_waiting: Annotated[list[Neighbour], Field(description="Pending proposals that are similar.")]
    same_waiting: int
    record: ProposerRecordShape
    effect: ContextEffect
    suspicions: list[SuspicionShape]
    complaints: Sequence[Feedback]
    history: Sequence[Review]
    comments: Sequence[Comment]
    claimed_by: User | None
    fallback: bool
    last: Review | None = None
    """What the curator decided last, about this entry or another, while undoing it is offered."""
    radius: Annotated[BlastRadius | None, Field(description="What the usual decision about it would change.")] = None


def brief(actor: Actor, *, entry_id: CompanyEntryId) -> Briefing:
    """Gather what a curator needs to decide about an entry: similar entries, approved or pending, contradictions,
    provenance, the proposer's record, what it costs and displaces, warnings, complaints, which real answers change.

    Call this when a curator asks about one entry of the queue. Returns all of it.
    """
    briefing = gather_briefing(actor, entry_id=entry_id, related=("owner", "decided_by", "dispatch__server", "proof"))
    return replace(briefing, radius=blast_radius(actor, entry_ids=[entry_id]))


def gather_briefing(actor: Actor, *, entry_id: int, related: tuple[str, ...] = ()) -> Briefing:
    """Return the briefing without the questions whose answers would change, which take a second to replay.

    Args:
        related: What of the neighbours is read in the same statement, besides what the page shows of them.
    """
    actor.require("curate")
    entry = next(iter(_TO_BRIEF(entry_id)), None)
    if entry is None:
        raise no_such_entry(entry_id)
    nearness = measure_nearness(entry)
    near = nearness.describe(_NEAR(related, list(nearness.cosines)))
    since = timezone.now() - UNDO_OFFERED
    reviews = _REVIEWS(actor.user.pk, entry_id, since)
    mine = [one for one in reviews if one.created_at >= since and _is_decision(one, actor)]
    complaints: list[Feedback] = []
    if entry.verified_at:  # What was never approved nobody was sent, and nobody complains about it.
        with rls_bypass():
            complaints = _COMPLAINTS(str(entry.pk))
    return Briefing(
        entry=entry,
        nearest=near.approved,
        nearest_waiting=near.waiting,
        same_waiting=entry.same_waiting,
        record=ProposerRecordShape(**(entry.record or dict.fromkeys(_RECORD, 0))),
        effect=_effect_of(entry),
        suspicions=suspicions_about(entry),
        complaints=complaints,
        history=[review for review in reviews if review.entry_id == entry.pk],
        comments=[_read_comment(entry, row) for row in entry.said],
        claimed_by=claimer_of(entry),
        fallback=near.fallback,
        last=max(mine, key=lambda review: (review.created_at, review.pk), default=None),
    )


def last_decisions_of(actor: Actor) -> QuerySet[Review]:
    """Return what a curator decided in the last minutes, the latest first: undoing the first of them is offered."""
    return _decisions_since(actor.user.pk, timezone.now() - UNDO_OFFERED)


def _decisions_since(user_id: UUID, since: datetime) -> QuerySet[Review]:
    mine = Review.objects.filter(by=user_id, created_at__gte=since).exclude(action=Action.PROPOSE)
    return mine.order_by("-created_at", "-pk")


def _is_decision(review: Review, actor: Actor) -> bool:
    return review.by_id == actor.user.pk and review.action != Action.PROPOSE


_RECORD = {
    "approved": (Status.APPROVED, Status.DEPRECATED, Status.SUPERSEDED),
    "rejected": (Status.REJECTED,),
    "waiting": UNDECIDED,
}


def _count_others() -> dict[str, Any]:
    """Return how the proposer's other proposals were decided, and how many that wait say the same, as parts of a query.

    They come with the entry itself, because every page of the queue asks.
    """
    others = CompanyEntry.objects.exclude(pk=OuterRef("pk")).order_by()
    counts = {name: Count("pk", filter=Q(status__in=statuses)) for name, statuses in _RECORD.items()}
    theirs = others.filter(proposed_by=OuterRef("proposed_by")).values("proposed_by")
    same = others.filter(digest=OuterRef("digest"), status__in=UNDECIDED).values("digest")
    return {
        "record": Subquery(theirs.annotate(record=JSONObject(**counts)).values("record")),
        "same_waiting": Coalesce(Subquery(same.annotate(number=Count("pk")).values("number")), 0),
    }


def _entries_to_brief(entry_id: int) -> QuerySet[CompanyEntry]:
    read = CompanyEntry.objects.select_related(*READ_WITH_ENTRY, "claim__by", "comparison", "proof")
    return read.annotate(**_count_others(), said=_comments()).filter(pk=entry_id)


def _comments() -> ArraySubquery:
    """Return what was said about an entry, as part of the query that reads it."""
    names = ("pk", "text", "created_at", "by__username", "by__display_name")
    comments = Comment.objects.filter(entry=OuterRef("pk")).order_by("created_at", "pk")
    return ArraySubquery(comments.values(said=JSONObject(**{name: name for name in names})))


def _read_comment(entry: CompanyEntry, row: dict[str, Any]) -> Comment:
    name, shown = row["by__username"], row["by__display_name"]
    by = User(username=name, display_name=shown) if name else None
    created_at = datetime.fromisoformat(row["created_at"])
    return Comment(pk=row["pk"], entry=entry, by=by, text=row["text"], created_at=created_at)


def _near_to_brief(related: tuple[str, ...], numbers: list[int]) -> QuerySet[CompanyEntry]:
    near = CompanyEntry.objects.filter(pk__any_of=numbers).select_related("proposed_by", "copy__server", *related)
    return near if related else near.defer(*_OF_REPLIES)


def _reviews_to_brief(user_id: UUID, entry_id: int, since: datetime) -> QuerySet[Review]:
    # One row, not a list of them: with `IN` PostgreSQL would read the history of all entries.
    last = Subquery(_decisions_since(user_id, since).values("pk")[:1])
    return (
        Review.objects.filter(Q(entry=entry_id) | Q(pk=last))
        .select_related("entry")
        .defer(*_OF_ENTRY)
        .order_by("number")
    )


def _complaints_to_brief(number: str) -> QuerySet[Feedback]:
    return open_complaints(Kind.COMPANY).filter(source_id=number).select_related("user")[:COMPLAINTS_SHOWN]


# From the entry to what it names, each by its key.
_TO_BRIEF, _NEAR = FixedQuery(_entries_to_brief, joins_in_order=True), FixedQuery(_near_to_brief)
_REVIEWS, _COMPLAINTS = FixedQuery(_reviews_to_brief), FixedQuery(_complaints_to_brief)


def _effect_of(entry: CompanyEntry) -> ContextEffect:
    """Return what approval would change in the start contexts of the sessions that the entry concerns."""
    approved = _as_if_verified(entry)
    others = [one for one in most_relevant(entry.project, entry.topics) if one.pk != entry.pk]
    ranked = by_relevance([*others, approved], entry.project, entry.topics)
    line = company_line(approved)
    lines = [line if one is approved else company_line(one) for one in ranked[: ENTRIES_SHOWN + 1]]
    before, after = company_lines(one for one in lines if one is not line), company_lines(lines)
    shown = {one.id for one in after}
    return ContextEffect(
        line=line,
        is_told=entry.pk in shown,
        leaving=[one for one in before if one.id not in shown],
        top=after,
    )


def _as_if_verified(entry: CompanyEntry) -> CompanyRow:
    """Return the entry as approval would leave it: start contexts rank and label entries by these dates."""
    now, server, proof = timezone.now(), entry.copy.server if entry.is_copy else None, getattr(entry, "proof", None)
    return CompanyRow(
        entry.pk,
        entry.category,
        entry.title,
        entry.content,
        entry.importance,
        entry.project,
        entry.topics,
        verified_at=now,
        review_after=entry.review_date_after(now),
        server_url=server.url if server else None,
        server_read_at=server.read_at if server else None,
        cited=proof and proof.cited,
        answered=proof and proof.answered,
        people=proof and proof.people,
    )
