"""CompanyEntry: one item of Tier G, what the company knows because people agreed."""

from datetime import date, datetime, timedelta
from uuid import UUID

from django.conf import settings
from django.contrib.postgres.fields import ArrayField
from django.contrib.postgres.indexes import GinIndex
from django.db import models
from django.utils import timezone

from accounts.models import Agent, User
from bigmind.core.limits import COMPANY_TITLE_CHARS

from .anchors import Anchored
from .injection_signs import FLAGGED, SharedKnowledge
from .sessions import Session
from .triggers import levels_column, triggers_column

STALE_AFTER_REVIEW = timedelta(days=30)
"""So long after the day of its review an entry is due; then it is stale."""


class CompanyCategory(models.TextChoices):
    """What sort of company knowledge it is."""

    ARCHITECTURE = "architecture"
    STANDARD = "standard"
    DECISION = "decision"
    PATTERN = "pattern"
    GLOSSARY = "glossary"


LASTING = (CompanyCategory.DECISION, CompanyCategory.GLOSSARY)
"""What is verified again after BIGMIND_VERIFY_DECISIONS_DAYS; all else after BIGMIND_VERIFY_DAYS."""


class Status(models.TextChoices):
    """The status of an entry."""

    PENDING = "pending"
    CHANGES_REQUESTED = "changes_requested"
    APPROVED = "approved"
    REJECTED = "rejected"
    DEPRECATED = "deprecated"
    SUPERSEDED = "superseded"


UNDECIDED = (Status.PENDING, Status.CHANGES_REQUESTED)
PUBLISHED = (Status.APPROVED, Status.DEPRECATED, Status.SUPERSEDED)
"""What everybody here may read: what is approved, and what once was."""


class Origin(models.TextChoices):
    """Where an entry has its truth from. It travels with the proposal, so that a poisoned source can be recalled."""

    USER = "user"
    INFERRED = "inferred"
    TOOL = "tool"
    IMPORTED = "imported"


class Freshness(models.TextChoices):
    """Whether someone has lately said that an entry still holds."""

    VERIFIED = "verified"
    DUE = "due"
    STALE = "stale"
    NEVER = "never"


def freshness_of(verified_at: datetime | None, review_after: date | None) -> Freshness:
    """Return how fresh something is that was verified then, and is to be verified again on that day."""
    if verified_at is None:
        return Freshness.NEVER
    today = timezone.localdate()
    if review_after is None or review_after > today:
        return Freshness.VERIFIED
    return Freshness.DUE if review_after > today - STALE_AFTER_REVIEW else Freshness.STALE


def has_freshness(freshness: str) -> models.Q:
    """Return the condition under which a row has this freshness: `freshness_of`, as PostgreSQL is asked."""
    today = timezone.localdate()
    conditions = {
        Freshness.NEVER: models.Q(verified_at=None),
        Freshness.VERIFIED: models.Q(review_after=None) | models.Q(review_after__gt=today),
        Freshness.DUE: models.Q(review_after__lte=today, review_after__gt=today - STALE_AFTER_REVIEW),
        Freshness.STALE: models.Q(review_after__lte=today - STALE_AFTER_REVIEW),
    }
    condition = conditions[Freshness(freshness)]
    return condition if freshness == Freshness.NEVER else condition & models.Q(verified_at__isnull=False)


def is_overdue(today: date) -> models.Q:
    """Return the condition under which the day of a row's review has come, or nobody has verified it."""
    return models.Q(review_after__lte=today) | models.Q(verified_at=None)


def is_fresh() -> models.Q:
    """Return the condition under which a row is not stale: verified, and not long past its review date."""
    long_past = timezone.localdate() - STALE_AFTER_REVIEW
    return models.Q(verified_at__isnull=False) & (models.Q(review_after=None) | models.Q(review_after__gt=long_past))


