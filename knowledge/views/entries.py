"""The knowledge base that everybody here shares: browse, search, read, add, correct, delete."""

import re
from dataclasses import dataclass
from datetime import timedelta
from typing import Any
from uuid import UUID

from django import forms
from django.http import HttpRequest, HttpResponse
from django.shortcuts import redirect, render
from django.utils.http import urlencode
from django.views.decorators.http import require_http_methods, require_POST, require_safe

from accounts.actor import Actor
from accounts.authentication import actor_of
from bigmind.core.errors import Forbidden
from bigmind.core.operations import carry_out
from bigmind.core.translation import _, gettext_lazy
from bigmind.web.forms import Question, choice, form_data, search_field
from bigmind.web.pages import own_page, tell
from bigmind.web.words import choices_in_words
from knowledge.exposures.exposures import counts_of
from knowledge.kb.entries import add_entry, delete_entry, may_change
from knowledge.kb.entry_reading import (
    EntryListing,
    browse_entries,
    get_entry,
    get_related_entries,
    projects_with_entries,
)
from knowledge.kb.found_entries import HITS, FoundEntry
from knowledge.memory.trigger_levels import set_entry_trigger_level
from knowledge.models import Entry, Kind, TriggerLevel
from knowledge.views.entry_forms import EntryCorrection, NewEntryForm, correct, initial_of, readable
from knowledge.views.triggers import triggers_of

READ_CHARS = 4_000
"""How much of an entry is read for its words in a list; it may have 64 KiB, and a list has many."""
HEAD_CHARS = 110
EXCERPT_CHARS = 280

_HEADING = re.compile(r"#{1,6}[ \t]+(\S[^\n]*)")
_OPENERS = re.compile(r"^\s*(?:(?:#{1,6}|>|[-*+]|\d{1,3}[.)])\s+)+")
_LINK = re.compile(r"!?\[([^\[\]\n]{1,200})\]\([^)\n]{0,500}\)")
_STRESS = re.compile(r"\*\*|~~|`+")

TYPES = {
    "": gettext_lazy("All"),
    "fact": gettext_lazy("Facts"),
    "summary": gettext_lazy("Summaries"),
    "template": gettext_lazy("Templates"),
}
ROLES = {"pm": gettext_lazy("Product"), "dev": gettext_lazy("Development"), "qa": gettext_lazy("Testing")}
RISKS = {"flagged": gettext_lazy("With signs"), "clear": gettext_lazy("Without any")}
CONFIDENCES = {
    "1": gettext_lazy("Certain"),
    "0.8": gettext_lazy("Confident or more"),
    "0.6": gettext_lazy("Fairly sure or more"),
    "0.4": gettext_lazy("Unsure or more"),
}
ORDERS = {
    "newest": gettext_lazy("Newest"),
    "oldest": gettext_lazy("Oldest"),
    "changed": gettext_lazy("Last changed"),
    "certain": gettext_lazy("Most certain"),
}

RELATED_SHOWN = 8
CHILDREN_SHOWN = 20
HIT_CHARS = 320
A_MOMENT = timedelta(seconds=1)
"""The two dates of an entry that nobody changed differ by less."""


@dataclass(frozen=True)
class EntryWords:
    """The words an entry is shown by in a list."""

    title: str
    excerpt: str


def words_of(content: str) -> EntryWords:
    """Return the first line as a title, and what follows it as an excerpt, both without markdown.

    Tables are left out. Headings and the points of a list are set apart from what stands before them.
    """
    lines = [line for line in content[:READ_CHARS].splitlines() if re.search(r"\w", line)]
    first, *others = [line for line in lines if not line.lstrip().startswith("|")] or lines or [content[:HEAD_CHARS]]
    title, whole = shorten(plain(first), HEAD_CHARS), plain(first)
    rest = [whole[len(title) - 1 :].strip()] if title != whole else []
    rest += [f"· {plain(line)}" if _OPENERS.match(line) else plain(line) for line in others]
    return EntryWords(title, shorten(" ".join(rest).removeprefix("· "), EXCERPT_CHARS))


