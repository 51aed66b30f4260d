"""Fact: one atomic personal truth."""

from django.db import models
from django.utils import timezone

from accounts.models import User
from bigmind.core.masking import PrivateModel
from bigmind.core.numbers import HasNumber

from .sessions import Session


class Category(models.TextChoices):
    """What kind of truth a fact is."""

    IDENTITY = "identity"
    PREFERENCE = "preference"
    CONSTRAINT = "constraint"
    DECISION = "decision"
    CODEBASE = "codebase"


class FactQuerySet(models.QuerySet["Fact"]):
    """Facts, in the words of those who ask for them."""

    def of(self, user: User) -> "FactQuerySet":
        """Those of one user."""
        return self.filter(user=user)

    def current(self) -> "FactQuerySet":
        """Those that still hold."""
        return self.filter(deprecated_at=None)

    def newest_first(self) -> "FactQuerySet":
        """In the order people look for them."""
        return self.order_by("-created_at", "-id")


class Fact(HasNumber, PrivateModel):
    """One atomic personal truth. A fact that was set aside stays on record and is never recalled."""

    user = models.ForeignKey(User, models.CASCADE, related_name="facts")
    category = models.CharField(max_length=20, choices=Category)
    fact = models.TextField()
    digest = models.CharField(max_length=64, editable=False, help_text="SHA-256 of the text, spaces folded.")
    confidence = models.FloatField(default=1.0)
    project = models.CharField(max_length=100, blank=True)
    source_session = models.ForeignKey(Session, models.SET_NULL, null=True, blank=True, related_name="facts")
    superseded_by = models.ForeignKey("self", models.SET_NULL, null=True, blank=True, related_name="supersedes")
    similar_to = models.ForeignKey(
        "self",
        models.SET_NULL,
        null=True,
        blank=True,
        related_name="+",
        help_text="An older one that says nearly this.",
    )
    contradicted_by = models.ForeignKey(
        "self",
        models.SET_NULL,
        null=True,
        blank=True,
        related_name="contradicts",
        db_index=False,
        help_text="A newer one beside which this cannot hold, until someone says which of the two does.",
    )
    deprecated_at = models.DateTimeField(null=True, blank=True)
    deprecation_reason = models.TextField(blank=True)
    created_at = models.DateTimeField(default=timezone.now)
    updated_at = models.DateTimeField(auto_now=True)

    objects = FactQuerySet.as_manager()

    class Meta:
        constraints = [
            models.CheckConstraint(condition=models.Q(confidence__range=(0, 1)), name="fact_confidence_0_to_1"),
            models.CheckConstraint(condition=models.Q(category__in=Category.values), name="fact_category_is_known"),
            models.UniqueConstraint(
                fields=["user", "digest"], condition=models.Q(deprecated_at=None), name="fact_known_once"
            ),
        ]
        indexes = [
            models.Index(
                fields=["user", "-created_at", "-id"],
                condition=models.Q(deprecated_at=None),
                name="fact_current_of_user",
            ),
            models.Index(
                fields=["user", "category", "-created_at", "-id"],
                condition=models.Q(deprecated_at=None),
                name="fact_current_by_category",
            ),
            models.Index(
                fields=["user", "project", "-created_at", "-id"],
                condition=models.Q(deprecated_at=None),
                name="fact_current_by_project",
            ),
            models.Index(fields=["user", "-deprecated_at"], name="fact_set_aside_of_user"),
            models.Index(
                fields=["contradicted_by"], condition=models.Q(contradicted_by__isnull=False), name="fact_contradicted"
            ),
        ]

    def __str__(self) -> str:
        return self.fact[:80]

    @property
    def is_current(self) -> bool:
        """Whether it still holds."""
        return self.deprecated_at is None
