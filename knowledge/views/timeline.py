"""The timeline of a memory: what came about, day by day, with what replaced what."""

from itertools import groupby

from django import forms
from django.http import HttpRequest, HttpResponse
from django.utils.http import urlencode
from django.views.decorators.http import require_safe

from accounts.authentication import actor_of
from accounts.models import User
from bigmind.core.translation import _, gettext_lazy
from bigmind.web.charts import Chart, Series, amount, step_words
from bigmind.web.forms import choice
from bigmind.web.pages import own_page
from bigmind.web.words import lazy_word
from knowledge.kinds import NO_HEADLINE
from knowledge.memory.timeline import KINDS_OF_EVENTS, Event, Timeline, see_timeline
from knowledge.views.pages import ProjectQuestion, address_of, label_for, memory_page, word_for

LABELS = {
    "decision": gettext_lazy("Decisions"),
    "fact": gettext_lazy("Other facts"),
    "company": gettext_lazy("Your proposals"),
}
"""Kinds of events that are called otherwise than what they are of."""
WORDS = {
    "decided": gettext_lazy("Decision"),
    "confirmed": gettext_lazy("Hypothesis confirmed"),
    "refuted": gettext_lazy("Hypothesis refuted"),
    "abandoned": gettext_lazy("Hypothesis abandoned"),
    "open": gettext_lazy("Hypothesis"),
    "approved": gettext_lazy("Proposal approved"),
    "rejected": gettext_lazy("Proposal rejected"),
    "changes_requested": gettext_lazy("Changes requested"),
    "pending": gettext_lazy("Proposal pending"),
    "deprecated": gettext_lazy("Company entry deprecated"),
    "superseded": gettext_lazy("Company entry replaced"),
}
"""What came about, where that is more than that something was stored."""


class TimelineQuestion(ProjectQuestion):
    """Narrows the timeline. A week is chosen in the strip above the list."""

    kind = choice(
        [(kind, LABELS.get(kind) or lazy_word(label_for(kind))) for kind in KINDS_OF_EVENTS],
        blank=gettext_lazy("Everything"),
        required=False,
        label=gettext_lazy("Kind"),
    )
    week = forms.CharField(
        required=False, label=gettext_lazy("Week from"), widget=forms.DateInput(attrs={"type": "date"})
    )

    def __init__(self, request: HttpRequest, user: User) -> None:
        super().__init__(request, user)
        self.order_fields(["kind", "project", "week"])


@own_page
@require_safe
def timeline(request: HttpRequest) -> HttpResponse:
    """Show what came about in a memory, the newest first."""
    actor = actor_of(request)
    form = TimelineQuestion(request, actor.user)
    page: Timeline | None = form.answer(see_timeline, actor)
    days = groupby(page.items, key=lambda event: event.day) if page else ()
    return memory_page(
        request,
        "knowledge/timeline.html",
        section="memory-timeline",
        form=form,
        page=page,
        days=[(day, [_row(event) for event in events]) for day, events in days],
        strip=_strip(page, form) if page else None,
    )


def _row(event: Event) -> dict[str, object]:
    kind = "fact" if event.kind == "decision" else event.kind
    return {
        "event": event,
        "kind": kind,
        "category": "decision" if event.kind == "decision" else "",
        "word": WORDS.get(event.what) or word_for(kind).capitalize(),
        "address": address_of(kind, event.id),
        "title": event.title or NO_HEADLINE,
        "other": address_of("fact", event.other_id) if event.other_id else "",
        "newer": address_of("fact", event.newer_id) if event.newer_id else "",
    }


def _strip(page: Timeline, form: TimelineQuestion) -> Chart:
    """The last half year, week by week; the table behind it leads to each week."""
    busiest, most = max(page.weeks, key=lambda week: week[1])
    kept = {name: value for name, value in form.asked.items() if name in {"kind", "project"}}
    return Chart(
        _("Half a year"),
        _("The busiest week began on %(busiest)s, with %(most)s events.")
        % {"busiest": step_words(busiest), "most": amount(most)},
        [week for week, _number in page.weeks],
        [Series(_("events"), [number for _week, number in page.weeks])],
        step=_("Week from"),
        nothing=_("Nothing came about in the last half year."),
        addresses=[f"?{urlencode({**kept, 'week': week.isoformat()})}" for week, _number in page.weeks],
    )
