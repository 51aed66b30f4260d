"""Contradictions: what two texts may disagree on, measured with pairs that were written by hand."""

from itertools import combinations

import pytest

from benchmarks.truth.pairs import (
    PARTS,
    RULES,
    Pair,
    entries_from_one_template,
    read_ordinary_facts,
    read_pairs,
)
from knowledge.truth.contradictions import contradictions

LEAST_FOUND = 0.75
MOST_FALSE = 0.03
PAIRS = read_pairs()


def _both_ways(pair: Pair) -> list[bool]:
    return [bool(contradictions(pair.newer, pair.older)), bool(contradictions(pair.older, pair.newer))]


@pytest.mark.parametrize("part", PARTS)
def test_statements_that_cannot_both_hold_are_found_whichever_is_new(part: str) -> None:
    against = [pair for pair in PAIRS if pair.part == part and pair.relation == "contradiction"]

    missed = [pair for pair in against if not all(_both_ways(pair))]

    assert len(against) >= 50
    assert len(missed) <= (1 - LEAST_FOUND) * len(against), missed


@pytest.mark.parametrize("part", PARTS)
def test_statements_that_can_both_hold_raise_few_false_alarms(part: str) -> None:
    near = [pair for pair in PAIRS if pair.part == part and pair.relation != "contradiction"]

    alarms = [pair for pair in near if any(_both_ways(pair))]

    assert len(near) >= 45
    assert len(alarms) <= MOST_FALSE * len(near), alarms


@pytest.mark.parametrize("facts", read_ordinary_facts(), ids=len)
def test_ordinary_facts_of_weeks_raise_hardly_any_alarm(facts: list[str]) -> None:
    alarms = [(new, known) for at, new in enumerate(facts) for known in facts[:at] if contradictions(new, known)]

    assert len({new for new, _ in alarms}) <= len(facts) / 100, alarms


def test_entries_written_from_one_template_raise_none() -> None:
    entries = entries_from_one_template(60)

    alarms = [(new, known) for new, known in combinations(entries, 2) if contradictions(new, known)]

    assert len(set(entries)) == 60
    assert alarms == []


def test_a_template_tells_apart_what_has_the_name_of_another_within_its_own() -> None:
    card = "Service card: {}\n\n- Port: {}\n- Tier: {}\n- Region: {}\n\nLogs are kept for {} days."
    one, other = card.format("order", 8000, 1, "Vienna", 7), card.format("order-sync", 8007, 2, "Oslo", 9)

    assert not contradictions(other, one)
    assert contradictions(card.format("order", 8007, 1, "Vienna", 7), one)
    assert contradictions(card.format("order service", 8007, 1, "Vienna", 7), one)


def test_no_rule_disagrees_with_itself() -> None:
    rules = [text for pair in PAIRS if pair.part == RULES for text in (pair.older, pair.newer)]

    assert len(rules) >= 200
    assert [text for text in rules if contradictions(text, f"# {text}\n\n{text}")] == []


@pytest.mark.parametrize(
    ("older", "newer"),
    [
        ("Commit messages must name a ticket.", "Commit messages may leave out the ticket."),
        ("Use only Rust in the gateway.", "Use Rust and Go in the gateway."),
        ("Only Ada may approve invoices.", "Ada or Grace may approve invoices."),
        ("Every release is signed.", "Every release except hotfixes is signed."),
        ("Team Falcon owns billing.", "Team Heron owns billing."),
        ("The billing service is owned by team Falcon.", "The billing service is owned by team Heron."),
        ("The office is in Dublin.", "The office is in Lisbon."),
        ("Answer in German.", "Answer in English."),
        ("The night shift begins at 22:00.", "The night shift starts at 21:30."),
        ("Empty crates are stacked no higher than ten.", "Empty crates may be stacked up to fifteen high."),
        ("The ledger system is Nimbus.", "We use Kestrel as the ledger system."),
        ("Search indexes are rebuilt every Sunday.", "Search indexes are rebuilt every night."),
    ],
)
def test_these_cannot_both_hold(older: str, newer: str) -> None:
    assert all(_both_ways(Pair("", "contradiction", older, newer, "")))


@pytest.mark.parametrize(
    ("older", "newer"),
    [
        ("Never log tokens.", "Never log passwords unless masked."),
        ("Two-factor codes are required.", "Two-factor codes are not optional."),
        ("Backups run for 30 minutes.", "Backups run at 80 %."),
        ("The deputy of Doctor Lang is Doctor Weber.", "The deputy of Doctor Weber is Doctor Roth."),
        ("The canteen accepts cards only.", "The canteen is open from 11:30 to 14:00."),
        ("Trial accounts last 14 days.", "Trial accounts of partners last 30 days."),
        ("The report is sent every Sunday.", "The report is sent once a week."),
    ],
)
def test_these_can_both_hold(older: str, newer: str) -> None:
    assert not any(_both_ways(Pair("", "compatible", older, newer, "")))


def test_a_hint_quotes_both_sides() -> None:
    (hint,) = contradictions("Deploy on any weekday, after the tests.", "Never deploy on Fridays.")

    assert hint == "“Deploy on any weekday after the tests” here, “Never deploy on Fridays” there"


def test_a_title_that_only_names_the_subject_denies_nothing() -> None:
    assert contradictions("Deploys on Fridays\nNever deploy on Fridays.", "No deploys on Fridays.") == []


@pytest.mark.parametrize(
    "number", ["8.30 am", "0.5:2", "1.5 pm", "0.4:", "10:", "::2", "12:5:9 pm", "٣.٤:٥", "²:3", "8:30pm"]
)
def test_numbers_that_are_no_times_of_day_are_compared_as_they_stand(number):
    assert contradictions(f"The share is {number} of all.", f"The share is {number} of all.") == []


def test_a_time_of_day_with_a_full_stop_is_the_same_as_with_a_colon():
    assert contradictions("The meeting is at 8.30 am.", "The meeting is at 8:30 am.") == []
    assert contradictions("The meeting is at 8.30 am.", "The meeting is at 9:30 am.") != []


@pytest.mark.parametrize(
    ("known", "new"),
    [
        ("Samples are ready after three working days.", "Samples are ready the next day."),
        ("Tours may be moved at no cost until 24 h before.", "Tours can be moved free of charge up to 48 h before."),
    ],
)
def test_a_duration_is_read_in_the_words_it_is_said_in(known: str, new: str) -> None:
    assert contradictions(new, known)
    assert contradictions(known, new)


@pytest.mark.parametrize(
    ("known", "new"),
    [
        ("Docker images are built nightly.", "Docker images are scanned once a week."),
        ("Rooms are ready for guests from 2 pm.", "Guests leave their rooms by 11:00."),
        ("Presses of plant North run for 12 hours.", "Presses of plant South run for 8 hours."),
        ("Badges are limited to 50 per event.", "Each sponsor adds at most ten badges."),
        ("Invoices are created by ledger, not by harbour.", "Harbour stores its data in PostgreSQL."),
        ("A report does not have to be signed.", "A report has to be numbered."),
    ],
)
def test_another_thing_in_the_same_place_is_no_contradiction(known: str, new: str) -> None:
    assert not contradictions(new, known)
    assert not contradictions(known, new)
