"""The style guide: every component in both colour schemes, where people and axe look at it first."""

from dataclasses import dataclass
from datetime import date, timedelta
from typing import Any

from django import forms
from django.http import HttpRequest, HttpResponse
from django.shortcuts import render
from django.template.loader import get_template
from django.utils import timezone

from accounts.models import User
from bigmind.database.pagination import Page
from bigmind.navigation import navigation_for
from bigmind.web.charts import Bar, Chart, ListBehind, Ranking, Series
from knowledge.memory.activity import HeatMap, heat_map

SCHEMES = ("light", "dark")
SNIPPET = 'claude mcp add --transport http bigmind http://localhost:7700/mcp --header "Authorization: Bearer bm_…"'


@dataclass(frozen=True)
class Specimen:
    """One component on show: its anchor (and the name of its template), its name, and what it is for."""

    key: str
    name: str
    purpose: str

    @property
    def template(self) -> str:
        """The template that draws it."""
        return f"styleguide/_{self.key}.html"

    @property
    def source(self) -> str:
        """The markup to copy: the template as it is written."""
        template: Any = get_template(self.template)  # Django's own type hides the template behind its backend.
        return str(template.template.source).strip()


SPECIMENS = (
    Specimen("header", "Page header", "Where a page is, what it is called, and the one thing to do with all of it."),
    Specimen("navigation", "Navigation", "The sections. The current one carries aria-current."),
    Specimen("tabs", "Tabs", "Links between pages about one thing."),
    Specimen("buttons", "Buttons", "One primary button to a page. Danger is for what cannot be undone."),
    Specimen("search", "Search", "A question, and filters: each label stands in one frame with its value."),
    Specimen("form", "Form", "A label, a hint, then the control. What is wrong is said on top and in its place."),
    Specimen("messages", "Messages", "What just happened. The first word says how to take it; the colour repeats it."),
    Specimen(
        "icons", "Kinds, people and projects", "An icon and a hue for each kind; initials; a square. Words beside."
    ),
    Specimen("rows", "Rows", "Kind, title, what matters in columns, a menu. Compact: one line; comfortable: two."),
    Specimen("items", "Items", "What does not fit into a row: texts, and what can be done about each."),
    Specimen("words", "Tags and statuses", "Tags are words that someone chose; statuses are words of BigMind."),
    Specimen(
        "hits", "Search hits", "What was found, how relevant it is in a word, and what says nearly the same folded."
    ),
    Specimen("facets", "Facets", "Tags that narrow a list, with how many each leaves. The chosen ones come first."),
    Specimen("table", "Table", "For comparing. It scrolls in its own region; a script lets people sort it."),
    Specimen("particulars", "Particulars", "What is known about one thing."),
    Specimen("figures", "Figures", "A few numbers that matter."),
    Specimen(
        "charts", "Charts", "What the numbers say in a sentence, the picture, and the table behind it. Drawn as SVG."
    ),
    Specimen("meter", "Meter", "How much of a token budget is used. It warns in its last tenth."),
    Specimen("progress", "Progress", "How far work is that goes on in the background."),
    Specimen("heatmap", "Heat map", "Activity by day. Every cell has its date and number as text."),
    Specimen("code", "Code", "Text to copy. A small script adds the button."),
    Specimen("disclosure", "Disclosure", "One of several sections open at a time, as in the list of clients."),
    Specimen("steps", "Steps", "Things to do in order."),
    Specimen("panel", "Confirmation", "The page before something is gone. Panels also hold sign-in and previews."),
    Specimen("empty", "Empty state", "Why there is nothing, and the next step."),
    Specimen("pagination", "Pagination", "Where in a long list this page is."),
    Specimen("prose", "Prose", "Rendered markdown."),
    Specimen("difference", "Differences and matches", "What was taken out, put in, or found."),
    Specimen("versions", "Versions", "Two versions of a text, line by line."),
    Specimen("queue", "Queue", "What waits for a decision: how long in words, and who is looking at it."),
    Specimen("deciding", "Decisions", "The bar of decisions, and what is behind a word each until one is open."),
)


