"""Values that are computed once, however many threads need them at the same time."""

from concurrent.futures import ThreadPoolExecutor
from threading import Barrier

import pytest

from bigmind.core.load_once import load_once


def test_threads_that_need_a_value_at_the_same_time_wait_for_one_of_them():
    together, loads = Barrier(8), []

    @load_once
    def load(name: str) -> list[str]:
        loads.append(name)
        return [name]

    def need(name: str) -> list[str]:
        together.wait()
        return load(name)

    with ThreadPoolExecutor(8) as threads:
        values = list(threads.map(need, ["one", "other"] * 4))

    assert sorted(loads) == ["one", "other"]
    assert all(value is load(value[0]) for value in values)


def test_what_failed_to_load_is_tried_again():
    attempts = []

    @load_once
    def load() -> int:
        attempts.append(1)
        if len(attempts) == 1:
            raise OSError("The disk is away.")
        return 7

    with pytest.raises(OSError, match="away"):
        load()

    assert [load(), load()] == [7, 7]
    assert len(attempts) == 2


def test_a_value_may_be_made_of_another_of_the_same_function():
    @load_once
    def factorial(number: int) -> int:
        return number * factorial(number - 1) if number else 1

    assert factorial(5) == 120
