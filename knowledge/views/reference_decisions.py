"""What documentation lacks, and what has to be decided about it."""

from typing import Any

from django.http import HttpRequest, HttpResponse
from django.shortcuts import redirect, render
from django.views.decorators.http import require_http_methods, require_safe

from accounts.actor import Actor
from accounts.authentication import actor_of
from bigmind.core.errors import Invalid
from bigmind.web.forms import form_data
from bigmind.web.pages import own_page, tell
from knowledge.models import Reference, ReferenceDrift
from knowledge.references.collections import cover
from knowledge.references.drift import decide_drift, see_drift
from knowledge.references.texts import text_of
from knowledge.views.reference_forms import ReferenceCorrection, initial_of, read_correction
from knowledge.views.references import changes, may_change

DONE = {
    "mine": "Your text stands.",
    "new": "The text of the source stands.",
    "edited": "What you wrote stands.",
}


@own_page
@require_safe
def coverage(request: HttpRequest, slug: str) -> HttpResponse:
    """Show how well a collection is covered, and what waits for a decision."""
    actor = actor_of(request)
    report = cover(actor, collection=slug)
    return render(request, "knowledge/docs_coverage.html", {"report": report, "may_change": may_change(actor)})


@own_page
@require_http_methods(["GET", "HEAD", "POST"])
def decision(request: HttpRequest, drift_id: int) -> HttpResponse:
    """Show what a person wrote beside what its source says now, and let someone say which stands."""
    actor = actor_of(request)
    drift = see_drift(actor, drift_id=drift_id)
    form = ReferenceCorrection(form_data(request), initial=initial_of(drift.reference))
    chosen = request.POST.get("decision", "")
    decided: Reference | None = None
    if chosen in {"mine", "new"}:
        decided = decide_drift(actor, drift_id=drift.pk, decision=chosen)  # type: ignore[arg-type]
    elif request.method == "POST":
        decided = form.attempt(lambda values: _apply_edit(actor, drift, values))
    if decided is None:
        context = {"drift": drift, "reference": drift.reference, "form": form, **_differences(drift)}
        return render(request, "knowledge/reference_decision.html", context)
    tell(request, DONE.get(chosen, DONE["edited"]))
    return redirect("docs-coverage", drift.reference.collection.slug)


def _apply_edit(actor: Actor, drift: ReferenceDrift, values: dict[str, Any]) -> Reference:
    wanted = read_correction(drift.reference, values)
    del wanted["reference_id"]
    if not wanted:
        raise Invalid("Nothing was written.")
    return decide_drift(actor, drift_id=drift.pk, decision="edited", **wanted)


def _differences(drift: ReferenceDrift) -> dict[str, Any]:
    return {
        "of_source": changes(drift.before, drift.now) if drift.now else [],
        "of_both": changes(text_of(drift.reference), drift.now) if drift.now else [],
    }
