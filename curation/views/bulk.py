"""Deciding about many entries alike: first what would happen to each, then what did."""

from typing import Any

from django.db import transaction
from django.http import HttpRequest, HttpResponse, QueryDict
from django.shortcuts import render
from django.views.decorators.http import require_http_methods

from accounts.actor import Actor
from accounts.authentication import actor_of
from bigmind.core.operations import carry_out
from bigmind.web.forms import posted_data
from bigmind.web.pages import own_page
from curation.decisions.decisions import BULK, Decisions, decide_many
from knowledge.models import CompanyEntry

from .forms import Plain, decision_form
from .queue_positions import address_of

DEEDS = {
    "approve": "Approve",
    "reject": "Reject",
    "request_changes": "Request changes",
    "verify": "Verify",
    "deprecate": "Deprecate",
}
"""What can be done to many alike, as the buttons say it."""


@own_page
@require_http_methods(["GET", "HEAD", "POST"])
def deciding_about_many(request: HttpRequest) -> HttpResponse:
    """Show what would happen to each entry that was chosen; when that is confirmed, decide and tell what happened."""
    actor = actor_of(request)
    actor.require("curate")
    sent = posted_data(request)
    deed = (sent or request.GET).get("deed", "")
    deed = deed if deed in DEEDS else "approve"
    form = decision_form(deed, sent=sent)
    chosen = _selected(sent or request.GET)
    done = form.attempt(lambda told: _decide(actor, chosen, deed, told)) if chosen else None
    context = {"deed": deed, "deeds": DEEDS, "verb": DEEDS[deed], "form": form, "most": BULK}
    if done:
        return _page(request, {**context, "done": done, "refused": _refusals(done)})
    foreseen = _foreseen(actor, list(chosen), deed) if chosen else Decisions()
    preview = {"foreseen": foreseen.decided, "refused": _refusals(foreseen), "has_fields": not isinstance(form, Plain)}
    return _page(request, {**context, **preview}, status=422 if sent else 200)


def _page(request: HttpRequest, context: dict[str, Any], status: int = 200) -> HttpResponse:
    return render(request, "curation/bulk.html", {**context, "back": address_of(None, request)}, status=status)


def _selected(sent: QueryDict) -> dict[int, int | None]:
    """Return the entries that were ticked, each with the revision that was read where the page said one."""
    chosen: dict[int, int | None] = {}
    for said in sent.getlist("entry")[:BULK]:
        number, _, revision = said.partition(":")
        if number.isdecimal() and len(number) < 19:
            chosen[int(number)] = int(revision) if revision.isdecimal() and len(revision) < 10 else None
    return chosen


def _decide(actor: Actor, chosen: dict[int, int | None], deed: str, told: dict[str, Any]) -> Decisions:
    revisions = {str(number): revision for number, revision in chosen.items() if revision is not None}
    wanted = {**told, "entry_ids": list(chosen), "action": deed, "revisions": revisions}
    done: Decisions = carry_out(decide_many, actor, wanted)
    return done


def _refusals(done: Decisions) -> list[dict[str, Any]]:
    """Return what was refused, each with its entry where there is one."""
    entries = CompanyEntry.objects.in_bulk([row["entry_id"] for row in done.refused])
    return [{**row, "entry": entries.get(row["entry_id"])} for row in done.refused]


def _foreseen(actor: Actor, numbers: list[int], deed: str) -> Decisions:
    """Decide and take it all back: what is foreseen is exactly what would happen, with every reason it would not."""
    known = CompanyEntry.objects.filter(pk__in=numbers).values_list("pk", "revision")
    with transaction.atomic():
        foreseen = _decide(actor, dict.fromkeys(numbers) | dict(known), deed, {"notes": "To see what would happen."})
        transaction.set_rollback(True)
    return foreseen
