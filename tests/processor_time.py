"""How much processor time something takes, whatever else the machine does, and whether that grows with a text."""

import signal
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from time import process_time

KIB = 1024
LONGEST = 64 * KIB
SIZES = (16 * KIB, 32 * KIB, 64 * KIB)
SECONDS = 0.2
"""For the longest text of one piece."""
GROWTH = 2.5
"""What time may be multiplied by where a text is twice as long."""
GIVEN_UP = 1.0


class TooLong(Exception):
    pass


@contextmanager
def given_up_after(seconds: float) -> Iterator[None]:
    """Stop what takes longer: a pattern that takes the square of a text's length would take the test with it."""

    def stop(*_: object) -> None:
        raise TooLong

    before = signal.signal(signal.SIGVTALRM, stop)
    signal.setitimer(signal.ITIMER_VIRTUAL, seconds)
    try:
        yield
    finally:
        signal.setitimer(signal.ITIMER_VIRTUAL, 0)
        signal.signal(signal.SIGVTALRM, before)


def seconds_of(act: Callable[[], object], *, tries: int = 1) -> float:
    """Return the processor time of the quickest try: a busy machine makes some slower, none quicker."""
    best = GIVEN_UP
    for _ in range(tries):
        begun = process_time()
        try:
            with given_up_after(GIVEN_UP):
                act()
        except TooLong:
            continue
        best = min(best, process_time() - begun)
    return best


def holds_too_long(act: Callable[[str], object], text_of: Callable[[int], str]) -> list[float]:
    """Return the times of a text at growing SIZES where they are too long, else nothing."""
    if seconds_of(lambda: act(text_of(SIZES[0]))) < SECONDS * SIZES[0] / LONGEST / 4:
        return []
    times = [seconds_of(lambda size=size: act(text_of(size)), tries=3) for size in SIZES]
    grows = times[-1] > GROWTH ** (len(SIZES) - 1) * max(times[0], 0.001)
    return times if (times[-1] > SECONDS * SIZES[-1] / LONGEST and grows) or times[-1] >= SECONDS else []
