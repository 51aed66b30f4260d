"""GoldenQuestion: a question that must go on finding one item of shared knowledge."""

from django.db import models
from django.utils import timezone

from accounts.models import User
from knowledge.models.passages import list_kinds

QUESTION_CHARS = 500


class GoldenQuestionQuerySet(models.QuerySet["GoldenQuestion"]):
    """Queries of golden questions."""

    def lost(self) -> "GoldenQuestionQuerySet":
        """Return those whose item was not among the first answers when they were checked last."""
        return self.exclude(lost_since=None)


class GoldenQuestion(models.Model):
    """A curators' promise to everyone who asks: this item answers this question."""

    question = models.CharField(max_length=QUESTION_CHARS)
    digest = models.CharField(max_length=64, editable=False, help_text="SHA-256 of the question's words.")
    kind = models.CharField(max_length=20, choices=list_kinds, help_text="Kind of what it must find.")
    source_id = models.CharField(max_length=36, help_text="The id of what it must find.")
    within = models.PositiveSmallIntegerField(default=3, help_text="Among how many of the first answers.")
    pinned_by = models.ForeignKey(User, models.SET_NULL, null=True, blank=True, related_name="golden_questions")
    created_at = models.DateTimeField(default=timezone.now)
    place = models.PositiveSmallIntegerField(
        null=True, blank=True, help_text="Its place among the answers at the last check; none: it was not among them."
    )
    checked_at = models.DateTimeField(null=True, blank=True)
    checked_state = models.CharField(max_length=64, blank=True, help_text="The state of the index at the last check.")
    lost_since = models.DateTimeField(null=True, blank=True)

    objects = GoldenQuestionQuerySet.as_manager()

    class Meta:
        constraints = [
            models.UniqueConstraint(fields=["digest", "kind", "source_id"], name="golden_question_once"),
            models.CheckConstraint(condition=models.Q(within__range=(1, 10)), name="golden_question_within_1_to_10"),
        ]

    def __str__(self) -> str:
        return self.question

    @property
    def handle(self) -> str:
        """The short name that refusals and replies use."""
        return f"Q{self.pk}"

    def is_met_at(self, place: int | None) -> bool:
        """Return whether an item at this place among the answers is where it must be."""
        return place is not None and place <= self.within

    @property
    def is_lost(self) -> bool:
        """Whether its item was missing when it was checked last."""
        return self.lost_since is not None
