"""My memory: its sections, what a session start costs, what deserves a look, and the whole as one document."""

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

from django.http import HttpRequest, HttpResponse
from django.urls import reverse
from django.utils import timezone
from django.utils.http import content_disposition_header
from django.views.decorators.http import require_safe

from accounts.actor import Actor
from accounts.authentication import actor_of
from accounts.models import User
from bigmind.core.translation import _, write_number
from bigmind.web.pages import own_page
from bigmind.web.words import word_of
from knowledge.context.budget import TOTAL_TOKENS
from knowledge.context.start_context import get_context
from knowledge.exposures.insights import DayOfGrowth, growth_of_memory
from knowledge.kinds import KIND_OF_WORD, KINDS, LISTED, OWN
from knowledge.memory.upkeep import check_health
from knowledge.models import Fact, Hypothesis, Session
from knowledge.shapes.upkeep import FindingShape
from knowledge.transfer.program_formats import export_memory, files_for, pack_files
from knowledge.views.pages import address_of, memory_page

KIND_OF_FINDING = {
    "stale_facts": "fact",
    "low_confidence_facts": "fact",
    "open_sessions": "session",
    "sessions_without_summary": "session",
}
THINGS: dict[str, Any] = {"fact": Fact.objects, "session": Session.objects}


@own_page
@require_safe
def memory(request: HttpRequest) -> HttpResponse:
    """Show how much is remembered, what agents receive of it, and what deserves a look."""
    actor = actor_of(request)
    user = actor.user
    growth = growth_of_memory(user)
    return memory_page(
        request,
        "knowledge/memory.html",
        section="memory",
        figures=[_figure(user, word, growth) for word in OWN],
        findings=_findings(actor),
        tokens=get_context(actor).tokens,
        limit=TOTAL_TOKENS,
    )


def _findings(actor: Actor) -> list[tuple[FindingShape, list[tuple[str, object]]]]:
    """Return what deserves a look, each with the address of what it is about, and that itself."""
    found = []
    for finding in check_health(actor).findings:
        kind = KIND_OF_FINDING.get(finding.check, "")
        # A fact is named by the number that its person knows; a session by its own id.
        keys = [key for id in finding.ids for key in (actor.user.ids_of(int(id)) if kind == "fact" else (id,))]
        things = THINGS[kind].of(actor.user).in_bulk(keys).values() if kind else ()
        if finding.count:
            found.append((finding, [(address_of(kind, thing.pk), thing) for thing in things]))
    return found


@dataclass(frozen=True)
class _Figure:
    """How much of a kind there is now, and was on each of the last days; the page with all of it, where it has one."""

    words: str
    number: int
    days: list[int]
    address: str


def _figure(user: User, word: str, growth: Sequence[DayOfGrowth]) -> _Figure:
    row = KINDS[KIND_OF_WORD[word]]
    days = [day.numbers[row.label] for day in growth if word in LISTED]
    number = days[-1] if days else row.visible(user).count()
    words = _words(user, word) or word_of(row.label.lower())
    return _Figure(words, number, days, reverse(row.list_route) if days else "")


def _words(user: User, word: str) -> str:
    """Return what else is shown of a kind; nothing for most."""
    if word == "session":
        still_open = write_number(Session.objects.of(user).in_view().open().count())
        return _("sessions, %(open_sessions)s open") % {"open_sessions": still_open}
    if word == "hypothesis":
        still_open = write_number(Hypothesis.objects.of(user).filter(set_aside_at=None, resolved_at=None).count())
        return _("hypotheses, %(open_hypotheses)s open") % {"open_hypotheses": still_open}
    return ""


@own_page
@require_safe
def export(request: HttpRequest) -> HttpResponse:
    """Download everything that is remembered as one JSON document.

    With `as` and the name of another program it is the files that it reads.
    """
    actor = actor_of(request)
    name = f"bigmind-{actor.user.username}-{timezone.localdate().isoformat()}"
    if program := request.GET.get("as"):
        response = HttpResponse(pack_files(files_for(actor, program)), content_type="application/zip")
        name = f"{name}-{program}.zip"
    else:
        response = HttpResponse(export_memory(actor).model_dump_json(indent=2), content_type="application/json")
        name = f"{name}.json"
    response["Content-Disposition"] = content_disposition_header(as_attachment=True, filename=name) or "attachment"
    return response
