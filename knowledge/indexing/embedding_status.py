"""The status of embedding, for admins. It names texts by kind and id, and reads none of them."""

from collections.abc import Iterable
from dataclasses import dataclass, field
from datetime import datetime
from math import ceil
from typing import Any

from django.conf import settings
from django.core.exceptions import ImproperlyConfigured
from django.db import connection
from django.db.models import Case, Count, F, Min, Q, Value, When
from django.db.models.functions import Greatest

from accounts.actor import Actor
from knowledge.embeddings.budget import tokens_today
from knowledge.embeddings.calls import Circuit
from knowledge.embeddings.pace import texts_a_minute
from knowledge.embeddings.providers import provider
from knowledge.indexing.embedding import AGAIN, UNFINISHED
from knowledge.models import CachedVector, EmbeddingSpace, Kind, PassageVector

_FAILED = ~Q(trouble__in=["", AGAIN])
# A new text is pending since it was stored, an older one since its space was created, and one to be re-embedded since
# that was requested.
_WAITS_SINCE = Case(
    When(vector=None, then=Greatest("passage__created_at", "space__created_at")), default=F("not_before")
)
# The condition is that of the index `vector_next`: finished rows are never read.
_FAILURES = """
SELECT ranked.space_id, ranked.trouble, ranked.failed, ranked.next_try, passage.kind, passage.source_id
FROM (
    SELECT space_id, trouble, passage_id,
        row_number() OVER (PARTITION BY space_id, trouble ORDER BY id) AS place,
        count(*) OVER (PARTITION BY space_id, trouble) AS failed,
        min(not_before) OVER (PARTITION BY space_id, trouble) AS next_try
    FROM knowledge_passagevector
    WHERE NOT (vector IS NOT NULL AND trouble = '') AND trouble NOT IN ('', %(again)s)
) AS ranked JOIN knowledge_passage AS passage ON passage.id = ranked.passage_id
WHERE ranked.place <= 3
ORDER BY ranked.failed DESC, ranked.trouble, ranked.place LIMIT 60
"""


@dataclass(frozen=True)
class EmbeddingFailure:
    """One reason why texts have no vector: how many, when they are tried again, and a few of them as (kind, id)."""

    reason: str
    count: int
    next_try: datetime
    examples: list[tuple[str, str]] = field(default_factory=list)


@dataclass(frozen=True)
class WaitingKind:
    """How many texts of one kind are pending. All private texts count as one kind, without a name."""

    kind: str
    count: int

    @property
    def label(self) -> str:
        """What people call the kind."""
        return str(Kind(self.kind).label) if self.kind in Kind.values else "Texts of people"


@dataclass(frozen=True)
class SpaceState:
    """The progress of one space. `again` counts those that are only to be re-embedded; `waiting` includes them."""

    space: EmbeddingSpace
    is_active: bool
    is_configured: bool
    total: int = 0
    waiting: int = 0
    again: int = 0
    failed: int = 0
    oldest: datetime | None = None
    cached: int = 0
    failures: list[EmbeddingFailure] = field(default_factory=list)
    kinds: list[WaitingKind] = field(default_factory=list)
    a_minute: float = 0.0

    @property
    def minutes_left(self) -> int:
        """Estimated minutes until nothing is pending, at the pace of the last minutes; 0: unknown."""
        return ceil(self.waiting / self.a_minute) if self.a_minute else 0

    @property
    def made(self) -> int:
        """How many have the vector they should have."""
        return self.total - self.waiting - self.failed

    @property
    def is_stopped(self) -> bool:
        """Whether someone stopped its building."""
        return self.space.stopped_at is not None

    @property
    def can_stop(self) -> bool:
        """Whether it is being built or re-embedded, or was left half built."""
        return bool(self.again) if self.is_active else not (self.is_stopped and self.is_configured)


@dataclass(frozen=True)
class EmbedderState:
    """The embedder that the settings choose. `problem` says why there is none."""

    space: str = ""
    is_paid: bool = False
    is_left_alone: bool = False
    spent: int = 0
    budget: int = 0
    problem: str = ""


@dataclass(frozen=True)
class PipelineState:
    """The embedder, and every space there is, the active one first."""

    embedder: EmbedderState
    spaces: list[SpaceState]

    @property
    def failed(self) -> int:
        """How many texts the embedder rejected."""
        return sum(state.failed for state in self.spaces)

    @property
    def waiting(self) -> int:
        """How many texts wait."""
        return sum(state.waiting for state in self.spaces)

    @property
    def can_stop(self) -> bool:
        """Whether there is a rebuild to stop."""
        return any(state.can_stop for state in self.spaces)


