"""Insights: what BigMind was used for, what it delivered, and what came of it."""

from typing import Any

from django.http import HttpRequest, HttpResponse
from django.shortcuts import render
from django.urls import reverse
from django.views.decorators.http import require_safe

from accounts.actor import Actor
from accounts.authentication import actor_of
from bigmind.web.forms import Question, choice
from bigmind.web.pages import own_page
from knowledge.services.exposures import PEOPLE_ASKED, SESSIONS_ASKED
from knowledge.services.gaps import count_gaps
from knowledge.services.insights import look_at_use
from knowledge.views.pages import MemoryTab

RANGES = [("7", "7 days"), ("30", "30 days"), ("90", "90 days")]
PEOPLE = [("mine", "Mine"), ("everybody", "Everybody’s, added up")]


class UseQuestion(Question):
    """Asks about some days, for oneself or for everybody."""

    days = choice(RANGES, required=False, label="The last", initial="30")
    whose = choice(PEOPLE, required=False, label="Whose")

    def __init__(self, request: HttpRequest) -> None:
        # What the address leaves out is shown as it is meant.
        super().__init__({"days": "30", "whose": "mine", **request.GET.dict()})


@own_page
@require_safe
def insights(request: HttpRequest) -> HttpResponse:
    """Show how BigMind was used in some days."""
    actor, form = actor_of(request), UseQuestion(request)
    context: dict[str, Any] = {
        "form": form,
        "use": form.answer(look_at_use, actor),
        "sections": sections_for(actor, current="insights"),
        "sessions_asked": SESSIONS_ASKED,
        "people_asked": PEOPLE_ASKED,
    }
    return render(request, "knowledge/insights.html", context)


def sections_for(actor: Actor, *, current: str) -> list[MemoryTab]:
    """Return the pages about use, with how many gaps are open."""
    rows: tuple[tuple[str, str, int | None], ...] = (
        ("Use", "insights", None),
        ("Unanswered questions", "insights-gaps", count_gaps(actor)),
    )
    return [MemoryTab(label, reverse(route), count, route == current) for label, route, count in rows]
