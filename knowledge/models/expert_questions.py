"""ExpertQuestion: a question that one person puts to another, and the answer."""

import uuid

from django.db import models
from django.utils import timezone

from accounts.models import User
from bigmind.core.masking import PrivateModel

from .company import CompanyEntry

ASKED_CHARS = 2_000
ANSWER_CHARS = 4_000


class ExpertQuestionState(models.TextChoices):
    """What became of a question to a colleague."""

    OPEN = "open"
    ANSWERED = "answered"
    DECLINED = "declined"
    WITHDRAWN = "withdrawn"


class ExpertQuestionQuerySet(models.QuerySet["ExpertQuestion"]):
    """Queries for questions to colleagues."""

    def between(self, user: User) -> "ExpertQuestionQuerySet":
        """Return those that a user asked or was asked. A question that was withdrawn is gone for whom it was for."""
        asked = models.Q(expert=user) & ~models.Q(state=ExpertQuestionState.WITHDRAWN)
        return self.filter(models.Q(user=user) | asked)


class ExpertQuestion(PrivateModel):
    """A question to a colleague. Both of them read it, and no one else; `entry` is what came of the answer."""

    id = models.UUIDField(primary_key=True, default=uuid.uuid4, editable=False)
    user = models.ForeignKey(User, models.CASCADE, related_name="questions_asked")
    expert = models.ForeignKey(User, models.CASCADE, related_name="questions_received")
    text = models.TextField()
    state = models.CharField(max_length=10, choices=ExpertQuestionState, default=ExpertQuestionState.OPEN)
    answer = models.TextField(blank=True)
    asked_at = models.DateTimeField(default=timezone.now)
    settled_at = models.DateTimeField(null=True, blank=True)
    entry = models.ForeignKey(CompanyEntry, models.SET_NULL, null=True, blank=True, related_name="+")

    objects = ExpertQuestionQuerySet.as_manager()

    class Meta:
        verbose_name = "question to a colleague"
        verbose_name_plural = "questions to colleagues"
        constraints = [
            models.CheckConstraint(
                condition=models.Q(state__in=ExpertQuestionState.values), name="expert_question_state_is_known"
            ),
            models.CheckConstraint(condition=~models.Q(user=models.F("expert")), name="expert_question_of_two"),
        ]
        indexes = [
            models.Index(fields=["user", "-asked_at"], name="expert_question_of_asker"),
            models.Index(fields=["expert", "-asked_at"], name="expert_question_to_expert"),
        ]

    def __str__(self) -> str:
        return f"Question {self.pk}"
