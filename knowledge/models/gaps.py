"""Unanswered questions, and the gaps they point to."""

from django.db import models
from django.utils import timezone
from pgvector.django import HalfVectorField

from accounts.models import User
from bigmind.privacy.masking import PrivateModel

from .embeddings import EmbeddingSpace

QUESTION_CHARS = 300


class GapState(models.TextChoices):
    """What became of a gap."""

    OPEN = "open"
    ANSWERED = "answered"
    DISMISSED = "dismissed"


class Gap(models.Model):
    """Something that is not known here: questions that mean the same and found nothing."""

    name = models.CharField(
        max_length=QUESTION_CHARS, blank=True, help_text="The question, or the words of it, that four people used."
    )
    state = models.CharField(max_length=10, choices=GapState, default=GapState.OPEN)
    settled_by = models.ForeignKey(User, models.SET_NULL, null=True, blank=True, related_name="+")
    settled_at = models.DateTimeField(null=True, blank=True)
    created_at = models.DateTimeField(default=timezone.now)

    class Meta:
        constraints = [models.CheckConstraint(condition=models.Q(state__in=GapState.values), name="gap_state_is_known")]

    def __str__(self) -> str:
        return self.name or f"Gap {self.pk}"


class UnansweredQuestion(PrivateModel):
    """One person's question that found nothing, however often it was asked. It is theirs: see `services.gaps`."""

    gap = models.ForeignKey(Gap, models.CASCADE, related_name="questions")
    user = models.ForeignKey(User, models.CASCADE, related_name="unanswered_questions")
    text = models.CharField(max_length=QUESTION_CHARS)
    digest = models.CharField(max_length=64, help_text="SHA-256 of the question without capitals and punctuation.")
    times = models.PositiveIntegerField(default=1)
    first_asked = models.DateTimeField(default=timezone.now)
    last_asked = models.DateTimeField(default=timezone.now)
    space = models.ForeignKey(EmbeddingSpace, models.SET_NULL, null=True, blank=True, related_name="+")
    vector = HalfVectorField(null=True, blank=True)
    asked_up_to = models.BigIntegerField(
        default=0,
        db_default=0,
        help_text="The newest passage when an agent or a worker last asked it.",
    )
    answered_at = models.DateTimeField(null=True, blank=True, help_text="When something stored since answered it.")
    kind = models.CharField(max_length=20, blank=True, default="", db_default="", help_text="Of what answered it.")
    source_id = models.CharField(max_length=36, blank=True, default="", db_default="", help_text="Its id.")

    class Meta:
        constraints = [models.UniqueConstraint(fields=["user", "digest"], name="question_once_by_each")]
        indexes = [
            # What someone asks for the first time joins the gap of others who used the same words.
            models.Index(fields=["digest"], name="question_digest"),
            models.Index(fields=["last_asked"], name="question_last_asked"),
        ]

    def __str__(self) -> str:
        return f"Question {self.pk}"
