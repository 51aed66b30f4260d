"""Documentation as people read it: collections, what was searched for, one reference, and what has to be decided."""

from collections.abc import Iterable
from typing import Any
from uuid import UUID

from django import forms
from django.conf import settings
from django.db import transaction
from django.http import HttpRequest, HttpResponse
from django.shortcuts import redirect, render
from django.utils.http import urlencode
from django.views.decorators.http import require_http_methods, require_POST, require_safe

from accounts.actor import Actor
from accounts.authentication import actor_of
from accounts.services.usage import COLLEAGUES
from bigmind.core.argument_checks import validate_arguments
from bigmind.core.errors import Forbidden, Invalid
from bigmind.core.translation import _, gettext_lazy
from bigmind.web.differences import TextChange, compare_lines
from bigmind.web.forms import Names, OperationForm, Question, TextField, choice, form_data, search_field
from bigmind.web.pages import own_page, tell
from knowledge.argument_types import ReferenceKind
from knowledge.exposures.feedback import give_feedback
from knowledge.models import Feedback, Kind, Reference, ReferenceDrift
from knowledge.references.collections import CollectionPage, browse_references, cover, list_collections
from knowledge.references.editing import decide_drift, differences, read_reference, see_drift, update_reference
from knowledge.references.imports import require_documentarian
from knowledge.references.search import search_knowledge, voices_of
from knowledge.references.texts import text_of
from knowledge.views.corrections import CorrectionForm, StaleCorrection, was_seen
from knowledge.views.entries import Facet, risk_choice

KINDS = {
    "": gettext_lazy("All"),
    ReferenceKind.COMMAND: gettext_lazy("Commands"),
    ReferenceKind.API: gettext_lazy("Endpoints"),
    ReferenceKind.GUIDE: gettext_lazy("Guides"),
    ReferenceKind.FEATURE: gettext_lazy("Features"),
    ReferenceKind.TROUBLESHOOTING: gettext_lazy("Troubleshooting"),
    ReferenceKind.SETTING: gettext_lazy("Settings"),
}
EDITED_FIELDS = ("title", "summary", "content", "aliases", "keywords", "category", "subcategory")

HITS_SHOWN = 20
VERSIONS_SHOWN = 20

DONE = {
    "mine": gettext_lazy("Your text is used."),
    "new": gettext_lazy("The text of the source is used."),
    "edited": gettext_lazy("Your text is used."),
}


class DocumentationQuestion(Question):
    """A question to all documentation, or to one collection."""

    query = search_field(gettext_lazy("Search the documentation"))

    def __init__(self, request: HttpRequest, collections: Iterable[tuple[str, str]]) -> None:
        super().__init__(request.GET)
        kinds = [(name, label) for name, label in KINDS.items() if name]
        self.fields["type"] = choice(kinds, blank=_("Everything"), required=False, label=_("Kind"))
        self.fields["collection"] = choice(collections, blank=_("All"), required=False)


class Browsing(Question):
    """Which part of a collection is shown. Both are chosen by links, and kept along."""

    type = forms.CharField(required=False, widget=forms.HiddenInput)
    category = forms.CharField(required=False, widget=forms.HiddenInput)
    risk = risk_choice()


class ReportingReference(OperationForm):
    """Says what a reference was worth."""

    note = TextField(
        rows=2, required=False, help_text=gettext_lazy("What is true instead, if it is wrong or outdated.")
    )


class ReferenceCorrection(CorrectionForm):
    """Says a reference better."""

    title = forms.CharField()
    summary = TextField(rows=2, required=False, help_text=gettext_lazy("One or two sentences that results show."))
    content = TextField(rows=16, label=gettext_lazy("Text"), help_text=gettext_lazy("In markdown."))
    aliases = Names(
        required=False,
        help_text=gettext_lazy("Other names it is found by, with commas between: get users, show users."),
    )
    keywords = Names(required=False, help_text=gettext_lazy("Words it is found by, with commas between."))
    category = forms.CharField(required=False)
    subcategory = forms.CharField(required=False)


