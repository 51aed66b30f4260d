"""What hooks of clients report: their conversations, what was recalled and kept in them, and how a user wants that."""

from datetime import datetime, timedelta

from django.contrib.postgres.fields import ArrayField
from django.db import models
from django.db.models.functions import Now
from django.utils import timezone

from accounts.models import User
from bigmind.core.private_row_numbers import HasNumber
from bigmind.privacy.masking import PrivateModel

from .sessions import Session

KEEP_DAYS = 30
TOOL_USE_LASTS = timedelta(hours=1)
"""A call comes within seconds of its hook; a person who is asked for permission may take longer."""


class Conversation(HasNumber, PrivateModel):
    """One conversation of a client, under the id that the client gave it, and the session it writes to."""

    user = models.ForeignKey(User, models.CASCADE, related_name="conversations")
    session = models.ForeignKey(Session, models.SET_NULL, null=True, blank=True, related_name="conversations")
    client = models.CharField(max_length=30)
    client_id = models.CharField(max_length=200, help_text="What the client calls it.")
    digest = models.CharField(max_length=64, help_text="SHA-256 of that, as calls over MCP are bound by it.")
    version = models.CharField(max_length=60, blank=True)
    folder = models.CharField(max_length=1000, blank=True)
    repository = models.CharField(max_length=200, blank=True)
    branch = models.CharField(max_length=200, blank=True)
    tools = models.PositiveIntegerField(default=0, help_text="How many uses of tools its hooks reported.")
    withheld = models.PositiveIntegerField(default=0, help_text="Secrets and private passages that were not kept.")
    reminded_at = models.DateTimeField(null=True, blank=True, help_text="When its agent was asked to wrap up.")
    started_at = models.DateTimeField(default=timezone.now)
    last_at = models.DateTimeField(default=timezone.now)
    ended_at = models.DateTimeField(null=True, blank=True)

    class Meta:
        constraints = [
            models.UniqueConstraint(fields=["user", "client", "client_id"], name="conversation_once_by_client_id")
        ]
        indexes = [
            models.Index(fields=["user", "-last_at"], name="conversation_of_user_by_date"),
            models.Index(fields=["user", "digest"], name="conversation_of_user_by_digest"),
            models.Index(fields=["last_at"], name="conversation_last_at"),
        ]

    def __str__(self) -> str:
        return (self.session and self.session.one_liner) or "Untitled conversation"

    @property
    def project(self) -> str:
        """The project of its session, else the repository it runs in."""
        return self.session.project if self.session else self.repository

    @property
    def is_open(self) -> bool:
        """Whether its client has not said that it ended."""
        return self.ended_at is None


class HookEventName(models.TextChoices):
    """What a hook reports, whichever client it runs in."""

    START = "start"
    PROMPT = "prompt"
    TOOL = "tool"
    STOP = "stop"
    COMPACT = "compact"
    END = "end"


class HookEvent(PrivateModel):
    """One event of a conversation: the prompt, what was recalled before it, what was kept after it.

    What was recalled is named by kind and id, and by the lines that were sent: what is erased is erased from both.
    """

    conversation = models.ForeignKey(Conversation, models.CASCADE, related_name="events")
    user = models.ForeignKey(User, models.CASCADE, related_name="+")
    event_id = models.UUIDField(null=True, blank=True)
    event = models.CharField(max_length=10, choices=HookEventName)
    at = models.DateTimeField(default=timezone.now)
    late = models.BooleanField(default=False, help_text="Delivered after BigMind had been away.")
    sub_agent = models.CharField(max_length=100, blank=True)
    prompt = models.TextField(blank=True, help_text="What the user asked, without secrets and private passages.")
    recalled = models.JSONField(default=list, help_text="Kind, id and tokens of each thing that was recalled.")
    texts = ArrayField(models.BigIntegerField(), null=True, blank=True, help_text="The lines as they were told.")
    tokens = models.PositiveIntegerField(default=0)
    milliseconds = models.PositiveIntegerField(default=0)
    chunks = ArrayField(models.BigIntegerField(), default=list, blank=True, help_text="Exchanges that were kept.")

    class Meta:
        constraints = [
            # Hooks need not send an id, and events without one are all distinct.
            models.UniqueConstraint(fields=["user", "event_id"], name="hook_event_once"),
            models.CheckConstraint(condition=models.Q(event__in=HookEventName.values), name="hook_event_is_known"),
        ]
        indexes = [models.Index(fields=["conversation", "at"], name="hook_event_of_conversation")]

    def __str__(self) -> str:
        return f"{self.event} {timezone.localtime(self.at):%Y-%m-%d %H:%M}"


