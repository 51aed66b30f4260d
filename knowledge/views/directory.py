"""The directory: who is here, what they know, and who worked on what."""

from django.http import HttpRequest, HttpResponse
from django.shortcuts import redirect, render
from django.views.decorators.http import require_http_methods

from accounts.authentication import actor_of
from accounts.people.sharing import invite_to_share, nobody_to_find, people_shown
from bigmind.core.translation import _, gettext_lazy
from bigmind.web.forms import Question, search_field
from bigmind.web.pages import own_page, tell
from knowledge.people.directory import list_directory
from knowledge.people.expertise import search_directory

PEOPLE_SHOWN = 24


class Asking(Question):
    """Asks who worked on something."""

    query = search_field(gettext_lazy("Who worked on …?"))


class Narrowing(Question):
    """Narrows the list to those who share a topic."""

    topic = search_field(gettext_lazy("Topic"))


@own_page
@require_http_methods(["GET", "HEAD", "POST"])
def directory(request: HttpRequest) -> HttpResponse:
    """List people; or find who worked on something, with the reasons. A curator asks all others what they share."""
    actor = actor_of(request)
    if request.method == "POST":
        number = invite_to_share(actor)
        tell(request, _("Everyone who has not chosen yet was asked.") if number else _("Everyone was asked already."))
        return redirect("directory")
    form, narrowing = Asking(request.GET), Narrowing(request.GET)
    asks = bool(form.asked.get("query"))
    page = None if asks else narrowing.answer(list_directory, actor, limit=PEOPLE_SHOWN)
    context = {
        "form": form,
        "topic": narrowing.asked.get("topic", ""),
        "experts": form.answer(search_directory, actor, limit=PEOPLE_SHOWN) if asks else None,
        "page": page,
        "nobody_shares": bool(page.notice if page else nobody_to_find(actor.user)),
        "may_invite": "curate" in actor.scopes,
        "is_listed": people_shown(actor.user).filter(pk=actor.user.pk).exists(),
    }
    return render(request, "knowledge/directory.html", context)
