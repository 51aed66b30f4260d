"""Claims: who is reviewing a company entry now, and for how long it is theirs."""

from datetime import timedelta

from django.db import models
from django.utils import timezone

from accounts.models import User
from knowledge.models import CompanyEntry

CLAIM_LASTS = timedelta(minutes=10)
"""How long an entry that a curator has opened is theirs, unless they release it or open another one."""


class Claim(models.Model):
    """Who is reviewing an entry, and until when. Only a hint: two decisions at once are prevented by revisions."""

    entry = models.OneToOneField(CompanyEntry, models.CASCADE, primary_key=True, related_name="claim")
    by = models.ForeignKey(User, models.CASCADE, related_name="claims")
    until = models.DateTimeField()

    def __str__(self) -> str:
        return f"{self.entry_id} by {self.by}"

    @property
    def is_current(self) -> bool:
        """Whether it has not expired. One that would last longer than any was made before the clock was set back."""
        return timezone.now() < self.until <= timezone.now() + CLAIM_LASTS
