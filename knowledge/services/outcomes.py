"""Outcomes: how a session went, counted from what its agent asks, corrects, tests and commits.

Only numbers are kept. Questions and commits are recognized by keyed digests, so nobody can test guesses.
"""

import re
from collections.abc import Iterable
from datetime import timedelta
from typing import Any
from uuid import UUID

from django.db import connection
from django.db.models import F, QuerySet
from django.db.models.functions import Greatest
from django.utils import timezone
from django.utils.crypto import salted_hmac

from knowledge.models import DIGEST_CHARS, Session, SessionOutcome
from knowledge.services.gaps import telling_words

SOON = timedelta(days=1)
"""A question that is asked again so soon was not answered well."""
DIGESTS_KEPT = 200
LEAST_WORDS = 2
EMPHASIS = frozenset({"again", "already", "just", "now", "once", "please", "really", "still"})
"""What people add when they ask the same again."""
REVERT = re.compile(r'Revert "(.+)"\Z')

# One statement, because every question of an agent does it.
_ASK = """
INSERT INTO knowledge_sessionoutcome AS mine (session_id, user_id, at, searches, asked)
VALUES (%(session)s, %(user)s, now(), %(searches)s, %(asked)s::text[])
ON CONFLICT (session_id) DO UPDATE SET
    searches = mine.searches + excluded.searches,
    repeated = mine.repeated + (cardinality(excluded.asked) > 0 AND mine.asked @> excluded.asked)::int,
    asked = CASE WHEN mine.asked @> excluded.asked OR cardinality(mine.asked) >= %(most)s THEN mine.asked
        ELSE mine.asked || excluded.asked END
"""
# The question counts against the session that asked it last within a day, unless that is this one.
_ASK_AGAIN = f"""
WITH counted AS ({_ASK})
UPDATE knowledge_sessionoutcome SET repeated = repeated + 1 WHERE session_id IN (
    SELECT session_id FROM knowledge_sessionoutcome
    WHERE user_id = %(user)s AND at >= %(since)s AND asked @> %(asked)s::varchar[] AND session_id <> %(session)s
    ORDER BY at DESC LIMIT 1
)
"""  # noqa: S608 - fixed texts


def note_question(session: Session, question: str, *, by_agent: bool) -> None:
    """Count a question to BigMind, or a prompt of a user, and whether it is asked again within a day.

    Asked again in a later session it counts against the one that asked it before. An agent that hands the prompt on
    asks nothing again: what users ask and what agents ask is kept apart.
    """
    words = set(telling_words(question)) - EMPHASIS
    kind = "question" if by_agent else "prompt"
    asked = [_digest(session.user_id, kind, " ".join(sorted(words)))] if len(words) >= LEAST_WORDS else []
    values: dict[str, Any] = {"session": session.pk, "user": session.user_id, "searches": int(by_agent), "asked": asked}
    values |= {"most": DIGESTS_KEPT, "since": timezone.now() - SOON}
    with connection.cursor() as cursor:
        cursor.execute(_ASK_AGAIN if asked else _ASK, values)


def note_corrections(session: Session | None, number: int = 1) -> None:
    """Count what a session corrected, set aside or called wrong."""
    if session is not None and number:
        _row_of(session).update(corrections=F("corrections") + number)


def note_work(session: Session, *, passed: int, failed: int, failing: bool, commits: Iterable[str]) -> None:
    """Keep what a client's record says of a session's tests and commits: a later report of the same replaces it.

    A commit that takes another back (`Revert "…"`) counts against the session that made it, whenever that was.

    Args:
        commits: Each a hash and its subject.
    """
    row = _row_of(session)
    subjects = dict.fromkeys(commit.partition(" ")[2].strip() for commit in commits)
    digests = {_digest(session.user_id, "commit", subject): subject for subject in subjects if subject}
    known = set(row.values_list("committed", flat=True).get())
    new = {digest: subject for digest, subject in digests.items() if digest not in known}
    made = [digest for digest, subject in new.items() if not REVERT.match(subject)]
    ended: dict[str, Any] = {"failing": failing} if passed or failed else {}
    row.update(
        tests_passed=Greatest(F("tests_passed"), passed),
        tests_failed=Greatest(F("tests_failed"), failed),
        commits=F("commits") + len(made),
        committed=[*known, *new][-DIGESTS_KEPT:],
        **ended,
    )
    for subject in new.values():
        if taken_back := REVERT.match(subject):
            _note_revert(session.user_id, taken_back[1])


def _note_revert(user_id: UUID, subject: str) -> None:
    made = SessionOutcome.objects.filter(user=user_id, committed__contains=[_digest(user_id, "commit", subject)])
    SessionOutcome.objects.filter(pk__in=made.order_by("-at").values("pk")[:1]).update(reverted=F("reverted") + 1)


def _row_of(session: Session) -> QuerySet[SessionOutcome]:
    SessionOutcome.objects.get_or_create(session=session, defaults={"user_id": session.user_id})
    return SessionOutcome.objects.filter(session=session)


def _digest(user_id: UUID, kind: str, text: str) -> str:
    salt = f"bigmind.outcomes.{kind}.{user_id}"
    return salted_hmac(salt, text, algorithm="sha256").hexdigest()[:DIGEST_CHARS]
