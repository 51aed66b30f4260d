"""Records: calls, replies kept for retries, background tasks, alerts, the audit log, erasure reports."""

import hashlib
import json
from base64 import urlsafe_b64encode

from django.core.serializers.json import DjangoJSONEncoder
from django.db import models
from django.utils import timezone
from django.utils.crypto import salted_hmac

from bigmind.core.masking import PrivateModel

from .keys import ApiKey
from .people import Agent, User

KEYED = "k1:"
"""How a seal begins that takes the secret key to make. The first ones were hashes, which anyone can make."""
_SALT = "bigmind.audit.seal"
_HEAD_SALT = "bigmind.audit.head"
_REMOVAL_SALT = "bigmind.audit.removal"
REMOVED = "removed"
"""The detail of a row from which a text was removed: the seal of what is left."""


class Call(models.Model):
    """One operation performed: by whom, over which transport (`door`), its outcome and duration. Never its content."""

    user = models.ForeignKey(User, models.CASCADE, related_name="calls")
    key = models.ForeignKey(ApiKey, models.SET_NULL, null=True, blank=True, related_name="calls")
    agent = models.ForeignKey(Agent, models.SET_NULL, null=True, blank=True, related_name="calls")
    operation = models.CharField(max_length=100)
    door = models.CharField(max_length=10)
    outcome = models.CharField(max_length=20, help_text="`ok`, or the code of the refusal.")
    milliseconds = models.FloatField()
    tokens = models.PositiveIntegerField(
        null=True, blank=True, help_text="What the reply cost, where an agent read it."
    )
    request_id = models.CharField(max_length=64, blank=True)
    at = models.DateTimeField(auto_now_add=True)

    class Meta:
        indexes = [
            models.Index(fields=["user", "-at"], name="call_of_user"),
            models.Index(fields=["at"], name="call_at"),
        ]

    def __str__(self) -> str:
        return f"{self.operation}: {self.outcome}"


class KeptReply(PrivateModel):
    """The reply to a write that carried an idempotency key: the same key again is answered with it."""

    user = models.ForeignKey(User, models.CASCADE, related_name="kept_replies")
    idempotency_key = models.CharField(max_length=200)
    operation = models.CharField(max_length=100)
    fingerprint = models.CharField(max_length=64, help_text="SHA-256 of the operation and its arguments.")
    reply = models.JSONField(null=True)
    at = models.DateTimeField(auto_now_add=True)

    class Meta:
        verbose_name_plural = "kept replies"
        constraints = [models.UniqueConstraint(fields=["user", "idempotency_key"], name="one_reply_per_key")]
        indexes = [models.Index(fields=["at"], name="kept_reply_at")]

    def __str__(self) -> str:
        return f"{self.operation} ({self.idempotency_key})"


class TaskTally(models.Model):
    """The runs of one task, over all workers."""

    task = models.CharField(primary_key=True, max_length=100)
    runs = models.PositiveBigIntegerField(default=0)
    failures = models.PositiveBigIntegerField(default=0)
    seconds = models.FloatField(default=0)
    ended_at = models.DateTimeField(help_text="When it ended last.")
    scheduled_at = models.DateTimeField(null=True, blank=True, help_text="When it last ended as the scheduler asked.")
    failed_at = models.DateTimeField(null=True, blank=True)
    error = models.CharField(max_length=100, blank=True, help_text="Of the last failure: its kind, never its words.")
    request_id = models.CharField(max_length=64, blank=True, help_text="Of the last failure, as in the log.")

    class Meta:
        verbose_name_plural = "task tallies"

    def __str__(self) -> str:
        return self.task


class BackupRun(models.Model):
    """One backup that was made or copied, or one rehearsal of a restore, and what came of it."""

    class Step(models.TextChoices):
        """What was done."""

        MADE = "made"
        COPIED = "copied"
        REHEARSED = "rehearsed"

    kind = models.CharField(max_length=10, choices=Step)
    at = models.DateTimeField(default=timezone.now, help_text="When it ended.")
    name = models.CharField(max_length=60, blank=True, help_text="Of the backup, which says when it was made.")
    place = models.CharField(max_length=300, help_text="The folder or the bucket.")
    seconds = models.FloatField()
    bytes = models.PositiveBigIntegerField(default=0)
    is_encrypted = models.BooleanField(default=False)
    error = models.CharField(max_length=300, blank=True, help_text="Why it failed; nothing if it did not.")
    report = models.JSONField(default=dict, blank=True, help_text="What a rehearsal found: figures, and no texts.")

    class Meta:
        indexes = [models.Index(fields=["-at", "-id"], name="backup_run_newest")]

    def __str__(self) -> str:
        return f"{self.kind} {self.name or self.place}"


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
        QUESTION_ASKED = "question_asked"
        QUESTION_SETTLED = "question_settled"
        TEXT_REMOVED = "text_removed"

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
        """Whether a letter about it must not wait for the day or the week to end."""
        return self.kind not in {Alert.Topic.KEY_ENDS, Alert.Topic.QUESTION_ASKED, Alert.Topic.QUESTION_SETTLED}

    @property
    def is_question(self) -> bool:
        """Whether it is about a question between two people, which has a page."""
        return self.kind in {Alert.Topic.QUESTION_ASKED, Alert.Topic.QUESTION_SETTLED}


