"""The queue: list it, open an entry, skip it, claim and release it."""

from datetime import datetime

from django.contrib import messages
from django.http import HttpRequest, HttpResponse
from django.shortcuts import redirect
from django.utils.dateparse import parse_datetime
from django.views.decorators.http import require_POST, require_safe

from accounts.authentication import actor_of
from bigmind.core.translation import _
from bigmind.web.pages import offset_in, own_page
from curation.proposals.claims import claim_entry, release_entry
from curation.proposals.queue import read_page

from .queue_page import entry_screen, queue_screen
from .queue_queries import ROWS, QueueQuestion, address_of, next_after


@own_page
@require_safe
def queue(request: HttpRequest) -> HttpResponse:
    """List the queue, the most important first."""
    actor, question = actor_of(request), QueueQuestion(request)
    actor.require("curate")
    offset = offset_in(request)
    page = question.attempt(lambda _: read_page(actor, offset=offset, limit=ROWS, **question.filters()))
    first = address_of(page.items[0].entry.pk, request) if page and page.items else ""
    return queue_screen(request, question, page, next=first)


@own_page
@require_safe
def entry(request: HttpRequest, entry_id: int) -> HttpResponse:
    """Open one entry, with its briefing and the forms of decisions."""
    return entry_screen(request, entry_id)


@own_page
@require_POST
def skipping(request: HttpRequest, entry_id: int) -> HttpResponse:
    """Skip an entry, and open the next one."""
    actor = actor_of(request)
    actor.require("curate")
    release_entry(actor, entry_id=entry_id)
    following = next_after(actor, entry_id, QueueQuestion(request).filters())
    if following is None:
        messages.info(request, _("That was the only one in this list."))
    return redirect(address_of(following, request))


@own_page
@require_POST
def claiming(request: HttpRequest, entry_id: int) -> HttpResponse:
    """Extend the claim on an entry."""
    actor = actor_of(request)
    claim = claim_entry(actor, entry_id=entry_id)
    if claim.by_id != actor.user.pk:
        messages.warning(request, _("%(by)s was first and is still looking at it.") % {"by": claim.by})
    return redirect(address_of(entry_id, request))


@own_page
@require_POST
def releasing(request: HttpRequest, entry_id: int) -> HttpResponse:
    """Release the claim on an entry. A page that closes does this too, for the claim that it was opened with."""
    actor = actor_of(request)
    actor.require("curate")
    until = request.POST.get("until", "")
    release_entry(actor, entry_id=entry_id, until=_moment(until))
    return HttpResponse(status=204) if until else redirect(address_of(None, request))


def _moment(raw: str) -> datetime | None:
    try:
        return parse_datetime(raw)
    except ValueError:
        return None