class ToolUse(PrivateModel):
    """A call of a tool that a hook announced: by its id the call over MCP finds its conversation. Kept for an hour."""

    user = models.ForeignKey(User, models.CASCADE, related_name="+")
    conversation = models.ForeignKey(Conversation, models.CASCADE, related_name="tool_uses")
    tool_use_id = models.CharField(max_length=200)
    sub_agent = models.CharField(max_length=100, blank=True)
    at = models.DateTimeField(default=timezone.now)

    class Meta:
        constraints = [models.UniqueConstraint(fields=["user", "tool_use_id"], name="tool_use_once")]
        indexes = [models.Index(fields=["at"], name="tool_use_at")]

    def __str__(self) -> str:
        return self.tool_use_id


class HookHealth(PrivateModel):
    """When the hooks of one client last ran, last brought something and last failed."""

    user = models.ForeignKey(User, models.CASCADE, related_name="hook_health")
    client = models.CharField(max_length=30)
    version = models.CharField(max_length=60, blank=True)
    last_event = models.CharField(max_length=10, blank=True)
    ran_at = models.DateTimeField(null=True, blank=True)
    brought_at = models.DateTimeField(null=True, blank=True)
    failed_at = models.DateTimeField(null=True, blank=True)
    failure = models.CharField(max_length=300, blank=True)
    late = models.PositiveIntegerField(default=0, db_default=0, help_text="How many answers came too late to be read.")
    missed = models.PositiveIntegerField(default=0, db_default=0, help_text="How many events BigMind did not take.")

    class Meta:
        constraints = [models.UniqueConstraint(fields=["user", "client"], name="hook_health_once_by_client")]
        verbose_name_plural = "hook health"

    def __str__(self) -> str:
        return self.client

    @property
    def is_failing(self) -> bool:
        """Whether the last thing that happened was a failure."""
        return self.failed_at is not None and (self.ran_at is None or self.failed_at > self.ran_at)


class CaptureMode(models.TextChoices):
    """How the memory of a user is written, the freest first: an agent may only choose one that comes later."""

    AUTOMATIC = "automatic", "By itself"
    ASK = "ask", "After asking"
    MANUAL = "manual", "By hand"
    READ_ONLY = "read_only", "Read-only"


class ActRecord(models.TextChoices):
    """Whether it is counted at how many acts of a user's agents triggers fired. An agent may only choose the first."""

    OFF = "off", "Count nothing"
    COUNTED = "counted", "Count how often they fire"


class CapturePolicy(PrivateModel):
    """How a user wants memory to be written and what hooks may keep. Who has not chosen has no row."""

    user = models.OneToOneField(User, models.CASCADE, primary_key=True, related_name="capture_policy")
    mode = models.CharField(max_length=10, choices=CaptureMode, default=CaptureMode.AUTOMATIC)
    keep_days = models.PositiveSmallIntegerField(default=KEEP_DAYS)
    never_folders = ArrayField(models.CharField(max_length=1000), default=list, blank=True)
    acts = models.CharField(max_length=10, choices=ActRecord, default=ActRecord.COUNTED, db_default=ActRecord.COUNTED)
    updated_at = models.DateTimeField(auto_now=True, db_default=Now())

    class Meta:
        verbose_name_plural = "capture policies"
        constraints = [
            models.CheckConstraint(condition=models.Q(mode__in=CaptureMode.values), name="capture_mode_is_known"),
            models.CheckConstraint(condition=models.Q(acts__in=ActRecord.values), name="capture_acts_are_known"),
            models.CheckConstraint(
                condition=models.Q(keep_days__range=(1, 3650)), name="capture_kept_for_1_to_3650_days"
            ),
        ]

    def __str__(self) -> str:
        return self.get_mode_display()

    @property
    def oldest(self) -> datetime:
        """What happened before this moment is to be forgotten."""
        return timezone.now() - timedelta(days=self.keep_days)
