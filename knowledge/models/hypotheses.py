"""Hypothesis: a belief to be confirmed or refuted."""

from django.db import models
from django.utils import timezone

from accounts.models import User

from .base import CanBeSetAside
from .sessions import Session


class Verdict(models.TextChoices):
    """What became of a belief."""

    OPEN = "open"
    CONFIRMED = "confirmed"
    REFUTED = "refuted"
    ABANDONED = "abandoned"


class Hypothesis(CanBeSetAside):
    """“I believe X because Y”, with how sure the agent was and what actually happened."""

    user = models.ForeignKey(User, models.CASCADE, related_name="hypotheses")
    session = models.ForeignKey(Session, models.SET_NULL, null=True, blank=True, related_name="hypotheses")
    hypothesis = models.TextField()
    confidence = models.FloatField(default=0.7)
    status = models.CharField(max_length=10, choices=Verdict, default=Verdict.OPEN)
    resolution = models.TextField(blank=True)
    project = models.CharField(max_length=100, blank=True)
    created_at = models.DateTimeField(default=timezone.now)
    resolved_at = models.DateTimeField(null=True, blank=True)

    class Meta:
        verbose_name_plural = "hypotheses"
        constraints = [
            models.CheckConstraint(condition=models.Q(confidence__range=(0, 1)), name="hypothesis_confidence_0_to_1"),
            models.CheckConstraint(condition=models.Q(status__in=Verdict.values), name="hypothesis_status_is_known"),
            models.CheckConstraint(
                condition=models.Q(status=Verdict.OPEN, resolved_at=None)
                | (~models.Q(status=Verdict.OPEN) & models.Q(resolved_at__isnull=False)),
                name="hypothesis_resolved_when_not_open",
            ),
        ]
        indexes = [models.Index(fields=["user", "status", "-created_at"], name="hypothesis_of_user_by_status")]

    def __str__(self) -> str:
        return self.hypothesis[:80]
