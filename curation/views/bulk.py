"""Bulk decisions: first a preview of what would happen to each entry, then the result."""

from typing import Any

from django.db import transaction
from django.http import HttpRequest, HttpResponse, QueryDict
from django.shortcuts import render
from django.views.decorators.http import require_http_methods

from accounts.actor import Actor
from accounts.authentication import actor_of
from bigmind.core.operations import carry_out
from bigmind.web.forms import form_data
from bigmind.web.pages import own_page
from curation.decisions.decisions import BULK, Decisions, decide_many
from knowledge.models import CompanyEntry

from .forms import Plain, decision_form
from .queue_queries import address_of

BULK_ACTIONS = {
    "approve": "Approve",
    "reject": "Reject",
    "request_changes": "Request changes",
    "verify": "Verify",
    "deprecate": "Deprecate",
}
"""The actions that are possible in bulk, with the labels of their buttons."""


@own_page
@require_http_methods(["GET", "HEAD", "POST"])
def deciding_about_many(request: HttpRequest) -> HttpResponse:
    """Preview what would happen to each selected entry; once that is confirmed, decide and show the result."""
    actor = actor_of(request)
    actor.require("curate")
    sent = form_data(request)
    action = (sent or request.GET).get("deed", "")
    action = action if action in BULK_ACTIONS else "approve"
    form = decision_form(action, sent=sent)
    chosen = _read_selection(sent or request.GET)
    done = form.attempt(lambda values: _decide(actor, chosen, action, values)) if chosen else None
    context = {"action": action, "verb": BULK_ACTIONS[action], "form": form, "most": BULK}
    if done:
        return _page(request, {**context, "done": done, "refused": _refusals(done)})
    foreseen = _foreseen(actor, list(chosen), action) if chosen else Decisions()
    preview = {"foreseen": foreseen.decided, "refused": _refusals(foreseen), "has_fields": not isinstance(form, Plain)}
    return _page(request, {**context, **preview}, status=422 if sent else 200)


def _page(request: HttpRequest, context: dict[str, Any], status: int = 200) -> HttpResponse:
    return render(request, "curation/bulk.html", {**context, "back": address_of(None, request)}, status=status)


def _read_selection(sent: QueryDict) -> dict[int, int | None]:
    """Return the selected entries, each with the revision that was read, if the page sent one."""
    chosen: dict[int, int | None] = {}
    for ticked in sent.getlist("entry")[:BULK]:
        number, _, revision = ticked.partition(":")
        if number.isdecimal() and len(number) < 19:
            chosen[int(number)] = int(revision) if revision.isdecimal() and len(revision) < 10 else None
    return chosen


def _decide(actor: Actor, chosen: dict[int, int | None], action: str, values: dict[str, Any]) -> Decisions:
    revisions = {str(number): revision for number, revision in chosen.items() if revision is not None}
    wanted = {**values, "entry_ids": list(chosen), "action": action, "revisions": revisions}
    done: Decisions = carry_out(decide_many, actor, wanted)
    return done


def _refusals(done: Decisions) -> list[dict[str, Any]]:
    """Return the refusals, each with its entry if there is one."""
    entries = CompanyEntry.objects.in_bulk([row["entry_id"] for row in done.refused])
    return [{**row, "entry": entries.get(row["entry_id"])} for row in done.refused]


def _foreseen(actor: Actor, numbers: list[int], action: str) -> Decisions:
    """Decide and roll back: the preview is then exactly what would happen, with the reason of every refusal."""
    known = CompanyEntry.objects.filter(pk__in=numbers).values_list("pk", "revision")
    with transaction.atomic():
        foreseen = _decide(actor, dict.fromkeys(numbers) | dict(known), action, {"notes": "To see what would happen."})
        transaction.set_rollback(True)
    return foreseen
