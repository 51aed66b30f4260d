"""Feedback: what agents and people said of something they received."""

from django.db import models
from django.utils import timezone

from accounts.models import Agent, User
from bigmind.privacy.masking import PrivateModel


class Usefulness(models.TextChoices):
    """Someone's feedback on what they saw."""

    USEFUL = "useful"
    WRONG = "wrong"
    OUTDATED = "outdated"


COMPLAINTS = (Usefulness.WRONG, Usefulness.OUTDATED)


class Feedback(PrivateModel):
    """One person's word on one thing. Saying something else later replaces it; a complaint stays open until settled."""

    kind = models.CharField(max_length=20, help_text="Kind of what it is about.")
    source_id = models.CharField(max_length=36, help_text="Id of what it is about.")
    verdict = models.CharField(max_length=10, choices=Usefulness)
    note = models.TextField(blank=True)
    user = models.ForeignKey(User, models.CASCADE, related_name="feedback")
    agent = models.ForeignKey(Agent, models.SET_NULL, null=True, blank=True, related_name="+")
    created_at = models.DateTimeField(default=timezone.now)
    settled_at = models.DateTimeField(null=True, blank=True)

    class Meta:
        verbose_name_plural = "feedback"
        constraints = [
            models.CheckConstraint(condition=models.Q(verdict__in=Usefulness.values), name="feedback_verdict_is_known"),
            # One vote each, however often an agent is made to repeat it.
            models.UniqueConstraint(fields=["user", "kind", "source_id"], name="feedback_once_by_each"),
        ]
        indexes = [
            models.Index(
                fields=["kind", "source_id"],
                condition=models.Q(settled_at=None, verdict__in=COMPLAINTS),
                name="feedback_open_complaints",
            )
        ]

    def __str__(self) -> str:
        return f"{self.kind} {self.source_id}: {self.verdict}"
