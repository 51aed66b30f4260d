"""ConnectedApp: a program that has introduced itself to be let in by people, and what it shows to come in."""

from django.contrib.postgres.fields import ArrayField
from django.db import models

from bigmind.core.addresses import host_of

from .keys import ApiKey


class ConnectedApp(models.Model):
    """A client in the sense of OAuth. What it says of itself nobody has checked, but where it sends people back to."""

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
    stays until it would have expired: whoever shows it again has stolen it, or was stolen from.
    """

    class Kind(models.TextChoices):
        """What it is good for."""

        CODE = "code"
        ACCESS = "access"
        REFRESH = "refresh"

    key = models.ForeignKey(ApiKey, models.CASCADE, related_name="tokens")
    kind = models.CharField(max_length=10, choices=Kind)
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
