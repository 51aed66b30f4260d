"""The inbox: what waits for a user, why, and the one thing to do about each, the newest of each group first.

It stores nothing: each line is read from its source, so that it disappears when it is done, wherever that happens.
"""

from collections.abc import Callable, Iterable
from dataclasses import dataclass
from datetime import UTC, datetime, time
from typing import Any
from uuid import UUID

from django.db.models import Q, QuerySet
from django.utils import timezone

from accounts.actor import Actor
from accounts.models import Alert, User
from accounts.services.alerts import unseen_alerts
from bigmind.database.fixed_queries import FixedQuery
from curation.decisions.who_may_decide import may_decide
from curation.models import Action, Notice
from curation.proposals.queue import waiting
from knowledge.exposures.gaps import ShownGap, newest_open_gaps
from knowledge.models import CompanyEntry, Fact, Hypothesis, Status

SHOWN = 5
"""Of each group; its own page has the rest."""
MOST_READ = 100
"""Of each group. So many wait for nobody who works here."""


@dataclass(frozen=True)
class InboxLine:
    """One thing that waits, since `moment`."""

    thing: CompanyEntry | Notice | Fact | Hypothesis | ShownGap | Alert
    moment: datetime


@dataclass(frozen=True)
class InboxGroup:
    """Lines of one kind. `name` says which template shows them, `total` how many there are."""

    name: str
    lines: list[InboxLine]
    total: int


Lines = tuple[list[InboxLine], int]
"""The newest lines of a group, and how many it has."""


def inbox_of(actor: Actor) -> list[InboxGroup]:
    """Return what waits for a user, by kind; groups that are empty are left out."""
    groups = [InboxGroup(name, *read(actor)) for name, read in _GROUPS.items()]
    return [group for group in groups if group.lines]


class _WaitingRows:
    """The rows that wait for a user, by a statement that is compiled once: the newest of them, and how many there are.

    Args:
        rows: Returns them by the id of the user.
        moment: Since when each waits.
    """

    def __init__(self, rows: Callable[[UUID], QuerySet[Any]], moment: str) -> None:
        self._rows, self._moment = rows, moment
        self._newest = FixedQuery(lambda user_id: rows(user_id).order_by(f"-{moment}", "-pk")[: SHOWN + 1])

    def __call__(self, actor: Actor) -> Lines:
        newest = self._newest(actor.user.pk)
        lines = [InboxLine(row, getattr(row, self._moment)) for row in newest[:SHOWN]]
        return lines, len(newest) if len(newest) <= SHOWN else self._rows(actor.user.pk).count()


def _newest(lines: Iterable[InboxLine]) -> Lines:
    ordered = sorted(lines, key=lambda line: line.moment, reverse=True)
    return ordered[:SHOWN], len(ordered)


def _to_revise(user_id: UUID) -> QuerySet[Any]:
    return CompanyEntry.objects.filter(proposed_by=user_id, status=Status.CHANGES_REQUESTED)


def _new_notices(user_id: UUID) -> QuerySet[Any]:
    # A proposal with requested changes has a line of its own.
    waits = Q(review__action=Action.REQUEST_CHANGES, entry__status=Status.CHANGES_REQUESTED, reason="proposed")
    return Notice.objects.filter(user=user_id, seen_at=None).exclude(waits).select_related("entry")


def _to_review(user_id: UUID) -> QuerySet[Any]:
    """Proposals of others: someone else decides on one's own."""
    proposed = waiting("proposed").select_related(None).select_related("proposed_by")
    return proposed.exclude(proposed_by=user_id)


_TO_REVIEW = _WaitingRows(_to_review, "created_at")
_DUE = FixedQuery(lambda user_id, day: CompanyEntry.objects.due(day.date()).filter(owner=user_id)[:MOST_READ])


def _list_to_review(actor: Actor) -> Lines:
    return _TO_REVIEW(actor) if may_decide(actor) else ([], 0)


def _list_to_verify(actor: Actor) -> Lines:
    due = _DUE(actor.user.pk, datetime.combine(timezone.localdate(), time.min, UTC))
    return _newest(InboxLine(entry, _due_since(entry)) for entry in due)


def _due_since(entry: CompanyEntry) -> datetime:
    if entry.review_after is None or entry.verified_at is None:
        return entry.decided_at or entry.created_at
    return timezone.make_aware(datetime.combine(entry.review_after, time.min))


def _list_hypotheses(actor: Actor) -> Lines:
    due = _HYPOTHESES(actor.user.pk, timezone.now())
    return _newest(InboxLine(one, timezone.make_aware(datetime.combine(one.due_on, time.min))) for one in due)


_HYPOTHESES = FixedQuery(lambda user_id, now: Hypothesis.objects.of(user_id).due(now)[:MOST_READ])


def _list_contradictions(actor: Actor) -> Lines:
    # What is past contradicts nothing any more.
    standing = [(fact, fact.contradicted_by) for fact in _CONTRADICTED(actor.user.pk)]
    return _newest(InboxLine(fact, newer.created_at) for fact, newer in standing if newer and not newer.is_past)


def _select_contradicted(user_id: UUID) -> QuerySet[Fact]:
    facts = Fact.objects.of(user_id).current().exclude(contradicted_by=None)
    return facts.select_related("contradicted_by")[:MOST_READ]


_CONTRADICTED = FixedQuery(_select_contradicted)


def _list_unanswered(actor: Actor) -> Lines:
    gaps, total = newest_open_gaps(actor, limit=SHOWN)
    return [InboxLine(gap, gap.last_asked) for gap in gaps], total


_GROUPS: dict[str, Callable[[Actor], Lines]] = {
    "alerts": _WaitingRows(lambda user_id: unseen_alerts(User(pk=user_id)), "created_at"),
    "to_revise": _WaitingRows(_to_revise, "updated_at"),
    "told": _WaitingRows(_new_notices, "created_at"),
    "to_review": _list_to_review,
    "to_verify": _list_to_verify,
    "hypotheses": _list_hypotheses,
    "contradicted": _list_contradictions,
    "unanswered": _list_unanswered,
}
"""In the order in which the page shows them: what one person alone can settle first."""
