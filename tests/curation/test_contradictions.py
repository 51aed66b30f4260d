"""Contradictions: what two texts may disagree on, measured with pairs that were written by hand."""

from time import process_time

import pytest

from curation.proposals.contradictions import MOST_HINTS, contradictions
from tests.curation.contradiction_corpus import AGREEING, CONTRADICTING

LEAST_FOUND = 0.8
MOST_FALSE = 0.1
LONG = 64 * 1024
HOSTILE = ["a", "1,", "not ", "don't ", "1 day ", "only ", ".", "monday to ", "’a", "use it for that; "]


def _both_ways(one: str, other: str) -> list[bool]:
    return [bool(contradictions(one, other)), bool(contradictions(other, one))]


def test_rules_that_cannot_both_hold_are_found_whichever_is_new() -> None:
    missed = [pair for pair in CONTRADICTING if not all(_both_ways(*pair))]

    assert len(CONTRADICTING) >= 50
    assert len(missed) <= (1 - LEAST_FOUND) * len(CONTRADICTING), missed


def test_rules_that_can_both_hold_raise_few_false_alarms() -> None:
    alarms = [pair for pair in AGREEING if any(_both_ways(*pair))]

    assert len(AGREEING) >= 50
    assert len(alarms) <= MOST_FALSE * len(AGREEING), alarms


@pytest.mark.parametrize("text", [text for pair in CONTRADICTING for text in pair])
def test_no_rule_disagrees_with_itself(text: str) -> None:
    assert contradictions(text, f"# {text}\n\n{text}") == []


def test_a_hint_quotes_both_sides() -> None:
    (hint,) = contradictions("Deploy on any weekday, after the tests.", "Never deploy on Fridays.")

    assert hint == "“deploy on any weekday after the tests” here, “never deploy on fridays” there"


def test_a_title_that_only_names_the_subject_denies_nothing() -> None:
    assert contradictions("Deploys on Fridays\nNever deploy on Fridays.", "No deploys on Fridays.") == []


@pytest.mark.parametrize("unit", HOSTILE)
def test_the_worst_texts_are_compared_in_a_moment(unit: str) -> None:
    text = unit * (LONG // len(unit))
    started = process_time()

    hints = contradictions(text, text[::-1])

    assert process_time() - started < 0.5
    assert len(hints) <= MOST_HINTS
