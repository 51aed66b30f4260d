"""Searching everything, with the question in the address, and why something was found."""

from collections.abc import Iterable
from dataclasses import dataclass
from typing import Any

from django import forms
from django.http import HttpRequest, HttpResponse
from django.shortcuts import redirect, render
from django.urls import reverse
from django.utils.http import urlencode
from django.views.decorators.http import require_safe

from accounts.actor import Actor
from accounts.authentication import actor_of
from accounts.models import User
from bigmind.core.translation import _, gettext_lazy
from bigmind.database.pagination import Page
from bigmind.web.forms import Question, choice, search_field
from bigmind.web.pages import own_page
from bigmind.web.words import lazy_word, word_of
from knowledge.conversation.project_names import projects_of
from knowledge.kb.entry_reading import projects_with_entries
from knowledge.kinds import KINDS, SEARCHED
from knowledge.recall.explanations import explain_search
from knowledge.recall.faceted_search import MINE, FoundPage, find_for_page
from knowledge.recall.hits import NEAREST, Hit
from knowledge.views.pages import answer_drafts

"""Shown at once where nothing is certain; the others are folded below."""
FOUND_BY = {
    ("keyword", "vector"): gettext_lazy("words and meaning"),
    ("keyword",): "words",
    ("vector",): gettext_lazy("meaning alone"),
}
STEPS = {"keyword": "words", "vector": "meaning", "fusion": gettext_lazy("putting them together")}
FACETS = {
    "kinds": gettext_lazy("Kind"),
    "project": gettext_lazy("Project"),
    "who": gettext_lazy("From"),
    "age": gettext_lazy("Age"),
    "verified": gettext_lazy("Verified"),
}
FACET_WORDS = {
    ("who", MINE): gettext_lazy("You"),
    ("age", "week"): gettext_lazy("Past week"),
    ("age", "month"): gettext_lazy("Past month"),
    ("age", "year"): gettext_lazy("Past year"),
    ("verified", "verified"): gettext_lazy("Verified"),
    ("verified", "due"): gettext_lazy("Due for verification"),
    ("verified", "stale"): gettext_lazy("Stale"),
    ("verified", "never"): gettext_lazy("Never verified"),
}


class Search(Question):
    """A question over everything that is remembered and shared."""

    query = search_field(gettext_lazy("Search everything"))
    kinds = choice(
        [(kind, lazy_word(KINDS[kind].label)) for kind in SEARCHED],
        blank=gettext_lazy("Everything"),
        required=False,
        label=gettext_lazy("Search in"),
    )

    def __init__(self, request: HttpRequest, user: User) -> None:
        super().__init__(request.GET)
        project = request.GET.get("project", "").strip()
        names = {*projects_of(user), *projects_with_entries(), project} - {""}
        self.fields["project"] = choice([(name, name) for name in sorted(names)], blank=_("Any"), required=False)
        self.fields["since"] = forms.CharField(required=False, widget=forms.DateInput(attrs={"type": "date"}))

    @property
    def asked(self) -> dict[str, Any]:
        """What the address says. One kind is a list of one."""
        values = super().asked
        return {**values, "kinds": [values["kinds"]]} if "kinds" in values else values

    @property
    def address(self) -> str:
        """The question as the end of an address, from the beginning of its answer."""
        parameters = {name: value for name, value in self.asked.items() if name != "offset"}
        return f"?{urlencode(parameters, doseq=True)}"


@dataclass(frozen=True)
class SearchResult:
    """A hit as a page shows it. Without an address it is read here and nowhere else."""

    hit: Hit
    rank: int
    word: str
    address: str
    found_by: str
    is_shared: bool

    @property
    def is_statement(self) -> bool:
        """Whether it is one sentence, which then is its own title."""
        return KINDS[self.hit.kind].is_statement


