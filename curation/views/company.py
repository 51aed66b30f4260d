"""Company knowledge: browse approved entries, filter them, and verify those that are due."""

from typing import Any

from django import forms
from django.contrib import messages
from django.http import HttpRequest, HttpResponse
from django.shortcuts import redirect, render
from django.urls import reverse
from django.views.decorators.http import require_POST, require_safe

from accounts.actor import Actor
from accounts.authentication import actor_of
from bigmind.core.operations import carry_out
from bigmind.core.sentences import in_language
from bigmind.core.translation import _, gettext_lazy
from bigmind.web.forms import Question, choice, search_field
from bigmind.web.pages import Tab, offset_in, own_page, tell
from bigmind.web.words import choices_in_words
from curation.decisions.deciding import Decisions, decide_many
from curation.decisions.who_may_decide import may_decide
from curation.proposals.queue import list_queue
from knowledge.kb.company import CompanyListing, browse_company, projects_with_company_entries
from knowledge.kb.found_entries import HITS, FoundEntry
from knowledge.models import CompanyCategory, CompanyEntry
from knowledge.views.entries import Facet, address_with, noun_for, risk_choice, words_of

FRESHNESS = {
    "verified": gettext_lazy("Verified"),
    "due": gettext_lazy("Due for verification"),
    "stale": gettext_lazy("Stale: long past its review"),
    "never": gettext_lazy("Never verified"),
}
ORDERS = {"importance": gettext_lazy("Most important"), "newest": gettext_lazy("Newest")}

DUE_SHOWN = 50


class CompanyQuestion(Question):
    """Filters approved entries. The category is chosen by links, and kept in a hidden field."""

    MORE = ("freshness", "project", "risk", "order")

    query = search_field(gettext_lazy("Search company knowledge"))
    category = forms.CharField(required=False, widget=forms.HiddenInput)
    freshness = choice(FRESHNESS.items(), blank=gettext_lazy("Any"), required=False)
    risk = risk_choice()

    def __init__(self, request: HttpRequest) -> None:
        super().__init__(request.GET)
        chosen_project = request.GET.get("project", "").strip()
        # The project in the address is always a choice: else submitting the form would silently drop it.
        names = sorted({*projects_with_company_entries(), chosen_project} - {""})
        self.fields["project"] = choice([(name, name) for name in names], blank=_("Any"), required=False)
        # The default order is the blank choice: when a query is added later, the best match becomes the default.
        first, *rest = ("best", *ORDERS) if "query" in self.asked else ORDERS
        blank = ORDERS.get(first, _("Best match"))
        self.fields["order"] = choice([(name, ORDERS[name]) for name in rest], blank=blank, required=False)


def category_facets(request: HttpRequest, form: CompanyQuestion, listing: CompanyListing | None) -> list[Facet]:
    """Return a link for each category and for all, with the numbers of entries, if known."""
    counts = listing.categories if listing else None
    numbers = {"": sum(counts.values()), **counts} if counts is not None else None
    chosen = form.asked.get("category", "")
    return [
        Facet(label, address_with(request, category=name), numbers.get(name, 0) if numbers else None, name == chosen)
        for name, label in (("", _("All")), *choices_in_words(CompanyCategory.choices))
    ]


@own_page
@require_safe
def company(request: HttpRequest) -> HttpResponse:
    """Browse approved entries, by search or by filters."""
    actor, form = actor_of(request), CompanyQuestion(request)
    listing = form.answer(browse_company, actor)
    context = {
        "form": form,
        "listing": listing,
        "page": listing.page if listing else None,
        "rows": [_row(one) for one in listing.page.items] if listing else [],
        "categories": category_facets(request, form, listing),
        "noun": noun_for(form, listing.page.total, most=HITS) if listing else "",
        "start": address_with(request),
        "sections": sections_for(actor, current="company"),
    }
    return render(request, "curation/company.html", context)


@own_page
@require_safe
def due(request: HttpRequest) -> HttpResponse:
    """List entries that were never verified, and those due for verification."""
    actor = actor_of(request)
    page = list_queue(actor, why="due", limit=DUE_SHOWN, offset=offset_in(request))
    rows = [{"waiting": one, "excerpt": _excerpt(one.entry.content)} for one in page.items]
    context = {"page": page, "rows": rows, "sections": sections_for(actor, current="company-due")}
    return render(request, "curation/company_due.html", context)


@own_page
@require_POST
def verifying(request: HttpRequest) -> HttpResponse:
    """Verify the entry whose button was pressed, else all selected ones; show the reason of each refusal."""
    actor = actor_of(request)
    actor.require("curate")
    chosen = _revisions_read(request.POST.getlist("only") or request.POST.getlist("entry"))
    if not chosen:
        messages.info(request, _("Nothing is selected, so nothing was verified."))
        return redirect("company-due")
    arguments = {"entry_ids": list(chosen), "action": "verify", "revisions": chosen}
    _tell_of(request, carry_out(decide_many, actor, arguments))
    return redirect("company-due")


def sections_for(actor: Actor, *, current: str) -> list[Tab]:
    """Return the tabs of company knowledge; what is due, and golden questions are for curators."""
    rows = [(_("Approved"), "company"), (_("My proposals"), "company-mine")]
    if may_decide(actor):
        rows += [(_("Due"), "company-due"), (_("Golden questions"), "golden-questions")]
    return [Tab(label, reverse(route), is_current=route == current) for label, route in rows]


def _row(hit: FoundEntry[CompanyEntry]) -> dict[str, Any]:
    entry = hit.entry
    # A passage begins with the title, which the page shows right above it.
    found = hit.excerpt.removeprefix(entry.title) if hit.matched else entry.content
    return {
        "entry": entry,
        "excerpt": _excerpt(found or entry.content),
        "matched": hit.matched,
        "relevance": hit.relevance,
    }


def _excerpt(text: str) -> str:
    """Return the beginning of a text without markdown, its first line included (`words_of` would drop a title)."""
    return words_of(f"Title\n{text}").excerpt


def _revisions_read(ticked: list[str]) -> dict[str, str]:
    """Return the revision of each entry that the curator read: `142:3` is revision 3 of C142."""
    pairs = [one.partition(":") for one in ticked]
    return {number: revision for number, _, revision in pairs}


def _tell_of(request: HttpRequest, done: Decisions) -> None:
    count = len(done.decided)
    if count == 1:
        entry = done.decided[0].entry
        tell(request, f"Verified: {entry.handle} “{entry}”.")
    elif count:
        tell(request, f"Verified: {count} entries.")
    for refused in done.refused:
        messages.warning(
            request,
            _("%(handle)s was not verified. %(reason)s")
            % {"handle": refused.handle, "reason": in_language(refused.reason)},
        )