class CompanyEntryQuerySet(models.QuerySet["CompanyEntry"]):
    """Company entries, in the words of those who ask for them."""

    def approved(self) -> "CompanyEntryQuerySet":
        """Those that every agent hears."""
        return self.filter(status=Status.APPROVED)

    def own(self) -> "CompanyEntryQuerySet":
        """Those that are decided here: all but the copies of what a company server has approved."""
        return self.filter(is_copy=False)

    def undecided(self) -> "CompanyEntryQuerySet":
        """Those that wait for a decision, or for the proposer."""
        return self.filter(status__in=UNDECIDED)

    def proposed_by(self, user: User | UUID) -> "CompanyEntryQuerySet":
        """Those of one proposer."""
        return self.filter(proposed_by=user)

    def readable_by(self, user: User, *, curator: bool) -> "CompanyEntryQuerySet":
        """Those that someone may read: what is or was approved, one's own proposals, and for curators all."""
        # A proposal that was merged is superseded without ever having been approved: nobody has verified it.
        published = models.Q(status__in=PUBLISHED, verified_at__isnull=False)
        return self if curator else self.filter(published | models.Q(proposed_by=user) | models.Q(is_copy=True))

    def due(self, today: date | None = None) -> "CompanyEntryQuerySet":
        """Approved entries whose review date has come, or that nobody has verified; copies are verified elsewhere."""
        return self.own().approved().filter(is_overdue(today or timezone.localdate()))

    def fresh(self) -> "CompanyEntryQuerySet":
        """Those that are not stale: verified, and not long past their review date."""
        return self.filter(is_fresh())

    def labelled(self, freshness: str) -> "CompanyEntryQuerySet":
        """Those whose `freshness` is this one."""
        return self.filter(has_freshness(freshness))


