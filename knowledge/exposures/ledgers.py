"""Ledgers: what is written down of a reply once it is out: exposures, receipts, questions asked, unanswered questions.

Whatever sends items says so once (`note_sent`). All that follows from it is written here, and nowhere else, in one
transaction after the reply. Decision 91 says what may be lost.
"""

from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import dataclass, field
from datetime import datetime
from itertools import groupby
from typing import cast

import structlog
from django.db import DatabaseError, connection, transaction
from django.utils import timezone

from accounts.actor import Actor
from bigmind.core.after_reply import AFTER_REPLY
from bigmind.database.postgresql.base import DatabaseWrapper
from bigmind.database.postgresql.kept_plans import Statement, Together
from bigmind.database.read_only import is_read_only
from bigmind.database.rls import rls_scope
from knowledge.conversation.current_sessions import session_at_work, session_of_agent
from knowledge.exposures.context_receipts import keep_recalled
from knowledge.exposures.exposures import MEASURED, Exposure, insert_of
from knowledge.exposures.gaps import keep_unanswered
from knowledge.exposures.recent_questions import QuestionRecord, insert_question
from knowledge.exposures.sent_lines import LineOwner
from knowledge.models import Session

log = structlog.get_logger()

SentText = Callable[[], tuple[str, Mapping[str, LineOwner]]]
"""Returns what an agent received, and the source of each of its lines."""


@dataclass(frozen=True)
class Sent:
    """These items were sent to an agent in answer to this question, or at the start of a session.

    Attributes:
        items: What was sent.
        question: What it answers, with what the search found.
        text: What the agent received, where the receipt of its session keeps it.
        session: The session it was sent to. Default: the open one that the agent works in.
        asked: Returns the statement that keeps what was asked, where that is no question.
        also: Writes what else is to be known of it.
    """

    actor: Actor
    items: Sequence[Exposure] = ()
    question: QuestionRecord | None = None
    text: SentText | None = None
    session: Session | None = None
    at: datetime = field(default_factory=timezone.now)
    asked: Callable[[], Statement | None] | None = None
    also: Callable[[], object] | None = None


def note_sent(sent: Sent) -> None:
    """Write down after the reply what was sent. Pages, and instances that only read, keep no ledgers."""
    if (sent.actor.is_agent or sent.session) and not is_read_only():
        AFTER_REPLY.add(_write_sent, sent, user_id=sent.actor.user.pk)


def settle(actor: Actor) -> None:
    """Write down what waits of an actor's earlier calls. Whoever reads a ledger in a conversation calls this first."""
    AFTER_REPLY.settle(actor.user.pk)


def _write_sent(events: Sequence[Sent]) -> None:
    for user_id, some in groupby(events, key=lambda sent: sent.actor.user.pk):
        with _log_failure(), rls_scope(user_id):
            is_alone = not connection.in_atomic_block
            with transaction.atomic():
                if is_alone:
                    # A crash may lose these rows: no commit waits until they have reached the disk.
                    cast("DatabaseWrapper", connection).send_before_next("SET LOCAL synchronous_commit TO off")
                for sent in some:
                    with _log_failure(), transaction.atomic():
                        _write_one(sent)


@contextmanager
def _log_failure() -> Iterator[None]:
    try:
        yield
    except DatabaseError as error:
        log.warning("What was sent was not written down.", error=error)


def _write_one(sent: Sent) -> None:
    at_work = sent.session or (session_at_work(sent.actor) if sent.items else None)
    measured = [item for item in sent.items if item.kind in MEASURED]
    statements = [sent.asked()] if sent.asked else []
    if measured and (session := at_work or session_of_agent(sent.actor)):
        statements.append(insert_of(session, measured))
    if sent.question:
        statements.append(insert_question(sent.actor.user, sent.question))
    if statements := [one for one in statements if one]:
        with connection.cursor() as cursor:
            cursor.execute(Together(statements))
    if at_work and sent.items and sent.text:
        keep_recalled(sent.actor.user, at_work, *sent.text(), at=sent.at)
    if sent.question:
        # Last: two people who ask the same at once wait for each other here.
        keep_unanswered(sent.actor.user, sent.question)
    if sent.also:
        sent.also()
