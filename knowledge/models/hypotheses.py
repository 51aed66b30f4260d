"""Hypothesis: a belief to be confirmed or refuted."""

from dataclasses import dataclass
from datetime import date, datetime, timedelta
from uuid import UUID

from django.db import models
from django.utils import timezone

from accounts.models import User
from bigmind.core.private_row_numbers import HasNumber
from bigmind.text.days import local_day

from .base import CanBeSetAside
from .sessions import Session


class Verdict(models.TextChoices):
    """What became of a belief."""

    OPEN = "open"
    CONFIRMED = "confirmed"
    REFUTED = "refuted"
    ABANDONED = "abandoned"


CHECK_AFTER = timedelta(days=30)
"""When a belief is due that names no date of its own."""


@dataclass(frozen=True)
class TrackRecord:
    """How beliefs that one agent was about as sure of turned out: so many were confirmed, of so many decided."""

    agent: str
    confidence: float
    confirmed: int
    decided: int

    @property
    def share(self) -> float:
        """The share that was confirmed; it equals the confidence if the agent is well calibrated."""
        return self.confirmed / self.decided


class HypothesisQuerySet(models.QuerySet["Hypothesis"]):
    """Queries for hypotheses."""

    def of(self, user: User | UUID) -> "HypothesisQuerySet":
        return self.filter(user=user)

    def due(self, now: datetime | None = None) -> "HypothesisQuerySet":
        """Return those that are open and whose date has come, the one that is due longest first."""
        now = now or timezone.localtime()
        has_come = models.Q(check_on__lte=now.date()) | models.Q(check_on=None, created_at__lte=now - CHECK_AFTER)
        return self.filter(has_come, status=Verdict.OPEN, set_aside_at=None).order_by("created_at", "id")


class Hypothesis(HasNumber, CanBeSetAside):
    """“I believe X because Y”, with how sure the agent was and what actually happened."""

    user = models.ForeignKey(User, models.CASCADE, related_name="hypotheses")
    session = models.ForeignKey(Session, models.SET_NULL, null=True, blank=True, related_name="hypotheses")
    hypothesis = models.TextField()
    confidence = models.FloatField(default=0.7)
    status = models.CharField(max_length=10, choices=Verdict, default=Verdict.OPEN)
    resolution = models.TextField(blank=True)
    project = models.CharField(max_length=100, blank=True)
    created_at = models.DateTimeField(default=timezone.now)
    check_on = models.DateField(
        null=True, blank=True, help_text="When to ask how it turned out; none: 30 days after it was written down."
    )
    resolved_at = models.DateTimeField(null=True, blank=True)

    track_record: TrackRecord | None = None
    """How others of the same agent and confidence turned out; operations that write a hypothesis fill it in."""

    objects = HypothesisQuerySet.as_manager()

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

    @property
    def session_handle(self) -> str:
        """The handle of its session; empty where it has none."""
        return self.session.handle if self.session else ""

    def __str__(self) -> str:
        return self.hypothesis[:80]

    @property
    def due_on(self) -> date:
        """The day on which to ask how it turned out."""
        return self.check_on or local_day(self.created_at + CHECK_AFTER)

    @property
    def is_due(self) -> bool:
        """Whether it is open and its date has come."""
        return self.status == Verdict.OPEN and self.due_on <= timezone.localdate()
