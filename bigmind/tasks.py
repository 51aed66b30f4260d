"""What the scheduler does for the instance as a whole."""

from datetime import timedelta

from celery import shared_task
from django.utils import timezone

from accounts.models import BackupRun
from bigmind.backup.encryption import identity_file
from bigmind.backup.making import backups_in
from bigmind.backup.routine import BackupPlan, back_up_when_due
from bigmind.backup.routine import back_up as make_and_copy
from bigmind.backup.runs import last_run, recent_runs
from bigmind.core.background import BackgroundTask
from bigmind.core.live_settings import live
from bigmind.observability import bounds


@shared_task
def ping() -> None:
    """Do nothing: that a worker took it is what counts."""


@shared_task
def back_up() -> None:
    """Make a backup, if one is due; copy the newest one, if that failed before."""
    back_up_when_due(BackupPlan.from_settings(), every=timedelta(hours=live.BACKUP_EVERY_HOURS))


@shared_task(base=BackgroundTask)
def back_up_now() -> None:
    """Make a backup, because an admin asked for one."""
    make_and_copy(BackupPlan.from_settings())


@shared_task
def delete_past_bounds() -> None:
    """Delete what is past its age or number: usage, replies, notices, runs, vectors of texts that are gone."""
    bounds.delete_past_bounds()


@shared_task
def rehearse_when_due() -> None:
    """Rehearse a restore, if the last rehearsal is old enough and there is something that can be opened."""
    every, last = live.BACKUP_REHEARSE_DAYS, last_run(recent_runs(), BackupRun.Step.REHEARSED)
    if every and (last is None or timezone.now() - last.at >= timedelta(days=every)):
        _rehearse(is_asked=False)


@shared_task(base=BackgroundTask)
def rehearse_now() -> None:
    """Rehearse a restore of the newest backup, because an admin asked for it."""
    _rehearse(is_asked=True)


def _rehearse(*, is_asked: bool) -> None:
    from bigmind.backup.rehearsing import rehearse  # With all that it looks at; no one else here needs that.

    newest = next(iter(backups_in(BackupPlan.from_settings().folder)), None)
    identity = identity_file()
    if newest and (is_asked or identity or not newest.manifest.is_encrypted):
        rehearse(newest.folder, place=str(newest.folder.parent), identity_file=identity)
