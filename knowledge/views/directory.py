"""The directory: who is here, what they know, and who worked on what."""

from django.http import HttpRequest, HttpResponse
from django.shortcuts import render
from django.views.decorators.http import require_safe

from accounts.authentication import actor_of
from accounts.people.sharing import people_shown
from bigmind.core.translation import gettext_lazy
from bigmind.web.forms import Question, search_field
from bigmind.web.pages import own_page
from knowledge.services.directory import list_directory
from knowledge.services.expertise import search_directory

PEOPLE_SHOWN = 24


class Asking(Question):
    """Asks who worked on something."""

    query = search_field(gettext_lazy("Who worked on …?"))


class Narrowing(Question):
    """Narrows the list to those who share a topic."""

    topic = search_field(gettext_lazy("Topic"))


@own_page
@require_safe
def directory(request: HttpRequest) -> HttpResponse:
    """List people; or find who worked on something, with the reasons."""
    actor = actor_of(request)
    form, narrowing = Asking(request.GET), Narrowing(request.GET)
    asks = bool(form.asked.get("query"))
    context = {
        "form": form,
        "topic": narrowing.asked.get("topic", ""),
        "experts": form.answer(search_directory, actor, limit=PEOPLE_SHOWN) if asks else None,
        "page": None if asks else narrowing.answer(list_directory, actor, limit=PEOPLE_SHOWN),
        "is_listed": people_shown(actor.user).filter(pk=actor.user.pk).exists(),
    }
    return render(request, "knowledge/directory.html", context)
