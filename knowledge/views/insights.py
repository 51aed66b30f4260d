"""Insights: what BigMind was used for, what it delivered, and what came of it, as charts with the lists behind them."""

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

from django.conf import settings
from django.http import HttpRequest, HttpResponse
from django.shortcuts import render
from django.urls import reverse
from django.utils.http import urlencode
from django.views.decorators.http import require_safe

from accounts.actor import Actor
from accounts.authentication import actor_of
from accounts.services.usage import COLLEAGUES
from bigmind.core.translation import _, format_lazy, gettext_lazy
from bigmind.web.charts import Bar, Chart, ListBehind, Ranking, Series, amount, step_words
from bigmind.web.forms import Question, choice
from bigmind.web.pages import Tab, own_page
from bigmind.web.words import word_of
from knowledge.exposures.gaps import newest_open_gaps
from knowledge.exposures.insights import Insights, ItemUse, KnowledgeInsights, look_at_knowledge, look_at_use
from knowledge.exposures.uncited_entries import PEOPLE_ASKED, SESSIONS_ASKED
from knowledge.kinds import KINDS

RANGES = [("7", gettext_lazy("7 days")), ("30", gettext_lazy("30 days")), ("90", gettext_lazy("90 days"))]
PEOPLE = [("mine", gettext_lazy("Only me")), ("everybody", gettext_lazy("Whole team"))]
CHARTED = ("insights", "insights-knowledge", "insights-curation")
"""The pages whose charts are of some days."""
SLOW_SHOWN = 8
IMPACT_SHOWN = 8
FEW = format_lazy(gettext_lazy("fewer than {number} colleagues"), number=COLLEAGUES)
"""What a table says where a number is withheld."""
TOO_FEW = format_lazy(
    gettext_lazy("On no day of these did {number} colleagues call, so nothing is shown of the whole team."),
    number=COLLEAGUES,
)


class UseQuestion(Question):
    """Asks about some days, for oneself or for everybody. Both are chosen by links."""

    days = choice(RANGES, required=False, label=gettext_lazy("Period"), initial="30")
    whose = choice(PEOPLE, required=False, label=gettext_lazy("Scope"))

    def __init__(self, request: HttpRequest) -> None:
        # What the address leaves out is shown as it is meant.
        super().__init__({"days": "30", "whose": "mine", **request.GET.dict()})

    def links(self, name: str, choices: Sequence[tuple[str, str]]) -> list[Tab]:
        """Return a link for each choice of one field; the other field stays as it is."""
        parameters = {field: self.asked.get(field, "") for field in ("days", "whose")}
        return [
            Tab(label, f"?{urlencode({**parameters, name: value})}", is_current=parameters[name] == value)
            for value, label in choices
        ]

    def choosers(self) -> list[tuple[str, list[Tab]]]:
        """Return the links for the period, and where there is a team for the scope."""
        period = (_("Period"), self.links("days", RANGES))
        return [period] if settings.BIGMIND_MODE == "personal" else [period, (_("Scope"), self.links("whose", PEOPLE))]


@dataclass(frozen=True)
class Tile:
    """One number that matters, how it went day by day, and the chart or list it belongs to."""

    label: str
    value: int | None
    days: Sequence[float | None] = ()
    address: str = ""


@own_page
@require_safe
def insights(request: HttpRequest) -> HttpResponse:
    """Show how BigMind was used in some days."""
    actor, form = actor_of(request), UseQuestion(request)
    use: Insights | None = form.answer(look_at_use, actor)
    context: dict[str, Any] = {
        **page_of_insights(actor, form, current="insights"),
        "use": use,
        "whose": use.whose if use else "",
        "tiles": _tiles(use) if use else [],
        "charts": _charts_of_use(use) if use else [],
    }
    return render(request, "knowledge/insights.html", context)


