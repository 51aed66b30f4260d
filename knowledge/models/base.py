"""What the models share: setting things aside, and who stored something with which key."""

from django.db import models
from django.utils import timezone

from accounts.models import Agent, ApiKey, User
from bigmind.privacy.masking import PrivateModel


class CanBeSetAside(PrivateModel):
    """Something that can be hidden everywhere, kept on record, and brought back."""

    set_aside_at = models.DateTimeField(null=True, blank=True)

    class Meta:
        abstract = True

    @property
    def is_in_view(self) -> bool:
        """Whether it is recalled."""
        return self.set_aside_at is None


def delete_keeping_id(row: models.Model) -> None:
    """Delete a row. Django clears the id of what it deletes, and the reply names it."""
    id = row.pk
    row.delete()
    row.pk = id


class Writing(models.Model):
    """One text that a program stored or changed. It holds no content; what people type on pages has none."""

    kind = models.CharField(max_length=20, help_text="Kind of what was written.")
    source_id = models.CharField(max_length=36, help_text="Id of what was written.")
    made = models.BooleanField(help_text="The text is its own; else it was there before.")
    user = models.ForeignKey(User, models.CASCADE, related_name="writings")
    key = models.ForeignKey(ApiKey, models.SET_NULL, null=True, blank=True, related_name="writings")
    agent = models.ForeignKey(Agent, models.SET_NULL, null=True, blank=True, related_name="writings")
    sub_agent = models.CharField(
        max_length=100,
        blank=True,
        db_default="",
        help_text="The client's id of the sub-agent that wrote it, if one did.",
    )
    at = models.DateTimeField(default=timezone.now)

    class Meta:
        indexes = [
            models.Index(fields=["key", "at"], name="writing_of_key"),
            models.Index(fields=["agent", "at"], name="writing_of_agent"),
            models.Index(fields=["user", "at"], name="writing_of_user"),
            models.Index(fields=["kind", "source_id"], name="writing_of_source"),
        ]

    def __str__(self) -> str:
        return f"{self.kind} {self.source_id}"
