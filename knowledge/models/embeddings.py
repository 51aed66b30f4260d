"""Vectors of passages, in a narrow table of their own, the spaces they live in, and what making them cost.

The row is the queue: a passage that waits for its vector is a `PassageVector` without one.
"""

from django.db import models
from django.db.models.functions import Now
from pgvector.django import HalfVectorField

from accounts.models import User

from .passages import Passage


class EmbeddingSpace(models.Model):
    """One model's vectors. Vectors of two spaces are never compared."""

    name = models.CharField(max_length=200, unique=True, help_text="Provider, model and length of the vectors.")
    dimensions = models.PositiveIntegerField()
    batch_size = models.PositiveSmallIntegerField(default=100, help_text="Texts a worker embeds at once, up to 100.")
    created_at = models.DateTimeField(auto_now_add=True)
    active_since = models.DateTimeField(null=True, blank=True, help_text="Search uses the one activated last.")
    stopped_at = models.DateTimeField(null=True, blank=True, help_text="Since then nothing is built in it.")
    again_from = models.DateTimeField(
        null=True,
        blank=True,
        help_text="Since then all its vectors are to be made anew, and no worker has marked them.",
    )

    failed_at = models.DateTimeField(null=True, blank=True, help_text="Since then no batch was embedded.")

    def __str__(self) -> str:
        return self.name


# What PostgreSQL sorts the waiting rows by, and what a worker asks for, have to be spelled alike.
HAS_VECTOR = models.ExpressionWrapper(models.Q(vector__isnull=False), output_field=models.BooleanField())
IS_SHARED = models.ExpressionWrapper(models.Q(owner__isnull=True), output_field=models.BooleanField())


class PassageVector(models.Model):
    """The vector of a passage in one space, or the fact that it is still to be made."""

    passage = models.ForeignKey(Passage, models.CASCADE, related_name="vectors")
    space = models.ForeignKey(EmbeddingSpace, models.CASCADE, related_name="vectors")
    # Kept beside the passage's: searches compare the vectors of one scope, and by it the table is divided (decision
    # 69).
    owner = models.ForeignKey(User, models.CASCADE, null=True, blank=True, related_name="+")
    kind = models.CharField(
        max_length=20, blank=True, db_default="", help_text="That of the passage: kinds take turns at the workers."
    )
    # Without a length, because each space has its own; indexes cast it.
    vector = HalfVectorField(null=True, blank=True)
    not_before = models.DateTimeField(db_default=Now(), help_text="A text that failed waits until then.")
    trouble = models.TextField(blank=True)

    class Meta:
        constraints = [models.UniqueConstraint(fields=["space", "passage"], name="vector_once_per_space")]
        indexes = [
            models.Index(fields=["space", "owner"], name="vector_of_owner"),
            # In the order in which workers take them: new before what is made again, people's own writing before what
            # is shared (imports are large), the newest first.
            models.Index(
                models.F("space"),
                HAS_VECTOR,
                IS_SHARED,
                models.F("id").desc(),
                name="vector_next",
                condition=~models.Q(vector__isnull=False, trouble=""),
            ),
            # By an expression, or PostgreSQL may think that the primary key leads to them as soon.
            models.Index(
                models.F("space"),
                models.F("kind"),
                HAS_VECTOR,
                models.F("id").desc(),
                name="vector_next_of_kind",
                condition=models.Q(vector=None, owner=None),
            ),
        ]

    def __str__(self) -> str:
        return f"{self.passage_id} in {self.space}"


class CachedVector(models.Model):
    """The vector of a text and of its tokens, so that the same text is never embedded twice."""

    space = models.ForeignKey(EmbeddingSpace, models.CASCADE, related_name="cached")
    digest = models.CharField(max_length=64)
    vector = HalfVectorField()
    tokens = models.BinaryField(
        null=True, help_text="The signs of its tokens' vectors, where the model tells them; empty: none are needed."
    )

    class Meta:
        constraints = [models.UniqueConstraint(fields=["space", "digest"], name="vector_cached_once")]
        indexes = [models.Index(fields=["space", "id"], name="vector_without_tokens", condition=models.Q(tokens=None))]

    def __str__(self) -> str:
        return self.digest


class EmbeddingDay(models.Model):
    """What was spent on vectors in one day. A row: every process counts together, before and after a restart."""

    day = models.DateField(primary_key=True, help_text="In UTC.")
    tokens = models.BigIntegerField(help_text="Tokens sent to an endpoint that bills for them.")

    class Meta:
        constraints = [models.CheckConstraint(condition=models.Q(tokens__gte=0), name="embedding_day_not_negative")]

    def __str__(self) -> str:
        return f"{self.day}: {self.tokens:,} tokens"
