"""What is performed in a process of its own: it is stopped when it takes too much, and others notice nothing."""

import os
import threading
import time
from datetime import UTC, datetime
from pathlib import Path

import pytest
from django.utils import timezone

from bigmind.core.errors import Conflict, Invalid
from knowledge.parsers.separate_process import ProcessBudget, perform_apart

QUICK = ProcessBudget(processor_seconds=1, seconds=3, megabytes=64)
# The kernel counts processor time in whole seconds; that of a clock may be as short.
SHORT = ProcessBudget(processor_seconds=1, seconds=1, megabytes=64)


def double(number: int) -> int:
    return number * 2


def read_date() -> str:
    return timezone.make_aware(datetime(2026, 1, 15, 1)).astimezone(UTC).isoformat()


def spin() -> None:
    while True:
        pass


def sleep_long() -> None:
    time.sleep(60)


def fill() -> int:
    return len([bytes(1024 * 1024) for _ in range(512)])


def end_at_once() -> None:
    os._exit(1)


def refuse() -> None:
    raise Conflict("It is there.", hint="Look.", number=7)


def fail() -> None:
    raise ZeroDivisionError("by zero")


def surroundings() -> tuple[str, str]:
    return Path("/proc/self/environ").read_text(), repr(dict(os.environ))


def test_a_function_answers_from_another_process():
    assert perform_apart("a", QUICK, double, 21) == 42
    assert perform_apart("a", QUICK, os.getpid) != os.getpid()


@pytest.mark.parametrize(
    ("hostile", "budget"), [(spin, QUICK), (sleep_long, SHORT), (fill, QUICK), (end_at_once, QUICK)]
)
def test_what_takes_too_much_is_stopped_with_a_word_on_the_limit(hostile, budget):
    begun = time.monotonic()

    limits = rf"a\.json takes more than 1 s of processor time, {budget.seconds} s in all or 64 MB"
    with pytest.raises(Invalid, match=limits) as refused:
        perform_apart("a.json", budget, hostile)

    assert "Split it" in str(refused.value)
    assert time.monotonic() - begun < 8
    assert perform_apart("a", QUICK, double, 2) == 4


def test_a_refusal_comes_back_as_it_was_raised():
    with pytest.raises(Conflict, match="It is there") as refused:
        perform_apart("a", QUICK, refuse)

    assert refused.value.hint == "Look."
    assert refused.value.details == {"number": 7}


def test_an_error_comes_back_as_an_error():
    with pytest.raises(RuntimeError, match="ZeroDivisionError: by zero"):
        perform_apart("a", QUICK, fail)


def test_the_process_knows_neither_secrets_nor_the_database(monkeypatch):
    at_start, now = perform_apart("a", QUICK, surroundings)

    for known in (at_start, now):
        assert os.environ["BIGMIND_DATABASE_URL"] not in known
        assert "BIGMIND_HOME" not in known
        assert "KEY=none" in known or "'BIGMIND_SECRET_KEY': 'none" in known


def test_many_callers_wait_for_each_other():
    answers: list[int] = []
    threads = [
        threading.Thread(target=lambda n=n: answers.append(perform_apart("a", QUICK, double, n))) for n in range(12)
    ]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()

    assert sorted(answers) == [2 * number for number in range(12)]


def test_a_call_costs_less_than_a_start():
    perform_apart("a", QUICK, double, 1)
    begun = time.monotonic()
    for number in range(5):
        perform_apart("a", QUICK, double, number)

    assert time.monotonic() - begun < 2


def test_a_date_without_a_zone_is_one_of_the_person_who_imports_it() -> None:
    with timezone.override("Pacific/Auckland"):
        read = perform_apart("a", QUICK, read_date)

    assert read.startswith("2026-01-14T12:00")
