"""Which session a write goes to, without anything that a connection or a process remembers (decision 74).

In this order: the session named; that of the conversation, which a client, its hook or a header names; that of the
connection, where the protocol has one; the newest that this key and client opened; none. Nothing is refused for want
of a session.
"""

import re
from datetime import datetime, timedelta
from typing import Any
from uuid import UUID

from django.db.models import Case, Exists, F, OuterRef, Q, QuerySet, Value, When
from django.utils import timezone

from accounts.actor import Actor
from accounts.models import User
from bigmind.core.errors import Conflict, NotFound
from bigmind.database.fixed_queries import FixedQuery
from bigmind.privacy.screening.policy import add_notice
from bigmind.text.hygiene import mention
from knowledge.models import Chunk, Conversation, Fact, Hypothesis, Kind, Session
from knowledge.models.sessions import SessionQuerySet
from knowledge.search.passages import note_writings

IDLE_AFTER = timedelta(hours=2)
"""A session in which nothing was stored for so long is closed when the same program starts the next one."""


def session_of_write(actor: Actor, named: str | None, *, project: str = "") -> Session | None:
    """Return the session that a fact, a belief or a proposal belongs to; None if there is none.

    A session that is not the actor's is none: what it was named for is stored all the same, and the reply says so.
    """
    if named is not None:
        try:
            return own_session(actor, named)
        except (Conflict, NotFound) as unknown:
            add_notice(f"{unknown.message} This was stored without a session.")
            return None
    found = _find(actor, project)
    return _begin_for(actor) if found is None and actor.conversation else found


def session_of_exchange(actor: Actor, named: str | None, *, closing: bool = False) -> Session:
    """Return the session of an exchange, or the one to end, locked. Without any, one is opened, and the reply says so.

    Raises:
        NotFound: the session named is not the actor's.
    """
    locked = Session.objects.select_for_update(of=("self",))
    found = own_session(actor, named, locked) if named is not None else _find(actor, lock=True)
    if found is None:
        found = locked.get(pk=_begin_for(actor).pk)
        add_notice(f"No session was open, so session {found.handle} was opened for this.")
    elif not found.is_open and not found.auto_closed:
        done = "its record was updated" if closing else "this was added to it"
        add_notice(f"Session {found.handle} had ended; {done}.")
    found.user = actor.user
    if actor.agent and found.agent_id == actor.agent.pk:
        found.agent = actor.agent
    return found


def begin_session(
    actor: Actor,
    *,
    project: str = "",
    topics: list[str] | None = None,
    at: datetime | None = None,
) -> Session:
    """Open a session of this conversation, begun now or at a moment, without sending anything."""
    session = Session.objects.create(
        user=actor.user,
        agent=actor.agent,
        key=actor.key,
        project=project,
        topics=topics or [],
        started_at=at or timezone.now(),
        conversation=actor.conversation,
        connection=actor.connection,
    )
    # No matter who ended the previous session, what hooks capture from now on belongs to this one.
    if actor.conversation:
        Conversation.objects.filter(user=actor.user, digest=actor.conversation).update(session=session)
    # Project and topics are words of anyone who starts it: also of a session that nobody ever ends.
    note_writings(Kind.SUMMARY, [session.pk], made=True)
    return session


def session_at_work(actor: Actor) -> Session | None:
    """Return the open session of this conversation or connection; None if that is unknown."""
    for binding in (actor.conversation, actor.connection):
        if binding and (bound := _OF_BINDING(actor.user.pk, binding, False)) and bound[0].is_open:
            newest: Session = bound[0]
            return newest
    return None


def open_sessions_of(user_id: UUID, binding: str) -> QuerySet[Session]:
    """Return the open sessions of a conversation or connection, the newest first."""
    return _of_binding(Session.objects.of(user_id).open(), user_id, binding)


def session_of_agent(actor: Actor) -> Session | None:
    """Return the open session that an agent works in; a page has none."""
    found = _find(actor) if actor.is_agent else None
    return found if found and found.is_open else None


def session_of_conversation(actor: Actor) -> Session | None:
    """Return the open session of the conversation that the client names, locked; None where it has or names none.

    The session of a connection is not meant: one that starts a session again there may be the next conversation.
    """
    if not actor.conversation:
        return None
    mine = Session.objects.of(actor.user).select_for_update(of=("self",))
    return _of_binding(mine.open(), actor.user.pk, actor.conversation).first()


