"""A row of the table, and the one way in which times are taken."""

from collections.abc import Callable
from statistics import median
from time import perf_counter


def row(what: str, figure: str, target: str, measured: str, *, met: bool) -> str:
    """Return a row of the table, with a word when the target was missed."""
    return f"| {what} | {figure}{'' if met else ' (missed)'} | {target} | {measured} |"


def milliseconds(work: Callable[[], object], *, times: int) -> float:
    """Return the median duration of `work` over so many calls, after a tenth of them to warm up."""
    for _ in range(max(1, times // 10)):
        work()
    return median(took(work) for _ in range(times))


def took(work: Callable[[], object]) -> float:
    """Return how many milliseconds `work` takes, once."""
    began = perf_counter()
    work()
    return (perf_counter() - began) * 1000
