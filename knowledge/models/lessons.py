"""Errors that lessons are about, and how often each was asked for again."""

from django.contrib.postgres.fields import ArrayField
from django.db import models
from django.utils import timezone

from knowledge.models.entries import Entry
from knowledge.models.person_digests import DIGEST_CHARS

FINGERPRINT_CHARS = 32
FIXED_ERROR = "An error, and what was done until it was gone."
"""Why a chunk was kept whose content is an error of a command and the steps to the same command's success."""


class EntryFingerprint(models.Model):
    """An error that an entry quotes, without what varies each time it happens."""

    entry = models.ForeignKey(Entry, models.CASCADE, related_name="fingerprints")
    fingerprint = models.CharField(max_length=FINGERPRINT_CHARS)
    has_place = models.BooleanField(default=False, help_text="Whether the entry also quotes where it was raised.")

    class Meta:
        constraints = [models.UniqueConstraint(fields=["fingerprint", "entry"], name="fingerprint_once_in_an_entry")]

    def __str__(self) -> str:
        return self.fingerprint


class LessonAsked(models.Model):
    """How often an error was asked about. Only its fingerprint is kept, nothing of the log; of who asked, digests."""

    fingerprint = models.CharField(max_length=FINGERPRINT_CHARS, unique=True)
    entry = models.ForeignKey(
        Entry, models.SET_NULL, null=True, blank=True, related_name="+", help_text="The lesson that answered last."
    )
    times = models.PositiveIntegerField(default=0)
    last_asked = models.DateTimeField(default=timezone.now)
    people = ArrayField(
        models.CharField(max_length=DIGEST_CHARS),
        default=list,
        db_default=[],
        help_text="Digests of those who asked, as many as it takes to tell everyone how often.",
    )

    class Meta:
        verbose_name_plural = "lessons asked"

    def __str__(self) -> str:
        return f"{self.fingerprint}, asked {self.times} times"
