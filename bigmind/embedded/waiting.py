"""Says what a start waits for: at once, when it changes, and again every half minute."""

import time
from collections.abc import Callable

REMIND_EVERY = 30.0

Say = Callable[[str], None]


class Wait:
    """One wait, from the moment it begins. Call it with a sentence as often as you look: it repeats itself rarely.

    Args:
        say: Called with the sentence.
        after: The seconds that this usually takes. Nothing is said before.
        limit: The seconds that it may take.
    """

    def __init__(self, say: Say, *, after: float = 0.0, limit: float = float("inf")) -> None:
        self._say, self._began, self._limit = say, time.monotonic(), limit
        self._said, self._due = "", self._began + after

    @property
    def is_over(self) -> bool:
        """Whether it has taken as long as it may."""
        return time.monotonic() - self._began > self._limit

    def __call__(self, sentence: str) -> None:
        """Say what is waited for, unless that was said less than half a minute ago."""
        now = time.monotonic()
        if now >= self._due or self._said not in {"", sentence}:
            waited = now - self._began
            self._say(f"{sentence} Waiting for {waited:.0f} s so far." if waited >= REMIND_EVERY else sentence)
            self._said, self._due = sentence, now + REMIND_EVERY
