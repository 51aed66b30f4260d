"""The queue: the list, beside it the open entry with what is needed to decide; skip it, claim and release it."""

from collections.abc import Sequence
from dataclasses import dataclass
from datetime import datetime
from typing import Any

from django.conf import settings
from django.contrib import messages
from django.http import HttpRequest, HttpResponse
from django.shortcuts import redirect, render
from django.utils.dateparse import parse_datetime
from django.utils.functional import SimpleLazyObject
from django.views.decorators.http import require_POST, require_safe

from accounts.actor import Actor
from accounts.authentication import actor_of
from bigmind.core.errors import Forbidden
from bigmind.core.translation import _
from bigmind.database.pagination import Page
from bigmind.text.token_counts import count_tokens
from bigmind.web.forms import UnsentForm
from bigmind.web.pages import offset_in, own_page, read_number
from curation.argument_types import CONTENT_TOKENS
from curation.decisions.neighbours import Neighbour
from curation.decisions.who_may_decide import needs_second_approval, require_may_approve
from curation.models import Action, Claim, Review
from curation.proposals.briefing import Briefing, gather_briefing, last_decisions_of
from curation.proposals.claims import claim_entry, look_at, release_entry
from curation.proposals.proposer_context import grounds_of
from curation.proposals.queue import QueueItem, read_page
from knowledge.models import CompanyEntry

from .entry_story import changes_since, steps_since, tell_decisions
from .forms import Commenting, DecisionForm, Editing, decision_form, first_form, initial_of
from .notices import KEYS_COOKIE
from .queue_queries import (
    ROWS,
    Around,
    QueueQuestion,
    address_of,
    around,
    count_every_reason,
    counts_of,
    next_after,
    query_string,
    tabs,
)

ALIKE_FROM = 0.7
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


@own_page
@require_safe
def queue(request: HttpRequest) -> HttpResponse:
    """List the queue, the most important first."""
    actor, question = actor_of(request), QueueQuestion(request)
    actor.require("curate")
    offset = offset_in(request)
    page = question.attempt(lambda _: read_page(actor, offset=offset, limit=ROWS, **question.filters()))
    first = address_of(page.items[0].entry.pk, request) if page and page.items else ""
    return queue_screen(request, question, page, next=first)


@own_page
@require_safe
def entry(request: HttpRequest, entry_id: int) -> HttpResponse:
    """Open one entry, with its briefing and the forms of decisions."""
    return entry_screen(request, entry_id)


@own_page
@require_POST
def skipping(request: HttpRequest, entry_id: int) -> HttpResponse:
    """Skip an entry, and open the next one."""
    actor = actor_of(request)
    actor.require("curate")
    release_entry(actor, entry_id=entry_id)
    following = next_after(actor, entry_id, QueueQuestion(request).filters())
    if following is None:
        messages.info(request, _("That was the only one in this list."))
    return redirect(address_of(following, request))


@own_page
@require_POST
def claiming(request: HttpRequest, entry_id: int) -> HttpResponse:
    """Extend the claim on an entry."""
    actor = actor_of(request)
    claim = claim_entry(actor, entry_id=entry_id)
    if claim.by_id != actor.user.pk:
        messages.warning(request, _("%(by)s was first and is still looking at it.") % {"by": claim.by})
    return redirect(address_of(entry_id, request))


@own_page
@require_POST
def releasing(request: HttpRequest, entry_id: int) -> HttpResponse:
    """Release the claim on an entry. A page that closes does this too, for the claim that it was opened with."""
    actor = actor_of(request)
    actor.require("curate")
    until = request.POST.get("until", "")
    release_entry(actor, entry_id=entry_id, until=_moment(until))
    return HttpResponse(status=204) if until else redirect(address_of(None, request))


def queue_screen(
    request: HttpRequest, question: QueueQuestion, page: Page[QueueItem] | None, *, status: int = 200, **open_entry: Any
) -> HttpResponse:
    """Render the list, with the open entry beside it."""
    actor = actor_of(request)
    count_every_reason(request)
    context = {
        "question": question,
        "page": page,
        "tabs": SimpleLazyObject(lambda: tabs(question, counts_of(request))),
        "kept": query_string(request),
        "keys_are_on": request.COOKIES.get(KEYS_COOKIE) != "off",
        "me": actor.user,
        "review_days": settings.BIGMIND_REVIEW_DAYS,
        **open_entry,
    }
    if "last" not in context:
        context["last"] = _last(last_decisions_of(actor).select_related("entry").first())
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
    briefing = gather_briefing(actor, entry_id=entry_id)
    # A page that is only read ahead (decision 48) tells nobody that it is under review.
    is_opened = request.method != "HEAD" and "X-Read-Ahead" not in request.headers
    claim = look_at(actor, entry=briefing.entry) if is_opened else None
    filters = question.attempt(lambda _: question.filters()) or {}
    place = around(actor, briefing.entry, filters)
    shown = describe_open_entry(actor, briefing, attempt)
    beside = _beside(request, briefing.entry, place, claim, comment) | {"grounds": grounds_of(actor, briefing.entry)}
    return queue_screen(request, question, place.page, status=status, last=_last(briefing.last), **shown, **beside)


