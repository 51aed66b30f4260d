"""Decisions in the queue: carry one out and open the next entry, or show on the same screen why it was refused."""

from typing import Any

from django.contrib import messages
from django.db import transaction
from django.http import HttpRequest, HttpResponse, QueryDict
from django.shortcuts import redirect
from django.views.decorators.http import require_POST

from accounts.actor import Actor
from accounts.authentication import actor_of
from bigmind.core.errors import Conflict, Invalid
from bigmind.core.operations import carry_out, validate_arguments
from bigmind.web.pages import own_page, tell
from curation.decisions.decisions import Decision, approve_global, wait_for_pairs
from curation.decisions.entries import comment, readable_entry
from curation.decisions.history import entry_to_change
from knowledge.models import CompanyEntry

from .differences import same_text
from .forms import Commenting, DecisionForm, decision_form
from .queue_queries import QueueQuestion, address_of, next_after
from .screen import Attempt, entry_screen

REFUSED = {Conflict: 409, Invalid: 422}


@own_page
@require_POST
def deciding(request: HttpRequest, entry_id: int) -> HttpResponse:
    """Decide about an entry, and open the next one."""
    actor, question = actor_of(request), QueueQuestion(request)
    actor.require("curate")
    entry = readable_entry(actor, entry_id)
    following = next_after(actor, entry, question.filters())
    action, into = request.POST.get("deed", ""), request.POST.get("into", "")
    form = decision_form(action, sent=request.POST, key=into)
    if form.attempt(lambda values: decide(actor, entry, action, values, request.POST)):
        return redirect(address_of(following, request))
    status = REFUSED[type(form.refusal)] if form.refusal else 422
    return entry_screen(request, entry_id, attempt=attempt_of(action, form, request.POST), status=status)


@own_page
@require_POST
def undoing(request: HttpRequest, entry_id: int) -> HttpResponse:
    """Undo the decision that was just made, and stay on the entry that is open."""
    actor = actor_of(request)
    readable_entry(actor, entry_id)  # Who may not read it hears no more than that there is no such entry.
    wanted = {"entry_id": entry_id, "action": "undo", "revision": request.POST.get("revision", "")}
    try:
        carry_out(approve_global, actor, wanted)
    except (Conflict, Invalid) as refusal:
        messages.error(request, f"Not undone: {refusal}")
    opened = _number(request.POST.get("opened", ""))
    return redirect(address_of(readable_entry(actor, opened) if opened else None, request))


@own_page
@require_POST
def commenting(request: HttpRequest, entry_id: int) -> HttpResponse:
    """Add a comment without deciding."""
    actor = actor_of(request)
    actor.require("curate")
    form = Commenting(request.POST, auto_id="comment-%s")
    added = form.carry_out(comment, actor, entry_id=entry_id)
    if added is None:
        return entry_screen(request, entry_id, comment=form, status=422)
    readers = "everyone who may read this" if added.entry.is_approved else "the proposer and every curator"
    tell(request, f"Your comment is visible to {readers}.")
    return redirect(address_of(added.entry, request))


def attempt_of(action: str, form: DecisionForm, sent: QueryDict) -> Attempt:
    """Return a refused decision, so that the page shows it again as it was typed."""
    return Attempt(action, form, seen=_number(sent.get("revision", "")), into=sent.get("into", ""))


def decide(actor: Actor, entry: CompanyEntry, action: str, values: dict[str, Any], sent: QueryDict) -> Decision:
    """Carry out the decision of a form, at the revision that the form showed."""
    wanted = {**values, "entry_id": entry.pk, "action": action, "revision": sent.get("revision", "")}
    wanted |= {name: sent.getlist(name) for name in ("despite", "losing")}
    if action == "edit" and not entry.is_approved:
        wanted["action"] = "approve"
    if action == "merge":
        return _merge(actor, {**wanted, "into": sent.get("into", "")}, seen=sent.get("into_revision", ""))
    if action == "supersede":
        wanted["into"] = sent.get("into", "")
    decided: Decision = carry_out(approve_global, actor, wanted)
    return decided


@transaction.atomic
def _merge(actor: Actor, values: dict[str, Any], *, seen: str) -> Decision:
    """Merge into an entry at the revision that the curator read, so that a later change is not overwritten."""
    wanted = validate_arguments(approve_global, values)
    # Take the advisory lock first, as everywhere: locking the rows in another order could deadlock.
    wait_for_pairs()
    entry_to_change(wanted["entry_id"], revision=wanted["revision"])
    target = entry_to_change(wanted["into"], revision=_number(seen))
    if same_text(target, wanted["content"]):
        del wanted["content"]
    return approve_global(actor, **wanted)


def _number(raw: str) -> int | None:
    return int(raw) if raw.isascii() and raw.isdecimal() and len(raw) < 10 else None
