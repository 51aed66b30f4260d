"""What the scheduler does for the instance as a whole."""

from contextlib import suppress
from datetime import timedelta

from celery import shared_task
from django.conf import settings

from bigmind import retention
from bigmind.backup.routine import BackupPlan, back_up_when_due
from bigmind.backup.routine import back_up as make_backup
from bigmind.core.background import BackgroundTask
from bigmind.core.errors import BigMindError, Conflict

RECORDED = (*BackgroundTask.throws, BigMindError)
"""A backup that fails is recorded with its reason: the log has a line of it, and no traceback."""


@shared_task
def ping() -> None:
    """Do nothing: that a worker took it is what counts."""


@shared_task(throws=RECORDED)
def back_up() -> None:
    """Make a backup, if one is due."""
    if plan := BackupPlan.from_settings():
        back_up_when_due(plan, every=timedelta(hours=settings.BACKUP_EVERY_HOURS))


@shared_task(base=BackgroundTask, throws=RECORDED)
def back_up_now() -> None:
    """Make a backup, because an admin asked for one."""
    with suppress(Conflict):  # Another worker is at it, and records what comes of it.
        make_backup(BackupPlan.require())


@shared_task
def delete_past_bounds() -> None:
    """Delete what is past its age or number: usage, replies, notices, runs, vectors of texts that are gone."""
    retention.delete_past_bounds()
