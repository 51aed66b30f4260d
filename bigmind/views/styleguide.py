"""The style guide: every component in both colour schemes, where people and axe look at it first."""

from dataclasses import dataclass
from datetime import date, timedelta
from typing import Any

from django import forms
from django.http import HttpRequest, HttpResponse
from django.shortcuts import render
from django.template.loader import get_template
from django.utils import timezone

from bigmind.core.pages import Page
from bigmind.navigation import navigation_for

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
    Specimen("search", "Search", "A question, and the few filters that narrow the answer."),
    Specimen("form", "Form", "A label, a hint, then the control. What is wrong is said on top and in its place."),
    Specimen("messages", "Messages", "What just happened. The first word says how to take it; the colour repeats it."),
    Specimen("items", "Items", "Rows of what is remembered, with what can be done about each."),
    Specimen("words", "Tags and statuses", "Tags are words that somebody chose; statuses are words of BigMind."),
    Specimen("table", "Table", "For comparing. It scrolls in its own region, so that the page does not."),
    Specimen("particulars", "Particulars", "What is known about one thing."),
    Specimen("figures", "Figures", "A few numbers that matter."),
    Specimen("meter", "Meter", "How much of a token budget is used. It warns in its last tenth."),
    Specimen("heatmap", "Heat map", "Activity by day. Every cell has its date and number as text."),
    Specimen("code", "Code", "Text to copy. A small script adds the button."),
    Specimen("disclosure", "Disclosure", "One of several sections open at a time, as in the list of clients."),
    Specimen("steps", "Steps", "Things to do in order."),
    Specimen("panel", "Confirmation", "The page before something is gone. Panels also hold sign-in and previews."),
    Specimen("empty", "Empty state", "Why there is nothing, and the next step."),
    Specimen("pagination", "Pagination", "Where in a long list this page is."),
    Specimen("prose", "Prose", "Rendered markdown."),
    Specimen("difference", "Differences and matches", "What was taken out, put in, or found."),
)


class SampleForm(forms.Form):
    """Asks for a key, and has every kind of field."""

    label = forms.CharField(help_text="What you will recognise it by, such as the name of a machine.")
    expires = forms.DateField(required=False, widget=forms.DateInput(attrs={"type": "date"}))
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
        "schemes": [(scheme, _refused_form(scheme)) for scheme in SCHEMES],
        "an_hour_ago": now - timedelta(hours=1),
        "days_ago": now - timedelta(days=3),
        "snippet": SNIPPET,
        "sample_navigation": navigation_for("ada", "/"),
        "sample_page": Page(items=range(50), total=1280, limit=50, offset=50),
        "sample_weekdays": _weekdays(now.date(), weeks=26),
    }
    return render(request, "styleguide.html", context)


def _refused_form(scheme: str) -> SampleForm:
    return SampleForm({"toolset": "core", "scope": "read", "expires": "soon"}, auto_id=f"{scheme}-%s")


def _weekdays(until: date, *, weeks: int) -> list[dict[str, Any]]:
    """Invent a quiet half year, the same on every visit."""
    monday = until - timedelta(days=until.weekday(), weeks=weeks - 1)
    rows = []
    for weekday, label in enumerate(("Mon", "Tue", "Wed", "Thu", "Fri", "Sat", "Sun")):
        days = [monday + timedelta(weeks=week, days=weekday) for week in range(weeks)]
        rows.append({"label": label, "days": [_sample_day(day) for day in days]})
    return rows


def _sample_day(day: date) -> dict[str, Any]:
    count = 0 if day.weekday() > 4 else day.toordinal() ** 2 * 31 % 11 % 5
    return {"date": day, "count": count, "level": count}
