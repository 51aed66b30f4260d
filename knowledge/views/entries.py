"""The knowledge base that everybody here shares: browse, read, add, correct, delete."""

from datetime import timedelta
from typing import Any
from uuid import UUID

from django.http import HttpRequest, HttpResponse
from django.shortcuts import redirect, render
from django.views.decorators.http import require_http_methods, require_safe

from accounts.actor import Actor
from accounts.authentication import actor_of
from bigmind.core.errors import Forbidden
from bigmind.core.operations import carry_out
from bigmind.web.forms import form_data
from bigmind.web.pages import own_page, tell
from knowledge.models import Entry
from knowledge.services.entries import add_entry, delete_entry, may_change
from knowledge.services.entry_browsing import HITS, Shelved, browse_entries
from knowledge.services.entry_reading import get_entry, get_related_entries
from knowledge.views.entry_forms import (
    EntryCorrection,
    NewEntryForm,
    correct,
    initial_of,
    readable,
)
from knowledge.views.entry_search import EntryQuestion, address_with, tag_facets, type_facets
from knowledge.views.entry_words import heading_and_body, plain, shorten, words_of

RELATED_SHOWN = 8
CHILDREN_SHOWN = 20
HIT_CHARS = 320
A_MOMENT = timedelta(seconds=1)
"""The two dates of an entry that nobody changed differ by less."""


@own_page
@require_safe
def entries(request: HttpRequest) -> HttpResponse:
    """Browse the knowledge base, by words and meaning or by what is known about each entry."""
    form = EntryQuestion(request)
    listing = form.answer(browse_entries, actor_of(request))
    context = {
        "form": form,
        "shelf": listing,
        "page": listing.page if listing else None,
        "rows": [_row(one) for one in listing.page.items] if listing else [],
        "types": type_facets(request, form, listing),
        "tags": tag_facets(request, form, listing),
        "noun": _noun(form, listing.page.total) if listing else "",
        "start": address_with(request),
    }
    return render(request, "knowledge/entries.html", context)


@own_page
@require_safe
def entry(request: HttpRequest, entry_id: UUID) -> HttpResponse:
    """Show one entry: its text, where it comes from, and what belongs to it."""
    actor = actor_of(request)
    shown = get_entry(actor, id=entry_id)
    heading, body = heading_and_body(shown.content)
    related = get_related_entries(actor, entry_id=entry_id, limit=RELATED_SHOWN)
    children = shown.children.order_by("-created_at", "pk")[:CHILDREN_SHOWN]
    family = {shown.parent_id, *(child.pk for child in children)}
    context = {
        "entry": shown,
        "name": _name(shown),
        "heading": heading,
        "body": body,
        "metadata": readable(shown.metadata),
        "parent": _with_title(shown.parent),
        "similar": _with_title(shown.similar_to),
        "children": [_with_title(child) for child in children],
        "related": [_with_title(other) for other in related.items if other.pk not in family],
        "was_changed": shown.updated_at - shown.created_at > A_MOMENT,
        "may_change": may_change(actor, shown),
    }
    return render(request, "knowledge/entry.html", context)


@own_page
@require_http_methods(["GET", "HEAD", "POST"])
def new_entry(request: HttpRequest) -> HttpResponse:
    """Add an entry. One that is known already is linked, and what was typed stays."""
    actor = actor_of(request)
    form = NewEntryForm(form_data(request), initial=_initial_values(request))
    added = form.attempt(lambda values: carry_out(add_entry, actor, values))
    if added and added.success:
        tell(request, "Added. Everybody here and their agents can find it now.")
        return redirect("kb-entry", added.id)
    return render(request, "knowledge/entry_form.html", {"form": form, "known": added.id if added else form.known})


def _initial_values(request: HttpRequest) -> dict[str, str]:
    """What the address begins the form with, such as a question that found nothing."""
    return {name: text for name in ("entry_type", "content", "project") if (text := request.GET.get(name, ""))}


@own_page
@require_http_methods(["GET", "HEAD", "POST"])
def entry_correction(request: HttpRequest, entry_id: UUID) -> HttpResponse:
    """Edit an entry. When it was changed since the form was opened, say what differs instead of overwriting it."""
    actor = actor_of(request)
    shown = _changeable(actor, entry_id)
    form = EntryCorrection(form_data(request), initial=initial_of(shown))
    corrected = form.attempt(lambda values: correct(actor, shown, values))
    if corrected:
        tell(request, "Saved. Searches find the new text now.")
        return redirect("kb-entry", corrected.pk)
    context = {"form": form, "entry": shown, "name": _name(shown), "known": form.known}
    status = 200 if form.changes is None else 409
    return render(request, "knowledge/entry_form.html", context, status=status)


@own_page
@require_http_methods(["GET", "HEAD", "POST"])
def entry_deletion(request: HttpRequest, entry_id: UUID) -> HttpResponse:
    """Ask once more, saying what goes; then delete it."""
    actor = actor_of(request)
    shown = _changeable(actor, entry_id)
    if request.method == "POST":
        delete_entry(actor, id=entry_id)
        tell(request, "The entry is deleted.")
        return redirect("kb")
    context = {"entry": shown, "name": _name(shown), "children": shown.children.count()}
    return render(request, "knowledge/entry_delete.html", context)


def _changeable(actor: Actor, entry_id: UUID) -> Entry:
    shown = get_entry(actor, id=entry_id)
    if not may_change(actor, shown):
        raise Forbidden("This entry was added by somebody else.", hint="Ask a curator to change it.")
    return shown


def _noun(form: EntryQuestion, total: int) -> str:
    if "query" not in form.asked:
        return "entries"
    return "best matches" if total == HITS else "matches"


def _row(shelved: Shelved) -> dict[str, Any]:
    words = words_of(shelved.entry.content)
    excerpt = words.excerpt
    if shelved.matched:
        found = plain(shelved.excerpt)
        # A passage from the beginning repeats the title, which stands right above it.
        excerpt = excerpt if found.startswith(words.title.rstrip("…")) else shorten(found, HIT_CHARS)
    return {"entry": shelved.entry, "title": words.title, "excerpt": excerpt, "matched": shelved.matched}


def _name(entry: Entry) -> str:
    return words_of(entry.content).title


def _with_title(entry: Entry | None) -> dict[str, Any] | None:
    return {"entry": entry, "title": _name(entry)} if entry else None
