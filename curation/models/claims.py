"""Claim: a curator is reviewing an entry, so that another takes the next one."""

from datetime import timedelta

from django.db import models
from django.utils import timezone

from accounts.models import User
from knowledge.models import CompanyEntry

CLAIM_LASTS = timedelta(minutes=10)


class ClaimQuerySet(models.QuerySet["Claim"]):
    """Queries for claims."""

    def current(self) -> "ClaimQuerySet":
        """Return the claims that have not expired."""
        return self.filter(until__gt=timezone.now())


class Claim(models.Model):
    """Who is reviewing an entry, and until when. Only a hint: two decisions at once are prevented by revisions."""

    entry = models.OneToOneField(CompanyEntry, models.CASCADE, primary_key=True, related_name="claim")
    by = models.ForeignKey(User, models.CASCADE, related_name="claims")
    until = models.DateTimeField()

    objects = ClaimQuerySet.as_manager()

    def __str__(self) -> str:
        return f"{self.entry_id} by {self.by}"
