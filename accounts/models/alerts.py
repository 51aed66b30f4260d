"""Alerts: notifications about a person's own account."""

from django.db import models
from django.utils import timezone

from bigmind.privacy.masking import PrivateModel

from .keys import ApiKey
from .people import User


class Alert(PrivateModel):
    """One line for one person. The row is the record as well: what happened, when, and who did it."""

    class Topic(models.TextChoices):
        """What it is about."""

        KEY_ENDS = "key_ends"
        KEY_ENDS_SOON = "key_ends_soon"
        FACTOR_SET_UP = "factor_set_up"
        FACTOR_REMOVED = "factor_removed"
        FACTOR_RESET = "factor_reset"
        CODES_RENEWED = "codes_renewed"
        CODE_USED = "code_used"
        SSO_LINKED = "sso_linked"
        PRIVATE_OPENED = "private_opened"
        TEXT_REMOVED = "text_removed"
        SHARING_ASKED = "sharing_asked"

    MAILED_THOUGH_SEEN = (
        *(Topic.FACTOR_SET_UP, Topic.FACTOR_REMOVED, Topic.FACTOR_RESET),
        *(Topic.CODES_RENEWED, Topic.CODE_USED, Topic.SSO_LINKED, Topic.PRIVATE_OPENED),
    )
    """What changed of how a user signs in, and who opened their rows: an admin who signs in as them may see it."""

    user = models.ForeignKey(User, models.CASCADE, related_name="alerts")
    kind = models.CharField(max_length=20, choices=Topic)
    key = models.ForeignKey(ApiKey, models.CASCADE, null=True, blank=True, related_name="alerts")
    text = models.CharField(max_length=300)
    by_name = models.CharField(max_length=200, blank=True, help_text="Who did it, where it was somebody else.")
    created_at = models.DateTimeField(default=timezone.now)
    seen_at = models.DateTimeField(null=True, blank=True)
    mailed_at = models.DateTimeField(null=True, blank=True)

    class Meta:
        indexes = [
            models.Index(fields=["user", "-created_at"], name="alert_of_user"),
            models.Index(fields=["user"], condition=models.Q(seen_at=None), name="alert_unseen"),
        ]
        constraints = [
            # What is said of a key is said once, however often the scheduler starts again.
            models.UniqueConstraint(fields=["key", "kind"], condition=~models.Q(key=None), name="alert_once_for_a_key")
        ]

    def __str__(self) -> str:
        return self.text

    @property
    def is_urgent(self) -> bool:
        """Whether an e-mail about it must not wait for the day or the week to end."""
        return self.kind not in {Alert.Topic.KEY_ENDS, Alert.Topic.SHARING_ASKED}
