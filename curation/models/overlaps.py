"""Overlap: two entries that say nearly the same, or may contradict each other. Comparison: what was compared."""

from django.contrib.postgres.fields import ArrayField
from django.db import models
from django.utils import timezone
from pgvector.django import HalfVectorField

from knowledge.models import CompanyEntry


class Overlap(models.Model):
    """A pair for a curator to decide about: two approved entries, two proposals, or one of each.

    It is settled when someone kept both on purpose, or verified the approved entry since.
    """

    entry = models.ForeignKey(CompanyEntry, models.CASCADE, related_name="overlaps")
    other = models.ForeignKey(CompanyEntry, models.CASCADE, related_name="overlapped_by")
    found_at = models.DateTimeField(default=timezone.now)
    settled_at = models.DateTimeField(null=True, blank=True, help_text="When a curator kept both on purpose.")
    hints = ArrayField(
        models.TextField(), default=list, blank=True, db_default=[], help_text="On what they may disagree; empty: same."
    )
    similarity = models.FloatField(default=0, db_default=0, help_text="Of 1, by meaning or by words.")

    class Meta:
        constraints = [
            models.UniqueConstraint(fields=["entry", "other"], name="overlap_once"),
            models.CheckConstraint(condition=~models.Q(entry=models.F("other")), name="overlap_of_two"),
        ]

    def __str__(self) -> str:
        return f"C{self.entry_id} and C{self.other_id}"

    @property
    def relation(self) -> str:
        """Whether it is a `contradiction` or a `duplicate`."""
        return "contradiction" if self.hints else "duplicate"

    def partner_of(self, entry_id: int) -> int:
        """Return the number of the other one of the two."""
        return self.other_id if self.entry_id == entry_id else self.entry_id


class Comparison(models.Model):
    """A proposal that was compared with the others, its revision, and the vectors used.

    Proposals have no passages, because search must not find them. Their vectors are stored here, and deleted with the
    decision.
    """

    entry = models.OneToOneField(CompanyEntry, models.CASCADE, primary_key=True, related_name="comparison")
    revision = models.PositiveIntegerField()
    space = models.CharField(max_length=200, blank=True, help_text="The model of the vector; empty: only words.")
    vector = HalfVectorField(null=True, blank=True)
    titled_vector = HalfVectorField(
        null=True, blank=True, help_text="Of title and content, by which it is compared with what is approved."
    )
    compared_at = models.DateTimeField(default=timezone.now)

    def __str__(self) -> str:
        return f"C{self.entry_id} at revision {self.revision}"
