"""Feedback on recalled items, and its effects."""

from dataclasses import dataclass
from datetime import datetime
from typing import Annotated, Literal

from django.conf import settings
from django.db import transaction
from django.db.models import Case, F, QuerySet, Value, When
from django.db.models.functions import Greatest, Least
from django.utils import timezone
from pydantic import AfterValidator, Field

from accounts.actor import Actor
from bigmind.core.argument_types import SharedLongText
from bigmind.core.choices import OneOf
from bigmind.core.errors import NotFound
from bigmind.core.handles import Handle
from bigmind.database.advisory_locks import AdvisoryLock, wait_for_turn
from bigmind.database.rls import rls_bypass
from bigmind.text.hygiene import check_content
from knowledge.kinds import KINDS
from knowledge.models import COMPLAINTS, CompanyCopy, Entry, Feedback, Kind, Usefulness
from knowledge.search.passages import note_writings

STEP = {Usefulness.USEFUL: 0.05, Usefulness.OUTDATED: -0.1, Usefulness.WRONG: -0.2}
"""How far one person's feedback moves the confidence of a shared entry."""

RecalledKind = Annotated[
    str,
    OneOf(kind for kind in Kind if KINDS[kind].takes_feedback),
    Field(description="Kind; a handle implies it."),
]

RecalledId = Annotated[
    str,
    Handle(kind_in="kind"),
    AfterValidator(check_content),
    Field(min_length=1, max_length=36, description="Id or handle: C142."),
]


@dataclass(frozen=True)
class RecordedFeedback:
    """The stored feedback, and its effect."""

    feedback: Feedback
    consequence: str


@transaction.atomic
def give_feedback(
    actor: Actor,
    *,
    kind: RecalledKind,
    id: RecalledId,
    verdict: Literal["useful", "wrong", "outdated"],
    note: Annotated[SharedLongText, Field(max_length=2_000, description="What is true instead.")] = "",
) -> RecordedFeedback:
    """Say whether something you recalled was useful, wrong or outdated.

    Call this when it helped or proved untrue: curators hear complaints about company knowledge. Returns the effect.
    """
    return record_feedback(actor, kind=kind, id=id, verdict=verdict, note=note)


def record_feedback(actor: Actor, *, kind: str, id: str, verdict: str, note: str = "") -> RecordedFeedback:
    """Store someone's feedback on an item, in place of their earlier one."""
    source_id = id_of_visible(actor, kind, id)
    # Else two verdicts of one person at once would move the confidence twice, or one of them would fail.
    wait_for_turn(AdvisoryLock.FEEDBACK, f"{kind} {source_id}")
    mine = {"user": actor.user, "kind": kind, "source_id": source_id}
    known = Feedback.objects.filter(**mine).first()
    feedback = Feedback(pk=known.pk if known else None, **mine, verdict=verdict, note=note, agent=actor.agent)
    feedback.save()
    note_writings("feedback", [feedback.pk], made=True)
    if Kind(kind) is Kind.ENTRY:
        # In a team nobody vouches for their own entry; in personal mode there is nobody else.
        if settings.BIGMIND_MODE != "personal" and Entry.objects.filter(pk=source_id, created_by=actor.user).exists():
            return RecordedFeedback(feedback, "The confidence of what you added is moved by what others say of it.")
        _move_confidence(source_id, STEP[Usefulness(verdict)], STEP[Usefulness(known.verdict)] if known else 0.0)
    return RecordedFeedback(feedback, _consequence(kind, verdict, source_id))


def open_complaints(kind: Kind) -> "QuerySet[Feedback]":
    """Return open reports that something is wrong or outdated; those of others only outside of row-level security."""
    return Feedback.objects.filter(kind=kind, verdict__in=COMPLAINTS, settled_at=None)


@rls_bypass()
def reopen_complaints(kind: Kind, source_id: object, *, since: datetime) -> int:
    """Reopen complaints that were settled since a moment: the decision that settled them was undone."""
    settled = Feedback.objects.filter(kind=kind, source_id=str(source_id), verdict__in=COMPLAINTS)
    return settled.filter(settled_at__gte=since).update(settled_at=None)


@rls_bypass()
def settle_complaints(kind: Kind, source_id: object) -> int:
    """Mark the complaints about an item as settled; return how many there were."""
    return open_complaints(kind).filter(source_id=str(source_id)).update(settled_at=timezone.now())


def id_of_visible(actor: Actor, kind: str, id: str) -> str:
    """Return the id of what is meant, as it is stored.

    Raises:
        NotFound: the actor can see no such thing; a foreign id is answered like a random one.
    """
    row = KINDS[kind]
    key = row.of_id(actor.user, id).values_list("pk", flat=True).first()
    if key is None:
        raise NotFound(f"There is no {kind} {id} that you can see.", hint="Use kind and id as a search returned them.")
    return str(key)


def _move_confidence(entry_id: str, step: float, before: float) -> None:
    """Move it by a verdict, and undo the earlier one, unless that one reached the end of the scale.

    There it may have moved nothing, and undoing it would make a changed mind count for more than a first verdict.
    """
    end = 1.0 if before > 0 else 0.0
    moved = F("confidence") + Case(When(confidence=end, then=Value(step)), default=Value(step - before))
    Entry.objects.filter(pk=entry_id).update(confidence=Greatest(0.0, Least(1.0, moved)))


def _consequence(kind: str, verdict: str, source_id: str) -> str:
    is_company = kind == Kind.COMPANY
    copy = CompanyCopy.objects.select_related("server").filter(pk=int(source_id)).first() if is_company else None
    if copy:
        return f"It is {copy.handle} of {copy.server.host}: its curators hear of it where you say it there."
    if is_company and verdict in COMPLAINTS:
        return "It is back in the curators' queue. Until they decide, treat it with care."
    if kind == Kind.ENTRY:
        return "Its confidence has moved."
    if kind == Kind.REFERENCE:
        return "It moves where this stands in search_knowledge; curators see what was said."
    if verdict in COMPLAINTS:
        return "Correct it or set it aside, so that it is not recalled again."
    return ""
