"""Heartbeats: a process shows that it is healthy by counting in a file that the supervisor reads, without a request."""

import mmap
import time
from collections.abc import Mapping, Sequence
from pathlib import Path
from struct import Struct

COUNT = Struct("@Q")
LOOP, THREADS, TAKING = 0, 1, 2
WEB, WORKER = (LOOP, THREADS), (TAKING,)
"""Which parts show that a process is healthy."""
BEAT_SECONDS = 0.5
STUCK_AFTER: Mapping[int, float] = {LOOP: 15.0, THREADS: 60.0, TAKING: 30.0}
"""Seconds after which a part that does not count is considered stuck. A thread may be in a slow statement."""
NAMES = {LOOP: "its event loop", THREADS: "its threads", TAKING: "the taking of work"}
STARTS_WITHIN = 90.0
BLINK_SECONDS = 2.0
"""If the supervisor itself has not looked for this long, the machine was asleep or busy."""


class Pulse:
    """How often the event loop and the threads of a process have completed a round."""

    def __init__(self, path: Path) -> None:
        with path.open("r+b") as file:
            self._counts = mmap.mmap(file.fileno(), len(NAMES) * COUNT.size)

    @classmethod
    def create(cls, path: Path) -> "Pulse":
        """Create a new file: a process that is ending may still count in the old one."""
        path.unlink(missing_ok=True)
        path.write_bytes(bytes(len(NAMES) * COUNT.size))
        return cls(path)

    def beat(self, part: int) -> None:
        """Count one round of a part. Only one thread may count for each part."""
        COUNT.pack_into(self._counts, part * COUNT.size, self.counts()[part] + 1)

    def counts(self) -> tuple[int, ...]:
        return tuple(count for (count,) in COUNT.iter_unpack(self._counts))


class PulseWatch:
    """What the supervisor knows about a pulse."""

    def __init__(self, pulse: Pulse, parts: Sequence[int] = WEB) -> None:
        self._pulse = pulse
        self._parts = parts
        self._looked = time.monotonic()
        self._seen = pulse.counts()
        self._changed = [self._looked] * len(NAMES)

    @property
    def has_begun(self) -> bool:
        """Whether each part has counted since the process started."""
        counts = self._pulse.counts()
        return all(counts[part] for part in self._parts)

    def symptom(self) -> str:
        """Say which part has stopped for too long; empty when none has."""
        now, counts = time.monotonic(), self._pulse.counts()
        missed = now - self._looked
        for part in self._parts:
            if counts[part] != self._seen[part]:
                self._changed[part] = now
            elif missed > BLINK_SECONDS:
                self._changed[part] += missed
        self._looked, self._seen = now, counts
        for part in self._parts:
            still = now - self._changed[part]
            if still > (STUCK_AFTER[part] if self.has_begun else STARTS_WITHIN):
                return f"does not answer: {NAMES[part]} stood still for {still:.0f} s"
        return ""
