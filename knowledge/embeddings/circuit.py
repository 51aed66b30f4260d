"""The circuit breaker: after three failures in a row no process calls the embedder for a while.

Its state is in the cache, so that web and workers share it where the cache is shared. A state that was lost or has
expired means a closed circuit: the next three failures open it again.
"""

import hashlib
from dataclasses import dataclass

from django.core.cache import cache

FAILURES = 3
SHORTEST = 15.0
"""Seconds that the circuit is open the first time. Each failed probe doubles them, up to LONGEST."""
LONGEST = 600.0

_PROBE = 60
"""Seconds after which another call may probe: the process of the first may have been killed before it reported."""
_REMEMBERED = 3600
"""Seconds that a count of failures is kept, longer than the circuit is ever open."""


@dataclass(frozen=True)
class Circuit:
    """The circuit of one space: closed (all calls pass), open (none passes), or half-open (one call probes)."""

    space: str

    def is_open(self) -> bool:
        """Return whether calls are refused now. A half-open circuit is no longer open."""
        return cache.get(self._key("open")) is not None

    def admits(self) -> bool:
        """Return whether the caller may call now. While half-open, only the first caller may: others would all wait."""
        if self.is_open():
            return False
        return not cache.get(self._key("trips")) or cache.add(self._key("probe"), True, timeout=_PROBE)

    def note_success(self) -> None:
        """Close the circuit, because the embedder has answered."""
        key = self._key("")
        cache.delete_many([key + part for part in ("open", "probe", "trips", "failures")])

    def note_failure(self, retry_after: float | None = None) -> None:
        """Count a failure. The third in a row opens the circuit for 15 seconds; a failed probe doubles the time.

        An embedder that sent a `Retry-After` is not called until then, ten minutes at most.
        """
        if self.is_open():  # A call that began before the circuit opened has failed as well: not another failed probe.
            return
        pause = retry_after or 0.0
        if cache.get(self._key("trips")) or self._count("failures") >= FAILURES:
            pause = max(pause, SHORTEST * 2 ** min(self._count("trips") - 1, 10))
        if pause:
            cache.set(self._key("open"), True, timeout=min(LONGEST, pause))
            cache.delete(self._key("probe"))

    def _count(self, part: str) -> int:
        cache.add(self._key(part), 0, timeout=_REMEMBERED)
        try:
            return cache.incr(self._key(part))
        except ValueError:  # It expired between the two lines.
            return 1

    def _key(self, part: str) -> str:
        # Hashed, because a model's name may have characters that a cache key may not.
        return f"embedding-circuit:{hashlib.sha256(self.space.encode()).hexdigest()[:16]}:{part}"
