"""Home: one question over everything, what waits for the person, and what is new."""

from dataclasses import dataclass
from uuid import UUID

from django.db.models import QuerySet, prefetch_related_objects
from django.http import HttpRequest, HttpResponse
from django.shortcuts import render
from django.urls import reverse
from django.views.decorators.http import require_safe

from accounts.actor import Actor
from accounts.authentication import actor_of
from accounts.keys import keys_ending_soon
from bigmind.core.translation import _, ngettext, write_number
from bigmind.database.fixed_queries import FixedQuery
from bigmind.observability.system import tasks
from bigmind.web.pages import own_page
from curation.notifications.deliveries import count_deliveries
from curation.services.inbox import inbox_of
from knowledge.capture.captures import read_status
from knowledge.kb.company import lately_approved
from knowledge.models import Fact, Session
from knowledge.views.search import NarrowedSearch, result_page

NEW_SHOWN = 5
OPEN_SHOWN = 10


@dataclass(frozen=True)
class FailingPart:
    """Something that fails, for the one who runs the instance: what, how it shows, and the page about it."""

    title: str
    reason: str
    address: str


@own_page
@require_safe
def home(request: HttpRequest) -> HttpResponse:
    """Search everything that is stored and shared; with no question, show what waits and what is new."""
    actor = actor_of(request)
    form = NarrowedSearch(request, actor.user)
    if "query" in form.asked:
        return result_page(request, form, actor)
    context = {"form": form, "inbox": inbox_of(actor), "failing": _failing(actor), **_news(actor)}
    return render(request, "knowledge/home.html", context)


def _failing(actor: Actor) -> list[FailingPart]:
    if not actor.user.is_admin:
        return []
    found = [
        FailingPart(
            _("The task %(name)s failed") % {"name": task.name},
            _("Its last run ended with an error."),
            reverse("system"),
        )
        for task in tasks()
        if task.failed_last
    ]
    failed = count_deliveries(actor)["failed"]
    title = ngettext(
        "%(failed)s message could not be delivered", "%(failed)s messages could not be delivered", failed
    ) % {"failed": write_number(failed)}
    undelivered = FailingPart(
        title, _("Every attempt failed, and BigMind gave up."), f"{reverse('deliveries')}?state=failed"
    )
    return [*found, undelivered] if failed else found


def _newest_sessions(user_id: UUID) -> QuerySet[Session]:
    found = Session.objects.of(user_id).in_view().select_related("agent").newest_first()
    return found[: OPEN_SHOWN + NEW_SHOWN]


_SESSIONS = FixedQuery(_newest_sessions)
_FACTS = FixedQuery(lambda user_id: Fact.objects.of(user_id).current().newest_first()[:NEW_SHOWN])


def _news(actor: Actor) -> dict[str, object]:
    sessions, facts = _SESSIONS(actor.user.pk), _FACTS(actor.user.pk)
    prefetch_related_objects(facts, "source_session")
    return {
        "open_sessions": [one for one in sessions if one.is_open][:OPEN_SHOWN],
        "last_sessions": [one for one in sessions if not one.is_open][:NEW_SHOWN],
        "latest_facts": facts,
        "lately_approved": lately_approved(NEW_SHOWN),
        "hooks": read_status(actor).clients,
        # Anyone who has replaced a key knows that it ends.
        "ending": keys_ending_soon(actor.user).filter(revoked_at=None),
    }
