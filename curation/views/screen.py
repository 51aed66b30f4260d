"""The screen of the queue: the list, and beside it everything that is needed to decide about one entry."""

from collections.abc import Sequence
from dataclasses import dataclass
from datetime import timedelta
from typing import Any

from django.conf import settings
from django.http import HttpRequest, HttpResponse
from django.shortcuts import render
from django.utils import timezone

from accounts.actor import Actor
from accounts.authentication import actor_of
from bigmind.core.errors import Forbidden
from bigmind.core.pages import Page
from bigmind.core.tokens import count_tokens
from curation.decisions.rules import needs_second_approval, require_may_approve
from curation.models import Action, Claim, Review
from curation.proposals.briefing import Briefing, brief
from curation.proposals.neighbours import Neighbour
from curation.proposals.queue import QueueItem, look_at, queue_summary
from curation.vocabulary import CONTENT_TOKENS
from knowledge.models import CompanyEntry

from .differences import FieldChange, changes_in, changes_since, steps_since
from .forms import Commenting, DecisionForm, decision_form, initial_of
from .notices import keys_are_on
from .queue_queries import Around, QueueQuestion, address_of, around, query_string, tabs

ALIKE_FROM = 0.7
UNDO_OFFERED = timedelta(minutes=10)
DECISIONS = {
    "pending": ("approve", "edit", "reject", "request_changes", "merge"),
    "changes_requested": ("approve", "edit", "reject", "merge"),
    "approved": ("verify", "edit", "deprecate", "supersede"),
    "rejected": ("reopen",),
    "deprecated": ("restore", "reopen"),
    "superseded": ("restore", "reopen"),
}
APPROVING = {"approve", "edit", "merge", "restore"}
"""The actions that curators may not take on their own proposals, except in personal mode."""


@dataclass(frozen=True)
class Near:
    """A neighbour of the open entry, with the form that merges the open entry into it."""

    neighbour: Neighbour
    form: DecisionForm | None = None

    @property
    def is_alike(self) -> bool:
        """Whether it is similar enough to show the difference, word by word, at once."""
        return self.neighbour.similarity >= ALIKE_FROM or bool(self.neighbour.contradictions)


@dataclass(frozen=True)
class HistoryStep:
    """One step of the history, with what it changed."""

    review: Review
    changes: Sequence[FieldChange]


@dataclass(frozen=True)
class LastDecision:
    """The last decision of the curator, and whether it can still be undone."""

    review: Review
    can_be_undone: bool


@dataclass(frozen=True)
class Attempt:
    """A decision that was refused: its form says why, `seen` is the revision it was about."""

    action: str
    form: DecisionForm
    seen: int | None = None
    into: str = ""


def queue_screen(
    request: HttpRequest, question: QueueQuestion, page: Page[QueueItem] | None, *, status: int = 200, **open_entry: Any
) -> HttpResponse:
    """Render the list, with the open entry beside it."""
    summary = queue_summary()
    actor = actor_of(request)
    context = {
        "question": question,
        "page": page,
        "summary": summary,
        "tabs": tabs(question, summary),
        "kept": query_string(request),
        "keys_are_on": keys_are_on(request),
        "last": _last_decision(actor),
        "me": actor.user,
        "review_days": settings.BIGMIND_REVIEW_DAYS,
        **open_entry,
    }
    return render(request, "curation/queue.html", context, status=status)


def entry_screen(
    request: HttpRequest,
    entry_id: int,
    *,
    attempt: Attempt | None = None,
    comment: Commenting | None = None,
    status: int = 200,
) -> HttpResponse:
    """Render the list with one entry open, and claim that entry, so that other curators see it is under review."""
    actor, question = actor_of(request), QueueQuestion(request)
    actor.require("curate")
    briefing = brief(actor, entry_id=entry_id)
    claim = look_at(actor, entry=briefing.entry) if request.method != "HEAD" else None
    filters = question.attempt(lambda _: question.filters()) or {}
    place = around(actor, briefing.entry, filters)
    shown = describe_open_entry(actor, briefing, attempt)
    beside = _beside(request, place, claim, comment)
    return queue_screen(request, question, place.page, status=status, **shown, **beside)


