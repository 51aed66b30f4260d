"""What the scheduler does for the instance as a whole."""

from contextlib import suppress
from datetime import timedelta

from celery import shared_task

from accounts.models import BackupRun
from bigmind.backup.routine import BackupPlan, back_up_when_due
from bigmind.backup.routine import back_up as make_and_copy
from bigmind.core.background import BackgroundTask
from bigmind.core.errors import BigMindError, Conflict
from bigmind.environment.live_settings import live
from bigmind.observability import bounds

RECORDED = (*BackgroundTask.throws, BigMindError)
"""A backup that fails is recorded with its reason: the log has a line of it, and no traceback."""


@shared_task
def ping() -> None:
    """Do nothing: that a worker took it is what counts."""


@shared_task(throws=RECORDED)
def back_up() -> None:
    """Make a backup, if one is due; copy the newest one, if that failed before."""
    if plan := BackupPlan.from_settings():
        back_up_when_due(plan, every=timedelta(hours=live.BACKUP_EVERY_HOURS))


@shared_task(base=BackgroundTask, throws=RECORDED)
def back_up_now() -> None:
    """Make a backup, because an admin asked for one."""
    with suppress(Conflict):  # Another worker is at it, and records what comes of it.
        make_and_copy(BackupPlan.require(BackupRun.Step.MADE))


@shared_task
def delete_past_bounds() -> None:
    """Delete what is past its age or number: usage, replies, notices, runs, vectors of texts that are gone."""
    bounds.delete_past_bounds()


@shared_task(throws=RECORDED)
def rehearse_when_due() -> None:
    """Rehearse a restore, if the last rehearsal is old enough and there is something that can be opened."""
    plan = BackupPlan.from_settings()
    if plan and live.BACKUP_REHEARSE_DAYS:
        _rehearse(plan, every=timedelta(days=live.BACKUP_REHEARSE_DAYS))


@shared_task(base=BackgroundTask, throws=RECORDED)
def rehearse_now() -> None:
    """Rehearse a restore of the newest backup, because an admin asked for it."""
    _rehearse(BackupPlan.require(BackupRun.Step.REHEARSED))


def _rehearse(plan: BackupPlan, *, every: timedelta | None = None) -> None:
    from bigmind.backup.rehearsing import rehearse_newest  # With all that it looks at; no one else here needs that.

    with suppress(Conflict):  # Another worker is at it, and records what comes of it.
        rehearse_newest(plan, every=every)