def heading_and_body(content: str) -> tuple[str, str]:
    """Split a text that opens with a heading into that and the rest. Without one the heading is empty."""
    text = content.lstrip()
    found = _HEADING.match(text)
    heading = plain(found[1]).rstrip("# ") if found else ""
    return (heading, text[found.end() :]) if found and heading else ("", content)


def plain(text: str) -> str:
    """Return markdown in one line without its marks."""
    line = _STRESS.sub("", _LINK.sub(r"\1", _OPENERS.sub("", text)))
    return " ".join(line.split())


def shorten(text: str, chars: int) -> str:
    """Return a text of at most so many characters, cut between words where that is possible."""
    if len(text) <= chars:
        return text
    cut = text[: chars - 1]
    space = cut.rfind(" ")
    return f"{cut[:space] if space > chars // 2 else cut}…"


def risk_choice() -> forms.CharField:
    """Return the field that asks for what has signs of prompt injections, or has none."""
    return choice(RISKS.items(), blank=gettext_lazy("Any"), required=False, label=gettext_lazy("Signs of injection"))


class EntryQuestion(Question):
    """Narrows the knowledge base. The type is chosen by the tabs above it, and kept along."""

    MORE = ("tags", "role", "project", "min_confidence", "risk", "order")

    query = search_field(gettext_lazy("Search the knowledge base"))
    tags = forms.CharField(required=False, label=gettext_lazy("All of these tags"))
    entry_type = forms.CharField(required=False, widget=forms.HiddenInput)
    risk = risk_choice()

    def __init__(self, request: HttpRequest) -> None:
        super().__init__(request.GET)
        values = {name: request.GET.get(name, "").strip() for name in ("role", "project", "min_confidence")}
        projects = {name: name for name in projects_with_entries()}
        for name, label, known in (
            ("role", _("For whom"), ROLES),
            ("project", _("Project"), projects),
            ("min_confidence", _("Confidence"), CONFIDENCES),
        ):
            # What the address says is offered too, or sending the form would quietly drop it.
            offered = known if values[name] in {"", *known} else {**known, values[name]: values[name]}
            self.fields[name] = choice(offered.items(), blank=_("Any"), required=False, label=label)
        # What comes first unless something else is chosen is left unsaid: words that are added then rank by themselves.
        first, *rest = ("best", *ORDERS) if "query" in self.asked else ORDERS
        blank = ORDERS.get(first, _("Best match"))
        self.fields["order"] = choice([(name, ORDERS[name]) for name in rest], blank=blank, required=False)


@dataclass(frozen=True)
class Facet:
    """A link to a narrower or wider question: how many it would show, where that is known."""

    label: str
    address: str
    count: int | None
    is_chosen: bool


def type_facets(request: HttpRequest, form: EntryQuestion, listing: EntryListing | None) -> list[Facet]:
    """Return a link for each type and for all of them, with their numbers."""
    counts = listing.types if listing else None
    chosen = form.asked.get("entry_type", "")
    numbers = {"": sum(counts.values()), **counts} if counts is not None else None
    return [
        Facet(label, address_with(request, entry_type=name), numbers.get(name, 0) if numbers else None, name == chosen)
        for name, label in TYPES.items()
    ]


def tag_facets(request: HttpRequest, form: EntryQuestion, listing: EntryListing | None) -> list[Facet]:
    """Return a link for each frequent tag: to what has it as well or, where it was asked for, to what need not."""
    chosen = [tag.strip() for tag in form.asked.get("tags", "").split(",") if tag.strip()]
    counts = {**dict.fromkeys(chosen), **(listing.tags if listing else {})}
    facets = []
    for tag, count in counts.items():
        tags_chosen = [other for other in chosen if other != tag] if tag in chosen else [*chosen, tag]
        facets.append(Facet(tag, address_with(request, tags=", ".join(tags_chosen)), count, tag in chosen))
    return sorted(facets, key=lambda facet: not facet.is_chosen)


