"""Recent questions: what agents asked lately and how it was searched, kept so that a decision can be tried on it."""

from django.db import models
from django.utils import timezone

from accounts.models import User
from bigmind.privacy.masking import PrivateModel

from .embeddings import EmbeddingSpace
from .gaps import QUESTION_CHARS


class AskedForm(models.TextChoices):
    """Which search a question went through: each makes another answer of the same things."""

    RECALL = "recall"
    SEARCH = "search"
    PROMPT = "prompt"
    COMPANY = "company"
    START = "start"


class AskedQuestion(PrivateModel):
    """One person's question, however often they asked it, or the start of a session. It is theirs alone.

    `outline` has what a replay needs besides company knowledge: words and weights of the question, and of the other
    things that were found the scores. No text of them, and no id.
    """

    user = models.ForeignKey(User, models.CASCADE, related_name="asked_questions")
    how = models.CharField(max_length=10, choices=AskedForm)
    project = models.CharField(max_length=100, blank=True)
    text = models.CharField(max_length=QUESTION_CHARS, blank=True, help_text="Its words; of a start there are none.")
    digest = models.CharField(max_length=64, help_text="SHA-256 of all of it.")
    times = models.PositiveIntegerField(default=1)
    asked_at = models.DateTimeField(default=timezone.now, help_text="When it was asked last.")
    space = models.ForeignKey(EmbeddingSpace, models.CASCADE, null=True, blank=True, related_name="+")
    # Bytes, because no query compares it: trials read thousands of them into one matrix. Decision 57.
    vector = models.BinaryField(null=True, blank=True, help_text="Its vector, in half precision.")
    tokens = models.BinaryField(null=True, blank=True, help_text="The signs of its tokens' vectors.")
    outline = models.JSONField(default=dict)

    class Meta:
        constraints = [
            models.UniqueConstraint(fields=["user", "how", "project", "digest"], name="asked_once_by_each"),
            models.CheckConstraint(condition=models.Q(how__in=AskedForm.values), name="asked_form_is_known"),
        ]
        indexes = [models.Index(fields=["-asked_at"], name="asked_newest")]

    def __str__(self) -> str:
        return f"{self.how} {self.pk}"
