"""Documentation as people read it: collections, what was searched for, one reference, and what it said before."""

from typing import Any
from uuid import UUID

from django.http import HttpRequest, HttpResponse
from django.shortcuts import redirect, render
from django.utils.http import urlencode
from django.views.decorators.http import require_http_methods, require_POST, require_safe

from accounts.actor import Actor
from accounts.authentication import actor_of
from bigmind.core.errors import Forbidden
from bigmind.web.differences import TextChange, compare_lines
from bigmind.web.forms import form_data
from bigmind.web.pages import own_page, tell
from knowledge.models import Feedback, Kind, Reference
from knowledge.references.collections import CollectionPage, browse_references, list_collections
from knowledge.references.drift import differences
from knowledge.references.imports import require_documentarian
from knowledge.references.search import search_knowledge, voices_of
from knowledge.references.texts import text_of
from knowledge.references.texts_by_hand import read_reference
from knowledge.services.feedback import give_feedback
from knowledge.views.entry_search import Facet
from knowledge.views.reference_forms import (
    KINDS,
    Browsing,
    DocumentationQuestion,
    ReferenceCorrection,
    ReportingReference,
    correct,
    initial_of,
)

HITS_SHOWN = 20
VERSIONS_SHOWN = 20


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
    actor, form = actor_of(request), Browsing(request)
    listing = form.answer(browse_references, actor, collection=slug) or browse_references(actor, collection=slug)
    context = {
        "form": form,
        "shelf": listing,
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
    tell(request, f"Thank you. {feedback.consequence}")
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
        tell(request, "Saved. The next import will not overwrite it.")
        return redirect("reference", reference_id)
    status = 200 if form.changes is None else 409
    return render(request, "knowledge/reference_form.html", {"form": form, "reference": shown}, status=status)


@own_page
@require_safe
def versions(request: HttpRequest, reference_id: UUID) -> HttpResponse:
    """Show what a reference said before, and what each change made different."""
    shown = read_reference(reference_id)
    kept = list(shown.versions.select_related("by").order_by("-number")[:VERSIONS_SHOWN])
    after = [text_of(shown), *(one.text for one in kept[:-1])]
    # Of a reference that never changed nothing is kept, and what it says now comes after nothing.
    rows = [{"version": one, "changes": changes(one.text, now)} for one, now in zip(kept, after, strict=False)]
    context = {"reference": shown, "rows": rows, "total": shown.versions.count()}
    return render(request, "knowledge/reference_versions.html", context)


def changes(before: dict[str, Any] | None, after: dict[str, Any] | None) -> list[TextChange]:
    """Return where two texts differ, line by line, as a page shows it."""
    return [TextChange(one.label, compare_lines(one.before, one.after)) for one in differences(before, after)]


def may_change(actor: Actor) -> bool:
    """Whether the actor may change documentation."""
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
    chosen = form.asked.get("type", "")
    numbers = {"": sum(listing.kinds.values()), **listing.kinds}
    return [
        Facet(label, f"?{urlencode({'type': name})}" if name else "?", numbers[name], name == chosen)
        for name, label in KINDS.items()
        if numbers.get(name)
    ]


def _category_facets(form: Browsing, listing: CollectionPage) -> list[Facet]:
    chosen, kind = form.asked.get("category", ""), form.asked.get("type", "")
    kept = {"type": kind} if kind else {}
    return [
        Facet(name, f"?{urlencode(kept if name == chosen else {**kept, 'category': name})}", number, name == chosen)
        for name, number in listing.categories.items()
    ]
