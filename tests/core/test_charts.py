"""Charts: what is drawn of numbers as they come, missing, odd or none at all, and what is said beside the picture."""

import re
from datetime import date, timedelta
from itertools import product
from math import inf, nan

import pytest
from django.template import Context, Template

from bigmind.web.charts import Bar, Chart, Ranking, Series, amount, sparkline, top_of_axis

DAYS = [date(2026, 3, 1) + timedelta(days=number) for number in range(9)]
ODD = [None, nan, inf, -inf, -5, 0, 0.0001, 7, 1e18]
GEOMETRY = re.compile(r'(?:x|y|width|height|d|points)="([^"]*)"')


def _draw(shown) -> str:
    return Template("{% load charts %}{% chart shown %}").render(Context({"shown": shown}))


@pytest.mark.parametrize(("form", "length"), list(product(["lines", "area", "bars", "stacked"], [0, 1, 2, 9, 40])))
def test_whatever_the_numbers_are_the_picture_has_only_numbers_in_it(form, length):
    for values in (ODD[:length], [0] * length, [None] * length, [nan] * length):
        drawn = _draw(Chart("Calls", "Few.", DAYS[:length], [Series("a", values), Series("b", [3])], form))

        for said in GEOMETRY.findall(drawn):
            assert not re.search(r"nan|inf|None|-|,\d+,|e\+", said.lower()), said


def test_without_numbers_a_sentence_stands_in_place_of_the_picture():
    for shown in (
        Chart("Calls", "Few.", DAYS, [Series("calls", [0] * 9)], nothing="No calls in these days."),
        Chart("Calls", "Few.", [], [], nothing="No calls in these days."),
        Ranking("Calls", "Few.", [], ["calls"], "Tool", nothing="No calls in these days."),
        Ranking("Calls", "Few.", [Bar("a", [nan])], ["calls"], "Tool", nothing="No calls in these days."),
    ):
        drawn = _draw(shown)

        assert "No calls in these days." in drawn
        assert "<svg" not in drawn


def test_a_line_of_one_point_can_be_seen_and_a_gap_stays_one():
    drawn = _draw(Chart("Wait", "Short.", DAYS[:5], [Series("hours", [1, None, 2, 2, None])], "lines"))

    (path,) = re.findall(r'class="line-1" d="([^"]+)"', drawn)
    assert path.count("M") == 2
    assert path.startswith("M24 80L96 80")


def test_the_picture_has_a_sentence_a_tooltip_for_each_step_and_a_table_newest_first():
    shown = Chart(
        "Calls", "Most on <1 March>.", DAYS[:2], [Series("ok", [1234, 5]), Series("bad", [0, None])], unit="ms"
    )
    drawn = _draw(shown)

    assert 'role="img" tabindex="0" aria-label="Most on &lt;1 March&gt;."' in drawn
    assert "<title>Sun 1 Mar: ok 1,234 ms, bad 0 ms</title>" in drawn
    rows = re.findall(
        r'<th scope="row">(.*?)</th><td data-kind="number">(.*?)</td><td data-kind="number">(.*?)</td>', drawn
    )
    assert rows == [("Mon 2 Mar", "5 ms", "–"), ("Sun 1 Mar", "1,234 ms", "0 ms")]


def test_bars_of_a_ranking_lie_over_each_other_or_follow_each_other():
    rows = [Bar("recall", [10, 40], "/recall/"), Bar("store", [0, 20])]
    over = _draw(Ranking("Slow", "Recall.", rows, ["median", "p95"], "Tool"))
    after = _draw(Ranking("Slow", "Recall.", rows, ["yes", "no"], "Tool", is_stacked=True))

    bar = re.compile(r'class="tone-(\d)" x="(\S+)" y="\S+" width="(\S+)"')
    assert bar.findall(over) == [("2", "0", "600"), ("1", "0", "150"), ("2", "0", "300")]
    assert bar.findall(after) == [("1", "0", "120"), ("2", "120", "480"), ("2", "0", "240")]
    assert over.count('href="/recall/"') == 2


@pytest.mark.parametrize(
    ("largest", "top"),
    [(0, 2), (-3, 2), (nan, 2), (1, 2), (2, 2), (2.1, 4), (37, 40), (99, 100), (100, 200), (365, 400), (0.03, 0.04)],
)
def test_the_axis_ends_at_a_round_number(largest, top):
    assert top_of_axis(largest) == pytest.approx(top)


@pytest.mark.parametrize(
    ("number", "said"),
    [(0, "0"), (1234567, "1,234,567"), (0.5, "0.5"), (12.34, "12.3"), (123.4, "123"), (0.004, "0"), (None, "–")],
)
def test_numbers_are_written_as_people_read_them(number, said):
    assert amount(number) == said


def test_a_sparkline_needs_two_points():
    assert sparkline([]) == sparkline([3]) == ""
    assert 'points="0,26 50,2 100,26"' in sparkline([0, 4, None])
    assert "nan" not in sparkline([nan, 0, 0])
