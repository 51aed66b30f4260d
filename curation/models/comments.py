"""Comments, the discussion of a company entry."""

from django.db import models
from django.utils import timezone

from accounts.models import User
from knowledge.models import CompanyEntry

FORMER_USER = "a former user"


class Comment(models.Model):
    """One comment on an entry."""

    entry = models.ForeignKey(CompanyEntry, models.CASCADE, related_name="comments")
    by = models.ForeignKey(User, models.SET_NULL, null=True, related_name="comments")
    text = models.TextField()
    created_at = models.DateTimeField(default=timezone.now)

    class Meta:
        indexes = [models.Index(fields=["entry", "created_at"], name="comment_of_entry")]

    def __str__(self) -> str:
        return self.text[:80]

    @property
    def by_name(self) -> str:
        """The name of the author, also when the account is deleted."""
        return self.by.signature if self.by else FORMER_USER
