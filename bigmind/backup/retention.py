"""Retention: which backups to keep, and which to delete."""

from collections.abc import Callable, Sequence
from dataclasses import astuple, dataclass
from datetime import datetime
from typing import TypeVar

Stored = TypeVar("Stored")


@dataclass(frozen=True)
class Retention:
    """How many backups to keep: the newest ones, and the last one of each day, week (from Monday) and month, in UTC.

    A backup that any of these keeps stays. If all are 0, all backups stay; the newest one always stays.
    The figures are BIGMIND_BACKUP_KEEP and its siblings in `bigmind/environment/storage.py`.
    """

    newest: int = 0
    daily: int = 0
    weekly: int = 0
    monthly: int = 0

    def find_outdated(self, stored: Sequence[Stored], time_of: Callable[[Stored], datetime]) -> list[Stored]:
        """Return the backups to delete, the newest first."""
        times = sorted((time_of(one) for one in stored), reverse=True)
        kept = self._keep(times) if any(astuple(self)) else set(times)
        return sorted((one for one in stored if time_of(one) not in kept), key=time_of, reverse=True)

    def _keep(self, times: list[datetime]) -> set[datetime]:
        kept = set(times[: max(self.newest, 1)])
        for count, period in ((self.daily, "%Y-%m-%d"), (self.weekly, "%G-%V"), (self.monthly, "%Y-%m")):
            last = {f"{time:{period}}": time for time in reversed(times)}
            kept.update(sorted(last.values(), reverse=True)[:count])
        return kept


KEEP_ALL = Retention()
