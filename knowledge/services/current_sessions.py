"""Which session a write goes to: the one named, else this conversation's, else the only one the agent has open.

A conversation is what the client calls one, in its calls or through its hooks; where it says nothing, the connection.
The client's word comes first, because a connection outlives `/clear`.
"""

from datetime import datetime
from uuid import UUID

from django.db.models import F, Q, QuerySet
from django.utils import timezone

from accounts.actor import Actor
from bigmind.core.errors import Conflict, NotFound
from bigmind.core.fixed_queries import FixedQuery
from bigmind.core.screening.policy import add_notice
from knowledge.models import Conversation, Session
from knowledge.models.sessions import SessionQuerySet

LISTED = 10

START = "Call memory_start_session first, or name a session_id."


def current_session(
    actor: Actor, named: str | None, *, project: str = "", sessions: SessionQuerySet | None = None
) -> Session | None:
    """Return the session that a write goes to, or None if there is none.

    Without a name and a session of this conversation, it is the only one that the agent has open, in this project if
    one is given. What another conversation left open for over a day is not meant; nor is, where the client says which
    conversation this is, what any other conversation has open.

    Raises:
        NotFound: the session named is not the actor's.
        Conflict: several are open, and nothing says which is meant.
    """
    if named is not None:
        return own_session(actor, named, sessions)
    for binding in (actor.conversation, actor.connection):
        if binding and (bound := _find_bound(actor, binding, sessions)):
            # Once it has ended, this conversation's writes must not go to another open session.
            return bound if bound.is_open else None
        if binding and binding == actor.conversation:
            # A connection may have begun with an earlier conversation of the same client.
            return _only_open(actor, sessions, project=project, is_unbound=True)
    return _only_open(actor, sessions, project=project)


def session_at_work(actor: Actor) -> Session | None:
    """Return the open session of this conversation or connection; None if that is unknown."""
    for binding in (actor.conversation, actor.connection):
        if binding and (bound := _OPEN_OF_BINDING(actor.user.pk, binding)):
            newest: Session = bound[0]
            return newest
    return None


def session_of_conversation(actor: Actor) -> Session | None:
    """Return the open session of the conversation that the client names, locked; None where it has or names none.

    The session of a connection is not meant: one that starts a session again there may be the next conversation.
    """
    if not actor.conversation:
        return None
    return _newest_of(_sessions_of(_lock_sessions(actor), actor.user.pk, actor.conversation).open()).first()


def open_session(actor: Actor, named: str | None) -> Session:
    """Return the open session that a write goes to, locked until the transaction ends.

    Raises:
        NotFound: the session named is not the actor's.
        Conflict: it has ended, none is open, or several are and nothing says which is meant.
    """
    session = current_session(actor, named, sessions=_lock_sessions(actor))
    if session is None:
        raise Conflict("This conversation has no open session.", hint=START)
    if not session.is_open:
        hint = "Open a new one with memory_start_session."
        raise Conflict(f"Session {session.handle} has ended.", hint=hint, session_id=str(session.pk))
    return session


def session_to_end(actor: Actor, named: str | None) -> Session:
    """Return the session to end: an open one, or one that was closed automatically and is named.

    Raises:
        NotFound, Conflict: as `open_session`.
    """
    if named is not None:
        session = own_session(actor, named, _lock_sessions(actor))
        if session.auto_closed:
            return session
    return open_session(actor, named)


def own_session(actor: Actor, session_id: str, sessions: QuerySet[Session] | None = None) -> Session:
    """Return the actor's session with this id, or whose id begins so.

    Raises:
        NotFound: there is none, or it is someone else's.
        Conflict: several begin so.
    """
    first, last = _id_range(session_id)
    mine = (Session.objects.all() if sessions is None else sessions).filter(user=actor.user, id__range=(first, last))
    found = list(mine[:2])
    if not found:
        raise NotFound(f"You have no session {session_id}.", hint="memory_list_sessions shows yours.")
    if len(found) > 1:
        raise Conflict(f"Several sessions begin with {session_id}.", hint="Give the whole id.")
    return found[0]


