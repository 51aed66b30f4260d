"""Fact: one atomic personal truth."""

from collections.abc import Sequence
from datetime import datetime
from uuid import UUID

from django.db import models
from django.db.models import F, Q
from django.utils import timezone

from accounts.models import User
from bigmind.core.private_row_numbers import HasNumber
from bigmind.privacy.masking import PrivateModel
from bigmind.text.days import iso_day

from .anchors import Anchored
from .sessions import Session
from .triggers import TriggerLevel, triggers_column


class Category(models.TextChoices):
    """What kind of truth a fact is."""

    IDENTITY = "identity"
    PREFERENCE = "preference"
    CONSTRAINT = "constraint"
    DECISION = "decision"
    CODEBASE = "codebase"


class FactQuerySet(models.QuerySet["Fact"]):
    """Facts, in the words of those who ask for them."""

    def of(self, user: User | UUID) -> "FactQuerySet":
        return self.filter(user=user)

    def current(self) -> "FactQuerySet":
        """Those that nobody set aside."""
        return self.filter(deprecated_at=None)

    def past(self) -> "FactQuerySet":
        """Those that held until a day that has passed, by what was said of them."""
        now = timezone.now()
        return self.filter(Q(valid_until__lte=now) | Q(superseded_by__valid_from__lte=now))

    def without_past(self, now: datetime | None = None) -> "FactQuerySet":
        """Those that do not only belong to the past; those to come are among them."""
        now = now or timezone.now()
        return self.filter(Q(valid_until=None) | Q(valid_until__gt=now)).exclude(superseded_by__valid_from__lte=now)

    def held(self, start: datetime, end: datetime) -> "FactQuerySet":
        """Those that held at some moment from `start` to before `end`, also what was replaced since.

        What was set aside for another reason was not true. The rules are those of `starts_at` and `ends_at`.
        """
        # What had ended when it was stored began at a time that nobody knows, so at any time before that it may have
        # held.
        begun = Q(valid_from__lt=end) | Q(valid_from=None) & (
            Q(created_at__lt=end)
            | Q(valid_until__lte=F("created_at"))
            | Q(superseded_by__valid_from__lte=F("created_at"))
        )
        replaced_later = Q(superseded_by__valid_from__gt=start) | Q(
            superseded_by__valid_from=None, superseded_by__created_at__gt=start
        )
        return self.filter(
            begun,
            Q(valid_until=None) | Q(valid_until__gt=start),
            Q(superseded_by=None, deprecated_at=None) | Q(superseded_by__isnull=False) & replaced_later,
        )

    def newest_first(self) -> "FactQuerySet":
        """In the order people look for them."""
        return self.order_by("-created_at", "-id")


