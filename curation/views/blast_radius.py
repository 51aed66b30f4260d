"""The page of what a decision would change: about one entry, several, or a text that is being written."""

from typing import Any

from django.http import HttpRequest, HttpResponse
from django.shortcuts import redirect, render
from django.views.decorators.http import require_http_methods

from accounts.authentication import actor_of
from bigmind.core.argument_checks import validate_arguments
from bigmind.core.errors import Invalid
from bigmind.web.pages import own_page, read_number
from curation.decisions.deciding import approve_global
from curation.proposals.blast_radius import blast_radius
from curation.proposals.decision_trials import ACTIONS
from knowledge.models import CompanyEntry

from .deciding import read_selection

EDITABLE = ("title", "content", "category", "importance")


@own_page
@require_http_methods(["GET", "HEAD", "POST"])
def radius(request: HttpRequest) -> HttpResponse:
    """Show what a decision would change. A form that is sent here is tried and changes nothing."""
    actor = actor_of(request)
    actor.require("curate")
    chosen = list(read_selection(request.GET))
    if not chosen:
        return redirect("curation")
    sent = request.POST if request.method == "POST" else request.GET
    named = sent.get("decision", "")
    action: Any = named if named in ACTIONS else None
    found, problem = None, ""
    entries = list(CompanyEntry.objects.filter(pk__in=chosen).order_by("pk"))
    try:
        found = blast_radius(
            actor,
            entry_ids=chosen,
            action=action,
            edits=_edits_of(request, chosen[0]),
            into=read_number(sent.get("into", "")),
        )
    except Invalid as refusal:
        problem = str(refusal)
    context = {"radius": found, "entries": entries, "problem": problem}
    return render(request, "curation/radius.html", context, status=422 if problem else 200)


def _edits_of(request: HttpRequest, entry_id: int) -> dict[str, Any]:
    """Return what a form would change of the entry, checked as the decision checks it."""
    given = {name: request.POST[name] for name in EDITABLE if request.POST.get(name)}
    if not given:
        return {}
    arguments = validate_arguments(approve_global, {**given, "entry_id": entry_id, "action": "edit", "revision": 1})
    return {name: arguments[name] for name in given}
