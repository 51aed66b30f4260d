"""Session, Summary, Chunk: one conversation, its narrative, and what was flagged in it."""

import uuid
from datetime import datetime, timedelta

from django.contrib.postgres.fields import ArrayField
from django.contrib.postgres.indexes import GinIndex
from django.db import models
from django.utils import timezone

from accounts.models import Agent, ApiKey, User
from bigmind.core.private_row_numbers import HasNumber
from bigmind.privacy.masking import PrivateModel

from .base import CanBeSetAside

STALE_AFTER = timedelta(hours=24)
"""After so long a session that nobody ended is closed, by `knowledge/conversation/closing_sessions.py`."""
AUTO_CLOSED = "[auto-closed — session exceeded 24h]"


class SessionQuerySet(models.QuerySet["Session"]):
    """Sessions, in the words of those who ask for them."""

    def of(self, user: User | uuid.UUID) -> "SessionQuerySet":
        return self.filter(user=user)

    def in_view(self) -> "SessionQuerySet":
        """Those that were not set aside."""
        return self.filter(set_aside_at=None)

    def open(self) -> "SessionQuerySet":
        """Those in progress."""
        return self.filter(ended_at=None)

    def stale(self, now: datetime | None = None) -> "SessionQuerySet":
        """Those open for over 24 hours."""
        return self.open().filter(started_at__lt=(now or timezone.now()) - STALE_AFTER)

    def recent(self, now: datetime | None = None) -> "SessionQuerySet":
        """Those that were started in the last 24 hours."""
        return self.filter(started_at__gte=(now or timezone.now()) - STALE_AFTER)

    def newest_first(self) -> "SessionQuerySet":
        """In the order people look for them."""
        return self.order_by("-started_at", "-id")


class Session(CanBeSetAside):
    """One conversation of an agent: Tier 1 is its line in the index."""

    id = models.UUIDField(primary_key=True, default=uuid.uuid4, editable=False)
    user = models.ForeignKey(User, models.CASCADE, related_name="sessions")
    agent = models.ForeignKey(Agent, models.SET_NULL, null=True, blank=True, related_name="sessions")
    project = models.CharField(max_length=100, blank=True)
    started_at = models.DateTimeField(default=timezone.now)
    ended_at = models.DateTimeField(null=True, blank=True)
    one_liner = models.CharField(max_length=120, blank=True)
    topics = ArrayField(models.CharField(max_length=100), default=list, blank=True)
    outcome = models.TextField(blank=True)
    importance = models.PositiveSmallIntegerField(default=5)
    auto_closed = models.BooleanField(default=False)
    conversation = models.CharField(
        max_length=64,
        blank=True,
        default="",
        db_default="",
        editable=False,
        help_text="A digest of what the client calls the conversation that started it.",
    )
    connection = models.CharField(
        max_length=64,
        blank=True,
        default="",
        db_default="",
        editable=False,
        help_text="A digest of the connection that started it, where the protocol has one.",
    )
    number = models.PositiveIntegerField(
        default=0, db_default=0, editable=False, help_text="What its user calls it by: the database counts."
    )
    key = models.ForeignKey(
        ApiKey, models.SET_NULL, null=True, blank=True, editable=False, related_name="+", db_index=False
    )

    objects = SessionQuerySet.as_manager()

    class Meta:
        constraints = [
            models.CheckConstraint(condition=models.Q(importance__range=(1, 10)), name="session_importance_1_to_10"),
            models.CheckConstraint(
                condition=models.Q(ended_at=None) | models.Q(ended_at__gte=models.F("started_at")),
                name="session_ends_after_it_started",
            ),
        ]
        indexes = [
            models.Index(fields=["user", "-started_at", "-id"], name="session_of_user_by_date"),
            models.Index(fields=["user", "number"], name="session_of_user_by_number"),
            models.Index(fields=["started_at"], name="session_open", condition=models.Q(ended_at=None)),
            GinIndex(fields=["topics"], name="session_topics"),
        ]

    def __str__(self) -> str:
        return self.one_liner or f"Session {self.handle}"

    @property
    def handle(self) -> str:
        """What its user and their agents name it by: accepted wherever an id is."""
        return f"S{self.number}"

    @property
    def own_headline(self) -> str:
        """Its headline, if someone wrote one: that it was closed by itself is nothing to search for."""
        return "" if self.one_liner == AUTO_CLOSED else self.one_liner

    @property
    def narrative(self) -> "Summary | None":
        """The summary, or None: asking for `summary` itself raises when there is none."""
        return getattr(self, "summary", None)

    @property
    def chunks_in_order(self) -> list["Chunk"]:
        """The flagged exchanges in view, as they followed each other; uses what was prefetched."""
        return sorted((chunk for chunk in self.chunks.all() if chunk.is_in_view), key=lambda chunk: chunk.seq)

    @property
    def is_open(self) -> bool:
        """Whether the conversation goes on."""
        return self.ended_at is None


