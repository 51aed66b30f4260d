"""The lines of start contexts and recalls as they were sent, kept until their source is erased.

A line is stored once, however often it is sent. A trigger deletes it with its source (migration 0033), so no code that
erases can forget to.
"""

import json
from collections.abc import Collection, Iterable, Mapping, Sequence
from dataclasses import dataclass
from datetime import datetime, timedelta
from typing import Any, NamedTuple
from uuid import UUID

from django.conf import settings
from django.contrib.postgres.fields import ArrayField
from django.db import connection
from django.db.models import Q, QuerySet, TextField, Value
from django.db.models.expressions import RawSQL
from django.db.models.functions import Cast
from django.utils import timezone

from accounts.models import User
from bigmind.database.fixed_queries import FixedQuery, ask_together
from bigmind.database.rls import rls_bypass
from bigmind.text.hygiene import digest
from knowledge.kinds import KINDS
from knowledge.models import HookEvent, Kind, Receipt, ReceiptText, Session

ERASED = "(erased)"
OF_COMPANY = ("company", "decision")
NAMING = (*OF_COMPANY, "entry", "reference")
"""Kinds whose lines name to others who wrote, edited or decided."""
UNUSED_FOR = timedelta(days=1)
"""How old an unused line must be before it is deleted: a start that read its id may not be committed yet."""

_UNUSED = """
DELETE FROM knowledge_receipttext WHERE user_id = %(user)s AND at < %(before)s AND id NOT IN (
    SELECT unnest(receipt.texts) FROM knowledge_receipt AS receipt
    JOIN knowledge_session AS session ON session.id = receipt.session_id WHERE session.user_id = %(user)s
    UNION ALL SELECT line.id::bigint FROM knowledge_receipt AS receipt
    JOIN knowledge_session AS session ON session.id = receipt.session_id
    CROSS JOIN jsonb_array_elements(receipt.recalls) AS recall
    CROSS JOIN jsonb_array_elements_text(recall -> 'texts') AS line(id) WHERE session.user_id = %(user)s
    UNION ALL SELECT unnest(event.texts) FROM knowledge_hookevent AS event WHERE event.user_id = %(user)s
)
"""

_ADD = """
INSERT INTO knowledge_receipttext (user_id, at, digest, kind, source_id, quoted_id, text)
SELECT %s, %s, line ->> 0, line ->> 1, line ->> 2, line ->> 3, line ->> 4
FROM jsonb_array_elements(%s) WITH ORDINALITY AS lines(line, place) ORDER BY place
RETURNING digest, kind, source_id, id
"""
_TOLD_IN_SESSION = """(
    WITH receipt AS (
        SELECT receipt.texts, receipt.recalls FROM knowledge_receipt AS receipt
        JOIN knowledge_session AS session ON session.id = receipt.session_id
        WHERE session.id = %s AND session.user_id = %s
    )
    SELECT unnest(texts) FROM receipt
    UNION ALL SELECT line.id::bigint FROM receipt
    CROSS JOIN jsonb_array_elements(recalls) AS recall
    CROSS JOIN jsonb_array_elements_text(recall -> 'texts') AS line(id)
    WHERE (recall ->> 'at')::timestamptz <= %s
    UNION ALL SELECT unnest(event.texts) FROM knowledge_hookevent AS event
    JOIN knowledge_conversation AS conversation ON conversation.id = event.conversation_id
    WHERE conversation.session_id = %s AND event.user_id = %s AND event.at <= %s
)"""


class LineOwner(NamedTuple):
    """The source of a line, such as a fact; lines of the layout have none. `quoted`: another source that it quotes."""

    kind: str = ""
    id: str = ""
    quoted: str = ""


@dataclass(frozen=True)
class SentLine:
    """One line as it was sent, and its source. If it was erased since, the text is empty."""

    text: str
    kind: str = ""
    id: str = ""


def keep_texts(
    user: User, text: str, owners: Mapping[str, LineOwner], *, session: Session | None = None
) -> list[int] | None:
    """Keep a text line by line; return the ids of the lines, in their order, or None where none are kept.

    Args:
        owners: The sources of lines, by the line itself or by a part that only its lines have.
        session: Nothing is kept where this session has no receipt.
    """
    if not settings.KEEP_TOLD_DAYS:
        return None
    lines = [(digest(line), *_owner_of(line, owners), line) for line in text.splitlines()]
    known_lines = _KEPT, (user.pk, f"{{{','.join(sorted({line[0] for line in lines}))}}}")
    kept, *receipts = ask_together(known_lines, *([(_RECEIPT, (session.pk,))] if session else []))
    if receipts == [[]]:
        return None
    known = {(key, kind, id): pk for key, kind, id, pk in kept}
    missing = {line[:3]: line for line in lines if line[:3] not in known}
    if gone := _find_erased({LineOwner(*line[1:4]) for line in missing.values()}):
        missing = {key: line for key, line in missing.items() if LineOwner(*line[1:4]) not in gone}
    if missing:
        with connection.cursor() as cursor:
            cursor.execute(_ADD, [user.pk, timezone.now(), json.dumps([*missing.values()])])
            known |= {(key, kind, id): pk for key, kind, id, pk in cursor.fetchall()}
    return [known[line[:3]] for line in lines if line[:3] in known]