@own_page
@require_safe
def knowledge(request: HttpRequest) -> HttpResponse:
    """Show how knowledge grew, what of it helped, and how often nothing was known."""
    actor, form = actor_of(request), UseQuestion(request)
    known: KnowledgeInsights | None = form.answer(look_at_knowledge, actor)
    context: dict[str, Any] = {
        **page_of_insights(actor, form, current="insights-knowledge"),
        "known": known,
        "whose": known.whose if known else "",
        "charts": _charts_of_knowledge(known) if known else [],
        "sessions_asked": SESSIONS_ASKED,
        "people_asked": PEOPLE_ASKED,
    }
    return render(request, "knowledge/insights_knowledge.html", context)


def page_of_insights(actor: Actor, form: UseQuestion, *, current: str) -> dict[str, Any]:
    """Return what the pages with charts share: their sections, and the links that choose period and scope."""
    return {
        "form": form,
        "choosers": form.choosers(),
        "sections": sections_for(actor, current=current, asked=form.asked),
        "colleagues": COLLEAGUES,
    }


def sections_for(actor: Actor, *, current: str, asked: dict[str, Any] | None = None) -> list[Tab]:
    """Return the pages about use, with how many gaps are open. Period and scope go along to the other charts."""
    kept = {name: value for name, value in (asked or {}).items() if name in {"days", "whose"}}
    chosen = f"?{urlencode(kept)}" if kept else ""
    rows: tuple[tuple[str, str, int | None], ...] = (
        (_("Use"), "insights", None),
        (_("Knowledge"), "insights-knowledge", None),
        (_("Curation"), "insights-curation", None),
        (_("Unanswered questions"), "insights-gaps", newest_open_gaps(actor, limit=1)[1]),
    )
    return [
        Tab(label, reverse(route) + (chosen if route in CHARTED else ""), count, route == current)
        for label, route, count in rows
    ]


def _tiles(use: Insights) -> list[Tile]:
    daily, starts = use.daily, use.starts.daily
    if use.withheld == use.days:
        return [Tile(label, None) for label in (_("calls"), _("errors"), _("tokens that agents read"))]
    return [
        Tile(_("calls"), use.calls, [day.calls for day in daily], "#tools"),
        Tile(_("errors"), use.refused, [day.refused for day in daily], "#ends"),
        Tile(_("tokens that agents read"), use.tokens, [day.tokens for day in daily]),
        Tile("sessions", use.starts.begun, [day.begun for day in starts], reverse("memory-sessions")),
        Tile(_("look-ups saved, estimated"), use.starts.saved, [day.saved for day in starts]),
        Tile(_("sessions that cited something"), use.starts.proven),
    ]


def _charts_of_use(use: Insights) -> list[Chart | Ranking]:
    if use.withheld == use.days:
        return [Chart(_("Calls"), "", [], [], nothing=TOO_FEW)]
    return [_calls(use), _slowest(use), _tokens(use), _look_ups_saved(use)]


def _calls(use: Insights) -> Chart:
    busiest = max(use.daily, key=lambda day: day.calls)
    other = [_but(day.is_withheld, day.calls - day.refused - day.searches) for day in use.daily]
    return Chart(
        _("Calls"),
        _("The busiest day was %(day)s, with %(calls)s calls.")
        % {"day": step_words(busiest.day), "calls": amount(busiest.calls)},
        [day.day for day in use.daily],
        [
            Series(_("searches"), [_but(day.is_withheld, day.searches) for day in use.daily]),
            Series(_("other calls"), other, 2),
            Series(_("errors"), [_but(day.is_withheld, day.refused) for day in use.daily], 5),
        ],
        "stacked",
        nothing=_("No calls in these days. They are counted as soon as an agent calls BigMind."),
        hidden=FEW,
        links=[_calls_by_tool(), ListBehind(_("How calls ended"), "#ends")],
    )


def _slowest(use: Insights) -> Ranking:
    slow = sorted(use.tools, key=lambda tool: -tool.most_within)[:SLOW_SHOWN]
    return Ranking(
        _("Slowest operations"),
        _("%(name)s was slowest: 95 of 100 calls took at most %(most_within)s ms.")
        % {"name": slow[0].name, "most_within": amount(slow[0].most_within)}
        if slow
        else "",
        [Bar(tool.name, [tool.half_within, tool.most_within], "#tools") for tool in slow],
        [_("median"), _("95th percentile")],
        _("Operation"),
        unit="ms",
        nothing=_("No calls in these days."),
        links=[_calls_by_tool()],
    )