class Summary(PrivateModel):
    """Tier 2: the narrative of one session."""

    owned_by = "session__user"

    session = models.OneToOneField(Session, models.CASCADE, primary_key=True, related_name="summary")
    summary = models.TextField()
    key_facts = ArrayField(models.TextField(), default=list, blank=True)
    code_refs = ArrayField(models.TextField(), default=list, blank=True)
    created_at = models.DateTimeField(auto_now_add=True)

    class Meta:
        verbose_name_plural = "summaries"

    def __str__(self) -> str:
        return f"Summary of {self.session}"


class Speaker(models.TextChoices):
    """Who said what a chunk holds."""

    USER = "user"
    ASSISTANT = "assistant"
    SYSTEM = "system"


CAPTURED = "captured"
"""Why a chunk was flagged that nobody flagged: a hook kept what was said."""
OF_AN_IMPORT = " of an imported conversation"
"""Words of the reason that imports give for what was said."""
_MACHINE = models.Q(flag_reason=CAPTURED) | models.Q(flag_reason__contains=OF_AN_IMPORT)
_QUESTION_MARKS = ("?", "？", "؟")
_ASKS = models.Q(role=Speaker.USER)
for _mark in _QUESTION_MARKS:
    _ASKS |= models.Q(content__endswith=_mark)


class ChunkQuerySet(models.QuerySet["Chunk"]):
    """Chunks, in the words of those who ask for them."""

    def without_echo(self) -> "ChunkQuerySet":
        """Those that are knowledge: the rule is that of `Chunk.is_echo`."""
        return self.exclude(_MACHINE & _ASKS)


class Chunk(HasNumber, CanBeSetAside):
    """Tier 3: one exchange that was important enough to keep word for word."""

    session = models.ForeignKey(Session, models.CASCADE, related_name="chunks")
    user = models.ForeignKey(User, models.CASCADE, related_name="chunks")
    role = models.CharField(max_length=10, choices=Speaker, default=Speaker.ASSISTANT)
    content = models.TextField()
    flag_reason = models.TextField(blank=True)
    seq = models.PositiveIntegerField()
    created_at = models.DateTimeField(auto_now_add=True)

    objects = ChunkQuerySet.as_manager()

    class Meta:
        constraints = [
            models.UniqueConstraint(fields=["session", "seq"], name="chunk_once_per_place"),
            models.CheckConstraint(condition=models.Q(role__in=Speaker.values), name="chunk_role_is_known"),
        ]
        indexes = [models.Index(fields=["user", "created_at"], name="chunk_of_user_by_date")]

    def __str__(self) -> str:
        return self.content[:80]

    @property
    def is_kept_by_machine(self) -> bool:
        """Whether a hook or an import kept it, and nobody flagged it."""
        return self.flag_reason == CAPTURED or OF_AN_IMPORT in self.flag_reason

    @property
    def is_echo(self) -> bool:
        """Whether it is what someone asked, kept by a hook or an import. It is shown, and no search finds it."""
        return self.is_kept_by_machine and (self.role == Speaker.USER or self.content.endswith(_QUESTION_MARKS))

    @property
    def project(self) -> str:
        return self.session.project

    @property
    def session_handle(self) -> str:
        """What its session is named by."""
        return self.session.handle
