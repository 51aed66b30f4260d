"""Note: a personal text addressed by domain and key."""

from datetime import datetime
from uuid import UUID

from django.db import models
from django.utils import timezone

from accounts.models import User
from bigmind.core.private_row_numbers import HasNumber

from .base import CanBeSetAside


class NoteQuerySet(models.QuerySet["Note"]):
    """Notes, in the words of those who ask for them."""

    def of(self, user: User | UUID) -> "NoteQuerySet":
        return self.filter(user=user)

    def current(self, now: datetime | None = None) -> "NoteQuerySet":
        """Those that have neither expired nor been set aside."""
        return self.filter(set_aside_at=None).filter(
            models.Q(expires_at=None) | models.Q(expires_at__gt=now or timezone.now())
        )

    def expired(self) -> "NoteQuerySet":
        """Those that have."""
        return self.filter(expires_at__lte=timezone.now())


class Note(HasNumber, CanBeSetAside):
    """A text at an address, such as `email/dymon-packages`."""

    user = models.ForeignKey(User, models.CASCADE, related_name="notes")
    domain = models.CharField(max_length=200)
    key = models.CharField(max_length=200)
    content = models.TextField()
    project = models.CharField(max_length=100, blank=True)
    expires_at = models.DateTimeField(null=True, blank=True)
    created_at = models.DateTimeField(default=timezone.now)
    updated_at = models.DateTimeField(default=timezone.now)
    provenance = models.JSONField(
        default=dict,
        db_default=models.Value({}, models.JSONField()),
        blank=True,
        editable=False,
        help_text="Which source made it, from which file, and what that file said. Only imports write it.",
    )

    objects = NoteQuerySet.as_manager()

    class Meta:
        # Archived notes keep their address: otherwise they could not be restored.
        constraints = [models.UniqueConstraint(fields=["user", "domain", "key"], name="note_once_per_address")]
        indexes = [models.Index(fields=["expires_at"], name="note_expiry", condition=~models.Q(expires_at=None))]

    def __str__(self) -> str:
        return f"{self.domain}/{self.key}"
