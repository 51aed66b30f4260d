"""Charts: numbers drawn as SVG by the server, each with a sentence that states the finding and a table of its data.

A view describes a chart (`Chart`, `Ranking`), a template draws it: `{% load charts %}`, `{% chart use %}`. Marks are
geometry in attributes, colours are classes of `static/css/charts.css`, and words are HTML outside of the SVG: the SVG
stretches with its container, and words must not. The script `charts.js` only reads a step out for the keyboard and a
finger; without it, the tooltip of the pointer and the table say the same.
"""

from collections.abc import Iterable, Sequence
from dataclasses import dataclass, field
from datetime import date
from math import floor, isfinite, log10
from typing import Literal

from django import template
from django.utils.formats import date_format, number_format
from django.utils.html import format_html

from bigmind.core.translation import _, gettext_lazy

register = template.Library()

Form = Literal["lines", "area", "bars", "stacked"]
Step = date | str
Value = float | None

WIDTH, HEIGHT = 600.0, 160.0
ROW = 20.0
MOST_SERIES = 5
DATES_SHOWN = 4
LABELS_SHOWN = 8
"""More labels than these do not fit under a chart on a phone."""


@dataclass(frozen=True)
class Series:
    """The numbers of one thing, one for each step of a chart; None where a number is not known, or not shown.

    `tone` is the colour, from 1 to 5, and differs in lightness too; 0 takes the place of the series.
    """

    name: str
    values: Sequence[Value]
    tone: int = 0


@dataclass(frozen=True)
class ListBehind:
    """A link to the list behind a chart."""

    label: str
    address: str


@dataclass(frozen=True)
class Chart:
    """Numbers step by step, mostly day by day: lines, an area, bars beside each other, or bars on top of each other.

    Attributes:
        title: What is shown, as the caption of the table and the heading of the chart.
        finding: One sentence: what the picture tells. Those who do not see it hear this.
        steps: The steps in their order, the latest last: days, or texts.
        step: What a step is called, over the first column of the table.
        unit: What follows each number, such as “ms”.
        nothing: The text in place of a chart without numbers.
        hidden: What the table says where a number is None.
        addresses: Where each step leads, from the table.
        ceiling: The largest number there can be, such as 100 for percent; else the axis ends above the largest.
    """

    title: str
    finding: str
    steps: Sequence[Step]
    series: Sequence[Series]
    form: Form = "bars"
    step: str = gettext_lazy("Day")
    unit: str = ""
    nothing: str = gettext_lazy("Nothing to show yet.")
    hidden: str = "–"
    ceiling: float | None = None
    links: Sequence[ListBehind] = ()
    addresses: Sequence[str] = ()


@dataclass(frozen=True)
class Bar:
    """One row of a ranking: what it is called, its numbers in the order of the names, and where it leads."""

    name: str
    values: Sequence[Value]
    address: str = ""


@dataclass(frozen=True)
class Ranking:
    """Things and how much of each there is, as horizontal bars in the order that is given.

    `names` are the columns of the table. The numbers of a row lie over each other, the largest behind: a median in its
    95th percentile; beside the bar stands the first. With `is_stacked` they follow each other, and beside them stands
    their sum. `tones` are the colours of the columns, where those in order do not do.
    """

    title: str
    finding: str
    rows: Sequence[Bar]
    names: Sequence[str]
    thing: str
    unit: str = ""
    is_stacked: bool = False
    tones: Sequence[int] = range(1, MOST_SERIES + 1)
    nothing: str = gettext_lazy("Nothing to show yet.")
    hidden: str = "–"
    links: Sequence[ListBehind] = ()


@dataclass(frozen=True)
class Rect:
    """A bar, as the SVG says it."""

    tone: int
    x: str
    y: str
    width: str
    height: str


@dataclass(frozen=True)
class DrawnStep:
    """A step with its tooltip, the area that takes the pointer, and its marks."""

    words: str
    hit: Rect
    rects: list[Rect] = field(default_factory=list)


@dataclass(frozen=True)
class Curve:
    """A line, or what lies under one."""

    tone: int
    path: str
    is_area: bool = False


@register.filter
def amount(value: Value) -> str:
    """Write a number as readers of the page do: whole ones with separators, small ones with up to two decimals."""
    number = _finite(value)
    if number is None:
        return "–"
    whole = abs(number) >= 100 or number == int(number)
    decimals = 0 if whole else 1 if abs(number) >= 10 else 2
    # Only numbers that are not whole have a zero to lose.
    text = number_format(round(number, decimals), decimal_pos=decimals, use_l10n=True, force_grouping=True)
    return text if not decimals else text.rstrip("0").rstrip(".,")


