"""The filters in the address of company knowledge, and the links for its categories."""

from typing import Any

from django import forms
from django.http import HttpRequest

from bigmind.web.forms import Question, choice, search_field
from knowledge.models import CompanyCategory
from knowledge.services.company import CompanyListing, projects_with_company_entries
from knowledge.views.entries import Facet, address_with

FRESHNESS = {
    "verified": "Verified",
    "due": "Due for verification",
    "stale": "Stale: long past its review",
    "never": "Never verified",
}
ORDERS = {"importance": "Most important", "newest": "Newest"}


class CompanyQuestion(Question):
    """Filters approved entries. The category is chosen by links, and kept in a hidden field."""

    query = search_field("Search company knowledge")
    category = forms.CharField(required=False, widget=forms.HiddenInput)
    freshness = choice(FRESHNESS.items(), blank="Any", required=False)

    def __init__(self, request: HttpRequest) -> None:
        super().__init__(request.GET)
        chosen_project = request.GET.get("project", "").strip()
        # The project in the address is always a choice: else submitting the form would silently drop it.
        names = sorted({*projects_with_company_entries(), chosen_project} - {""})
        self.fields["project"] = choice([(name, name) for name in names], blank="Any", required=False)
        # The default order is the blank choice: when a query is added later, the best match becomes the default.
        first, *rest = ("best", *ORDERS) if "query" in self.asked else ORDERS
        blank = ORDERS.get(first, "Best match")
        self.fields["order"] = choice([(name, ORDERS[name]) for name in rest], blank=blank, required=False)

    @property
    def more(self) -> list[Any]:
        """The fields behind “More filters”."""
        return [self[name] for name in ("freshness", "project", "order")]

    @property
    def more_is_asked(self) -> bool:
        """Whether one of those fields is used, or invalid."""
        return any(field.name in self.asked or field.errors for field in self.more)


def category_facets(request: HttpRequest, form: CompanyQuestion, shelf: CompanyListing | None) -> list[Facet]:
    """Return a link for each category and for all, with the numbers of entries, if known."""
    counts = shelf.categories if shelf else None
    numbers = {"": sum(counts.values()), **counts} if counts is not None else None
    chosen = form.asked.get("category", "")
    return [
        Facet(label, address_with(request, category=name), numbers.get(name, 0) if numbers else None, name == chosen)
        for name, label in (("", "All"), *CompanyCategory.choices)
    ]
