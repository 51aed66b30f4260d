"""No text from outside holds the interpreter: time grows with its length, whatever is in it."""

import signal
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from time import process_time

import pytest

from tests.core.patterns import Applied, every_pattern, hostile_texts
from tests.pathological import ENTRANCES, bank, meet

KIB = 1024
LONGEST = 64 * KIB
SECONDS = 0.2
"""For the longest text of one piece."""
GROWTH = 2.5
"""What time may be multiplied by where a text is twice as long."""
GIVEN_UP = 1.0
# Whose callers cut what they give to it, and to how many characters.
BOUNDED = {
    "bigmind.core.screening.tokens._BEFORE": 100,
    "bigmind.core.screening.named._ASSIGNED": 1_200,
    "bigmind.core.screening.named._FOLLOWING": 1_200,
    "bigmind.core.screening.named._SPOKEN": 1_200,
    "knowledge.references.readers.console.helps._ROW": 400,
    "knowledge.references.readers.help.usage._PIECE": 2_000,
    "knowledge.lessons.words.STEPS": 500,
}


class _TooLong(Exception):
    pass


@contextmanager
def _given_up_after(seconds: float) -> Iterator[None]:
    """Stop what takes longer: a pattern that takes the square of a text's length would take the test with it."""

    def stop(*_: object) -> None:
        raise _TooLong

    before = signal.signal(signal.SIGVTALRM, stop)
    signal.setitimer(signal.ITIMER_VIRTUAL, seconds)
    try:
        yield
    finally:
        signal.setitimer(signal.ITIMER_VIRTUAL, 0)
        signal.signal(signal.SIGVTALRM, before)


def _seconds(act: Callable[[], object], *, tries: int = 1) -> float:
    """Return the processor time of the quickest try: a busy machine makes some slower, none quicker."""
    best = GIVEN_UP
    for _ in range(tries):
        begun = process_time()
        try:
            with _given_up_after(GIVEN_UP):
                act()
        except _TooLong:
            continue
        best = min(best, process_time() - begun)
    return best


def _holds_too_long(act: Callable[[str], object], text_of: Callable[[int], str], sizes: tuple[int, ...]) -> list[float]:
    """Return the times of a text at growing sizes where they are too long, else nothing."""
    if _seconds(lambda: act(text_of(sizes[0]))) < SECONDS * sizes[0] / LONGEST / 4:
        return []
    times = [_seconds(lambda size=size: act(text_of(size)), tries=3) for size in sizes]
    grows = times[-1] > GROWTH ** (len(sizes) - 1) * max(times[0], 0.001)
    return times if (times[-1] > SECONDS * sizes[-1] / LONGEST and grows) or times[-1] >= SECONDS else []


@pytest.mark.parametrize("entrance", ENTRANCES)
def test_no_text_of_64_kib_holds_the_interpreter(entrance):
    slow = {}
    for name, _ in bank(16):
        if name.endswith("then a letter"):
            times = _holds_too_long(
                lambda text: meet(entrance, text), lambda size, name=name: dict(bank(size))[name], SIZES
            )
            slow |= {name: times} if times else {}

    assert not slow


SIZES = (16 * KIB, 32 * KIB, 64 * KIB)
PATTERNS = every_pattern()


def test_every_pattern_of_the_code_is_found():
    names = {one.where for one in PATTERNS}

    assert len(PATTERNS) > 400
    assert {"knowledge.transfer.readers.basic_memory.OBSERVATION", "knowledge.lessons.lines.COMPILERS"} <= names


@pytest.mark.parametrize("applied", PATTERNS, ids=str)
def test_a_pattern_takes_time_that_grows_with_the_text(applied: Applied):
    longest = min(LONGEST, BOUNDED.get(applied.where, LONGEST))
    for chars in (24, min(4 * KIB, longest)):
        for text in hostile_texts(applied.pattern, chars):
            _check(applied, text, longest)


def _check(applied: Applied, text: str, longest: int) -> None:
    if _seconds(lambda: _apply(applied, text)) < 0.003 or _seconds(lambda: _apply(applied, text)) < 0.003:
        return
    assert longest > 4 * KIB, text[:80]
    begin, pump = text[: len(text) // 2], text[len(text) // 4 :]
    longer = [(begin + pump * (size // len(pump) + 1))[:size] for size in (4 * KIB, 8 * KIB, 16 * KIB)]
    times = [_seconds(lambda one=one: _apply(applied, one), tries=3) for one in longer]

    assert times[-1] < max(SECONDS / 4, GROWTH ** (len(times) - 1) * times[0]), (times, text[:80], applied.methods)


def _apply(applied: Applied, text: str) -> None:
    for method in applied.methods:
        if method in {"sub", "subn"}:
            getattr(applied.pattern, method)("", text)
        elif method == "finditer":
            any(applied.pattern.finditer(text)) and sum(1 for _ in applied.pattern.finditer(text))
        else:
            getattr(applied.pattern, method)(text)