class NarrowedSearch(Search):
    """A search whose answer is narrowed by links; what they say goes along with the next question. Decision 49."""

    def __init__(self, request: HttpRequest, user: User) -> None:
        super().__init__(request, user)
        for name in ("who", "age", "verified"):
            self.fields[name] = forms.CharField(required=False, widget=forms.HiddenInput())

    @property
    def more(self) -> list[Any]:
        """The filters that are rarely wanted."""
        return [self[name] for name in ("kinds", "project", "since")]

    @property
    def more_is_asked(self) -> bool:
        """Whether one of them narrows the answer in a way that no link shows."""
        return "since" in self.asked or any(name in self.errors for name in ("kinds", "project"))

    @property
    def narrows(self) -> bool:
        """Whether anything besides the words narrows the answer."""
        return bool(self.asked.keys() & {"kinds", "project", "since", "who", "age", "verified"})

    @property
    def clear(self) -> str:
        """The question alone, without what narrows its answer."""
        return f"?{urlencode({'query': self.asked['query']})}" if "query" in self.asked else "?"

    def address_with(self, name: str, value: str) -> str:
        """The question with one filter set, or without it where `value` is empty, from the beginning of its answer."""
        parameters = {**{one: value_chosen for one, value_chosen in self.asked.items() if one != "offset"}, name: value}
        return (
            f"?{urlencode({one: value_chosen for one, value_chosen in parameters.items() if value_chosen}, doseq=True)}"
        )


@dataclass(frozen=True)
class FacetLink:
    """One value to narrow an answer to, or to leave again when it is chosen."""

    label: str
    count: int
    address: str
    is_chosen: bool
    kind: str = ""


@dataclass(frozen=True)
class ShownFacet:
    """The values of one facet, under its title."""

    title: str
    links: list[FacetLink]


@dataclass(frozen=True)
class ResultGroup:
    """A result, and those that say nearly the same."""

    best: SearchResult
    alike: list[SearchResult]


def result_page(request: HttpRequest, form: NarrowedSearch, actor: Actor) -> HttpResponse:
    """Answer a question with what was found, the best first."""
    found = form.answer(find_for_page, actor)
    context: dict[str, Any] = {"form": form, "found": found}
    if found:
        groups = [
            ResultGroup(_to_result(group.best, rank), to_results(group.alike, 0))
            for rank, group in enumerate(found.groups, start=found.offset + 1)
        ]
        weak = to_results(found.weak, 0)
        context |= {
            "page": Page(groups, found.total, found.limit, found.offset),
            "nearest": weak[:NEAREST],
            "weak": weak if found.is_known else weak[NEAREST:],
            "facets": _facets(found, form),
            "drafts": answer_drafts(str(form.asked["query"])),
        }
    return render(request, "knowledge/found.html", context)


def _facets(found: FoundPage, form: NarrowedSearch) -> list[ShownFacet]:
    return [
        ShownFacet(
            title,
            [
                FacetLink(
                    label=_facet_label(name, value.value),
                    count=value.count,
                    address=form.address_with(name, "" if value.is_chosen else value.value),
                    is_chosen=value.is_chosen,
                    kind=value.value if name == "kinds" else "",
                )
                for value in found.facets[name]
            ],
        )
        for name, title in FACETS.items()
        if name in found.facets
    ]


def _facet_label(name: str, value: str) -> str:
    if name == "kinds":
        return word_of(KINDS[value].label)
    return FACET_WORDS.get((name, value), value)


@own_page
@require_safe
def explanation(request: HttpRequest) -> HttpResponse:
    """Say how the answer to a question came about."""
    actor = actor_of(request)
    form = Search(request, actor.user)
    if "query" not in form.asked and not form.errors:
        return redirect("home")
    explained = form.answer(explain_search, actor)
    page = (
        Page(to_results(explained.hits, explained.offset), explained.total, explained.limit, explained.offset)
        if explained
        else None
    )
    steps = [(STEPS.get(step, step), took) for step, took in explained.milliseconds.items()] if explained else []
    return render(request, "knowledge/explain.html", {"form": form, "told": explained, "page": page, "steps": steps})


def to_results(hits: Iterable[Hit], offset: int) -> list[SearchResult]:
    """Say of each hit which it is, how people call it, where it is read, and what found it."""
    return [_to_result(hit, rank) for rank, hit in enumerate(hits, start=offset + 1)]


def _to_result(hit: Hit, rank: int) -> SearchResult:
    kind = KINDS[hit.kind]
    return SearchResult(
        hit=hit,
        rank=rank,
        word=kind.word,
        address=reverse(kind.route, args=[hit.id]),
        found_by=FOUND_BY.get(tuple(sorted(hit.arms)), " and ".join(hit.arms)),
        is_shared=kind.is_shared,
    )