def describe_open_entry(actor: Actor, briefing: Briefing, attempt: Attempt | None) -> dict[str, Any]:
    """Return the template context of an open entry: its briefing, and the decisions that are possible."""
    entry = briefing.entry
    obstacle = _obstacle(actor, entry)
    again = _undone_by(actor, briefing.history)
    offered = [action for action in DECISIONS[entry.status] if not (obstacle and action in APPROVING)]
    seen = attempt.seen if attempt else None
    return {
        "entry": entry,
        "briefing": briefing,
        "offered": offered,
        "obstacle": obstacle,
        "second": "approve" in offered
        and needs_second_approval(actor, entry, importance=entry.importance, history=briefing.history),
        "forms": _forms(entry, offered, attempt, again),
        "again": _action_of(again) if again else "",
        "near": [_near(near, attempt) for near in [*briefing.nearest, *_merge_targets(briefing, attempt)]],
        "near_waiting": [Near(near) for near in briefing.nearest_waiting],
        "steps": tell_decisions(briefing.history),
        "attempt": attempt,
        "changes": changes_since(briefing.history, seen) if seen else [],
        "steps_since": steps_since(briefing.history, seen) if seen else [],
        "tokens": count_tokens(entry.content),
        "token_limit": CONTENT_TOKENS,
        "warnings": [found for found in briefing.suspicions if found.is_warning],
    }


def _beside(
    request: HttpRequest, entry: CompanyEntry, place: Around, claim: Claim | None, comment: Commenting | None
) -> dict[str, Any]:
    return {
        "claim": claim,
        # Not what is near now: a pair that someone settled, or that no worker has compared yet, is no cluster.
        "together": any(item.entry.pk == entry.pk and item.relations for item in place.page.items),
        "previous": address_of(place.previous.pk, request) if place.previous else "",
        "next": address_of(place.next.pk, request) if place.next else "",
        "comment": comment or UnsentForm(Commenting, "comment-%s"),
    }


def _undone_by(actor: Actor, history: Sequence[Review]) -> Review | None:
    """Return the decision that the actor just undid: its form opens again with what was typed."""
    last = history[-1] if history else None
    if last is None or last.action != Action.UNDO or last.by_id != actor.user.pk:
        return None
    return next((review for review in history if review.pk == last.undoes_id), None)


def _action_of(undone: Review) -> str:
    """Return the action whose form made a decision: approving another text is editing."""
    edited = {"title", "content", "category", "importance"} & undone.changed.keys()
    return "edit" if edited and undone.action in {Action.APPROVE, Action.ENDORSE, Action.EDIT} else undone.action


def _initial(entry: CompanyEntry, action: str, again: Review | None) -> dict[str, Any]:
    values = initial_of(Editing, entry) if action == "edit" else {}
    if again and _action_of(again) == action:
        values = {name: again.after[name] for name in values} | {"notes": again.notes}
    return values


def _forms(
    entry: CompanyEntry, offered: Sequence[str], attempt: Attempt | None, again: Review | None
) -> dict[str, DecisionForm | UnsentForm]:
    forms: dict[str, DecisionForm | UnsentForm] = {
        action: first_form(action, _initial(entry, action, again)) for action in offered if action != "merge"
    }
    # A refused form stays on the page as it was typed, even if its action is no longer offered.
    return {**forms, attempt.action: attempt.form} if attempt and attempt.action != "merge" else forms


def _merge_targets(briefing: Briefing, attempt: Attempt | None) -> list[Neighbour]:
    """Return the target of a refused merge if it is no longer a neighbour, so that the typed text stays on the page."""
    shown = {near.entry.pk for near in briefing.nearest}
    into = read_number(attempt.into) if attempt else None
    if into is None or into in shown:
        return []
    found = CompanyEntry.objects.approved().filter(pk=into)
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


def _last(review: Review | None) -> LastDecision | None:
    if review is None:
        return None
    is_latest = review.entry.revision == review.after.get("revision")
    return LastDecision(review, is_latest and review.action not in {Action.UNDO, Action.REVISE, Action.WITHDRAW})


def _moment(raw: str) -> datetime | None:
    try:
        return parse_datetime(raw)
    except ValueError:
        return None
