"""Knowledge packs: what is published, what is subscribed to, each version of it, and which entry each line became."""

from django.contrib.postgres.fields import ArrayField
from django.db import models
from django.utils import timezone

from accounts.models import User
from knowledge.models import CompanyEntry

NAME_CHARS = 30
SIGNER_CHARS = 80
ADDRESS_CHARS = 500
BEGINNING = 16
"""How many characters of a public key are shown: nobody can make another key with the same prefix."""


class PackKey(models.Model):
    """A public key that an admin trusts, and whose it is. Keys with the same signer are keys of one publisher."""

    public_key = models.CharField(max_length=64, unique=True)
    signer = models.CharField(max_length=SIGNER_CHARS)
    by = models.ForeignKey(User, models.SET_NULL, null=True, related_name="+")
    created_at = models.DateTimeField(default=timezone.now)

    def __str__(self) -> str:
        return f"{self.signer} (key {self.public_key[:BEGINNING]})"


class Pack(models.Model):
    """A pack by its name: one that is published here, or one of another publisher that this instance subscribes to."""

    name = models.CharField(max_length=NAME_CHARS, unique=True)
    title = models.CharField(max_length=200)
    is_ours = models.BooleanField(default=False, help_text="It is published here.")
    chosen = models.JSONField(default=dict, blank=True, help_text="Of what is published here, what was chosen last.")
    signer = models.CharField(max_length=SIGNER_CHARS, blank=True, help_text="Whose keys its versions are signed with.")
    address = models.CharField(
        max_length=ADDRESS_CHARS, blank=True, help_text="Where updates are looked for; empty: files are handed in."
    )
    pinned = models.CharField(max_length=30, blank=True, help_text="No version above this one is taken.")
    checked_at = models.DateTimeField(null=True, blank=True)
    trouble = models.TextField(blank=True, help_text="Why the last look for updates brought nothing.")
    ended_at = models.DateTimeField(null=True, blank=True, help_text="When the subscription ended.")
    created_at = models.DateTimeField(default=timezone.now)

    def __str__(self) -> str:
        return self.title or self.name

    @property
    def accepted(self) -> "PackVersion | None":
        """The version whose contents are company knowledge here, or that was published last."""
        return self.versions.filter(state=PackVersion.State.ACCEPTED).order_by("-numbers").first()

    @property
    def waiting(self) -> "PackVersion | None":
        """The version that waits for a curator."""
        return self.versions.filter(state=PackVersion.State.WAITING).order_by("-numbers").first()


class PackVersionQuerySet(models.QuerySet["PackVersion"]):
    """Versions of packs."""

    def waiting_for(self, curator: User) -> "PackVersionQuerySet":
        """Keep versions that wait for this curator, newest first: not those they approved as the first of two."""
        waiting = self.filter(state=PackVersion.State.WAITING, pack__ended_at=None, pack__is_ours=False)
        return waiting.exclude(endorsed_by=curator).defer("document").select_related("pack").order_by("-created_at")


class PackVersion(models.Model):
    """One version of a pack, with the document that was signed."""

    class State(models.TextChoices):
        """Its state here."""

        WAITING = "waiting"
        ACCEPTED = "accepted"
        REJECTED = "rejected"
        ROLLED_BACK = "rolled_back", "rolled back"

    pack = models.ForeignKey(Pack, models.CASCADE, related_name="versions")
    version = models.CharField(max_length=30)
    numbers = ArrayField(models.PositiveIntegerField(), help_text="The version as numbers, to compare it by.")
    document = models.JSONField(help_text="What was signed, as it came.")
    signature = models.CharField(max_length=128)
    public_key = models.CharField(max_length=64)
    state = models.CharField(max_length=20, choices=State, default=State.WAITING)
    steps = ArrayField(
        models.BigIntegerField(), default=list, blank=True, help_text="The reviews by which it was accepted."
    )
    endorsed_by = models.ForeignKey(
        User, models.SET_NULL, null=True, blank=True, related_name="+", help_text="The first of four eyes."
    )
    endorsed_lines = ArrayField(
        models.CharField(max_length=100),
        default=list,
        db_default=[],
        blank=True,
        help_text="The keys of the lines that the first of four eyes accepted.",
    )
    decided_by = models.ForeignKey(User, models.SET_NULL, null=True, blank=True, related_name="+")
    decided_at = models.DateTimeField(null=True, blank=True)
    created_at = models.DateTimeField(default=timezone.now)
    objects = PackVersionQuerySet.as_manager()

    class Meta:
        constraints = [
            models.UniqueConstraint(fields=["pack", "version"], name="pack_version_once"),
            models.CheckConstraint(
                condition=models.Q(state__in=["waiting", "accepted", "rejected", "rolled_back"]),
                name="pack_version_state_is_known",
            ),
        ]

    def __str__(self) -> str:
        return f"{self.pack} {self.version}"


class PackLine(models.Model):
    """One entry of a pack, and the company entry that it became."""

    pack = models.ForeignKey(Pack, models.CASCADE, related_name="lines")
    key = models.CharField(max_length=100, help_text="What the publisher knows it by.")
    entry = models.OneToOneField(CompanyEntry, models.CASCADE, related_name="pack_line")

    class Meta:
        constraints = [models.UniqueConstraint(fields=["pack", "key"], name="pack_line_once")]

    def __str__(self) -> str:
        return self.key
