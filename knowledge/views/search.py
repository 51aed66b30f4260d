"""Searching everything: from the home page, with the question in the address, and why something was found."""

from collections.abc import Iterable
from dataclasses import dataclass
from typing import Any

from django import forms
from django.db.models import prefetch_related_objects
from django.http import HttpRequest, HttpResponse
from django.shortcuts import redirect, render
from django.urls import reverse
from django.utils.http import urlencode
from django.views.decorators.http import require_safe

from accounts.actor import Actor
from accounts.authentication import actor_of
from accounts.keys import keys_ending_soon
from accounts.models import User
from bigmind.core.pages import Page
from bigmind.web.forms import Question, choice, search_field
from bigmind.web.pages import own_page
from knowledge.capture.captures import read_status
from knowledge.kinds import KINDS, SEARCHED
from knowledge.models import Fact, Session
from knowledge.services.company import lately_approved
from knowledge.services.entry_reading import projects_with_entries
from knowledge.services.explanations import explain_search
from knowledge.services.hits import Hit
from knowledge.services.projects import projects_of
from knowledge.services.semantic import semantic_search
from knowledge.views.pages import counts_of

HITS_SHOWN = 20
FOUND_BY = {("keyword", "vector"): "words and meaning", ("keyword",): "words", ("vector",): "meaning alone"}
STEPS = {"keyword": "words", "vector": "meaning", "fusion": "putting them together"}

NEW_SHOWN = 5
OPEN_SHOWN = 10


class Search(Question):
    """A question over everything that is remembered and shared."""

    query = search_field("Search everything that is stored and shared")
    kinds = choice([(kind, KINDS[kind].label) for kind in SEARCHED], blank="Everything", required=False, label="Among")

    def __init__(self, request: HttpRequest, user: User) -> None:
        super().__init__(request.GET)
        project = request.GET.get("project", "").strip()
        names = {*projects_of(user), *projects_with_entries(), project} - {""}
        self.fields["project"] = choice([(name, name) for name in sorted(names)], blank="Any", required=False)
        self.fields["since"] = forms.CharField(required=False, widget=forms.DateInput(attrs={"type": "date"}))

    @property
    def asked(self) -> dict[str, Any]:
        """What the address says. One kind is a list of one."""
        asked = super().asked
        return {**asked, "kinds": [asked["kinds"]]} if "kinds" in asked else asked

    @property
    def address(self) -> str:
        """The question as the end of an address, from the beginning of its answer."""
        asked = {name: value for name, value in self.asked.items() if name != "offset"}
        return f"?{urlencode(asked, doseq=True)}"


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
        return self.hit.kind in {"fact", "hypothesis"}


def result_page(request: HttpRequest, form: Search, actor: Actor, **context: Any) -> HttpResponse:
    """Answer a question with what was found, the best first."""
    hits = form.answer(semantic_search, actor, limit=HITS_SHOWN)
    page = Page(to_results(hits.items, hits.offset), hits.total, hits.limit, hits.offset) if hits else None
    return render(request, "knowledge/found.html", {"form": form, "hits": hits, "page": page, **context})


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


@own_page
@require_safe
def home(request: HttpRequest) -> HttpResponse:
    """Search everything that is stored and shared; with no question, show what is new."""
    actor = actor_of(request)
    form = Search(request, actor.user)
    if "query" in form.asked:
        return result_page(request, form, actor)
    context = {"form": form, "counts": counts_of(actor), **_news(actor)}
    return render(request, "knowledge/home.html", context)


def _news(actor: Actor) -> dict[str, object]:
    sessions = Session.objects.of(actor.user).in_view().select_related("agent").newest_first()
    facts = list(Fact.objects.of(actor.user).current().newest_first()[:NEW_SHOWN])
    prefetch_related_objects(facts, "source_session")
    return {
        "open_sessions": sessions.open()[:OPEN_SHOWN],
        "last_sessions": sessions.exclude(ended_at=None)[:NEW_SHOWN],
        "latest_facts": facts,
        "lately_approved": lately_approved(NEW_SHOWN),
        "hooks": read_status(actor).clients,
        # Anyone who has replaced a key knows that it ends.
        "ending": keys_ending_soon(actor.user).filter(revoked_at=None),
    }
