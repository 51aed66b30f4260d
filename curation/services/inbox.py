"""The inbox: what waits for a user, why, and the one thing to do about each, the newest of each group first.

It stores nothing: each line is read from its source, so that it disappears when it is done, wherever that happens.
"""

from collections.abc import Callable, Iterable
from dataclasses import dataclass
from datetime import datetime, time
from typing import Any

from django.db.models import Q, QuerySet
from django.utils import timezone

from accounts.actor import Actor
from accounts.models import Alert
from accounts.services.alerts import unseen_alerts
from curation.decisions.who_may_decide import may_decide
from curation.models import Action, Notice
from curation.notifications.notices import notices_of
from curation.proposals.queue import waiting
from knowledge.exposures.gaps import ShownGap, list_open_gaps
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


def _read(rows: QuerySet[Any], moment: str) -> Lines:
    """Read the newest rows that wait, and count the others."""
    newest = list(rows.order_by(f"-{moment}", "-pk")[: SHOWN + 1])
    lines = [InboxLine(row, getattr(row, moment)) for row in newest[:SHOWN]]
    return lines, len(newest) if len(newest) <= SHOWN else rows.count()


def _newest(lines: Iterable[InboxLine]) -> Lines:
    ordered = sorted(lines, key=lambda line: line.moment, reverse=True)
    return ordered[:SHOWN], len(ordered)


def _list_to_revise(actor: Actor) -> Lines:
    mine = CompanyEntry.objects.filter(proposed_by=actor.user, status=Status.CHANGES_REQUESTED)
    return _read(mine, "updated_at")


def _list_notices(actor: Actor) -> Lines:
    # A proposal with requested changes has a line of its own.
    waits = Q(review__action=Action.REQUEST_CHANGES, entry__status=Status.CHANGES_REQUESTED, reason="proposed")
    new = notices_of(actor).filter(seen_at=None).exclude(waits)
    return _read(new, "created_at")


def _list_alerts(actor: Actor) -> Lines:
    return _read(unseen_alerts(actor.user), "created_at")


def _list_to_review(actor: Actor) -> Lines:
    """Proposals of others: someone else decides on one's own."""
    if not may_decide(actor):
        return [], 0
    return _read(waiting("proposed").exclude(proposed_by=actor.user), "created_at")


def _list_to_verify(actor: Actor) -> Lines:
    due = CompanyEntry.objects.due().filter(owner=actor.user)
    return _newest(InboxLine(entry, _due_since(entry)) for entry in due[:MOST_READ])


def _due_since(entry: CompanyEntry) -> datetime:
    if entry.review_after is None or entry.verified_at is None:
        return entry.decided_at or entry.created_at
    return timezone.make_aware(datetime.combine(entry.review_after, time.min))


def _list_hypotheses(actor: Actor) -> Lines:
    due = Hypothesis.objects.of(actor.user).due()
    return _newest(
        InboxLine(one, timezone.make_aware(datetime.combine(one.due_on, time.min))) for one in due[:MOST_READ]
    )


def _list_contradictions(actor: Actor) -> Lines:
    facts = Fact.objects.of(actor.user).current().exclude(contradicted_by=None)
    # What is past contradicts nothing any more.
    standing = [(fact, fact.contradicted_by) for fact in facts.select_related("contradicted_by")[:MOST_READ]]
    return _newest(InboxLine(fact, newer.created_at) for fact, newer in standing if newer and not newer.is_past)


def _list_unanswered(actor: Actor) -> Lines:
    return _newest(InboxLine(gap, gap.last_asked) for gap in list_open_gaps(actor))


_GROUPS: dict[str, Callable[[Actor], Lines]] = {
    "alerts": _list_alerts,
    "to_revise": _list_to_revise,
    "told": _list_notices,
    "to_review": _list_to_review,
    "to_verify": _list_to_verify,
    "hypotheses": _list_hypotheses,
    "contradicted": _list_contradictions,
    "unanswered": _list_unanswered,
}
"""In the order in which the page shows them: what one person alone can settle first."""
