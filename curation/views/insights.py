"""Insights into curation: what comes in, what is decided, how long that takes, and who decides."""

from collections.abc import Sequence

from django.http import HttpRequest, HttpResponse
from django.shortcuts import render
from django.urls import reverse
from django.views.decorators.http import require_safe

from accounts.authentication import actor_of
from bigmind.core.translation import _
from bigmind.web.charts import Bar, Chart, ListBehind, Ranking, Series, amount
from bigmind.web.pages import own_page
from curation.decisions.who_may_decide import may_decide
from curation.services.insights import CurationInsights, Reviewer, look_at_curation
from knowledge.views.insights import FEW, UseQuestion, page_of_insights

HOURS_SHOWN = 96


@own_page
@require_safe
def insights(request: HttpRequest) -> HttpResponse:
    """Show how curation went in some days."""
    actor, form = actor_of(request), UseQuestion(request)
    seen: CurationInsights | None = form.answer(look_at_curation, actor)
    behind = ListBehind(_("The queue"), reverse("curation")) if may_decide(actor) else None
    context = {
        **page_of_insights(actor, form, current="insights-curation"),
        "whose": seen.whose if seen and not may_decide(actor) else "",
        "charts": _charts(seen, behind or ListBehind(_("Your proposals"), reverse("company-mine"))) if seen else [],
    }
    return render(request, "curation/insights.html", context)


def _charts(seen: CurationInsights, behind: ListBehind) -> list[Chart | Ranking]:
    charts: list[Chart | Ranking] = [_lead_time(seen, behind), _decisions(seen, behind), _proposals(seen, behind)]
    return charts if seen.reviewers is None else [*charts, _reviewers(seen.reviewers, behind)]


def _lead_time(seen: CurationInsights, behind: ListBehind) -> Chart:
    waits = [(step.median_hours, step.most_hours) for step in seen.steps]
    # Where people wait for days, hours are more than anybody reads.
    per, unit = (24, _("days")) if max((most or 0 for _median, most in waits), default=0) > HOURS_SHOWN else (1, _("h"))
    medians, most = ([None if hours is None else hours / per for hours in of] for of in zip(*waits, strict=True))
    last = next((median for median in reversed(medians) if median is not None), 0)
    return Chart(
        _("Lead time of decisions"),
        _("Lately half of the proposals were decided within %(last)s %(unit)s.") % {"last": amount(last), "unit": unit},
        [step.since for step in seen.steps],
        [Series(_("median"), medians), Series(_("90th percentile"), most, 3)],
        "lines",
        _("From"),
        unit,
        nothing=_("No proposal was decided in these days."),
        links=[behind],
    )


def _decisions(seen: CurationInsights, behind: ListBehind) -> Chart:
    return Chart(
        _("Decisions"),
        _("%(decided)s proposals were decided for the first time.") % {"decided": amount(seen.decided)},
        [step.since for step in seen.steps],
        [
            Series(_("approved"), [step.approved for step in seen.steps]),
            Series(_("changes requested"), [step.changes_requested for step in seen.steps], 3),
            Series(_("rejected"), [step.rejected for step in seen.steps], 5),
        ],
        "stacked",
        _("From"),
        nothing=_("No proposal was decided in these days."),
        hidden=FEW,
        links=[behind, ListBehind(_("Company knowledge"), f"{reverse('company')}?order=newest")],
    )


def _proposals(seen: CurationInsights, behind: ListBehind) -> Chart:
    return Chart(
        _("Proposals"),
        _("%(proposed)s proposals came in.") % {"proposed": amount(seen.proposed)},
        [step.since for step in seen.steps],
        [Series(_("proposals"), [step.proposed for step in seen.steps])],
        "bars",
        _("From"),
        nothing=_("Nothing was proposed in these days."),
        hidden=FEW,
        links=[behind],
    )


def _reviewers(reviewers: Sequence[Reviewer], behind: ListBehind) -> Ranking:
    return Ranking(
        _("Who reviews"),
        _("%(name)s decided most often.") % {"name": reviewers[0].name} if reviewers else "",
        [Bar(one.name, [one.approved, one.changes_requested, one.rejected]) for one in reviewers],
        [_("approved"), _("changes requested"), _("rejected")],
        _("Reviewer"),
        is_stacked=True,
        tones=(1, 3, 5),
        nothing=_("Nobody decided in these days."),
        links=[behind],
    )
