"""The audit log: who did what to whom, in a chain of seals."""

import hashlib
import json
from base64 import urlsafe_b64encode

from django.core.serializers.json import DjangoJSONEncoder
from django.db import models
from django.utils import timezone
from django.utils.crypto import salted_hmac

from .people import User

KEYED = "k1:"
"""How a seal begins that takes the secret key to make. The first ones were hashes, which anyone can make."""
_SALT = "bigmind.audit.seal"
_HEAD_SALT = "bigmind.audit.head"
_REMOVAL_SALT = "bigmind.audit.removal"
REMOVED = "removed"
"""The detail of a row from which a text was removed: the seal of what is left."""


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
    return _seal(_HEAD_SALT, f"{number}:{last}", secret)


def _seal(salt: str, text: str, secret: str | None) -> str:
    digest = salted_hmac(salt, text, secret=secret, algorithm="sha256").digest()
    return KEYED + urlsafe_b64encode(digest).decode().rstrip("=")
