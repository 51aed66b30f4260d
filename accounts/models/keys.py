"""ApiKey and AppToken: the credentials of programs, stored only as hashes; and the apps people let in."""

import uuid
from datetime import datetime, timedelta

from django.contrib.postgres.fields import ArrayField
from django.db import models
from django.utils import timezone

from bigmind.network.addresses import host_of

from .people import User

SCOPES = ("read", "write", "curate", "admin")
EXPIRY_WARNING = timedelta(days=3)


class ApiKeyQuerySet(models.QuerySet["ApiKey"]):
    """Keys, in the words of those who manage them."""

    def usable(self) -> "ApiKeyQuerySet":
        """Keys that are valid now: neither revoked nor expired."""
        now = timezone.now()
        return self.filter(models.Q(revoked_at=None) | models.Q(revoked_at__gt=now)).filter(
            models.Q(expires_at=None) | models.Q(expires_at__gt=now)
        )

    def of_people(self) -> "ApiKeyQuerySet":
        """Keys that people hold; not those of connected apps, which authenticate with tokens."""
        return self.filter(app=None)

    def of_apps(self) -> "ApiKeyQuerySet":
        return self.exclude(app=None).select_related("app")

    def never_linked(self) -> "ApiKeyQuerySet":
        """Keys that never had a user, such as imported ones; not those that were unlinked from one."""
        return self.filter(user=None, unlinked_at=None)


class ApiKey(models.Model):
    """A key of a user. `revoked_at` may lie ahead: that is the overlap of a rotation."""

    id = models.UUIDField(primary_key=True, default=uuid.uuid4, editable=False)
    user = models.ForeignKey(User, models.CASCADE, related_name="keys", null=True, blank=True)
    label = models.CharField(max_length=200, blank=True)
    prefix = models.CharField(max_length=12, help_text="The first characters, to recognise it by.")
    digest = models.CharField(max_length=64, unique=True, help_text="SHA-256 of the key, in hexadecimal.")
    scopes = ArrayField(models.CharField(max_length=10), default=list)
    toolsets = ArrayField(models.CharField(max_length=20), default=list, blank=True, help_text="Empty: all.")
    per_minute = models.PositiveIntegerField(
        null=True, blank=True, help_text="Operations it may perform in a minute. Empty: BIGMIND_RATE_LIMIT."
    )
    replaces = models.ForeignKey("self", models.SET_NULL, null=True, blank=True, related_name="replaced_by")
    app = models.ForeignKey(
        "ConnectedApp",
        models.PROTECT,
        null=True,
        blank=True,
        related_name="keys",
        help_text="The connected app it belongs to: then nobody has its text, and the app's tokens open it.",
    )
    created_at = models.DateTimeField(auto_now_add=True)
    expires_at = models.DateTimeField(null=True, blank=True)
    last_used_at = models.DateTimeField(null=True, blank=True)
    last_used_by = models.CharField(max_length=200, blank=True, help_text="The client that used it last.")
    revoked_at = models.DateTimeField(null=True, blank=True)
    unlinked_at = models.DateTimeField(null=True, blank=True, help_text="When it was taken from its user.")

    objects = ApiKeyQuerySet.as_manager()

    class Meta:
        verbose_name = "API key"
        verbose_name_plural = "API keys"
        constraints = [
            models.CheckConstraint(
                condition=models.Q(scopes__contained_by=list(SCOPES)) & ~models.Q(scopes=[]), name="scopes_are_known"
            ),
            models.CheckConstraint(
                condition=models.Q(user=None) | models.Q(unlinked_at=None), name="unlinked_means_no_user"
            ),
            models.CheckConstraint(condition=~models.Q(per_minute=0), name="a_limit_lets_something_through"),
        ]

    def __str__(self) -> str:
        return f"{self.label} ({self.prefix}…)" if self.label else f"{self.prefix}…"

    @property
    def state(self) -> str:
        """`active`, `ending` (it has been rotated and still works), `revoked` or `expired`."""
        now = timezone.now()
        if self.revoked_at and self.revoked_at <= now:
            return "revoked"
        if self.expires_at and self.expires_at <= now:
            return "expired"
        return "ending" if self.revoked_at else "active"

    @property
    def ends_at(self) -> datetime | None:
        """When it stops working, if that is known."""
        return min(filter(None, (self.expires_at, self.revoked_at)), default=None)

    @property
    def ends_soon(self) -> bool:
        """Whether the user should make a new one: three days or less are left. Apps renew theirs by themselves."""
        return self.app_id is None and self.ends_at is not None and self.ends_at - timezone.now() <= EXPIRY_WARNING


class ConnectedApp(models.Model):
    """An OAuth client. Nothing it says about itself is verified, except where it sends people back to."""

    client_id = models.CharField(max_length=500, unique=True, help_text="Given by us, or the address of its document.")
    name = models.CharField(max_length=200, blank=True)
    redirect_uris = ArrayField(models.CharField(max_length=2000), help_text="Where people may be sent back to.")
    introduced_from = models.CharField(max_length=45, blank=True, help_text="Where it came from; of IPv6, the network.")
    introduced_at = models.DateTimeField(auto_now_add=True)
    read_at = models.DateTimeField(null=True, blank=True, help_text="When its document was read last.")
    let_in_at = models.DateTimeField(null=True, blank=True, help_text="When somebody first let it in.")

    class Meta:
        indexes = [models.Index(fields=["introduced_from", "introduced_at"], name="connected_app_from")]

    def __str__(self) -> str:
        return self.name or self.client_id

    @property
    def hosts(self) -> list[str]:
        """Where people are sent back to, as they recognise it."""
        return sorted({host_of(uri) for uri in self.redirect_uris})

    @property
    def has_document(self) -> bool:
        """Whether it is identified by a document at its own address, instead of by registration."""
        return self.client_id.startswith("https://")


class AppToken(models.Model):
    """What opens the key of a connected app, whose own text nobody knows. Only its hash is stored.

    A code is exchanged once for the first pair of tokens; a refresh token once for the next pair. What was exchanged
    stays until it would have expired: anyone who shows it again has stolen it, or was stolen from.
    """

    class Type(models.TextChoices):
        """What it is good for."""

        CODE = "code"
        ACCESS = "access"
        REFRESH = "refresh"

    key = models.ForeignKey(ApiKey, models.CASCADE, related_name="tokens")
    kind = models.CharField(max_length=10, choices=Type)
    digest = models.CharField(max_length=64, unique=True, help_text="SHA-256 of its text, in hexadecimal.")
    scopes = ArrayField(models.CharField(max_length=10))
    resource = models.CharField(max_length=500, help_text="The address it opens, and no other.")
    challenge = models.CharField(max_length=128, blank=True, help_text="Of a code: what its verifier must hash to.")
    redirect_uri = models.CharField(max_length=2000, blank=True, help_text="Of a code: where it was sent.")
    created_at = models.DateTimeField(auto_now_add=True)
    expires_at = models.DateTimeField()
    exchanged_at = models.DateTimeField(null=True, blank=True)

    class Meta:
        constraints = [
            models.CheckConstraint(condition=models.Q(kind__in=["code", "access", "refresh"]), name="token_kind_known"),
        ]
        indexes = [models.Index(fields=["expires_at"], name="app_token_expires")]

    def __str__(self) -> str:
        return f"{self.kind} token of {self.key}"