class CompanyEntry(SharedKnowledge, Anchored):
    """A piece of company knowledge, from its proposal on. Only `curation` changes its status.

    `revision` grows with every change of it; the one who decides says which revision they have read.
    """

    category = models.CharField(max_length=20, choices=CompanyCategory)
    title = models.CharField(max_length=COMPANY_TITLE_CHARS)
    content = models.TextField()
    digest = models.CharField(max_length=64, editable=False, help_text="SHA-256 of the content, spaces folded.")
    importance = models.PositiveSmallIntegerField(default=5)
    project = models.CharField(max_length=100, blank=True)
    topics = ArrayField(models.CharField(max_length=100), default=list, blank=True)
    evidence = models.TextField(blank=True)
    warnings = ArrayField(
        models.CharField(max_length=100), default=list, blank=True, help_text="What looks dangerous in the text."
    )
    triggers = triggers_column()
    trigger_levels = levels_column()
    status = models.CharField(max_length=20, choices=Status, default=Status.PENDING)
    revision = models.PositiveIntegerField(default=1)

    proposed_by = models.ForeignKey(User, models.SET_NULL, null=True, blank=True, related_name="proposals")
    agent = models.ForeignKey(Agent, models.SET_NULL, null=True, blank=True, related_name="proposals")
    source_session = models.ForeignKey(Session, models.SET_NULL, null=True, blank=True, related_name="proposals")
    source_kind = models.CharField(max_length=20, blank=True, help_text="Kind of what it was made from.")
    source_id = models.CharField(max_length=36, blank=True, help_text="Id of what it was made from.")
    origin = models.CharField(max_length=10, choices=Origin, default=Origin.INFERRED)

    owner = models.ForeignKey(User, models.SET_NULL, null=True, blank=True, related_name="company_entries")
    verified_at = models.DateTimeField(null=True, blank=True)
    review_after = models.DateField(null=True, blank=True)
    endorsed_by = models.ForeignKey(
        User, models.SET_NULL, null=True, blank=True, related_name="+", help_text="The first of four eyes."
    )
    decided_by = models.ForeignKey(User, models.SET_NULL, null=True, blank=True, related_name="+")
    decided_at = models.DateTimeField(null=True, blank=True)
    decision_notes = models.TextField(blank=True)
    told_at = models.DateTimeField(null=True, blank=True, help_text="When the proposer's agent heard the decision.")
    is_copy = models.BooleanField(default=False, help_text="Read from the company server, and decided there.")
    superseded_by = models.ForeignKey("self", models.SET_NULL, null=True, blank=True, related_name="supersedes")
    created_at = models.DateTimeField(default=timezone.now)
    updated_at = models.DateTimeField(auto_now=True)

    objects = CompanyEntryQuerySet.as_manager()

    class Meta:
        verbose_name_plural = "company entries"
        constraints = [
            models.CheckConstraint(condition=models.Q(importance__range=(1, 10)), name="company_importance_1_to_10"),
            models.CheckConstraint(condition=models.Q(status__in=Status.values), name="company_status_is_known"),
            models.CheckConstraint(
                condition=models.Q(category__in=CompanyCategory.values), name="company_category_is_known"
            ),
            models.CheckConstraint(condition=models.Q(origin__in=Origin.values), name="company_origin_is_known"),
            models.CheckConstraint(
                condition=models.Q(is_copy=False) | models.Q(status=Status.APPROVED), name="company_copy_is_approved"
            ),
            models.UniqueConstraint(
                fields=["digest"], condition=models.Q(status=Status.APPROVED), name="company_approved_once"
            ),
            models.UniqueConstraint(
                fields=["proposed_by", "digest"],
                condition=models.Q(status__in=UNDECIDED),
                name="company_proposed_once_by_each",
            ),
        ]
        indexes = [
            models.Index(fields=["status", "-importance", "created_at", "id"], name="company_by_status"),
            models.Index(fields=["status", "created_at", "id"], name="company_by_age"),
            models.Index(fields=["proposed_by", "-created_at"], name="company_of_proposer"),
            models.Index(
                fields=["project", "-importance"], condition=models.Q(status=Status.APPROVED), name="company_of_project"
            ),
            models.Index(
                fields=["review_after"], condition=models.Q(status=Status.APPROVED), name="company_review_date"
            ),
            GinIndex(fields=["topics"], name="company_topics"),
            models.Index(fields=["status", "-importance"], name="company_flagged", condition=FLAGGED),
        ]

    def __str__(self) -> str:
        return self.title

    @property
    def handle(self) -> str:
        """What agents cite it by: `C142`."""
        return f"C{self.pk}"

    def is_readable_by(self, user: User, *, curator: bool) -> bool:
        """Whether someone may read it: the same rule as `readable_by`, of a row at hand."""
        is_published = self.status in PUBLISHED and self.verified_at is not None
        return curator or is_published or self.proposed_by_id == user.pk or self.is_copy

    @property
    def is_approved(self) -> bool:
        """Whether every agent hears it."""
        return self.status == Status.APPROVED

    @property
    def is_undecided(self) -> bool:
        """Whether it waits for a curator or for its proposer."""
        return self.status in UNDECIDED

    @property
    def freshness(self) -> str:
        """Whether someone has lately said that it still holds."""
        return freshness_of(self.verified_at, self.review_after)

    @property
    def is_false_in_code(self) -> bool:
        """Whether a check found the code to be otherwise, and no curator has decided since."""
        return self.freshness == Freshness.STALE and any(state.verdict == "false" for state in self.anchor_states)

    @property
    def comes_from(self) -> str:
        """The company server that it is a copy from; empty for what was written here."""
        return self.copy.server.host if self.is_copy else ""

    @property
    def as_of(self) -> datetime | None:
        """When the company server that it comes from was last known to say the same."""
        return self.copy.server.read_at if self.is_copy else None

    @property
    def source(self) -> str:
        """Where a copy comes from, in words; while that server is away, also as of when."""
        return self.copy.server.said if self.is_copy else ""

    @property
    def proposer(self) -> str | None:
        """Who proposed it, by name: of a copy, as the company server names them."""
        return self._name_of("proposed_by")

    @property
    def keeper(self) -> str | None:
        """Who sees to it that it stays true, by name."""
        return self._name_of("owner")

    @property
    def decider(self) -> str | None:
        """Who decided about it, by name."""
        return self._name_of("decided_by")

    @property
    def at_company(self) -> str:
        """Where it stands at the company server, in words; empty where it was not sent to one."""
        if self.is_copy or not settings.COMPANY_URL:
            return ""
        dispatch = getattr(self, "dispatch", None)
        return dispatch.in_words if dispatch else ""

    def _name_of(self, role: str) -> str | None:
        person = getattr(self.copy if self.is_copy else self, role)
        return str(getattr(person, "signature", person)) if person else None

    @property
    def text(self) -> str:
        """Title and content: what is searched and compared."""
        return f"{self.title}\n{self.content}"

    def review_date_after(self, moment: datetime) -> date:
        """Return the day on which it is to be verified again when it is verified at `moment`."""
        days = settings.VERIFY_DECISIONS_DAYS if self.category in LASTING else settings.VERIFY_DAYS
        return timezone.localdate(moment) + timedelta(days=days)
