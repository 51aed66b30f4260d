"""Who is at work, and whose slow work runs, at all web processes of this machine: what one of them knows is half."""

import fcntl
import mmap
import os
from collections import Counter
from pathlib import Path
from struct import Struct
from threading import Lock
from time import monotonic
from zlib import crc32

SHARED_FOLDER = "PROMETHEUS_MULTIPROC_DIR"
"""The variable that names the folder in which the processes of one `bigmind up` share files."""
AT_WORK_SECONDS = 10.0
"""For how long someone who has just called counts as at work: agents think between two calls."""
LOOK_AGAIN_SECONDS = 0.02
GIVE_WAY_SECONDS = 0.03
"""How long a process leaves a place to the others that look for one; longer than they take to look again."""
SEEN = Struct("=256d")
MOST_PLACES = 16
FILE = "at-work"


class AtWork:
    """What the processes tell each other, by a file that all of them map and lock.

    Of people who share one of 256 entries, each counts as the other: then one of them is taken for alone, by chance
    and for as long as no one else works. A process that is killed leaves nothing behind: the system frees its locks,
    and what it wrote is soon too old to count.

    Args:
        folder: Where the file is; None where one process serves alone.
    """

    def __init__(self, folder: Path | None) -> None:
        self._file: int | None = None
        self._seen: bytearray | mmap.mmap = bytearray(SEEN.size)
        if folder:
            self._file = os.open(folder / FILE, os.O_RDWR | os.O_CREAT, 0o600)
            os.ftruncate(self._file, SEEN.size)
            self._seen = mmap.mmap(self._file, SEEN.size)
        self._places = min(MOST_PLACES, max(1, (os.cpu_count() or 1) // 2))
        self._lock = Lock()
        self._running: Counter[str] = Counter()
        self._held: dict[str, int] = {}
        self._gives_way: dict[str, float] = {}

    def note(self, person: str) -> None:
        """Note that a person has called."""
        # `monotonic` is one clock for all processes of a machine, and nobody sets it back.
        Struct("=d").pack_into(self._seen, _entry(person) * 8, monotonic())

    def others_than(self, person: str) -> bool:
        """Whether others are at work, too."""
        seen, own = SEEN.unpack_from(self._seen), _entry(person)
        return bool(max(seen[:own] + seen[own + 1 :]) >= monotonic() - AT_WORK_SECONDS)

    def begin_slow(self, person: str, *, is_alone: bool) -> bool:
        """Count a person's slow work as begun, unless the other processes do as much of it as this machine bears.

        That is one piece for each two processors. Anyone who is alone begins in any case.
        """
        with self._lock:
            if not self._running[person] and not self._hold(person) and not is_alone:
                del self._running[person]
                return False
            self._running[person] += 1
            return True

    def end_slow(self, person: str, *, has_more: bool) -> None:
        """Count it as ended. A caller with more waiting here leaves the place to their work elsewhere first."""
        with self._lock:
            self._running[person] -= 1
            if self._running[person]:
                return
            del self._running[person]
            place = self._held.pop(person, None)
            if place is not None and self._file is not None:
                fcntl.lockf(self._file, fcntl.LOCK_UN, 1, place)
                self._gives_way.pop(person, None)
                if has_more:
                    self._gives_way[person] = monotonic() + GIVE_WAY_SECONDS

    def _hold(self, person: str) -> bool:
        if self._file is None:
            return True
        if monotonic() < self._gives_way.get(person, 0.0):
            return False
        self._gives_way.pop(person, None)
        # Far beyond the end of the file: such bytes can be locked as well, and nothing is written there.
        first = crc32(person.encode()) * MOST_PLACES
        for place in range(first, first + self._places):
            try:
                fcntl.lockf(self._file, fcntl.LOCK_EX | fcntl.LOCK_NB, 1, place)
            except OSError:
                continue
            self._held[person] = place
            return True
        return False

    def clear(self) -> None:
        """Forget who was at work."""
        SEEN.pack_into(self._seen, 0, *[0.0] * 256)


def at_work_here() -> AtWork:
    """Return what the processes of this `bigmind up` share; of a process alone, its own."""
    folder = os.environ.get(SHARED_FOLDER)
    return AtWork(Path(folder) if folder and Path(folder).is_dir() else None)


def _entry(person: str) -> int:
    return crc32(person.encode()) % 256
