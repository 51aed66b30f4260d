"""TidyingAnswer: what a user or agent decided about one suggestion to tidy the memory."""

from django.contrib.postgres.fields import ArrayField
from django.db import models
from django.utils import timezone

from accounts.models import User
from bigmind.privacy.masking import PrivateModel


class Concern(models.TextChoices):
    """Why something is suggested for tidying."""

    CONTRADICTION = "contradiction"
    DUPLICATES = "duplicates"
    DUE = "due"
    NO_SUMMARY = "no_summary"
    UNUSED = "unused"


class TidyingAnswer(PrivateModel):
    """One decision: it can be taken back, and what was kept is not suggested again. It holds ids and no content."""

    user = models.ForeignKey(User, models.CASCADE, related_name="tidying_answers")
    key = models.CharField(max_length=12, help_text="Names the suggestion: a digest of its concern and its items.")
    concern = models.CharField(max_length=20, choices=Concern)
    items = ArrayField(models.CharField(max_length=36), help_text="The ids of what it was about.")
    action = models.CharField(max_length=20, help_text="What was done: keep, merge, archive, …")
    result = models.CharField(
        max_length=36, blank=True, help_text="The id of the fact that the others were merged into."
    )
    is_new = models.BooleanField(default=False, help_text="Whether that fact was stored by the merge.")
    at = models.DateTimeField(default=timezone.now)

    class Meta:
        constraints = [
            models.UniqueConstraint(fields=["user", "key"], name="tidying_answered_once"),
            models.CheckConstraint(condition=models.Q(concern__in=Concern.values), name="tidying_concern_is_known"),
        ]
        indexes = [models.Index(fields=["user", "-at"], name="tidying_of_user")]

    def __str__(self) -> str:
        return f"{self.concern}: {self.action}"