@dataclass(frozen=True)
class PipelineSummary:
    """How many texts wait, how many failed, and since when the oldest waits."""

    waiting: int
    failed: int
    oldest: datetime | None


def pipeline_summary() -> PipelineSummary:
    """Count what waits, in one query."""
    unfinished = PassageVector.objects.filter(UNFINISHED)
    return PipelineSummary(
        **unfinished.aggregate(
            waiting=Count("pk", filter=~_FAILED),
            failed=Count("pk", filter=_FAILED),
            oldest=Min(_WAITS_SINCE, filter=~_FAILED),
        )
    )


def pipeline_state(actor: Actor) -> PipelineState:
    """Return the status of embedding, in a handful of queries whatever is stored. For admins."""
    actor.require("admin")
    embedder = _embedder()
    spaces = list(EmbeddingSpace.objects.order_by(F("active_since").desc(nulls_last=True), "pk"))
    totals = _counts(PassageVector.objects.all())
    cached = _counts(CachedVector.objects.all())
    unfinished = _count_unfinished()
    failures, kinds = _read_failures(), _waiting_kinds()
    states = [
        SpaceState(
            space,
            is_active=space.active_since is not None and space == spaces[0],
            is_configured=space.name == embedder.space,
            total=totals.get(space.pk, 0),
            cached=cached.get(space.pk, 0),
            failures=failures.get(space.pk, []),
            kinds=kinds.get(space.pk, []),
            a_minute=texts_a_minute(space.name),
            **_with_all_again(space, totals.get(space.pk, 0), unfinished.get(space.pk, {})),
        )
        for space in spaces
    ]
    return PipelineState(embedder, states)


def _embedder() -> EmbedderState:
    try:
        embedder = provider()
    except ImproperlyConfigured as error:
        return EmbedderState(problem=str(error))
    budget = settings.EMBEDDING_DAILY_TOKENS
    return EmbedderState(embedder.space, embedder.is_paid, Circuit(embedder.space).is_open(), tokens_today(), budget)


def _counts(rows: Any) -> dict[int, int]:
    return dict(rows.order_by().values_list("space_id").annotate(Count("pk")))


def _count_unfinished() -> dict[int, dict[str, Any]]:
    rows = PassageVector.objects.filter(UNFINISHED).order_by().values("space_id")
    counted: Iterable[Any] = rows.annotate(
        waiting=Count("pk", filter=~_FAILED),
        again=Count("pk", filter=Q(trouble=AGAIN, vector__isnull=False)),
        failed=Count("pk", filter=_FAILED),
        oldest=Min(_WAITS_SINCE, filter=~_FAILED),
    )
    return {row.pop("space_id"): row for row in counted}


def _waiting_kinds() -> dict[int, list[WaitingKind]]:
    new = PassageVector.objects.filter(vector=None, trouble="").order_by()
    of = Case(When(owner=None, then=F("kind")), default=Value(""))
    found: dict[int, list[WaitingKind]] = {}
    counted = new.values_list("space_id", of).annotate(waiting=Count("pk")).order_by("-waiting")
    for space, kind, count in counted:
        found.setdefault(space, []).append(WaitingKind(kind, count))
    return found


def _with_all_again(space: EmbeddingSpace, total: int, counted: dict[str, Any]) -> dict[str, Any]:
    """Count the pending rows that no worker has marked yet."""
    if space.again_from is None:
        return counted
    left = total - counted.get("failed", 0)
    new = counted.get("waiting", 0) - counted.get("again", 0)
    return {**counted, "waiting": left, "again": left - new, "oldest": counted.get("oldest") or space.again_from}


def _read_failures() -> dict[int, list[EmbeddingFailure]]:
    with connection.cursor() as cursor:
        cursor.execute(_FAILURES, {"again": AGAIN})
        rows = cursor.fetchall()
    found: dict[tuple[int, str], EmbeddingFailure] = {}
    for space, reason, count, next_try, kind, source_id in rows:
        failure = found.setdefault((space, reason), EmbeddingFailure(reason, count, next_try))
        failure.examples.append((kind, source_id))
    by_space: dict[int, list[EmbeddingFailure]] = {}
    for (space, _), failure in found.items():
        by_space.setdefault(space, []).append(failure)
    return by_space
