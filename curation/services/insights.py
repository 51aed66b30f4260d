"""Insights into curation: how many proposals come and are decided, how long a decision takes, and who decides."""

from collections import Counter, defaultdict
from dataclasses import dataclass
from datetime import date, datetime, timedelta
from typing import Any

from django.conf import settings
from django.db import connection
from django.db.models import Count
from django.utils import timezone

from accounts.actor import Actor
from accounts.models import User
from accounts.services.usage import parts_for
from curation.models import Action, Review
from knowledge.exposures.insights import Days, Whose

STEPS = 10
"""At most so many, about: a day has too few decisions for a median."""
REVIEWERS_SHOWN = 20
DECIDING = (Action.APPROVE, Action.MERGE, Action.REQUEST_CHANGES, Action.REJECT)

# The first decision about each entry that was not undone; the copies of a company server are decided there.
_DECIDED = """
WITH decided AS (
    SELECT DISTINCT ON (review.entry_id)
        review.action, review.created_at, entry.created_at AS proposed_at, entry.proposed_by_id AS proposer
    FROM curation_review AS review JOIN knowledge_companyentry AS entry ON entry.id = review.entry_id
    WHERE review.action = ANY(%(deciding)s) AND NOT entry.is_copy
        AND NOT EXISTS (SELECT 1 FROM curation_review AS undoing WHERE undoing.undoes_id = review.id)
        AND (%(of)s::uuid IS NULL OR entry.proposed_by_id = %(of)s)
    ORDER BY review.entry_id, review.number
)
SELECT floor(extract(epoch FROM created_at - %(since)s) / %(seconds)s)::int AS step,
    count(*) FILTER (WHERE action IN ('approve', 'merge')), count(*) FILTER (WHERE action = 'request_changes'),
    count(*) FILTER (WHERE action = 'reject'),
    percentile_cont(ARRAY[0.5, 0.9])
        WITHIN GROUP (ORDER BY greatest(0, extract(epoch FROM created_at - proposed_at)) / 3600),
    array_agg(DISTINCT proposer) FILTER (WHERE proposer IS NOT NULL)
FROM decided WHERE created_at >= %(since)s GROUP BY step
"""
_PROPOSED = """
SELECT floor(extract(epoch FROM created_at - %(since)s) / %(seconds)s)::int AS step, count(*),
    array_agg(DISTINCT proposed_by_id) FILTER (WHERE proposed_by_id IS NOT NULL)
FROM knowledge_companyentry
WHERE created_at >= %(since)s AND NOT is_copy AND (%(of)s::uuid IS NULL OR proposed_by_id = %(of)s) GROUP BY step
"""


@dataclass(frozen=True)
class StepOfCuration:
    """One step of the chart: proposals, first decisions, and the hours these took.

    The numbers of a reader who may not see them are None; hours are also None where nothing was decided.
    """

    since: date
    proposed: int | None
    approved: int | None
    changes_requested: int | None
    rejected: int | None
    median_hours: float | None
    most_hours: float | None


@dataclass(frozen=True)
class Reviewer:
    """Someone who decided, and how often."""

    name: str
    approved: int
    changes_requested: int
    rejected: int


@dataclass(frozen=True)
class CurationInsights:
    """How curation went in some days. `reviewers` is None for those who are no curators."""

    days: int
    whose: Whose
    steps: list[StepOfCuration]
    reviewers: list[Reviewer] | None

    @property
    def decided(self) -> int:
        """How many proposals were decided for the first time."""
        return sum((step.approved or 0) + (step.changes_requested or 0) + (step.rejected or 0) for step in self.steps)

    @property
    def proposed(self) -> int:
        """How many came in."""
        return sum(step.proposed or 0 for step in self.steps)


def look_at_curation(actor: Actor, *, days: Days = 30, whose: Whose = "mine") -> CurationInsights:
    """Return what was proposed and decided, how long it took until the first decision, and who decided.

    Of one's own proposals, or of all. Curators may read every proposal, so they see all figures and who decided;
    others see of everybody's what the proposals of at least three other people went into.
    """
    is_everybody = whose == "everybody" and settings.BIGMIND_MODE != "personal"
    may_see_all = "curate" in actor.scopes
    reader = actor.user if is_everybody and not may_see_all else None
    long = max(1, days // STEPS)
    midnight = timezone.localtime().replace(hour=0, minute=0, second=0, microsecond=0)
    parameters: dict[str, Any] = {
        "deciding": list(DECIDING),
        "of": None if is_everybody else actor.user.pk,
        "since": midnight - timedelta(days=days - 1),
        "seconds": long * 86_400,
    }
    return CurationInsights(
        days=days,
        whose="everybody" if is_everybody else "mine",
        steps=_steps(parameters, days, long, reader),
        reviewers=_reviewers(parameters["since"]) if may_see_all and is_everybody else None,
    )


def _steps(parameters: dict[str, Any], days: int, long: int, reader: User | None) -> list[StepOfCuration]:
    with connection.cursor() as cursor:
        cursor.execute(_DECIDED, parameters)
        decided = {row[0]: row[1:] for row in cursor.fetchall()}
        cursor.execute(_PROPOSED, parameters)
        proposed = {row[0]: row[1:] for row in cursor.fetchall()}
    shown = parts_for(((step, user) for step, row in decided.items() for user in row[-1] or ()), reader)
    shown_of_proposed = parts_for(((step, user) for step, row in proposed.items() for user in row[-1] or ()), reader)
    steps = []
    for number in range(-(-days // long)):
        counts: Any = decided.get(number, (0, 0, 0, None, None))
        hours = counts[3] or (None, None)
        if reader is not None and number not in shown:
            counts, hours = (None, None, None), (None, None)
        came = proposed.get(number, (0, None))[0] if reader is None or number in shown_of_proposed else None
        first: datetime = parameters["since"] + timedelta(days=number * long)
        steps.append(StepOfCuration(timezone.localdate(first), came, *counts[:3], *hours))
    return steps


def _reviewers(since: datetime) -> list[Reviewer]:
    """Who decided, the busiest first; all decisions, not only the first about an entry."""
    made = Review.objects.filter(created_at__gte=since, action__in=DECIDING, entry__is_copy=False, undone_by=None)
    numbers: defaultdict[str, Counter[str]] = defaultdict(Counter)
    for name, action, number in made.order_by().values_list("by_name", "action").annotate(Count("pk")):
        numbers[name][action] += number
    reviewers = [
        Reviewer(
            name,
            of[Action.APPROVE] + of[Action.MERGE],
            of[Action.REQUEST_CHANGES],
            of[Action.REJECT],
        )
        for name, of in numbers.items()
    ]
    return sorted(reviewers, key=lambda one: (-one.approved - one.changes_requested - one.rejected, one.name))[
        :REVIEWERS_SHOWN
    ]