def address_with(request: HttpRequest, **changes: str) -> str:
    """Return the address of this question with some of it changed, from the beginning of its answer."""
    query = request.GET.copy()
    query.pop("offset", None)
    for name, value in changes.items():
        query[name] = value
    kept = [(name, value) for name, values in query.lists() for value in values if value]
    return f"?{urlencode(kept)}"


@own_page
@require_safe
def entries(request: HttpRequest) -> HttpResponse:
    """Browse the knowledge base, by words and meaning or by what is known about each entry."""
    form = EntryQuestion(request)
    listing = form.answer(browse_entries, actor_of(request))
    context = {
        "form": form,
        "listing": listing,
        "page": listing.page if listing else None,
        "rows": [_row(one) for one in listing.page.items] if listing else [],
        "types": type_facets(request, form, listing),
        "tags": tag_facets(request, form, listing),
        "noun": noun_for(form, listing.page.total, most=HITS) if listing else "",
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
        "counts": counts_of(actor, Kind.ENTRY, shown.pk),
        # Nobody reviewed it: it never holds an act.
        **triggers_of(
            actor,
            Kind.ENTRY,
            shown,
            choices=choices_in_words(TriggerLevel.choices[:3]) if "curate" in actor.scopes else (),
        ),
    }
    return render(request, "knowledge/entry.html", context)


@own_page
@require_POST
def entry_level(request: HttpRequest, entry_id: UUID) -> HttpResponse:
    """Decide how far the triggers of an entry go, as a curator."""
    actor = actor_of(request)
    actor.require("curate")
    carry_out(set_entry_trigger_level, actor, {"id": str(entry_id), "level": request.POST.get("level", "")})
    tell(request, _("Saved. Applies to hooks within minutes."))
    return redirect("kb-entry", entry_id)


@own_page
@require_http_methods(["GET", "HEAD", "POST"])
def new_entry(request: HttpRequest) -> HttpResponse:
    """Add an entry. One that is known already is linked, and what was typed stays."""
    actor = actor_of(request)
    form = NewEntryForm(form_data(request), initial=_initial_values(request))
    added = form.attempt(lambda values: carry_out(add_entry, actor, values))
    if added and added.success:
        tell(request, _("Added. Everybody here and their agents can find it now."))
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
        tell(request, _("Saved. Searches find the new text now."))
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
        tell(request, _("The entry is deleted."))
        return redirect("kb")
    context = {"entry": shown, "name": _name(shown), "children": shown.children.count()}
    return render(request, "knowledge/entry_delete.html", context)


def _changeable(actor: Actor, entry_id: UUID) -> Entry:
    shown = get_entry(actor, id=entry_id)
    if not may_change(actor, shown):
        raise Forbidden(_("This entry was added by someone else."), hint=_("Ask a curator to change it."))
    return shown


def noun_for(form: Question, total: int, *, most: int) -> str:
    """Return what the results are called. A search finds at most so many."""
    if "query" not in form.asked:
        return "entries"
    return _("best matches") if total == most else "matches"


def _row(hit: FoundEntry[Entry]) -> dict[str, Any]:
    words = words_of(hit.entry.content)
    excerpt = words.excerpt
    if hit.matched:
        found = plain(hit.excerpt)
        # A passage from the beginning repeats the title, which stands right above it.
        excerpt = excerpt if found.startswith(words.title.rstrip("…")) else shorten(found, HIT_CHARS)
    return {
        "entry": hit.entry,
        "title": words.title,
        "excerpt": excerpt,
        "matched": hit.matched,
        "relevance": hit.relevance,
    }


def _name(entry: Entry) -> str:
    return words_of(entry.content).title


def _with_title(entry: Entry | None) -> dict[str, Any] | None:
    return {"entry": entry, "title": _name(entry)} if entry else None
