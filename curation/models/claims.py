"""Claim: a curator is looking at an entry, so that two do not read the same one at once."""

from datetime import timedelta

from django.db import models
from django.utils import timezone

from accounts.models import User
from knowledge.models import CompanyEntry

CLAIM_LASTS = timedelta(minutes=10)


class ClaimQuerySet(models.QuerySet["Claim"]):
    """Claims, in the words of those who ask for them."""

    def current(self) -> "ClaimQuerySet":
        """Those that have not run out."""
        return self.filter(until__gt=timezone.now())


class Claim(models.Model):
    """Who looks at an entry, and until when. It keeps nobody from deciding; revisions do that."""

    entry = models.OneToOneField(CompanyEntry, models.CASCADE, primary_key=True, related_name="claim")
    by = models.ForeignKey(User, models.CASCADE, related_name="claims")
    until = models.DateTimeField()

    objects = ClaimQuerySet.as_manager()

    def __str__(self) -> str:
        return f"{self.entry_id} by {self.by}"