def initial_of(reference: Reference) -> dict[str, Any]:
    """Return what the form shows of a reference as it is stored."""
    return {**{name: getattr(reference, name) for name in EDITED_FIELDS}, "seen": reference.updated_at.isoformat()}


def read_correction(reference: Reference, values: dict[str, Any]) -> dict[str, Any]:
    """Return a correction as the operation wants it.

    Raises:
        Invalid: a field is wrong.
    """
    return validate_arguments(
        update_reference, {"reference_id": str(reference.pk), **{name: values[name] for name in EDITED_FIELDS}}
    )


@transaction.atomic
def correct(actor: Actor, reference: Reference, values: dict[str, Any]) -> Reference:
    """Write a correction, unless the reference is not what was seen.

    Raises:
        NotFound: it is gone.
        StaleCorrection: it was changed meanwhile.
    """
    edit = read_correction(reference, values)
    # Locked, so that of two who save at once the second hears of it.
    stored = read_reference(reference.pk, lock=True)
    if not was_seen(stored.updated_at, values["seen"]):
        raise StaleCorrection(_("This was changed while you were editing it."), initial_of(stored))
    return update_reference(actor, **edit)


@own_page
@require_safe
def documentation(request: HttpRequest) -> HttpResponse:
    """Show the collections, or what a question finds in them."""
    actor = actor_of(request)
    collections = list(list_collections(actor))
    form = DocumentationQuestion(request, [(one.slug, one.title) for one in collections])
    hits = form.answer(search_knowledge, actor, limit=HITS_SHOWN) if "query" in form.asked else None
    context = {"form": form, "hits": hits, "collections": collections, "may_change": may_change(actor)}
    return render(request, "knowledge/docs.html", context)


@own_page
@require_safe
def collection(request: HttpRequest, slug: str) -> HttpResponse:
    """Browse one collection by kind and category."""
    actor, form = actor_of(request), Browsing(request.GET)
    listing = form.answer(browse_references, actor, collection=slug) or browse_references(actor, collection=slug)
    context = {
        "form": form,
        "listing": listing,
        "page": listing.page,
        "types": _kind_tabs(form, listing),
        "categories": _category_facets(form, listing),
        "search": DocumentationQuestion(request, [(listing.collection.slug, listing.collection.title)]),
    }
    return render(request, "knowledge/docs_collection.html", context)


@own_page
@require_safe
def reference(request: HttpRequest, reference_id: UUID) -> HttpResponse:
    """Show one reference: how to call it, what it says, examples, what belongs to it."""
    return _page(request, reference_id)


@own_page
@require_POST
def reporting(request: HttpRequest, reference_id: UUID) -> HttpResponse:
    """Say whether it was useful, wrong or outdated."""
    actor, form = actor_of(request), ReportingReference(request.POST)
    verdict = request.POST.get("verdict", "")
    feedback = form.carry_out(give_feedback, actor, kind="reference", id=str(reference_id), verdict=verdict)
    if feedback is None:
        return _page(request, reference_id, status=422, feedback=form)
    tell(request, _("Thank you. %(consequence)s") % {"consequence": feedback.consequence})
    return redirect("reference", reference_id)


@own_page
@require_http_methods(["GET", "HEAD", "POST"])
def correction(request: HttpRequest, reference_id: UUID) -> HttpResponse:
    """Edit a reference. When it was changed since the form was opened, say what differs instead of overwriting it."""
    actor = actor_of(request)
    require_documentarian(actor)
    shown = read_reference(reference_id)
    form = ReferenceCorrection(form_data(request), initial=initial_of(shown))
    if form.attempt(lambda values: correct(actor, shown, values)):
        tell(request, _("Saved. The next import will not overwrite it."))
        return redirect("reference", reference_id)
    status = 200 if form.changes is None else 409
    return render(request, "knowledge/reference_form.html", {"form": form, "reference": shown}, status=status)


