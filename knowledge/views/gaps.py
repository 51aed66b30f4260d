"""Unanswered questions: what is not known here, and what becomes of it."""

from dataclasses import dataclass

from django.conf import settings
from django.http import HttpRequest, HttpResponse
from django.shortcuts import redirect, render
from django.views.decorators.http import require_POST, require_safe

from accounts.authentication import actor_of
from bigmind.core.operations import carry_out
from bigmind.core.translation import _, gettext_lazy
from bigmind.database.pagination import Page
from bigmind.web.forms import Question, choice
from bigmind.web.pages import own_page, tell, way_back
from knowledge.exposures.gaps import ShownGap, forget_question, list_gaps, reopen_question, settle_gap
from knowledge.recall.asking_again import Titles, titles_of
from knowledge.views.insights import sections_for
from knowledge.views.pages import AnswerDrafts, answer_drafts

GAPS_SHOWN = 20
STATES = [
    ("open", gettext_lazy("Open")),
    ("answered", gettext_lazy("Answered")),
    ("dismissed", gettext_lazy("Dismissed")),
]
SETTLED = [
    ("answered", gettext_lazy("Mark as answered")),
    ("dismissed", gettext_lazy("Dismiss")),
    ("open", gettext_lazy("Open again")),
]
MESSAGES = {
    "answered": gettext_lazy("Marked as answered. It opens again when agents still find nothing."),
    "dismissed": gettext_lazy("Dismissed. It stays so, however often it is asked."),
    "open": gettext_lazy("It is open again."),
}


class GapQuestion(Question):
    """Narrows the gaps to those of one state."""

    state = choice(STATES, required=False, label=gettext_lazy("State"))


@dataclass(frozen=True)
class GapRow:
    """A gap with where a draft of the answer begins, and the title of what was stored since."""

    gap: ShownGap
    drafts: AnswerDrafts
    answer: str


@own_page
@require_safe
def gaps(request: HttpRequest) -> HttpResponse:
    """List what is not known here, what most people asked first."""
    actor, form = actor_of(request), GapQuestion(request.GET)
    page: Page[ShownGap] | None = form.answer(list_gaps, actor, limit=GAPS_SHOWN)
    titles = titles_of(actor, [gap.answer for gap in page.items if gap.answer]) if page else {}
    context = {
        "form": form,
        "page": page,
        "rows": [_row(gap, titles) for gap in page.items] if page else [],
        "state": form.asked.get("state", "open"),
        "settled": SETTLED,
        "may_settle": "curate" in actor.scopes,
        "is_kept": settings.GAPS,
        "sections": sections_for(actor, current="insights-gaps"),
    }
    return render(request, "knowledge/gaps.html", context)


@own_page
@require_POST
def settling(request: HttpRequest, gap_id: int) -> HttpResponse:
    """Say what became of a gap."""
    state = request.POST.get("state", "")
    carry_out(settle_gap, actor_of(request), {"gap_id": gap_id, "state": state})
    tell(request, MESSAGES[state])
    return way_back(request, otherwise="insights-gaps")


@own_page
@require_POST
def forgetting(request: HttpRequest, question_id: int) -> HttpResponse:
    """Erase a question of one's own."""
    forgotten = forget_question(actor_of(request), question_id=question_id)
    tell(request, f"Forgotten: “{forgotten}”.")
    return redirect("insights-gaps")


@own_page
@require_POST
def reopening(request: HttpRequest, question_id: int) -> HttpResponse:
    """Say that a question of one's own is not answered."""
    reopened = reopen_question(actor_of(request), question_id=question_id)
    tell(request, _("Open again: “{question}”.").format(question=reopened))
    return redirect("insights-gaps")


def _row(gap: ShownGap, titles: Titles) -> GapRow:
    answer = titles.get(gap.answer, "") if gap.answer else ""
    return GapRow(gap, answer_drafts(gap.wordings[0] if gap.wordings else gap.name), answer)
