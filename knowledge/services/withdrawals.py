"""Recalls: what sessions were told and is not trusted any more. Open ones hear of it; of ended ones, their owners."""

from collections import Counter
from collections.abc import Collection, Iterable
from dataclasses import dataclass, field
from uuid import UUID

from django.db import connection
from django.db.models import Q
from django.utils import timezone

from accounts.actor import Actor
from bigmind.core.rls import rls_bypass
from knowledge.models import Kind, Recall, Serving

from .exposures import Exposure

SAID = 20
"""Handles that one reply names at most; the next reply goes on."""

_ANY_WAITING = """
SELECT 1 FROM knowledge_recall
WHERE user_id = %s AND agent_id IS NOT DISTINCT FROM %s AND told_at IS NULL LIMIT 1
"""


@dataclass
class Heard:
    """Which sessions were told what is recalled: how many are open, and per person and thing how many have ended."""

    open: int = 0
    ended: int = 0
    people: set[UUID] = field(default_factory=set)
    by_person: Counter[tuple[UUID, Exposure]] = field(default_factory=Counter)

    @property
    def counts(self) -> dict[str, int]:
        """The figures, as a report keeps them."""
        return {"open": self.open, "ended": self.ended, "people": len(self.people)}


def recall(told: Iterable[Exposure], *, why: str, but: Collection[UUID] = (), dry_run: bool = False) -> Heard:
    """Let the open sessions that were told these things hear that they were recalled; return who was told.

    Args:
        why: The reason, in words that name nobody.
        but: Sessions that are erased themselves.
        dry_run: Only count.
    """
    meant = _either(told)
    heard = Heard()
    if meant is None:
        return heard
    # What was served stands behind the wall, each row with its owner; only handles and counts leave from here.
    with rls_bypass():
        rows = list(Serving.objects.filter(meant).exclude(session__in=list(but)).select_related("session"))
        is_open = [row for row in rows if row.session.is_open]
        if not dry_run:
            Recall.objects.bulk_create(
                Recall(
                    session=row.session,
                    user_id=row.user_id,
                    agent_id=row.session.agent_id,
                    handle=handle_of(row.kind, row.source_id),
                    why=why,
                )
                for row in is_open
            )
    heard.open = len({row.session_id for row in is_open})
    heard.ended = len({row.session_id for row in rows}) - heard.open
    heard.people = {row.user_id for row in rows}
    heard.by_person.update((row.user_id, Exposure(row.kind, row.source_id)) for row in rows if not row.session.is_open)
    return heard


def hear_recalls(actor: Actor) -> list[str]:
    """Return what the open sessions of this agent have to hear, each once."""
    if not _is_waiting(actor):
        return []
    rows = list(Recall.objects.filter(user=actor.user, agent=actor.agent, told_at=None).order_by("pk")[:SAID])
    # Of two calls at once one says it.
    mine = [row for row in rows if Recall.objects.filter(pk=row.pk, told_at=None).update(told_at=timezone.now())]
    return list(dict.fromkeys(_sentence(row) for row in mine))


def _is_waiting(actor: Actor) -> bool:
    """Whether there is anything to hear. Every call asks and seldom there is, so it asks in plain SQL: Django takes
    longer to put a statement together than PostgreSQL takes to answer this one.
    """
    agent_id = actor.agent.pk if actor.agent else None
    with connection.cursor() as cursor:
        cursor.execute(_ANY_WAITING, [actor.user.pk, agent_id])
        return cursor.fetchone() is not None


def handle_of(kind: str, source_id: str) -> str:
    """Return what something is cited by: C142, or kind and id."""
    return f"C{source_id}" if kind == Kind.COMPANY else f"{kind}:{source_id}"


def _sentence(row: Recall) -> str:
    return (
        f"[{row.handle}], which this session was told, was recalled: {row.why} "
        "Do not rely on it, and tell the user what you based on it."
    )


def _either(told: Iterable[Exposure]) -> Q | None:
    ids: dict[str, list[str]] = {}
    for one in told:
        ids.setdefault(str(one.kind), []).append(one.source_id)
    meant = None
    for kind, source_ids in ids.items():
        these = Q(kind=kind, source_id__in=source_ids)
        meant = these if meant is None else meant | these
    return meant
