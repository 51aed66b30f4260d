"""Notice: a message to a user in the app."""

from django.db import models
from django.utils import timezone

from accounts.models import User
from knowledge.models import CompanyEntry

from .reviews import Review


class Notice(models.Model):
    """One line for one user: what happened to an entry that they proposed, own or commented on."""

    user = models.ForeignKey(User, models.CASCADE, related_name="notices")
    entry = models.ForeignKey(CompanyEntry, models.CASCADE, related_name="notices")
    review = models.ForeignKey(Review, models.CASCADE, null=True, blank=True, related_name="notices")
    text = models.CharField(max_length=300)
    created_at = models.DateTimeField(default=timezone.now)
    seen_at = models.DateTimeField(null=True, blank=True)

    class Meta:
        indexes = [
            models.Index(fields=["user", "-created_at"], name="notice_of_user"),
            models.Index(fields=["user"], condition=models.Q(seen_at=None), name="notice_unseen"),
        ]

    def __str__(self) -> str:
        return self.text
