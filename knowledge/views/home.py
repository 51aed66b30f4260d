"""Home: one question over everything, and what is new."""

from django.db.models import prefetch_related_objects
from django.http import HttpRequest, HttpResponse
from django.shortcuts import render
from django.views.decorators.http import require_safe

from accounts.actor import Actor
from accounts.authentication import actor_of
from accounts.keys import keys_ending_soon
from bigmind.web.pages import own_page
from knowledge.models import Fact, Session
from knowledge.services.company import lately_approved
from knowledge.views.pages import counts_of
from knowledge.views.search import Search, result_page

NEW_SHOWN = 5
OPEN_SHOWN = 10


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
        # Anyone who has replaced a key knows that it ends.
        "ending": keys_ending_soon(actor.user).filter(revoked_at=None),
    }
