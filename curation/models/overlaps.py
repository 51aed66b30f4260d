"""Overlap: two approved entries that say nearly the same, or may contradict each other."""

from django.db import models
from django.utils import timezone

from knowledge.models import CompanyEntry


class Overlap(models.Model):
    """A pair for a curator to decide about. It is settled when someone named it, or verified the entry since."""

    entry = models.ForeignKey(CompanyEntry, models.CASCADE, related_name="overlaps")
    other = models.ForeignKey(CompanyEntry, models.CASCADE, related_name="overlapped_by")
    found_at = models.DateTimeField(default=timezone.now)
    settled_at = models.DateTimeField(null=True, blank=True, help_text="When a curator kept both on purpose.")

    class Meta:
        constraints = [
            models.UniqueConstraint(fields=["entry", "other"], name="overlap_once"),
            models.CheckConstraint(condition=~models.Q(entry=models.F("other")), name="overlap_of_two"),
        ]

    def __str__(self) -> str:
        return f"C{self.entry_id} and C{self.other_id}"