def describe_open_entry(actor: Actor, briefing: Briefing, attempt: Attempt | None) -> dict[str, Any]:
    """Return the template context of an open entry: its briefing, and the decisions that are possible."""
    entry = briefing.entry
    obstacle = _obstacle(actor, entry)
    offered = [action for action in DECISIONS[entry.status] if not (obstacle and action in APPROVING)]
    seen = attempt.seen if attempt else None
    return {
        "entry": entry,
        "briefing": briefing,
        "offered": offered,
        "obstacle": obstacle,
        "second": needs_second_approval(actor, entry, importance=entry.importance) if "approve" in offered else False,
        "forms": _forms(entry, offered, attempt),
        "near": [_near(near, attempt) for near in [*briefing.nearest, *_merge_targets(briefing, attempt)]],
        "near_waiting": [Near(near) for near in briefing.nearest_waiting],
        "steps": [HistoryStep(review, changes_in(review)) for review in reversed(briefing.history)],
        "attempt": attempt,
        "changes": changes_since(briefing.history, seen) if seen else [],
        "steps_since": steps_since(briefing.history, seen) if seen else [],
        "tokens": count_tokens(entry.content),
        "token_limit": CONTENT_TOKENS,
        "warnings": [found for found in briefing.suspicions if found.is_warning],
    }


def _beside(request: HttpRequest, place: Around, claim: Claim | None, comment: Commenting | None) -> dict[str, Any]:
    return {
        "claim": claim,
        "previous": address_of(place.previous, request) if place.previous else "",
        "next": address_of(place.next, request) if place.next else "",
        "comment": comment or Commenting(auto_id="comment-%s"),
    }


def _forms(entry: CompanyEntry, offered: Sequence[str], attempt: Attempt | None) -> dict[str, DecisionForm]:
    forms = {
        action: decision_form(action, initial=initial_of(entry) if action == "edit" else None)
        for action in offered
        if action not in {"merge", "supersede"}
    }
    # A refused form stays on the page as it was typed, even if its action is no longer offered.
    return {**forms, attempt.action: attempt.form} if attempt and not attempt.into else forms


def _merge_targets(briefing: Briefing, attempt: Attempt | None) -> list[Neighbour]:
    """Return the target of a refused merge if it is no longer a neighbour, so that the typed text stays on the page."""
    shown = {str(near.entry.pk) for near in briefing.nearest}
    if attempt is None or not attempt.into.isdecimal() or len(attempt.into) > 18 or attempt.into in shown:
        return []
    found = CompanyEntry.objects.approved().filter(pk=attempt.into)
    return [Neighbour(entry, 0.0, by_meaning=True, contradictions=[]) for entry in found]


def _near(near: Neighbour, attempt: Attempt | None) -> Near:
    number = near.entry.pk
    if attempt and attempt.into == str(number):
        return Near(near, attempt.form)
    return Near(near, decision_form("merge", initial={"content": near.entry.content}, key=number))


def _obstacle(actor: Actor, entry: CompanyEntry) -> str:
    """Return the reason why the actor may not approve it; an empty string if they may."""
    try:
        require_may_approve(actor, entry)
    except Forbidden as refusal:
        return str(refusal)
    return ""


def _last_decision(actor: Actor) -> LastDecision | None:
    since = timezone.now() - UNDO_OFFERED
    mine = Review.objects.filter(by=actor.user, created_at__gte=since).exclude(action=Action.PROPOSE)
    review = mine.select_related("entry").order_by("-created_at", "-pk").first()
    if review is None:
        return None
    is_latest = review.entry.revision == review.after.get("revision")
    return LastDecision(review, is_latest and review.action not in {Action.UNDO, Action.REVISE, Action.WITHDRAW})