@register.inclusion_tag("components/_chart.html")
def chart(shown: Chart | Ranking) -> dict[str, object]:
    """Draw a chart; in place of one without numbers, say so."""
    drawn = _draw_steps(shown) if isinstance(shown, Chart) else _draw_ranking(shown)
    return {"chart": shown, "width": _n(WIDTH), **drawn}


@register.simple_tag
def sparkline(values: Iterable[Value]) -> str:
    """Draw a sparkline for beside a number. Fewer than two points draw nothing."""
    numbers = [max(0.0, _finite(value) or 0.0) for value in values]
    if len(numbers) < 2:
        return ""
    most = max(numbers) or 1.0
    gap = 100 / (len(numbers) - 1)
    points = " ".join(f"{_n(place * gap)},{_n(26 - 24 * (n / most))}" for place, n in enumerate(numbers))
    return format_html(
        '<svg class="spark" viewBox="0 0 100 28" preserveAspectRatio="none" aria-hidden="true">'
        '<polygon points="0,28 {} 100,28" /><polyline points="{}" /></svg>',
        points,
        points,
    )


def top_of_axis(largest: float) -> float:
    """Return the round number at which an axis ends: 2, 4, 6, 8 or 10 times a power of ten, as is half of it.

    Zero and less end at 2, for an axis always has a height.
    """
    if not isfinite(largest) or largest <= 0:
        return 2.0
    power = 10.0 ** floor(log10(largest))
    return next((step * power for step in (2, 4, 6, 8, 10) if step * power >= largest), 20 * power)


def step_words(step: Step) -> str:
    """Write a step in full, for a tooltip and the table: a day with its weekday."""
    return date_format(step, _("D j M")) if isinstance(step, date) else step


def _draw_steps(shown: Chart) -> dict[str, object]:
    series = _of_equal_length(shown)
    known = [number for one in series for number in one.values if number is not None]
    if not shown.steps or not any(known):
        return {"is_empty": True, **_table_of_steps(shown, series)}
    is_stacked = shown.form == "stacked"
    sums = [sum(one.values[place] or 0 for one in series) for place in range(len(shown.steps))]
    top = shown.ceiling or top_of_axis(max(sums if is_stacked else known))
    groups = [_group(shown, series, place, top) for place in range(len(shown.steps))]
    curves = [] if shown.form in {"bars", "stacked"} else _curves(shown, series, top)
    return {
        "groups": groups,
        "curves": curves,
        "height": _n(HEIGHT),
        "rules": [_n(0), _n(HEIGHT / 2)],
        "marks": [f"{amount(mark)} {shown.unit}".strip() for mark in (top, top / 2)] + [amount(0)],
        "labels": _labels(shown.steps),
        "fit": "spread" if len(shown.steps) > LABELS_SHOWN else "each",
        "legend": [(one.tone, one.name) for one in series] if len(series) > 1 else [],
        **_table_of_steps(shown, series),
    }


def _draw_ranking(shown: Ranking) -> dict[str, object]:
    rows = [[_positive(value) for value in row.values] for row in shown.rows]
    sizes = [sum(n or 0 for n in row) if shown.is_stacked else max((n or 0 for n in row), default=0) for row in rows]
    table = {
        "heads": [shown.thing, *shown.names],
        "table": [
            (row.name, row.address, [_cell(value, shown.unit, shown.hidden) for value in row.values])
            for row in shown.rows
        ],
    }
    most = max(sizes, default=0)
    if not most:
        return {"is_empty": True, **table}
    groups = []
    for place, (row, numbers) in enumerate(zip(shown.rows, rows, strict=True)):
        words = ", ".join(
            f"{name} {_cell(value, shown.unit, shown.hidden)}"
            for name, value in zip(shown.names, row.values, strict=False)
        )
        hit = Rect(0, "0", _n(place * ROW), _n(WIDTH), _n(ROW))
        groups.append(DrawnStep(f"{row.name}: {words}", hit, _bars_of_row(shown, numbers, place, most)))
    return {
        "groups": groups,
        "height": _n(ROW * len(rows)),
        "rows": [
            (row.name, row.address, _cell(size if shown.is_stacked else row.values[0], shown.unit, shown.hidden))
            for row, size in zip(shown.rows, sizes, strict=True)
        ],
        "legend": list(zip(shown.tones, shown.names, strict=False)) if len(shown.names) > 1 else [],
        "is_ranking": True,
        **table,
    }