class Fact(HasNumber, PrivateModel, Anchored):
    """One atomic personal truth. A fact that was set aside stays on record and is never recalled."""

    user = models.ForeignKey(User, models.CASCADE, related_name="facts")
    category = models.CharField(max_length=20, choices=Category)
    fact = models.TextField()
    digest = models.CharField(max_length=64, editable=False, help_text="SHA-256 of the text, spaces folded.")
    confidence = models.FloatField(default=1.0)
    project = models.CharField(max_length=100, blank=True)
    source_session = models.ForeignKey(Session, models.SET_NULL, null=True, blank=True, related_name="facts")
    superseded_by = models.ForeignKey("self", models.SET_NULL, null=True, blank=True, related_name="supersedes")
    similar_to = models.ForeignKey(
        "self",
        models.SET_NULL,
        null=True,
        blank=True,
        related_name="+",
        help_text="An older one that says nearly this.",
    )
    contradicted_by = models.ForeignKey(
        "self",
        models.SET_NULL,
        null=True,
        blank=True,
        related_name="contradicts",
        # Few facts have one: `fact_contradicted` indexes these alone.
        db_index=False,
        help_text="A newer one beside which this cannot hold, until someone says which of the two does.",
    )
    valid_from = models.DateTimeField(
        null=True, blank=True, help_text="Since when it holds; empty: since it was stored."
    )
    valid_until = models.DateTimeField(
        null=True, blank=True, help_text="From then on it no longer holds; empty: it does."
    )
    triggers = triggers_column()
    trigger_level = models.CharField(
        max_length=10, choices=TriggerLevel, default=TriggerLevel.ADVISE, db_default=TriggerLevel.ADVISE
    )
    deprecated_at = models.DateTimeField(null=True, blank=True)
    deprecation_reason = models.TextField(blank=True)
    created_at = models.DateTimeField(default=timezone.now)
    updated_at = models.DateTimeField(auto_now=True)
    provenance = models.JSONField(
        default=dict,
        db_default=models.Value({}, models.JSONField()),
        blank=True,
        editable=False,
        help_text="Which source made it, and what else that said of it. Only imports write it.",
    )

    next_steps: Sequence[str] = ()
    """Set by what corrects it: the calls that replace what says nearly the same as before."""
    _older_on_page: Sequence[int] = ()

    objects = FactQuerySet.as_manager()

    class Meta:
        constraints = [
            models.CheckConstraint(condition=models.Q(confidence__range=(0, 1)), name="fact_confidence_0_to_1"),
            models.CheckConstraint(condition=models.Q(category__in=Category.values), name="fact_category_is_known"),
            models.CheckConstraint(condition=Q(valid_until__gt=F("valid_from")), name="fact_ends_after_it_begins"),
            models.UniqueConstraint(
                fields=["user", "digest"], condition=models.Q(deprecated_at=None), name="fact_known_once"
            ),
        ]
        indexes = [
            # A start context reads the newest facts of each category and of the project, without sorting the others.
            models.Index(
                fields=["user", "-created_at", "-id"],
                condition=models.Q(deprecated_at=None),
                name="fact_current_of_user",
            ),
            models.Index(
                fields=["user", "category", "-created_at", "-id"],
                condition=models.Q(deprecated_at=None),
                name="fact_current_by_category",
            ),
            models.Index(
                fields=["user", "project", "-created_at", "-id"],
                condition=models.Q(deprecated_at=None),
                name="fact_current_by_project",
            ),
            models.Index(fields=["user", "-deprecated_at"], name="fact_set_aside_of_user"),
            models.Index(
                fields=["contradicted_by"], condition=models.Q(contradicted_by__isnull=False), name="fact_contradicted"
            ),
        ]

    def __str__(self) -> str:
        return self.fact[:80]

    @property
    def is_current(self) -> bool:
        """Whether nobody set it aside."""
        return self.deprecated_at is None

    @property
    def may_contradict(self) -> list[int]:
        """The facts beside which this one may not hold: a newer one, and the older ones on the same page of a list."""
        newer = [self.contradicted_by_id] if self.contradicted_by_id else []
        return [*newer, *self._older_on_page]

    @property
    def starts_at(self) -> datetime | None:
        """Since when it holds; None: nobody knows, because it had ended when it was stored.

        What says no day holds since it was stored.
        """
        newer = self.superseded_by
        days = [day for day in (self.valid_until, newer and newer.valid_from) if day]
        if self.valid_from or not (days and min(days) <= self.created_at):
            return self.valid_from or self.created_at
        return None

    @property
    def ends_at(self) -> datetime | None:
        """Until when it held, or will: as was said, or when what replaced it began. None: no end is known."""
        newer = self.superseded_by
        ends = [self.valid_until, newer and (newer.valid_from or newer.created_at)]
        return min([end for end in ends if end], default=None)

    @property
    def is_past(self) -> bool:
        """Whether it held until a day that has passed."""
        return self.ends_at is not None and self.ends_at <= timezone.now()

    @property
    def session_handle(self) -> str:
        """The handle of the session it was stored in; empty where it has none."""
        return self.source_session.handle if self.source_session else ""

    @property
    def validity(self) -> str:
        """When it holds, such as “until 2026-03-01”; empty for what holds since it was stored, as far as is known."""
        newer = self.superseded_by
        if not (newer or self.valid_from or self.valid_until):
            return ""
        return say_validity(self.valid_from, self.ends_at, then=f"F{newer.number}" if newer else "")

    def overlaps(self, other: "Fact") -> bool:
        """Whether there is a moment at which both hold, as far as is known."""
        return _begins_before(self.starts_at, other.ends_at) and _begins_before(other.starts_at, self.ends_at)


def label_pairs(facts: Sequence[Fact]) -> None:
    """Let the newer of two of these facts that may contradict each other know the older one, too."""
    for fact in facts:
        fact._older_on_page = [older.pk for older in facts if older.contradicted_by_id == fact.pk]


def say_validity(start: datetime | None, end: datetime | None, *, then: str = "") -> str:
    """Return from when until when something holds or held, in a few words; `then` names what holds since."""
    now = timezone.now()
    is_past = end is not None and end <= now
    since = f"{'from' if end or start > now else 'since'} {iso_day(start)}" if start else ""
    words = " ".join(filter(None, (since, f"until {iso_day(end)}" if end else "")))
    return f"held {words}{f', then {then}' if then else ''}" if is_past else words


def _begins_before(start: datetime | None, end: datetime | None) -> bool:
    return start is None or end is None or start < end
