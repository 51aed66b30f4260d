"""Withdrawals: knowledge that sessions received and that is no longer trusted.

Open sessions get a notice with their next call; the owners of ended ones are notified.
"""

from collections import Counter
from collections.abc import Collection, Iterable, Sequence
from dataclasses import dataclass, field
from uuid import UUID

from django.db import connection
from django.db.models import Q

from bigmind.core.handles import handle_of
from bigmind.database.rls import rls_bypass
from knowledge.models import Recall, Serving, Session

from .exposures import Exposure

# A line of a receipt names its source; a session's receipt, recalls and hook events name the lines.
_LINES = """
WITH line AS (
    SELECT text.id, text.user_id, text.kind, text.source_id FROM knowledge_receipttext AS text
    JOIN unnest(%s::text[], %s::text[]) AS wanted(kind, source_id) USING (kind, source_id)
)
SELECT session.id, line.kind, line.source_id FROM line JOIN knowledge_session AS session USING (user_id)
WHERE EXISTS (
    SELECT FROM knowledge_receipt AS receipt WHERE receipt.session_id = session.id AND (
        line.id = ANY(receipt.texts)
        OR EXISTS (SELECT FROM jsonb_array_elements(receipt.recalls) AS one WHERE one -> 'texts' @> to_jsonb(line.id))
    )
) OR EXISTS (
    SELECT FROM knowledge_hookevent AS event JOIN knowledge_conversation AS spoken ON spoken.id = event.conversation_id
    WHERE spoken.session_id = session.id AND line.id = ANY(event.texts)
)
"""


@dataclass
class Heard:
    """Who received what is withdrawn: how many sessions are open, and how many ended, by person and item."""

    open: int = 0
    ended: int = 0
    people: set[UUID] = field(default_factory=set)
    by_person: Counter[tuple[UUID, Exposure]] = field(default_factory=Counter)

    @property
    def counts(self) -> dict[str, int]:
        """The figures, as a report keeps them."""
        return {"open": self.open, "ended": self.ended, "people": len(self.people)}


def withdraw(
    exposures: Iterable[Exposure],
    *,
    why: str,
    but: Collection[UUID] = (),
    wrote: Iterable[tuple[UUID, Exposure]] = (),
    dry_run: bool = False,
) -> Heard:
    """Withdraw these items from the open sessions that received them; return the sessions and people affected.

    Received is what was counted as an exposure, and what a start, a recall or a hook sent in lines that are still kept.

    Args:
        why: The reason, in words that name nobody.
        but: Sessions that are being erased themselves, so they need no notice.
        wrote: Sessions that know a thing because they stored it.
        dry_run: Only count.
    """
    exposures = list(exposures)
    condition = _either(exposures)
    if condition is None:
        return Heard()
    # Exposures belong to their owners, so row-level security hides them here; only handles and counts are returned.
    with rls_bypass():
        served = Serving.objects.filter(condition).values_list("session_id", "kind", "source_id")
        shown = {*served, *_lines_of(exposures), *((session, *one) for session, one in wrote)}
        sessions = Session.objects.in_bulk({session for session, *_ in shown} - set(but))
        received = [(sessions[id], Exposure(*one)) for id, *one in sorted(shown, key=str) if id in sessions]
        if not dry_run:
            Recall.objects.bulk_create(_notice(session, one, why) for session, one in received if session.is_open)
    number_open = sum(session.is_open for session in sessions.values())
    return Heard(
        open=number_open,
        ended=len(sessions) - number_open,
        people={session.user_id for session in sessions.values()},
        by_person=Counter((session.user_id, one) for session, one in received if not session.is_open),
    )


def _notice(session: Session, one: Exposure, why: str) -> Recall:
    handle = handle_of(one.kind, one.source_id)
    return Recall(session=session, user_id=session.user_id, agent_id=session.agent_id, handle=handle, why=why)


def _lines_of(exposures: Sequence[Exposure]) -> list[tuple[UUID, str, str]]:
    """Return the sessions that received lines of these things, by session, kind and id."""
    kinds, ids = [str(one.kind) for one in exposures], [one.source_id for one in exposures]
    with connection.cursor() as cursor:
        cursor.execute(_LINES, [kinds, ids])
        return [(session, kind, id) for session, kind, id in cursor.fetchall()]


def _either(exposures: Iterable[Exposure]) -> Q | None:
    ids: dict[str, list[str]] = {}
    for one in exposures:
        ids.setdefault(str(one.kind), []).append(one.source_id)
    condition = None
    for kind, source_ids in ids.items():
        these = Q(kind=kind, source_id__in=source_ids)
        condition = these if condition is None else condition | these
    return condition