class SampleForm(forms.Form):
    """Asks for a key, and has every kind of field."""

    label = forms.CharField(help_text="What you will recognise it by, such as the name of a machine.")
    expires = forms.DateField(required=False, widget=forms.DateInput(format="%Y-%m-%d", attrs={"type": "date"}))
    purpose = forms.CharField(required=False, widget=forms.Textarea(attrs={"rows": 3}))
    toolset = forms.ChoiceField(choices=[("core", "core: the dozen that most sessions need"), ("all", "all of them")])
    scope = forms.ChoiceField(
        choices=[("read", "Read what is remembered"), ("write", "Read and write")], widget=forms.RadioSelect
    )
    announce = forms.BooleanField(required=False, label="Tell me a week before it expires")


def styleguide(request: HttpRequest) -> HttpResponse:
    """Show every component, each with the markup that draws it."""
    now = timezone.now()
    context = {
        "specimens": SPECIMENS,
        "schemes": [(scheme, _invalid_form(scheme)) for scheme in SCHEMES],
        "an_hour_ago": now - timedelta(hours=1),
        "days_ago": now - timedelta(days=3),
        "snippet": SNIPPET,
        "sample_navigation": navigation_for(User(username="ada"), "/"),
        "sample_page": Page(items=range(50), total=1280, limit=50, offset=50),
        "sample_activity": _activity(now.date()),
        "sample_days": [7, 9, 4, 0, 2, 11, 8, 12, 9, 14],
        "sample_charts": [(scheme, shown) for scheme in SCHEMES for shown in _charts(scheme, now.date())],
    }
    return render(request, "styleguide.html", context)


def _invalid_form(scheme: str) -> SampleForm:
    return SampleForm({"toolset": "core", "scope": "read", "expires": "soon"}, auto_id=f"{scheme}-%s")


def _activity(until: date) -> HeatMap:
    """Invent a quiet half year, the same on every visit."""
    days = (until - timedelta(days=number) for number in range(26 * 7))
    counts = {day: day.toordinal() ** 2 * 31 % 11 % 5 for day in days if day.weekday() < 5}
    return heat_map(counts, until=until, weeks=26)


def _charts(scheme: str, until: date) -> list[Chart | Ranking]:
    """Invent a chart of each form: numbers of two weeks, one day, and none."""
    days = [until - timedelta(days=13 - number) for number in range(14)]
    calls = [day.toordinal() ** 2 * 31 % 37 if day.weekday() < 5 else 3 for day in days]
    wait: list[float | None] = [None if number == 5 else 4 + call * 0.4 for number, call in enumerate(calls)]
    one = f"{scheme}: "
    link = ListBehind("All calls", "#charts")
    kinds = [Series("recall", calls), Series("store", [call // 3 for call in calls]), Series("errors", [0, 2] * 7, 5)]
    growth = [sum(calls[: number + 1]) for number in range(14)]
    slow = [Bar("memory_recall", [18, 96], "#charts"), Bar("kb_search", [12, 40]), Bar("memory_store_fact", [6, 9])]
    found = [Series("answered", [80, 91, 86]), Series("nothing known", [20, 9, 14], 4)]
    weeks = ["Week 1", "Week 2", "Week 3"]
    lines = [Series("median", wait), Series("90th percentile", [None if n is None else n * 2.5 for n in wait], 3)]
    return [
        Chart(f"{one}Calls per day", "Weekdays are busy, weekends quiet.", days, kinds, "stacked", links=[link]),
        Chart(f"{one}Lead time", "A decision takes 10 hours; one day had none.", days, lines, "lines", unit="h"),
        Chart(f"{one}Facts in all", f"There are {growth[-1]} facts now.", days, [Series("facts", growth)], "area"),
        Chart(f"{one}Answers", "9 in 10 are answered.", weeks, found, "stacked", "Week", "%", ceiling=100),
        Ranking(f"{one}Slowest", "Recall takes 18 ms.", slow, ["median", "95th percentile"], "Operation", "ms"),
        Chart(f"{one}One day", "Twelve calls today.", days[-1:], [Series("calls", [12])]),
        Chart(f"{one}One point", "Twelve calls today.", days[-1:], [Series("calls", [12])], "lines"),
        Chart(f"{one}No days", "", [], [Series("calls", [])], nothing="No calls in these days."),
    ]
