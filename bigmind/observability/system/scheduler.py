"""What the scheduler asks for, and what became of it."""

from dataclasses import dataclass
from datetime import datetime, timedelta
from typing import Any

from django.conf import settings
from django.utils import timezone

from accounts.models import TaskTally

GRACE = timedelta(minutes=2)


@dataclass(frozen=True)
class Task:
    """One background task. `every` is None for what only writes ask for."""

    name: str
    every: timedelta | None
    tally: TaskTally | None

    @property
    def due(self) -> datetime | None:
        """When the scheduler asks for it next, as far as the last time is known."""
        last = self.tally.scheduled_at if self.tally else None
        return last + self.every if last and self.every else None

    @property
    def is_late(self) -> bool:
        """Whether it should have run: nothing takes up what the scheduler sends, or nothing is sent."""
        return self.due is not None and timezone.now() > self.due + GRACE

    @property
    def failed_last(self) -> bool:
        """Whether its last run failed."""
        return self.tally is not None and self.tally.failed_at == self.tally.ended_at


def tasks() -> list[Task]:
    """Return all tasks with their statistics, in one query: the next to run first."""
    tallies = {tally.task: tally for tally in TaskTally.objects.all()}
    entries: Any = settings.CELERY_BEAT_SCHEDULE.values()
    schedule: dict[str, timedelta] = {entry["task"]: timedelta(seconds=entry["schedule"]) for entry in entries}
    names = sorted({*schedule, *tallies}, key=lambda name: (schedule.get(name, timedelta.max), name))
    return [Task(name, schedule.get(name), tallies.get(name)) for name in names]


def last_beat(found: list[Task]) -> datetime | None:
    """Return when a worker last did what the scheduler asked for."""
    beats = [task.tally.scheduled_at for task in found if task.tally and task.tally.scheduled_at]
    return max(beats, default=None)
