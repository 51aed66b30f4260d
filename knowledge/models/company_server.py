"""CompanyServer and what passes between it and this BigMind: copies of its entries, and proposals sent to it."""

import uuid
from datetime import timedelta
from urllib.parse import urlsplit

from django.db import models
from django.utils import timezone
from django.utils.formats import date_format

from bigmind.network.addresses import linkable

from .company import UNDECIDED, CompanyEntry, Status

AWAY_AFTER = timedelta(minutes=15)
"""How long after the last answer the company's knowledge is served with the time it was read."""


class CompanyServer(models.Model):
    """The company's BigMind, as seen from a laptop: when it last answered, and when it is asked again.

    The row is the state: the process that synchronizes takes it for a while (`not_before`), and leaves what came of it.
    """

    url = models.CharField(max_length=200, unique=True)
    identity = models.UUIDField(default=uuid.uuid4, editable=False, help_text="What this BigMind calls itself there.")
    username = models.CharField(max_length=150, blank=True, help_text="Whose key it is, as the server says.")
    profile_url = models.CharField(max_length=400, blank=True)
    registered_at = models.DateTimeField(null=True, blank=True)
    heard_at = models.DateTimeField(null=True, blank=True, help_text="When it last answered.")
    read_at = models.DateTimeField(null=True, blank=True, help_text="When its knowledge here was last known to be all.")
    mark = models.CharField(max_length=64, blank=True, help_text="Changes when its knowledge does.")
    unreadable = models.PositiveIntegerField(default=0, help_text="Entries that could not be taken over.")
    attempts = models.PositiveSmallIntegerField(default=0, help_text="Failures in a row.")
    not_before = models.DateTimeField(default=timezone.now)
    error = models.TextField(blank=True, db_column="trouble")
    failed_at = models.DateTimeField(null=True, blank=True, db_column="troubled_at")

    def __str__(self) -> str:
        return self.host

    @property
    def host(self) -> str:
        """How people call it."""
        return urlsplit(self.url).netloc

    @property
    def is_away(self) -> bool:
        """Whether it was not asked successfully for a while: what is known of it may have changed."""
        return self.read_at is None or timezone.now() - self.read_at > AWAY_AFTER

    @property
    def said(self) -> str:
        """Where its entries come from; while it is away, also as of when."""
        if not self.is_away or self.read_at is None:
            return f"from {self.host}"
        return f"from {self.host} as of {date_format(timezone.localtime(self.read_at), 'Y-m-d H:i')}"


class CompanyCopy(models.Model):
    """An approved entry of the company server, kept here to be read. It is decided there and nowhere else."""

    entry = models.OneToOneField(CompanyEntry, models.CASCADE, primary_key=True, related_name="copy")
    server = models.ForeignKey(CompanyServer, models.CASCADE, related_name="copies")
    upstream_id = models.BigIntegerField(help_text="Its number there: 142 for C142.")
    upstream_revision = models.PositiveIntegerField()
    proposed_by = models.CharField(max_length=200, blank=True)
    owner = models.CharField(max_length=200, blank=True)
    decided_by = models.CharField(max_length=200, blank=True)

    class Meta:
        verbose_name_plural = "company copies"
        constraints = [models.UniqueConstraint(fields=["server", "upstream_id"], name="copy_once_per_entry")]

    def __str__(self) -> str:
        return f"{self.handle} {self.server.said}"

    @property
    def handle(self) -> str:
        """What it is cited by over there."""
        return f"C{self.upstream_id}"

    @property
    def address(self) -> str:
        """Its page over there."""
        return linkable(f"{self.server.url}/company/{self.upstream_id}/")


class DispatchQuerySet(models.QuerySet["Dispatch"]):
    """Proposals for the company, in the words of those who ask for them."""

    def to_send(self) -> "DispatchQuerySet":
        """Those that wait to be sent. What is not approved here waits for its own person first."""
        return self.filter(sent_at=None, refused_at=None, entry__status=Status.APPROVED)

    def awaited(self) -> "DispatchQuerySet":
        """Those that have arrived and are not decided yet."""
        return self.filter(sent_at__isnull=False, status__in=UNDECIDED)


class Dispatch(models.Model):
    """A proposal on its way to the company server, and what became of it there. The row is the queue.

    `key` makes sending it twice one proposal there. `body` is what was sent first: a retry must say the same.
    """

    entry = models.OneToOneField(CompanyEntry, models.CASCADE, primary_key=True, related_name="dispatch")
    server = models.ForeignKey(CompanyServer, models.CASCADE, related_name="dispatches")
    key = models.UUIDField(default=uuid.uuid4, unique=True, editable=False)
    body = models.JSONField(null=True, blank=True)
    created_at = models.DateTimeField(default=timezone.now)
    attempts = models.PositiveIntegerField(default=0)
    sent_at = models.DateTimeField(null=True, blank=True, help_text="When the company said that it has it.")
    refused_at = models.DateTimeField(null=True, blank=True)
    error = models.TextField(blank=True, db_column="trouble")
    upstream_id = models.BigIntegerField(null=True, blank=True, help_text="Its number there.")
    status = models.CharField(max_length=20, choices=Status, blank=True, help_text="Where it stands there.")
    decided_by = models.CharField(max_length=200, blank=True)
    decided_at = models.DateTimeField(null=True, blank=True)
    decision_notes = models.TextField(blank=True)
    told_at = models.DateTimeField(null=True, blank=True, help_text="When the proposer's agent heard the decision.")

    objects = DispatchQuerySet.as_manager()

    class Meta:
        verbose_name_plural = "dispatches"
        indexes = [models.Index(fields=["server", "sent_at"], name="dispatch_of_server")]

    def __str__(self) -> str:
        return f"{self.entry}: {self.in_words}"

    @property
    def address(self) -> str:
        """Its page over there, once it has one."""
        return linkable(f"{self.server.url}/company/{self.upstream_id}/") if self.upstream_id else ""

    @property
    def in_words(self) -> str:
        """Where it stands, for people and agents."""
        host = self.server.host
        if self.refused_at:
            return f"{host} does not take it: {self.error}"
        if self.sent_at is None:
            return f"waits to be sent to {host}"
        if self.status in UNDECIDED and self.decided_at is None:
            return f"waits for a curator of {host}"
        reason = f": {self.decision_notes}" if self.decision_notes else ""
        return f"{self.get_status_display().lower()} by {self.decided_by or 'a curator'} at {host}{reason}"
