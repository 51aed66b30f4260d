"""Recalls as they were sent: the replies to an agent's questions, kept with the receipt of its session's start.

The question is not kept. The lines are those of `as_told`: stored once, and deleted with their sources.
"""

import re
from collections.abc import Sequence
from dataclasses import dataclass
from datetime import datetime
from typing import Any

import structlog
from django.db import DatabaseError, transaction
from django.template.loader import render_to_string
from django.utils import timezone

from accounts.actor import Actor
from accounts.models import User
from bigmind.core.handles import read_handle
from bigmind.database.read_only import is_read_only
from bigmind.text.token_counts import count_tokens
from knowledge.conversation.current_sessions import session_at_work
from knowledge.exposures.line_provenance import lineages_of
from knowledge.exposures.sent_lines import LineAsTold, LineOwner, keep_texts, texts_by_id
from knowledge.models import Fact, Receipt, Session
from knowledge.recall.hits import Hit

RECALLS_KEPT = 100
"""Of one session, the last ones."""

_WORD = re.compile(r"\w")

log = structlog.get_logger()


@dataclass(frozen=True)
class RecalledText:
    """One line of a recall as it was sent, and from whom it is."""

    told: LineAsTold
    lineage: str


@dataclass(frozen=True)
class ShownRecall:
    """What was recalled at one moment, and what it cost."""

    at: datetime
    tokens: int
    lines: list[RecalledText]


def keep_recall(actor: Actor, reply: Any, *, template: str, hit_template: str) -> None:
    """Keep what an agent receives in answer to a question, line by line, with the receipt of its session.

    Nothing is kept where nothing was found, and of sessions without a receipt: those that no agent started.

    Args:
        reply: Has the hits that are sent as `items`.
        template: The template of the reply, below `templates/agent/`.
        hit_template: The template of one hit.
    """
    session = None if is_read_only() or not reply.items else session_at_work(actor)
    if session is None:
        return
    try:
        with transaction.atomic():
            receipt = Receipt.objects.filter(session=session).select_for_update(of=("self",)).first()
            if receipt:
                text = _render(template, reply=reply).strip()
                texts = keep_texts(actor.user, text, _owners_of(actor.user, reply.items, hit_template))
                _add(receipt, text, texts)
    except DatabaseError as error:  # The question is answered; a failure to keep it must not fail the call.
        log.warning("What was recalled was not kept.", error=error)


def recalls_of(session: Session) -> list[ShownRecall]:
    """Return what was recalled in a session, in the order of time; without the lines of what was erased since."""
    recalls = Receipt.objects.filter(session=session).values_list("recalls", flat=True).first() or []
    told = texts_by_id(session.user, {pk for one in recalls for pk in one["texts"]})
    things = {(line.kind, line.id) for line in told.values() if line.kind}
    lineages = lineages_of(session.user, sorted(things))
    return [
        ShownRecall(
            datetime.fromisoformat(one["at"]),
            one["tokens"],
            [RecalledText(told[pk], lineages.get((told[pk].kind, told[pk].id), "")) for pk in one["texts"]],
        )
        for one in recalls
    ]


def _add(receipt: Receipt, text: str, texts: list[int] | None) -> None:
    if texts is None:
        return
    recall = {"at": timezone.now().isoformat(), "tokens": count_tokens(text), "texts": texts}
    receipt.recalls = [*receipt.recalls, recall][-RECALLS_KEPT:]
    receipt.save(update_fields=["recalls"])


def _owners_of(user: User, hits: Sequence[Hit], template: str) -> dict[str, LineOwner]:
    """Return the source of each line. The marks around a text have none: those of other texts look the same."""
    owners: dict[str, LineOwner] = {}
    for hit in hits:
        owner = LineOwner(hit.kind, hit.id, _id_of_other(user, hit))
        for line in _render(template, hit=hit).splitlines():
            if _WORD.search(line):
                owners.setdefault(line, owner)
    return owners


def _id_of_other(user: User, hit: Hit) -> str:
    """Return the id of the fact that the line of another one quotes."""
    found = read_handle(hit.may_contradict.partition(":")[0]) if hit.may_contradict else None
    if found is None:
        return ""
    other = Fact.objects.of(user).filter(pk__in=user.ids_of(int(found[1]))).first()
    return str(other.pk) if other else ""


def _render(template: str, **context: Any) -> str:
    return render_to_string(f"agent/{template}", context, using="agent")