def idle_sessions(actor: Actor, project: str) -> QuerySet[Session]:
    """Return what the same program left open in a project, if neither a conversation nor a connection tells it apart.

    A fresh one is not meant: it may be that of a second window.
    """
    if actor.conversation or actor.connection or not actor.is_agent:
        return Session.objects.none()
    lately = timezone.now() - IDLE_AFTER
    mine = Session.objects.of(actor.user).open().filter(agent=actor.agent, key=actor.key, project=project)
    idle = mine.filter(conversation="", connection="", started_at__lt=lately)
    for rows in (
        Chunk.objects.filter(session=OuterRef("pk")),
        Fact.objects.filter(source_session=OuterRef("pk")),
        Hypothesis.objects.filter(session=OuterRef("pk")),
    ):
        idle = idle.exclude(Exists(rows.filter(created_at__gte=lately)))
    return idle


def own_session(actor: Actor, session_id: str, sessions: QuerySet[Session] | None = None) -> Session:
    """Return the actor's session of this handle or number (`S7`), or whose id is or begins so.

    Raises:
        NotFound: there is none, or it is someone else's.
        Conflict: several begin so.
    """
    mine = (Session.objects.all() if sessions is None else sessions).filter(user=actor.user)
    found = list(mine.filter(**condition)[:2]) if (condition := _condition_of(session_id)) else []
    if not found:
        raise NotFound(f"You have no session {mention(session_id)}.", hint="memory_list_sessions shows yours.")
    if len(found) > 1:
        raise Conflict(f"Several sessions begin with {session_id}.", hint="Give the whole id.")
    return found[0]


def _find(actor: Actor, project: str = "", *, lock: bool = False) -> Session | None:
    """Return the session of the conversation, else of the connection, else the newest that key and client opened.

    Where the client says which conversation this is, no other one's is meant. A connection outlives conversations, so
    one whose session has ended has none.
    """
    if binding := actor.conversation or actor.connection:
        if found := _OF_BINDING(actor.user.pk, binding, lock):
            bound: Session = found[0]
            return bound if bound.is_open or actor.conversation else None
        if actor.conversation:
            return None
    agent, key = (one.pk if one else None for one in (actor.agent, actor.key))
    newest = _NEWEST(actor.user.pk, agent, key, project, timezone.now(), lock)
    return newest[0] if newest else None


def _begin_for(actor: Actor) -> Session:
    """Open a session for a write that has none; of two writes at once, the second finds that of the first."""
    User.objects.select_for_update(no_key=True).get(pk=actor.user.pk)
    return _find(actor) or begin_session(actor)


def _of_binding(sessions: SessionQuerySet, user_id: UUID, binding: str) -> SessionQuerySet:
    """Return the sessions of a conversation or connection: the newest open one first, then the one that ended last.

    A fork has an id of its own and its parent's session.
    """
    continued = Conversation.objects.filter(user=user_id, digest=binding).values("session")
    bound = sessions.in_view().filter(Q(conversation=binding) | Q(connection=binding) | Q(pk__in=continued))
    return bound.order_by(F("ended_at").desc(nulls_first=True), "-started_at", "-id")


def _newest(
    user_id: UUID, agent_id: int | None, key_id: UUID | None, project: str, now: datetime, lock: bool
) -> QuerySet[Session]:
    """Return what a client opened with a key within a day; that of a conversation which hooks report comes last."""
    mine = Session.objects.of(user_id).in_view().open().recent(now).filter(agent=agent_id)
    if key_id:  # Without a key the person acts, on their own machine.
        mine = mine.filter(key=key_id)
    hooked = Exists(Conversation.objects.filter(session=OuterRef("pk")))
    of_all = mine.filter(Q(conversation="") | hooked).order_by(
        Case(When(conversation="", then=Value(0)), default=Value(1)), "-started_at", "-id"
    )
    if lock:
        of_all = of_all.select_for_update(of=("self",))
    return (of_all.filter(project=project) if project else of_all)[:1]


def _find_bound(user_id: UUID, binding: str, lock: bool) -> QuerySet[Session]:
    mine = Session.objects.of(user_id)
    return _of_binding(mine.select_for_update(of=("self",)) if lock else mine, user_id, binding)[:1]


_OF_BINDING = FixedQuery(_find_bound)
_NEWEST = FixedQuery(_newest)


def _condition_of(session_id: str) -> dict[str, Any]:
    """Return what finds a session by what it is called; nothing where the text can be no session's."""
    if named := _NUMBER.fullmatch(session_id):
        return {"number": int(named[1])}
    digits = session_id.replace("-", "").lower()
    if not _DIGITS.fullmatch(digits):
        return {}
    # The smallest and the largest UUID with this prefix: a range that the primary key's index can search.
    return {"id__range": (UUID(digits.ljust(32, "0")), UUID(digits.ljust(32, "f")))}


# Eight digits and more are the beginning of a UUID.
_NUMBER = re.compile(r"(?:session[:#] ?)?(?:[Ss]-?)?([0-9]{1,7})")
_DIGITS = re.compile(r"[0-9a-f]{8,32}")
