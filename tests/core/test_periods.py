"""Days, weeks and months in words: what `since: last week` means."""

from datetime import UTC, datetime

import pytest
from django.utils import timezone

from bigmind.text.periods import find_period, read_period


@pytest.fixture(autouse=True)
def _a_sunday(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(timezone, "now", lambda: datetime(2026, 11, 22, 12, 30, tzinfo=UTC))


@pytest.mark.parametrize(
    ("text", "start", "end"),
    [
        ("today", "2026-11-22", "2026-11-23"), ("Yesterday ", "2026-11-21", "2026-11-22"),
        ("tomorrow", "2026-11-23", "2026-11-24"), ("the day before yesterday", "2026-11-20", "2026-11-21"),
        ("3 days ago", "2026-11-19", "2026-11-20"), ("a week ago", "2026-11-15", "2026-11-16"),
        ("two months ago", "2026-09-22", "2026-09-23"), ("9 months ago", "2026-02-22", "2026-02-23"),
        ("a year ago", "2025-11-22", "2025-11-23"), ("this week", "2026-11-16", "2026-11-23"),
        ("last week", "2026-11-09", "2026-11-16"), ("last month", "2026-10-01", "2026-11-01"),
        ("last year", "2025-01-01", "2026-01-01"), ("last Tuesday", "2026-11-17", "2026-11-18"),
        ("on sunday", "2026-11-15", "2026-11-16"), ("sat", "2026-11-21", "2026-11-22"),
        ("in May", "2026-05-01", "2026-06-01"), ("December", "2025-12-01", "2026-01-01"),
        ("May 2024", "2024-05-01", "2024-06-01"), ("2026-05", "2026-05-01", "2026-06-01"),
        ("2025", "2025-01-01", "2026-01-01"), ("2026-05-03", "2026-05-03", "2026-05-04"),
        ("3 May 2026", "2026-05-03", "2026-05-04"), ("May 3rd, 2026", "2026-05-03", "2026-05-04"),
        ("may 3", "2026-05-03", "2026-05-04"),
    ],
)  # fmt: skip
def test_a_period_in_words_is_read(text: str, start: str, end: str) -> None:
    period = read_period(text)

    assert period
    assert (f"{period.start:%Y-%m-%d}", f"{period.end:%Y-%m-%d}") == (start, end)
    assert period.start.hour == period.end.hour == 0


def test_hours_are_counted_from_now_and_a_span_ends_now() -> None:
    ago, span = read_period("2 hours ago"), read_period("last 7 days")

    assert ago
    assert span
    assert ago.start == datetime(2026, 11, 22, 10, 30, tzinfo=UTC)
    assert (f"{span.start:%Y-%m-%d}", span.end) == ("2026-11-15", timezone.now())


@pytest.mark.parametrize("text", ["05/06/2026", "5.6.2026"])
def test_a_day_that_may_be_two_is_refused_with_both(text: str) -> None:
    with pytest.raises(ValueError, match="Send 2026-05-06 or 2026-06-05"):
        read_period(text)


@pytest.mark.parametrize(
    "text",
    [
        "", "soon", "30 February 2026", "2026-03-30T09:15:00Z", "before may 3 4", "9999-12-31", "9999-12",
        "31 December 9999", "9999", "0000-01", "2026-13", "3000 years ago",
    ],
)  # fmt: skip
def test_anything_else_is_left_as_it_is(text: str) -> None:
    assert read_period(text) is None


@pytest.mark.parametrize(
    ("question", "start", "end"),
    [
        ("What did we decide yesterday?", "2026-11-21", "2026-11-22"),
        ("who called last Tuesday", "2026-11-17", "2026-11-18"),
        ("Which pastry did Ruth rave about in May?", "2026-05-01", "2026-06-01"),
        ("What happened on 14 May 2025 at work?", "2025-05-14", "2025-05-15"),
        ("On the 3rd of March, who was there?", "2026-03-03", "2026-03-04"),
        ("what changed three days ago in billing", "2026-11-19", "2026-11-20"),
        ("why did the build of 2026-02-11 fail", "2026-02-11", "2026-02-12"),
    ],
)
def test_a_period_is_found_among_the_words_of_a_question(question: str, start: str, end: str) -> None:
    found = find_period(question)

    assert found is not None
    assert [moment.date().isoformat() for moment in found] == [start, end]


@pytest.mark.parametrize(
    "question",
    [
        "What may I deploy?", "Where did they march?", "Which port is 2026?", "How long do minutes last?",
        "What do I do now?", "Is the third release out?", "What is planned for 24 December 2026?",
    ],
)  # fmt: skip
def test_words_that_only_may_be_a_time_are_none(question: str) -> None:
    assert find_period(question) is None


def test_yesterday_counts_from_the_moment_given() -> None:
    found = find_period("and yesterday?", now=datetime(2026, 6, 18, 12, tzinfo=UTC))

    assert found is not None
    assert found.start.date().isoformat() == "2026-06-17"
