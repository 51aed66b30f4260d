"""Tries a decision: everyone's questions and session starts of the last weeks, as if it had been made."""

from collections.abc import Mapping, Sequence
from copy import copy
from dataclasses import dataclass, field, replace
from datetime import timedelta
from typing import Any, Literal, get_args

from django.conf import settings
from django.utils import timezone

from bigmind.core.errors import Invalid
from bigmind.database.read_only import is_read_only
from bigmind.database.rls import rls_bypass
from curation.decisions.golden_questions import find_concerned, place_of
from curation.models import GoldenQuestion
from knowledge.models import CompanyEntry, EmbeddingSpace, Status

from .replay.afterwards import EntryChange, active_space, ask_afterwards
from .replay.answers import ChangedAnswer, replay
from .replay.passages import CompanyPassage, read_company_passages
from .replay.questions import Asked, read_questions
from .replay.starts import ChangedStart, Start, read_starts, replay_starts

Action = Literal["approve", "edit", "deprecate", "merge", "supersede", "restore"]
ACTIONS = get_args(Action)


@dataclass(frozen=True)
class Trial:
    """Everything replayed for one decision, and what changes, for everyone: so nobody may see all of it."""

    questions: Sequence[Asked] = ()
    starts: Sequence[Start] = ()
    answers: Sequence[ChangedAnswer] = ()
    changed_starts: Sequence[ChangedStart] = ()
    golden_lost: list[GoldenQuestion] = field(default_factory=list)
    golden_won: list[GoldenQuestion] = field(default_factory=list)
    fallback: str = ""


def try_decision(
    entries: Sequence[CompanyEntry],
    action: Action,
    *,
    edits: Mapping[str, Any] | None = None,
    target: CompanyEntry | None = None,
) -> Trial:
    """Replay everyone's questions and starts as if a decision had been made. Nobody may see all of the result.

    Args:
        target: For `merge`, the approved entry that the edits are made to.
    """
    changes = [one for entry in entries for one in _changes_of(entry, action, edits or {}, target)]
    if not changes:
        return Trial()
    if is_read_only():
        return Trial(fallback="BigMind is read-only now, and trying a decision writes what it takes back.")
    since = timezone.now() - timedelta(days=settings.KEEP_ASKED_DAYS)
    space, reason = active_space()
    with rls_bypass():
        questions = read_questions(space, since) if space else []
        starts = read_starts(since)
    passages, lost, won = _try_out(changes, space)
    answers = replay(questions, passages, dimensions=space.dimensions) if space else []
    return Trial(questions, starts, answers, replay_starts(starts, changes), lost, won, reason)


def usual_action(entries: Sequence[CompanyEntry]) -> Action:
    """Return the decision that fits the status of the first entry."""
    if entries and entries[0].is_approved:
        return "deprecate"
    return "approve" if entries and entries[0].is_undecided else "restore"


def _changes_of(
    entry: CompanyEntry, action: Action, edits: Mapping[str, Any], target: CompanyEntry | None
) -> list[EntryChange]:
    before = entry if entry.is_approved else None
    if action in {"deprecate", "supersede"}:
        return [EntryChange(entry, None)] if before else []
    if action == "merge":
        if target is None:
            raise Invalid.of("into", "is required: the number of the approved entry that takes its place")
        return [EntryChange(target, _as_approved(target, edits))] if target.is_approved and edits else []
    return [EntryChange(before, _as_approved(entry, edits))]


def _as_approved(entry: CompanyEntry, edits: Mapping[str, Any]) -> CompanyEntry:
    """Return a copy of an entry as the decision would leave it: ranking reads these fields."""
    after, now = copy(entry), timezone.now()
    for name, value in edits.items():
        setattr(after, name, value)
    if not entry.is_approved:
        after.decided_at = now
    after.status, after.verified_at = Status.APPROVED, now
    after.review_after = after.review_date_after(now)
    return after


def _try_out(
    changes: Sequence[EntryChange], space: EmbeddingSpace | None
) -> tuple[list[CompanyPassage], list[GoldenQuestion], list[GoldenQuestion]]:
    """Read what the index has before the changes and after them, and ask golden questions as if they had been made."""
    ids = {change.entry.pk for change in changes}
    known = read_company_passages(space) if space else []
    texts = [one.text for change in changes for one in (change.before, change.after) if one]
    # Lost ones, too: the decision may find their items again.
    concerned = find_concerned(ids, texts, lost=True)

    def ask() -> tuple[list[CompanyPassage], dict[int, int | None]]:
        added = read_company_passages(space, ids) if space else []
        return added, {golden.pk: place_of(golden) for golden in concerned}

    added, places = ask_afterwards(changes, ask, space)
    gone = [replace(one, after=False) if one.entry_id in ids else one for one in known]
    passages = [*gone, *(replace(one, before=False) for one in added)]
    lost = [one for one in concerned if not one.is_lost and not one.is_met_at(places[one.pk])]
    won = [one for one in concerned if one.is_lost and one.is_met_at(places[one.pk])]
    return passages, lost, won