def _bars_of_row(shown: Ranking, numbers: Sequence[Value], place: int, most: float) -> list[Rect]:
    """The bars of one row of a ranking: the longest first, for what is drawn later lies above."""
    rects, start = [], 0.0
    for tone, number in zip(shown.tones, numbers, strict=False):
        width = WIDTH * ((number or 0) / most)
        if number:
            x = start if shown.is_stacked else 0.0
            rects.append(Rect(tone, _n(x), _n(place * ROW + 4), _n(width), _n(ROW - 8)))
        start += width
    return rects if shown.is_stacked else sorted(rects, key=lambda rect: -float(rect.width))


def _group(shown: Chart, series: Sequence[Series], place: int, top: float) -> DrawnStep:
    wide = WIDTH / len(shown.steps)
    labels = [f"{one.name} {_cell(one.values[place], shown.unit, shown.hidden)}" for one in series]
    hit = Rect(0, _n(place * wide), "0", _n(wide), _n(HEIGHT))
    group = DrawnStep(f"{step_words(shown.steps[place])}: {', '.join(labels)}", hit)
    base, room = 0.0, wide * 0.74
    for number, one in enumerate(series):
        value = one.values[place]
        if not value:
            continue
        high = HEIGHT * min(value / top, 1)
        if shown.form == "stacked":
            group.rects.append(
                Rect(one.tone, _n(place * wide + wide * 0.13), _n(HEIGHT - base - high), _n(room), _n(high))
            )
            base += high
        elif shown.form == "bars":
            each = room / len(series)
            group.rects.append(
                Rect(one.tone, _n(place * wide + wide * 0.13 + number * each), _n(HEIGHT - high), _n(each), _n(high))
            )
    return group


def _curves(shown: Chart, series: Sequence[Series], top: float) -> list[Curve]:
    """The lines, broken where a number is missing. A point alone becomes a short stroke: else it would not be seen."""
    wide = WIDTH / len(shown.steps)
    curves = []
    for one in series:
        path, under = [], []
        for run in _runs(one.values):
            points = [((place + 0.5) * wide, HEIGHT * (1 - min(value / top, 1))) for place, value in run]
            if len(points) == 1:
                ((x, y),) = points
                points = [(x - wide * 0.3, y), (x + wide * 0.3, y)]
            line = "L".join(f"{_n(x)} {_n(y)}" for x, y in points)
            path.append(f"M{line}")
            under.append(f"M{_n(points[0][0])} {_n(HEIGHT)}L{line}L{_n(points[-1][0])} {_n(HEIGHT)}Z")
        if shown.form == "area":
            curves.append(Curve(one.tone, "".join(under), is_area=True))
        curves.append(Curve(one.tone, "".join(path)))
    return curves


def _runs(values: Sequence[Value]) -> list[list[tuple[int, float]]]:
    """The stretches of numbers between those that are missing, each with its place."""
    runs: list[list[tuple[int, float]]] = []
    before: Value = None
    for place, value in enumerate(values):
        if value is not None:
            if before is None:
                runs.append([])
            runs[-1].append((place, value))
        before = value
    return runs


def _table_of_steps(shown: Chart, series: Sequence[Series]) -> dict[str, object]:
    """The numbers as they are, the newest first."""
    return {
        "heads": [shown.step, *(one.name for one in series)],
        "table": [
            (
                step_words(step),
                dict(enumerate(shown.addresses)).get(place, ""),
                [_cell(one.values[place], shown.unit, shown.hidden) for one in series],
            )
            for place, step in reversed(list(enumerate(shown.steps)))
        ],
    }


def _labels(steps: Sequence[Step]) -> list[Step]:
    """The steps named under the chart: all where they fit, else the first, the last and two between."""
    if len(steps) <= LABELS_SHOWN:
        return list(steps)
    return [steps[round(place * (len(steps) - 1) / (DATES_SHOWN - 1))] for place in range(DATES_SHOWN)]


def _of_equal_length(shown: Chart) -> list[Series]:
    """The series with a number or None for each step, and with their colours."""
    length = len(shown.steps)
    return [
        Series(
            one.name,
            [_positive(value) for value in [*one.values, *[None] * length][:length]],
            one.tone or min(place, MOST_SERIES),
        )
        for place, one in enumerate(shown.series, start=1)
    ]


def _cell(value: Value, unit: str, hidden: str) -> str:
    return hidden if _finite(value) is None else f"{amount(value)} {unit}".strip()


def _finite(value: Value) -> Value:
    """A number that can be drawn; None for none, infinity and what is not a number."""
    return float(value) if value is not None and isfinite(value) else None


def _positive(value: Value) -> Value:
    number = _finite(value)
    return None if number is None else max(0.0, number)


def _n(number: float) -> str:
    """A number of the SVG: a dot for the decimals in every language, and no more of them than can be seen."""
    text = f"{number:.1f}".removesuffix(".0")
    return "0" if text == "-0" else text
