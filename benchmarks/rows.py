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
    taken = []
    for _ in range(times):
        started = perf_counter()
        work()
        taken.append((perf_counter() - started) * 1000)
    return median(taken)