@own_page
@require_safe
def versions(request: HttpRequest, reference_id: UUID) -> HttpResponse:
    """Show what a reference said before, and what each change made different."""
    shown = read_reference(reference_id)
    kept = list(shown.versions.select_related("by").order_by("-number")[:VERSIONS_SHOWN])
    # A version is the text before a change, so what it became is the next newer one, or the text of today.
    after = [text_of(shown), *(one.text for one in kept[:-1])]
    # Of a reference that never changed nothing is kept, and what it says now comes after nothing.
    rows = [{"version": one, "changes": changes(one.text, now)} for one, now in zip(kept, after, strict=False)]
    context = {"reference": shown, "rows": rows, "total": shown.versions.count()}
    return render(request, "knowledge/reference_versions.html", context)


def changes(before: dict[str, Any] | None, after: dict[str, Any] | None) -> list[TextChange]:
    """Return where two texts differ, line by line, as a page shows it."""
    return [TextChange(one.label, compare_lines(one.before, one.after)) for one in differences(before, after)]


def may_change(actor: Actor) -> bool:
    try:
        require_documentarian(actor)
    except Forbidden:
        return False
    return True


def _page(request: HttpRequest, reference_id: UUID, *, status: int = 200, **more: Any) -> HttpResponse:
    actor, shown = actor_of(request), read_reference(reference_id)
    others = Reference.objects.current().filter(collection=shown.collection_id, key__in=shown.related)
    form = shown.form or {}
    context = {
        "reference": shown,
        "parts": [*form.get("arguments", []), *form.get("options", [])],
        "related": others.order_by("name", "title"),
        "voices": voices_of([shown.pk]).get(shown.pk),
        "verdict": Feedback.objects.filter(user=actor.user, kind=Kind.REFERENCE, source_id=str(shown.pk)).first(),
        "feedback": ReportingReference(),
        "earlier": shown.versions.count(),
        "drift": shown.drifts.filter(decided_at=None).first(),
        "may_change": may_change(actor),
        **more,
    }
    return render(request, "knowledge/reference.html", context, status=status)


def _kind_tabs(form: Browsing, listing: CollectionPage) -> list[Facet]:
    chosen, risk = form.asked.get("type", ""), form.asked.get("risk", "")
    numbers = {"": sum(listing.kinds.values()), **listing.kinds}
    kinds = [
        Facet(label, f"?{urlencode({'type': name})}" if name else "?", numbers[name], name == chosen and not risk)
        for name, label in KINDS.items()
        if numbers.get(name)
    ]
    if risk or listing.flagged:
        kinds.append(Facet(_("With signs of injection"), "?risk=flagged", listing.flagged, risk == "flagged"))
    return kinds


def _category_facets(form: Browsing, listing: CollectionPage) -> list[Facet]:
    chosen, kind = form.asked.get("category", ""), form.asked.get("type", "")
    kept = {"type": kind} if kind else {}
    return [
        Facet(name, f"?{urlencode(kept if name == chosen else {**kept, 'category': name})}", number, name == chosen)
        for name, number in listing.categories.items()
    ]


@own_page
@require_safe
def coverage(request: HttpRequest, slug: str) -> HttpResponse:
    """Show how well a collection is covered, and what waits for a decision."""
    actor = actor_of(request)
    report = cover(actor, collection=slug)
    context = {"report": report, "may_change": may_change(actor), "colleagues": COLLEAGUES}
    context["is_personal"] = settings.BIGMIND_MODE == "personal"
    return render(request, "knowledge/docs_coverage.html", context)


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
    edit = read_correction(drift.reference, values)
    del edit["reference_id"]
    if not edit:
        raise Invalid(_("Nothing was written."))
    return decide_drift(actor, drift_id=drift.pk, decision="edited", **edit)


def _differences(drift: ReferenceDrift) -> dict[str, Any]:
    return {
        "of_source": changes(drift.before, drift.now) if drift.now else [],
        "of_both": changes(text_of(drift.reference), drift.now) if drift.now else [],
    }