def _tokens(use: Insights) -> Chart:
    return Chart(
        _("Tokens that agents read"),
        _("Agents read %(tokens)s tokens; start contexts delivered %(tokens2)s.")
        % {"tokens": amount(use.tokens), "tokens2": amount(use.starts.tokens)},
        [day.day for day in use.daily],
        [Series("tokens", [_but(day.is_withheld, day.tokens) for day in use.daily])],
        "area",
        nothing=_("Agents read nothing over MCP in these days."),
        hidden=FEW,
        links=[_calls_by_tool()],
    )


def _look_ups_saved(use: Insights) -> Chart:
    return Chart(
        _("Look-ups and tokens saved, estimated"),
        _("Start contexts saved %(saved)s look-ups, or about %(tokens_saved)s tokens of searches.")
        % {"saved": amount(use.starts.saved), "tokens_saved": amount(use.tokens_saved)},
        [day.day for day in use.daily],
        [Series(_("look-ups saved"), [_but(day.is_withheld, day.saved) for day in use.starts.daily])],
        nothing=_("No start context saved a look-up in these days."),
        hidden=FEW,
        links=[ListBehind(_("Sessions"), reverse("memory-sessions"))] if use.whose == "mine" else [],
    )


def _calls_by_tool() -> ListBehind:
    return ListBehind(_("Calls by tool"), "#tools")


def _charts_of_knowledge(known: KnowledgeInsights) -> list[Chart | Ranking]:
    return [
        *(_growth(known, kind) for kind in known.growth[-1].numbers),
        _questions_without_answer(known),
        _impact(known.items),
    ]


def _questions_without_answer(known: KnowledgeInsights) -> Chart:
    number_asked = sum(number or 0 for _day, number in known.unanswered)
    return Chart(
        _("Questions without an answer"),
        _("Agents asked %(asked)s new questions to which nothing was known.") % {"asked": amount(number_asked)},
        [day.day for day in known.growth],
        [Series(_("new questions"), [number for _day, number in known.unanswered], 4)],
        nothing=_("No new question went without an answer in these days."),
        hidden=FEW,
        links=[ListBehind(_("Unanswered questions"), reverse("insights-gaps"))],
    )


def _impact(items: Sequence[ItemUse]) -> Ranking:
    sent, cited = sum(item.served for item in items), sum(item.cited for item in items)
    bars = [
        Bar(
            f"{item.entry.handle} {item.entry.title}",
            [item.cited, item.misled, max(0, item.served - item.cited - item.misled)],
            reverse("company-entry", args=[item.entry.pk]),
        )
        for item in sorted(items, key=lambda item: (-item.cited, -item.served))[:IMPACT_SHOWN]
    ]
    return Ranking(
        _("Impact of company knowledge"),
        _("Sessions received an entry %(told)s times, and said %(cited)s times that it helped.")
        % {"told": amount(sent), "cited": amount(cited)},
        bars,
        [_("cited"), _("misled"), _("only sent")],
        _("Entry"),
        is_stacked=True,
        tones=(1, 5, 4),
        nothing=_("No session received company knowledge in this period."),
        links=[ListBehind(_("All entries that were sent"), "#came")],
    )


def _growth(known: KnowledgeInsights, kind: str) -> Chart:
    """How one kind grew: each has a chart of its own, for a large one would press the others to the ground."""
    numbers = [day.numbers[kind] for day in known.growth]
    added = numbers[-1] - numbers[0]
    route = next(row.list_route for row in KINDS.values() if row.label == kind)
    return Chart(
        word_of(kind),
        _("%(what)s today, %(added)s more than %(day)s.")
        % {"what": amount(numbers[-1]), "added": amount(added), "day": step_words(known.growth[0].day)},
        [day.day for day in known.growth],
        [Series(word_of(kind.lower()), numbers)],
        "area",
        nothing=_("There are none yet."),
        links=[ListBehind(_("All of them"), reverse(route))],
    )


def _but(is_withheld: bool, number: int) -> int | None:
    return None if is_withheld else number