class AuditEvent(models.Model):
    """Who did what to whom, and when. Ids, roles and counts; never what anyone stored.

    The table only grows: a trigger lets nothing but the names of a person be taken away, who was erased. `seal` binds
    each row to the one before it, so that a change made past the trigger is found, also one by someone who owns the
    database and has no secret key. Names are outside the seal.
    """

    number = models.PositiveBigIntegerField(unique=True)
    at = models.DateTimeField(default=timezone.now)
    event = models.CharField(max_length=40)
    by = models.ForeignKey(User, models.SET_NULL, null=True, blank=True, related_name="+")
    by_id_kept = models.UUIDField(null=True, help_text="Who did it; nobody: a command, or the scheduler.")
    by_name = models.CharField(max_length=200, blank=True)
    about = models.ForeignKey(User, models.SET_NULL, null=True, blank=True, related_name="+")
    about_id_kept = models.UUIDField(null=True, help_text="To whom it was done.")
    about_name = models.CharField(max_length=200, blank=True)
    details = models.JSONField(default=dict)
    seal = models.CharField(max_length=64)

    class Meta:
        indexes = [
            models.Index(fields=["-at"], name="audit_by_date"),
            models.Index(fields=["by_id_kept"], name="audit_by_person"),
            models.Index(fields=["about_id_kept"], name="audit_about_person"),
        ]

    def __str__(self) -> str:
        return self.event

    @property
    def is_keyed(self) -> bool:
        """Whether it took the secret key to seal this row."""
        return self.seal.startswith(KEYED)

    def removal_seal(self, previous: str, secret: str | None = None) -> str:
        """Return what vouches for the details of a row from which a text was removed; its first seal stays as it is.

        So whatever is noted elsewhere of the log still holds, and nobody changes a row without the secret key.
        """
        kept = {name: value for name, value in self.details.items() if name != REMOVED}
        return _seal(_REMOVAL_SALT, self.seal + self._seal_input(previous, kept), secret)

    def seal_after(self, previous: str, secret: str | None = None) -> str:
        """Return the seal that this row must have after one with the seal `previous`. Default: by the present key."""
        return _seal(_SALT, self._seal_input(previous), secret)

    def hash_after(self, previous: str) -> str:
        """Return the seal of a row from the time before there was a key to it."""
        return hashlib.sha256(self._seal_input(previous).encode()).hexdigest()

    def _seal_input(self, previous: str, details: dict[str, object] | None = None) -> str:
        row = {
            "previous": previous,
            "number": self.number,
            "at": self.at,
            "event": self.event,
            "by": self.by_id_kept,
            "about": self.about_id_kept,
            "details": self.details if details is None else details,
        }
        return json.dumps(row, cls=DjangoJSONEncoder, sort_keys=True, ensure_ascii=False)


class AuditHead(models.Model):
    """Which row of the audit log is the last one: a single sealed row, so that removing rows means forging it."""

    ONLY = 1

    number = models.PositiveBigIntegerField()
    last = models.CharField(max_length=64, help_text="The seal of the last row.")
    seal = models.CharField(max_length=64)

    def __str__(self) -> str:
        return f"{self.number}"

    @classmethod
    def seal_last(cls, number: int, last: str) -> "AuditHead":
        """Return the head for a last row, sealed by the present key."""
        return cls(pk=cls.ONLY, number=number, last=last, seal=head_seal(number, last))

    def is_sealed(self, secrets: list[str]) -> bool:
        """Whether it is what was written, with one of these secret keys."""
        return any(self.seal == head_seal(self.number, self.last, secret) for secret in secrets)


def head_seal(number: int, last: str, secret: str | None = None) -> str:
    """Return the seal of a head."""
    return _seal(_HEAD_SALT, f"{number}:{last}", secret)


def _seal(salt: str, text: str, secret: str | None) -> str:
    digest = salted_hmac(salt, text, secret=secret, algorithm="sha256").digest()
    return KEYED + urlsafe_b64encode(digest).decode().rstrip("=")


class ErasureReport(models.Model):
    """The signed account of one erasure. The table only grows; a trigger lets nothing but the two links be taken away.

    `document` is what was signed: ids, counts and keyed digests, no names and no texts.
    """

    at = models.DateTimeField(default=timezone.now)
    asked_by = models.ForeignKey(User, models.SET_NULL, null=True, blank=True, related_name="erasures_asked")
    whose = models.ForeignKey(User, models.SET_NULL, null=True, blank=True, related_name="erasures")
    document = models.JSONField()
    signature = models.CharField(max_length=128, help_text="Ed25519, in hexadecimal.")
    public_key = models.CharField(max_length=64, help_text="The key it can be checked with, in hexadecimal.")

    class Meta:
        indexes = [
            models.Index(fields=["-at"], name="erasure_by_date"),
            models.Index(fields=["whose", "-at"], name="erasure_of_person"),
        ]

    def __str__(self) -> str:
        return f"Erasure {self.pk}"
