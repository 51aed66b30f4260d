"""Statistics of background tasks: the runs and failures of each, and when it ended last; and who runs them."""

from django.db import models


class TaskTally(models.Model):
    """The runs of one task, over all workers."""

    task = models.CharField(primary_key=True, max_length=100)
    runs = models.PositiveBigIntegerField(default=0)
    failures = models.PositiveBigIntegerField(default=0)
    seconds = models.FloatField(default=0)
    ended_at = models.DateTimeField(help_text="When it ended last.")
    scheduled_at = models.DateTimeField(null=True, blank=True, help_text="When it last ended as the scheduler asked.")
    failed_at = models.DateTimeField(null=True, blank=True)
    error = models.CharField(max_length=100, blank=True, help_text="Of the last failure: its kind, never its words.")
    request_id = models.CharField(max_length=64, blank=True, help_text="Of the last failure, as in the log.")

    class Meta:
        verbose_name_plural = "task tallies"

    def __str__(self) -> str:
        return self.task


class Worker(models.Model):
    """A process that runs background tasks. It records itself every few seconds, and is forgotten when it ends."""

    name = models.CharField(primary_key=True, max_length=200)
    seen_at = models.DateTimeField(help_text="When it last recorded itself.")
    took_at = models.DateTimeField(help_text="When it last took up a task.")
    folder = models.CharField(
        max_length=300, blank=True, db_default="", help_text="Where it makes backups; empty where it makes none."
    )

    def __str__(self) -> str:
        return self.name
