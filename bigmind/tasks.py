"""What the scheduler does for the instance as a whole."""

from datetime import timedelta
from pathlib import Path

from celery import shared_task
from django.conf import settings

from bigmind.backup.making import back_up_when_due


@shared_task
def back_up() -> None:
    """Make a backup, if one is due."""
    every = timedelta(hours=settings.BACKUP_EVERY_HOURS)
    back_up_when_due(Path(settings.BACKUP_DIR).expanduser(), every=every, keep=settings.BACKUP_KEEP)
