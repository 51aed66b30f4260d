"""Other agents of the same user: which are active in this project, and the note that one left for the next."""

from collections.abc import Iterable
from dataclasses import dataclass
from datetime import datetime, timedelta
from uuid import UUID

from django.db.models import Max, Q, QuerySet
from django.utils import timezone

from accounts.actor import Actor
from bigmind.database.fixed_queries import Asked, FixedQuery
from bigmind.text.hygiene import fold_name, inline
from bigmind.text.token_counts import cut_to_tokens
from knowledge.context.budget import HAND_OVER_TOKENS, HEADLINE_TOKENS
from knowledge.models import Note, Session

HAND_OVER = "handover"
"""The domain of notes for the next session: its key is a project, or `next` for whichever comes."""
NEXT = "next"
AT_WORK = timedelta(hours=2)
SHOWN = 3
HEARD_FOR = timedelta(days=1)
"""How long a note is kept after a session received it: its agent may end before acting on it."""


@dataclass(frozen=True)
class OtherAgent:
    """Another conversation that is at work in the same project: its agent, its session and what it is about."""

    agent: str
    session: str
    session_id: UUID
    since: datetime
    headline: str


def others_at_work(actor: Actor, project: str, *, own: Session | None) -> list[OtherAgent]:
    """Return the user's other conversations in a project in which something happened lately, the newest first."""
    query, values = ask_others(actor, project, own=own)
    return describe_others(query(*values)) if project else []


def ask_others(actor: Actor, project: str, *, own: Session | None) -> Asked:
    """Return the query for the sessions of those conversations."""
    return _AT_WORK, (actor.user.pk, project, timezone.now() - AT_WORK, own.pk if own else None)


def describe_others(sessions: Iterable[Session]) -> list[OtherAgent]:
    """Return what is shown of the sessions of other conversations."""
    return [
        OtherAgent(
            agent=session.agent.client_name if session.agent else "an agent",
            session=session.handle,
            session_id=session.pk,
            since=session.started_at,
            headline=cut_to_tokens(inline(session.own_headline), HEADLINE_TOKENS),
        )
        for session in sessions
    ]


def _at_work(user_id: UUID, project: str, lately: datetime, own: UUID | None) -> QuerySet[Session]:
    sessions = Session.objects.of(user_id).in_view().open().filter(project=project)
    if own is not None:
        sessions = sessions.exclude(pk=own)
    active = sessions.annotate(last_at=Max("conversations__last_at")).filter(
        Q(last_at__gte=lately) | Q(last_at=None, started_at__gte=lately)
    )
    return active.select_related("agent").newest_first()[:SHOWN]


_AT_WORK = FixedQuery(_at_work)


def ask_notes_left(actor: Actor) -> Asked:
    """Return the query for the notes that agents left for the next session."""
    return _HANDED_OVER, (actor.user.pk, timezone.now())


def note_for_next(left: Iterable[Note], project: str) -> Note | None:
    """Return the note that is for the next session of this project, or for any."""
    keys = {fold_name(key) for key in (project, NEXT) if key}
    return next((note for note in left if fold_name(note.key) in keys), None)


_HANDED_OVER = FixedQuery(
    lambda user_id, now: Note.objects.of(user_id).current(now).filter(domain=HAND_OVER).order_by("-updated_at")
)


def note_as_heard(note: Note) -> None:
    """Expire a note within a day: a session received it."""
    ends = timezone.now() + HEARD_FOR
    if note.expires_at is None or note.expires_at > ends:
        Note.objects.filter(pk=note.pk).update(expires_at=ends)


def words_of(note: Note | None) -> str:
    """Return a note as it stands in a start context: one line, within its budget."""
    return cut_to_tokens(inline(note.content), HAND_OVER_TOKENS) if note else ""
