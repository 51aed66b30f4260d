"""Backup runs: each backup that was made, or failed."""

from datetime import datetime, timedelta

from django.db import models
from django.utils import timezone


class BackupRun(models.Model):
    """One backup that was made, or failed, and why."""

    at = models.DateTimeField(default=timezone.now, help_text="When it ended.")
    name = models.CharField(max_length=60, blank=True, help_text="Of the backup, which says when it was made.")
    place = models.CharField(max_length=300, help_text="The folder.")
    seconds = models.FloatField()
    bytes = models.PositiveBigIntegerField(default=0)
    error = models.CharField(max_length=300, blank=True, help_text="Why it failed; nothing if it did not.")

    class Meta:
        indexes = [models.Index(fields=["-at", "-id"], name="backup_run_newest")]

    def __str__(self) -> str:
        return self.name or self.place

    @property
    def began_at(self) -> datetime:
        """When it began: from there to the next it is as long as the settings say."""
        return self.at - timedelta(seconds=self.seconds)
