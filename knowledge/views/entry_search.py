"""Looking for entries: the question in the address of the page, and the links that narrow or widen it."""

from dataclasses import dataclass
from typing import Any

from django import forms
from django.http import HttpRequest

from bigmind.web.forms import Question, choice, search_field
from knowledge.services.entry_browsing import EntryListing, projects_with_entries

TYPES = {"": "All", "fact": "Facts", "summary": "Summaries", "template": "Templates"}
ROLES = {"pm": "Product", "dev": "Development", "qa": "Testing"}
CONFIDENCES = {"1": "Certain", "0.8": "Confident or more", "0.6": "Fairly sure or more", "0.4": "Unsure or more"}
ORDERS = {"newest": "Newest", "oldest": "Oldest", "changed": "Last changed", "certain": "Most certain"}


class EntryQuestion(Question):
    """Narrows the knowledge base. The type is chosen by the tabs above it, and kept along."""

    query = search_field("Search the knowledge base")
    tags = forms.CharField(required=False, label="All of these tags")
    entry_type = forms.CharField(required=False, widget=forms.HiddenInput)

    def __init__(self, request: HttpRequest) -> None:
        super().__init__(request.GET)
        asked = {name: request.GET.get(name, "").strip() for name in ("role", "project", "min_confidence")}
        projects = {name: name for name in projects_with_entries()}
        for name, label, known in (
            ("role", "For whom", ROLES),
            ("project", "Project", projects),
            ("min_confidence", "Confidence", CONFIDENCES),
        ):
            # What the address says is offered too, or sending the form would quietly drop it.
            offered = known if asked[name] in {"", *known} else {**known, asked[name]: asked[name]}
            self.fields[name] = choice(offered.items(), blank="Any", required=False, label=label)
        # What comes first unless something else is chosen is left unsaid: words that are added then rank by themselves.
        first, *rest = ("best", *ORDERS) if "query" in self.asked else ORDERS
        blank = ORDERS.get(first, "Best match")
        self.fields["order"] = choice([(name, ORDERS[name]) for name in rest], blank=blank, required=False)

    @property
    def more(self) -> list[Any]:
        """The fields behind “More filters”."""
        return [self[name] for name in ("tags", "role", "project", "min_confidence", "order")]

    @property
    def more_is_asked(self) -> bool:
        """Whether one of those says something, or something wrong."""
        return any(field.name in self.asked or field.errors for field in self.more)


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
        wanted = [other for other in chosen if other != tag] if tag in chosen else [*chosen, tag]
        facets.append(Facet(tag, address_with(request, tags=", ".join(wanted)), count, tag in chosen))
    return sorted(facets, key=lambda facet: not facet.is_chosen)


def address_with(request: HttpRequest, **changes: str) -> str:
    """Return the address of this question with some of it changed, from the beginning of its answer."""
    query = request.GET.copy()
    query.pop("offset", None)
    for name, value in changes.items():
        query.pop(name, None)
        if value:
            query[name] = value
    kept = [(name, value) for name, values in query.lists() for value in values if value]
    query.clear()
    for name, value in kept:
        query.appendlist(name, value)
    return f"?{query.urlencode()}"
