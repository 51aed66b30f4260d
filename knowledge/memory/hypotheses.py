"""Hypotheses: beliefs to be confirmed or refuted."""

from datetime import date, timedelta
from typing import Annotated, Literal

from django.db import transaction
from django.utils import timezone
from pydantic import Field

from accounts.actor import Actor
from accounts.services.idempotency import forget_kept_replies
from bigmind.core.argument_types import Confidence, Content, Cursor, Limit, Offset, Project
from bigmind.core.errors import Conflict, NotFound
from bigmind.database.pagination import Page, page_of
from knowledge.argument_types import HypothesisId, HypothesisText, SessionId
from knowledge.conversation.current_sessions import session_of_write
from knowledge.models import Hypothesis, Kind, Verdict
from knowledge.models.base import delete_keeping_id
from knowledge.search.passages import erase_passages, index_passages

from .calibration import track_record

Resolution = Annotated[Content, Field(description="What actually happened.")]
CheckInDays = Annotated[int, Field(ge=1, le=3650, description="Ask how it turned out in this many days: 30.")]


@transaction.atomic
def add_hypothesis(
    actor: Actor,
    *,
    hypothesis: HypothesisText,
    confidence: Confidence = 0.7,
    check_in_days: CheckInDays | None = None,
    project: Project = "",
    session_id: SessionId | None = None,
) -> Hypothesis:
    """Write down a belief, “I believe X because Y”, and your confidence.

    Call this when you act on something that is not proven, so that it can be confirmed or refuted later. Returns the
    open hypothesis with its id, and how often you were right at similar confidence.
    """
    session = session_of_write(actor, session_id, project=project)
    belief = Hypothesis.objects.create(
        user=actor.user,
        session=session,
        hypothesis=hypothesis,
        confidence=confidence,
        check_on=_in_days(check_in_days),
        project=project or (session.project if session else ""),
    )
    index_hypothesis(belief, made=True)
    belief.track_record = track_record(belief)
    return belief


@transaction.atomic
def resolve_hypothesis(
    actor: Actor,
    *,
    hypothesis_id: HypothesisId,
    status: Literal["confirmed", "refuted", "abandoned"],
    resolution: Resolution,
) -> Hypothesis:
    """Close a hypothesis: confirmed, refuted or abandoned, with what actually happened.

    Call this as soon as you know. Returns the hypothesis, and how often its agent was right at similar confidence. A
    resolved one cannot change: add a new one instead.
    """
    belief = own_hypothesis(actor, hypothesis_id)
    if belief.resolved_at:
        raise Conflict(f"Hypothesis {belief.number} was {belief.status} already.", hint="Add a new one instead.")
    belief.status, belief.resolution, belief.resolved_at = status, resolution, timezone.now()
    belief.save(update_fields=["status", "resolution", "resolved_at"])
    index_hypothesis(belief)
    belief.track_record = track_record(belief)
    return belief


def list_hypotheses(
    actor: Actor,
    *,
    status: Literal["open", "confirmed", "refuted", "abandoned"] | None = None,
    due: Annotated[bool, Field(description="Only open ones that are due.")] = False,
    project: Project = "",
    include_set_aside: bool = False,
    limit: Limit = 20,
    offset: Offset = 0,
    cursor: Cursor | None = None,
) -> Page[Hypothesis]:
    """List beliefs, the newest first, by status or project.

    Call this to see what is still open or due, or how earlier beliefs turned out. Returns each with its id.
    """
    mine = Hypothesis.objects.of(actor.user).select_related("session")
    beliefs = (mine.due() if due else mine).order_by("-created_at", "-id")
    if not include_set_aside:
        beliefs = beliefs.filter(set_aside_at=None)
    if status:
        beliefs = beliefs.filter(status=status)
    if project:
        beliefs = beliefs.filter(project=project)
    return page_of(beliefs, limit=limit, offset=offset, cursor=cursor)


@transaction.atomic
def correct_hypothesis(
    actor: Actor,
    *,
    hypothesis_id: HypothesisId,
    hypothesis: HypothesisText | None = None,
    confidence: Confidence | None = None,
    check_in_days: CheckInDays | None = None,
) -> Hypothesis:
    """Correct an open belief: its text, your confidence, or when to ask how it turned out.

    Call this when it was worded wrongly. Refused once resolved: the record keeps what was believed. Returns the
    hypothesis.
    """
    belief = own_hypothesis(actor, hypothesis_id)
    if belief.resolved_at:
        raise Conflict(f"Hypothesis {belief.number} was {belief.status} already.", hint="Add a new one instead.")
    belief.hypothesis = belief.hypothesis if hypothesis is None else hypothesis
    belief.confidence = belief.confidence if confidence is None else confidence
    belief.check_on = _in_days(check_in_days) or belief.check_on
    belief.save(update_fields=["hypothesis", "confidence", "check_on"])
    index_hypothesis(belief)
    return belief


def reopen_hypothesis(belief: Hypothesis) -> None:
    """Take back that a hypothesis was resolved. It is due when it was."""
    belief.status, belief.resolution, belief.resolved_at = Verdict.OPEN, "", None
    belief.save(update_fields=["status", "resolution", "resolved_at"])
    index_hypothesis(belief)


@transaction.atomic
def erase_hypothesis(actor: Actor, *, hypothesis_id: HypothesisId) -> Hypothesis:
    """Erase a hypothesis for good, wherever it is stored.

    Call this only when the user asks to forget it; resolve a wrong belief as refuted instead. Returns what was erased;
    it cannot be undone.
    """
    belief = own_hypothesis(actor, hypothesis_id)
    erase_passages(Kind.HYPOTHESIS, [belief.pk])
    forget_kept_replies(actor.user)
    delete_keeping_id(belief)
    return belief


def own_hypothesis(actor: Actor, hypothesis_id: int) -> Hypothesis:
    """Return the actor's hypothesis with this id, locked until the transaction ends.

    Raises:
        NotFound: there is none, or it is someone else's.
    """
    try:
        return Hypothesis.objects.select_for_update().get(user=actor.user, pk__in=actor.user.ids_of(hypothesis_id))
    except Hypothesis.DoesNotExist as error:
        hint = "memory_list_hypotheses shows yours."
        raise NotFound(f"You have no hypothesis {hypothesis_id}.", hint=hint) from error


def index_hypothesis(belief: Hypothesis, *, made: bool = False) -> None:
    """Write the passage of a hypothesis, with how it turned out. One set aside has none."""
    if not belief.is_in_view:
        erase_passages(Kind.HYPOTHESIS, [belief.pk])
        return
    text = f"{belief.hypothesis}\n\n{belief.resolution}".strip()
    index_passages(Kind.HYPOTHESIS, belief.pk, [text], owner=belief.user, project=belief.project, made=made)


def _in_days(days: int | None) -> date | None:
    return timezone.localdate() + timedelta(days=days) if days else None