def _lock_sessions(actor: Actor) -> SessionQuerySet:
    return Session.objects.of(actor.user).select_for_update(of=("self",))


def _find_bound(actor: Actor, binding: str, sessions: SessionQuerySet | None) -> Session | None:
    """Return the session of a conversation or connection: of these, else of all that are the actor's."""
    if sessions is not None:
        return _newest_of(_sessions_of(sessions, actor.user.pk, binding)).first()
    found = _OF_BINDING(actor.user.pk, binding)
    return found[0] if found else None


def _sessions_of(sessions: SessionQuerySet, user_id: UUID, binding: str) -> SessionQuerySet:
    """Return the sessions of a conversation or connection. A fork has an id of its own and its parent's session."""
    continued = Conversation.objects.filter(user=user_id, digest=binding).values("session")
    return sessions.filter(Q(conversation=binding) | Q(pk__in=continued))


def _newest_of(sessions: SessionQuerySet) -> SessionQuerySet:
    """Order by newest open session, then by the one that ended last."""
    return sessions.order_by(F("ended_at").desc(nulls_first=True), "-started_at", "-id")


def _only_open(
    actor: Actor, sessions: SessionQuerySet | None, *, project: str, is_unbound: bool = False
) -> Session | None:
    values = (actor.agent.pk if actor.agent else None, project, is_unbound, timezone.now())
    found = _OPEN(actor.user.pk, *values) if sessions is None else list(_open_of_agent(sessions, *values))
    if len(found) > 1:
        raise _ambiguous(found)
    if found and found[0].conversation:
        add_notice(
            f"Written to session {found[0].handle}, the only one open, which another connection started. "
            "If it is not this conversation's, call memory_start_session."
        )
    return found[0] if found else None


def _open_of_agent(
    sessions: SessionQuerySet, agent_id: int | None, project: str, is_unbound: bool, now: datetime
) -> SessionQuerySet:
    """Return what an agent opened within a day. `is_unbound`: only those without a conversation."""
    found = sessions.open().recent(now).filter(agent=agent_id)
    if is_unbound:
        found = found.filter(conversation="")
    if project:
        found = found.filter(project=project)
    return found.newest_first()[:LISTED]


_OF_BINDING = FixedQuery(
    lambda user_id, binding: _newest_of(_sessions_of(Session.objects.of(user_id), user_id, binding))[:1]
)
_OPEN_OF_BINDING = FixedQuery(
    lambda user_id, binding: _newest_of(_sessions_of(Session.objects.of(user_id), user_id, binding).open())[:1]
)
_OPEN = FixedQuery(lambda user_id, *values: _open_of_agent(Session.objects.of(user_id), *values))


def _ambiguous(sessions: list[Session]) -> Conflict:
    lines = [
        f"{session.handle} ({session.project or 'no project'}, started {session.started_at:%Y-%m-%d %H:%M} UTC)"
        for session in sessions
    ]
    return Conflict(
        f"Several sessions are open, and none was started by this conversation: {'; '.join(lines)}.",
        hint="Name yours in session_id (of a fact and a proposal: source_session), or call memory_start_session.",
        sessions=[
            {
                "session_id": str(session.pk),
                "project": session.project,
                "started_at": session.started_at.isoformat(),
            }
            for session in sessions
        ],
    )


def _id_range(session_id: str) -> tuple[UUID, UUID]:
    """The smallest and the largest UUID with this prefix: a range that the primary key's index can search."""
    digits = session_id.replace("-", "").lower()
    try:
        return UUID(digits.ljust(32, "0")), UUID(digits.ljust(32, "f"))
    except ValueError as error:
        raise NotFound(f"You have no session {session_id}.", hint="An id looks like 1e9e32c7.") from error
