"""Home: one question over everything, and what is new."""

from typing import Any

from django.db.models import prefetch_related_objects
from django.http import HttpRequest, HttpResponse
from django.shortcuts import render
from django.views.decorators.http import require_safe

from accounts.actor import Actor
from accounts.authentication import actor_of
from bigmind.core.pages import Page
from knowledge.models import Fact, Session
from knowledge.services.recall import search_memory
from knowledge.views.forms import ProjectQuestion, choice, search_field
from knowledge.views.pages import counts_of, own_page

HITS_SHOWN = 20
NEW_SHOWN = 5
OPEN_SHOWN = 10
KINDS = [
    ("fact", "Facts"),
    ("summary", "Sessions"),
    ("chunk", "Chunks"),
    ("note", "Notes"),
    ("hypothesis", "Hypotheses"),
]


class Search(ProjectQuestion):
    """A question over everything that is remembered."""

    query = search_field("Search everything you and your agents have stored")
    kinds = choice(KINDS, blank="Everything", required=False, label="Among")

    @property
    def asked(self) -> dict[str, Any]:
        """What the address says. One kind is a list of one."""
        said = super().asked
        return {**said, "kinds": [said["kinds"]]} if "kinds" in said else said


@own_page
@require_safe
def home(request: HttpRequest) -> HttpResponse:
    """Search everything the person has; with no question, show what is new."""
    actor = actor_of(request)
    form = Search(request, actor.user)
    context = {"form": form, "counts": counts_of(actor)}
    if "query" in form.asked:
        hits = form.answer(search_memory, actor, limit=HITS_SHOWN)
        page = Page(hits.items, hits.total, hits.limit, hits.offset) if hits else None
        return render(request, "knowledge/found.html", {**context, "hits": hits, "page": page})
    return render(request, "knowledge/home.html", {**context, **_news(actor)})


def _news(actor: Actor) -> dict[str, object]:
    sessions = Session.objects.of(actor.user).in_view().select_related("agent").newest_first()
    facts = list(Fact.objects.of(actor.user).current().newest_first()[:NEW_SHOWN])
    prefetch_related_objects(facts, "source_session")
    return {
        "open_sessions": sessions.open()[:OPEN_SHOWN],
        "last_sessions": sessions.exclude(ended_at=None)[:NEW_SHOWN],
        "latest_facts": facts,
    }
