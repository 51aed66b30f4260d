"""How much processor time something takes, whatever else the machine does, and whether that grows with a text."""

import signal
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from functools import cache
from time import thread_time

KIB = 1024
LONGEST = 64 * KIB
SIZES = (16 * KIB, 32 * KIB, 64 * KIB)
SECONDS = 0.5
"""For the longest text of one piece. A second is what may be; a slow or busy machine takes twice as long as others."""
GROWTH = 2.3
"""What time may be multiplied by where a text is twice as long."""
GIVEN_UP = 1.0


class TooLong(Exception):
    pass


@contextmanager
def given_up_after(seconds: float) -> Iterator[None]:
    """Stop what takes longer: a pattern that takes the square of a text's length would take the test with it."""

    _raise_when_time_is_up()
    signal.setitimer(signal.ITIMER_VIRTUAL, seconds)
    try:
        yield
    finally:
        signal.setitimer(signal.ITIMER_VIRTUAL, 0)


@cache
def _raise_when_time_is_up() -> None:
    """Set the handler once and leave it: to set it takes longer than most of what is measured."""

    def stop(*_: object) -> None:
        raise TooLong

    signal.signal(signal.SIGVTALRM, stop)


def seconds_of(act: Callable[[], object], *, tries: int = 1, given_up: float = GIVEN_UP) -> float:
    """Return the processor time of this thread in the quickest try: a busy machine makes some slower, none quicker.

    What had to be given up is not tried again: no machine is busy enough for that.
    """
    best = given_up
    for _ in range(tries):
        begun = thread_time()
        try:
            with given_up_after(given_up):
                act()
        except TooLong:
            return best
        best = min(best, thread_time() - begun)
    return best


def holds_too_long(
    act: Callable[[str], object],
    text_of: Callable[[int], str],
    *,
    sizes: Sequence[int] = SIZES,
    seconds: float = SECONDS,
    tries: int = 3,
    given_up: float = GIVEN_UP,
) -> list[float]:
    """Return the times of a text at growing sizes, each twice the one before, where they are too long; else nothing."""
    if seconds_of(lambda: act(text_of(sizes[0]))) < seconds * sizes[0] / sizes[-1] / 4:
        return []
    noticed = seconds / 5
    # Most texts are read well within the limit: one try of the longest says so.
    if seconds_of(lambda: act(text_of(sizes[-1])), given_up=given_up) < noticed:
        return []

    def times_at(sizes: Sequence[int], given_up: float) -> list[float]:
        return [seconds_of(lambda size=size: act(text_of(size)), tries=tries, given_up=given_up) for size in sizes]

    times = times_at(sizes, given_up)
    if times[-1] >= seconds:
        return times
    # The caches of a processor make one step between two sizes. What is not linear makes another one at the next.
    grows = times[-1] > noticed and _grows(times) and _grows(times_at([2 * size for size in sizes], 4 * given_up))
    return times if grows else []


def _grows(times: Sequence[float]) -> bool:
    return times[-1] > GROWTH ** (len(times) - 1) * max(times[0], 0.001)
