"""Decisions in the queue: carry one out and open the next entry; many at once after a preview."""

from typing import Any

from django.contrib import messages
from django.db import transaction
from django.http import HttpRequest, HttpResponse, QueryDict
from django.shortcuts import redirect, render
from django.views.decorators.http import require_http_methods, require_POST

from accounts.actor import Actor
from accounts.authentication import actor_of
from bigmind.core.argument_checks import validate_arguments
from bigmind.core.errors import Conflict, Invalid
from bigmind.core.operations import carry_out
from bigmind.core.sentences import in_language
from bigmind.core.translation import _, gettext_lazy
from bigmind.web.forms import form_data
from bigmind.web.pages import own_page, read_number, tell
from curation.decisions.deciding import (
    BULK,
    Decision,
    Decisions,
    RefusedDecision,
    approve_global,
    decide_many,
    wait_for_pairs,
)
from curation.decisions.entry_details import comment, readable_entry
from curation.decisions.history import entry_to_change
from knowledge.models import CompanyEntry

from .entry_story import same_text
from .forms import Commenting, DecisionForm, Plain, decision_form
from .queue import Attempt, entry_screen
from .queue_queries import QueueQuestion, address_of, next_after

BULK_ACTIONS = {
    "approve": gettext_lazy("Approve"),
    "reject": gettext_lazy("Reject"),
    "request_changes": gettext_lazy("Request changes"),
    "verify": gettext_lazy("Verify"),
    "deprecate": gettext_lazy("Deprecate"),
}
"""The actions that are possible in bulk, with the labels of their buttons."""


@own_page
@require_http_methods(["GET", "HEAD", "POST"])
def deciding_about_many(request: HttpRequest) -> HttpResponse:
    """Preview what would happen to each selected entry; once that is confirmed, decide and show the result."""
    actor = actor_of(request)
    actor.require("curate")
    sent = form_data(request)
    action = (sent or request.GET).get("decision", "")
    action = action if action in BULK_ACTIONS else "approve"
    form = decision_form(action, sent=sent)
    chosen = read_selection(sent or request.GET)
    done = form.attempt(lambda values: _decide(actor, chosen, action, values)) if chosen else None
    context = {"action": action, "verb": BULK_ACTIONS[action], "form": form, "most": BULK}
    if done:
        return _page(request, {**context, "done": done, "refused": _refusals(done)})
    foreseen = _foreseen(actor, chosen, action) if chosen else Decisions()
    preview = {"foreseen": foreseen.decided, "refused": _refusals(foreseen), "has_fields": not isinstance(form, Plain)}
    return _page(request, {**context, **preview}, status=422 if sent else 200)


def _page(request: HttpRequest, context: dict[str, Any], status: int = 200) -> HttpResponse:
    return render(request, "curation/bulk.html", {**context, "back": address_of(None, request)}, status=status)


def read_selection(sent: QueryDict) -> dict[int, int | None]:
    """Return the selected entries, each with the revision that was read, if the page sent one."""
    chosen: dict[int, int | None] = {}
    for ticked in sent.getlist("entry")[:BULK]:
        number, _, revision = ticked.partition(":")
        if (entry_id := read_number(number)) is not None:
            chosen[entry_id] = read_number(revision)
    return chosen


def _decide(actor: Actor, chosen: dict[int, int | None], action: str, values: dict[str, Any]) -> Decisions:
    revisions = {str(number): revision for number, revision in chosen.items() if revision is not None}
    arguments = {**values, "entry_ids": list(chosen), "action": action, "revisions": revisions}
    done: Decisions = carry_out(decide_many, actor, arguments)
    return done


def _refusals(done: Decisions) -> list[tuple[RefusedDecision, CompanyEntry | None]]:
    """Return the refusals, each with its entry if there is one."""
    entries = CompanyEntry.objects.in_bulk([row.entry_id for row in done.refused])
    return [(row, entries.get(row.entry_id)) for row in done.refused]


def _foreseen(actor: Actor, chosen: dict[int, int | None], action: str) -> Decisions:
    """Decide and roll back: the preview is then exactly what would happen, with the reason of every refusal."""
    with transaction.atomic():
        foreseen = _decide(actor, chosen, action, {"notes": _("To see what would happen.")})
        transaction.set_rollback(True)
    return foreseen


@own_page
@require_POST
def deciding(request: HttpRequest, entry_id: int) -> HttpResponse:
    """Decide about an entry, and open the next one."""
    actor, question = actor_of(request), QueueQuestion(request)
    actor.require("curate")
    following = next_after(actor, entry_id, question.filters())
    action, into = request.POST.get("decision", ""), request.POST.get("into", "")
    form = decision_form(action, sent=request.POST, key=into if action == "merge" else "")
    if form.attempt(lambda values: decide(actor, entry_id, action, values, request.POST)):
        return redirect(address_of(following, request))
    return entry_screen(request, entry_id, attempt=attempt_of(action, form, request.POST), status=form.status)


@own_page
@require_POST
def undoing(request: HttpRequest, entry_id: int) -> HttpResponse:
    """Undo the decision that was just made, and open what it was about again, with what was typed."""
    actor = actor_of(request)
    readable_entry(actor, entry_id)  # Who may not read it hears no more than that there is no such entry.
    revision = request.POST.get("revision") or request.GET.get("revision", "")
    arguments = {"entry_id": entry_id, "action": "undo", "revision": revision}
    try:
        carry_out(approve_global, actor, arguments)
    except (Conflict, Invalid) as refusal:
        messages.error(request, _("Not undone: %(refusal)s") % {"refusal": in_language(str(refusal))})
    return redirect(address_of(entry_id, request))


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
    readers = _("everyone who may read this") if added.entry.is_approved else _("the proposer and every curator")
    tell(request, _("Your comment is visible to %(readers)s.") % {"readers": readers})
    return redirect(address_of(entry_id, request))


def attempt_of(action: str, form: DecisionForm, sent: QueryDict) -> Attempt:
    """Return a refused decision, so that the page shows it again as it was typed."""
    return Attempt(action, form, seen=read_number(sent.get("revision", "")), into=sent.get("into", ""))


def decide(actor: Actor, entry_id: int, action: str, values: dict[str, Any], sent: QueryDict) -> Decision:
    """Carry out the decision of a form, at the revision that the form showed."""
    arguments = {**values, "entry_id": entry_id, "action": action, "revision": sent.get("revision", "")}
    arguments["losing"] = sent.getlist("losing")
    if action == "edit" and not readable_entry(actor, entry_id).is_approved:
        arguments["action"] = "approve"
    if action == "merge":
        return _merge(actor, {**arguments, **{name: sent.get(name, "") for name in ("into", "into_revision")}})
    decided: Decision = carry_out(approve_global, actor, arguments)
    return decided


@transaction.atomic
def _merge(actor: Actor, values: dict[str, Any]) -> Decision:
    """Merge into an entry, which is changed only where the curator changed its text."""
    arguments = validate_arguments(approve_global, values)
    # Take the advisory lock first, as everywhere: locking the rows in another order could deadlock.
    wait_for_pairs()
    entry_to_change(arguments["entry_id"], revision=arguments["revision"])
    target = entry_to_change(arguments["into"], revision=arguments["into_revision"])
    if same_text(target, arguments["content"]):
        del arguments["content"]
    return approve_global(actor, **arguments)