def read_texts(user: User, ids: Sequence[int] | None) -> list[SentLine]:
    """Return lines as they were sent, in order; lines erased since are marked."""
    texts = texts_by_id(user, ids or [])
    return [texts[pk] for pk in ids or []]


def texts_by_id(user: User, ids: Collection[int]) -> dict[int, SentLine]:
    """Return each of these lines as it was sent, or as erased."""
    rows = ReceiptText.objects.filter(user=user, pk__in=set(ids)) if ids else ()
    return dict.fromkeys(ids, SentLine(ERASED)) | {row.pk: SentLine(row.text, row.kind, row.source_id) for row in rows}


def lines_until(user_id: UUID, session_id: UUID, moment: datetime) -> QuerySet[ReceiptText]:
    """Return the lines that a user's session had received by a moment: from its start, recalls and hooks.

    A start that was sent again replaces the earlier one; lines newer than the moment are left out.
    """
    until = [session_id, user_id, moment]
    sent = RawSQL(_TOLD_IN_SESSION, [*until, *until])  # noqa: S611 - a fixed text
    return ReceiptText.objects.filter(user=user_id, at__lte=moment, pk__in=sent).order_by("pk")


def forget_texts_of_things(things: Iterable[tuple[str, str]]) -> None:
    """Delete what anyone received of these items, by kind and id: their texts have changed, so no trigger does it."""
    of_kind: dict[str, list[str]] = {}
    for kind, id in things:
        for name in OF_COMPANY if kind in OF_COMPANY else (kind,):
            of_kind.setdefault(name, []).append(id)
    with rls_bypass():
        for kind, ids in of_kind.items():
            ReceiptText.objects.filter(Q(source_id__in=ids) | Q(quoted_id__in=ids), kind=kind).delete()


def forget_texts_that_name(user: User) -> None:
    """Delete the lines in which a user who is being deleted is named to others: who wrote, decided or approved."""
    with rls_bypass():
        naming = ReceiptText.objects.filter(kind__in=NAMING, text__contains=str(user))
        naming.exclude(user=user).delete()


def forget_old_texts() -> int:
    """Delete what was sent before the retention period, and lines that nothing refers to; return how many."""
    before = timezone.now() - timedelta(days=settings.KEEP_TOLD_DAYS)
    # The references go first: then the lines are unused.
    Receipt.objects.filter(session__started_at__lt=before, texts__isnull=False).update(texts=None)
    Receipt.objects.filter(session__started_at__lt=before).exclude(recalls=[]).update(recalls=[])
    HookEvent.objects.filter(at__lt=before, texts__isnull=False).update(texts=None)
    return sum(map(_forget_unused, ReceiptText.objects.order_by().values_list("user", flat=True).distinct()))


def _forget_unused(user_id: UUID) -> int:
    with connection.cursor() as cursor:
        cursor.execute(_UNUSED, {"user": user_id, "before": timezone.now() - UNUSED_FOR})
        return int(cursor.rowcount)


def _owner_of(line: str, owners: Mapping[str, LineOwner]) -> LineOwner:
    if found := owners.get(line):
        return found
    return next((owner for part, owner in owners.items() if part and part in line), LineOwner())


def _find_erased(owners: Collection[LineOwner]) -> set[LineOwner]:
    """Return those whose row is gone: erased after it was sent, so that no trigger will delete what is kept of it."""
    ids: dict[str, set[str]] = {}
    for one in owners:
        ids.setdefault(_kind_of(one), set()).update(filter(None, (one.id, one.quoted)))
    there = {
        (kind, str(pk))
        for kind, some in ids.items()
        if kind in KINDS
        for pk in KINDS[kind].model._default_manager.filter(pk__in=some).values_list("pk", flat=True)
    }
    return {
        one
        for one in owners
        if _kind_of(one) in KINDS and any(id and (_kind_of(one), id) not in there for id in (one.id, one.quoted))
    }


def _kind_of(owner: LineOwner) -> str:
    return Kind.COMPANY if owner.kind in OF_COMPANY else owner.kind


def _lines_kept(user_id: UUID, digests: str) -> QuerySet[Any, Any]:
    each = Cast(Value(digests), ArrayField(TextField()))
    kept = ReceiptText.objects.filter(user=user_id, digest__any_of=each)
    return kept.values_list("digest", "kind", "source_id", "pk")


_KEPT = FixedQuery(_lines_kept)
_RECEIPT = FixedQuery(lambda session_id: Receipt.objects.filter(session=session_id).values_list("pk"))
