"""Reviews, the history of a company entry, kept for ever."""

import hashlib
import json
import uuid

from django.core.serializers.json import DjangoJSONEncoder
from django.db import models
from django.utils import timezone

from accounts.models import User
from knowledge.models import CompanyEntry


class Action(models.TextChoices):
    """The action of a step."""

    PROPOSE = "propose"
    REVISE = "revise"
    WITHDRAW = "withdraw"
    ENDORSE = "endorse"
    APPROVE = "approve"
    REJECT = "reject"
    REQUEST_CHANGES = "request_changes"
    MERGE = "merge"
    EDIT = "edit"
    VERIFY = "verify"
    DEPRECATE = "deprecate"
    SUPERSEDE = "supersede"
    RESTORE = "restore"
    REOPEN = "reopen"
    ASSIGN = "assign"
    KEEP = "keep"
    UNDO = "undo"
    CHECK = "check"
    SET_LEVEL = "set_level"


class Review(models.Model):
    """One step in the history of an entry, with the entry before and after it.

    The table only grows: a trigger in the database refuses to change or delete a row, but for the name of a person who
    was erased. `seal` binds each row to the one before it, so that a change that bypasses the trigger is detected. It
    covers `by_id_kept` and not the names, so that erasing a name leaves the chain intact.
    """

    entry = models.ForeignKey(CompanyEntry, models.PROTECT, related_name="reviews")
    number = models.PositiveIntegerField(help_text="1 for the proposal, then counted up.")
    action = models.CharField(max_length=20, choices=Action)
    by = models.ForeignKey(User, models.SET_NULL, null=True, related_name="reviews")
    by_id_kept = models.UUIDField(help_text="Who it was, also when the user is gone.")
    by_name = models.CharField(max_length=200)
    agent_name = models.CharField(max_length=400, blank=True)
    notes = models.TextField(blank=True)
    before = models.JSONField(null=True)
    after = models.JSONField()
    undoes = models.ForeignKey("self", models.PROTECT, null=True, blank=True, related_name="undone_by")
    batch = models.UUIDField(default=uuid.uuid4, help_text="The same for all rows of one decision.")
    created_at = models.DateTimeField(default=timezone.now)
    seal = models.CharField(max_length=64)

    class Meta:
        constraints = [
            models.UniqueConstraint(fields=["entry", "number"], name="review_once_per_place"),
            models.UniqueConstraint(fields=["undoes"], name="review_undone_once"),
            models.CheckConstraint(condition=models.Q(action__in=Action.values), name="review_action_is_known"),
        ]
        indexes = [
            models.Index(fields=["-created_at"], name="review_by_date"),
            models.Index(fields=["batch"], name="review_of_batch"),
            models.Index(fields=["by", "-created_at"], name="review_by_person"),
        ]

    def __str__(self) -> str:
        return f"{self.get_action_display()} by {self.by_name}"

    @property
    def changed(self) -> dict[str, tuple[object, object]]:
        """The fields that it changed, each with the value before and after."""
        before = self.before or {}
        return {
            name: (before.get(name), value)
            for name, value in self.after.items()
            if self.before is not None and name != "revision" and before.get(name) != value
        }

    def seal_after(self, previous: str) -> str:
        """Return the seal that this row must have after one with the seal `previous`."""
        sealed = {
            "previous": previous,
            "entry": self.entry_id,
            "number": self.number,
            "action": self.action,
            "by": self.by_id_kept,
            "notes": self.notes,
            "before": self.before,
            "after": self.after,
            "undoes": self.undoes_id,
            "batch": self.batch,
            "created_at": self.created_at,
        }
        text = json.dumps(sealed, cls=DjangoJSONEncoder, sort_keys=True, ensure_ascii=False)
        return hashlib.sha256(text.encode()).hexdigest()
