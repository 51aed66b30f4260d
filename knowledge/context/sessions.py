"""Sessions: start, end, look back, correct, erase."""

from collections.abc import Sequence
from dataclasses import dataclass, field, replace
from functools import partial
from typing import cast
from uuid import UUID

from django.db import transaction
from django.template.loader import render_to_string
from django.utils import timezone

from accounts.actor import Actor
from accounts.models import User
from accounts.services.idempotency import forget_kept_replies
from bigmind.core.after_reply import AFTER_REPLY
from bigmind.core.agent_rules import WRITING, Writing
from bigmind.core.argument_types import Before, Cursor, Importance, Limit, Offset, Project, Query, Since, Tag
from bigmind.core.errors import NotFound
from bigmind.core.word_filters import has_words
from bigmind.database.pagination import Page, page_of
from bigmind.database.postgresql.kept_plans import Statement
from bigmind.database.rls import rls_scope
from bigmind.text.hygiene import cut
from bigmind.text.token_counts import count_tokens
from knowledge.argument_types import (
    LATEST,
    ONE_LINER_CHARS,
    CodeRefs,
    KeyFacts,
    Misleading,
    OneLiner,
    Outcome,
    ReadSessionId,
    SessionId,
    SomeSessionId,
    SummaryText,
    Topics,
    Used,
)
from knowledge.conversation.chunks import index_chunk
from knowledge.conversation.closing_sessions import close_sessions
from knowledge.conversation.current_sessions import (
    begin_session,
    idle_sessions,
    own_session,
    session_of_conversation,
    session_of_exchange,
)
from knowledge.exposures.context_receipts import keep_receipt, note_erased
from knowledge.exposures.exposures import Exposure, note_use
from knowledge.exposures.ledgers import Sent, note_sent
from knowledge.exposures.recent_questions import insert_start
from knowledge.exposures.sent_lines import LineOwner, keep_texts
from knowledge.models import CaptureMode, CompanyEntry, Conversation, Dispatch, Kind, Note, Session, Summary
from knowledge.models.base import delete_keeping_id
from knowledge.people.people_index import index_person
from knowledge.search.passages import erase_passages, index_passages, mark_outdated, note_writings

from .other_agents import (
    OtherAgent,
    ask_notes_left,
    ask_others,
    describe_others,
    note_as_heard,
    note_for_next,
    words_of,
)
from .reply_notices import ask_waiting, say_notices
from .start_context import Context, build_context, read_known

LONG_HANDLE = "S1234567"
"""In the place of the handle of a session that is not open yet, where tokens are counted."""


@dataclass(frozen=True)
class StartedSession:
    """A session that was just opened, with the context it starts from."""

    session: Session
    context: Context
    auto_closed: int
    others: list[OtherAgent] = field(default_factory=list)
    left: Note | None = None
    how_to_write: str = ""
    notices: list[str] = field(default_factory=list)
    as_sent: str = ""

    @property
    def session_id(self) -> UUID:
        return self.session.pk

    @property
    def handle(self) -> str:
        """What the new session is named by."""
        return self.session.handle

    @property
    def project(self) -> str:
        return self.session.project

    @property
    def hand_over(self) -> str:
        """What the session before left for this one, on one line."""
        return words_of(self.left)

    @property
    def owners(self) -> dict[str, LineOwner]:
        """What the lines of the reply are of. Those that only this session received are of itself."""
        this = LineOwner("session", str(self.session.pk))
        others = {f"session `{one.session}`, since": LineOwner("session", str(one.session_id)) for one in self.others}
        left = {self.hand_over: LineOwner("note", str(self.left.pk))} if self.left else {}
        own = {" BigMind Context — loaded ": this, f"ession `{self.handle}`": this}
        return self.context.owners | others | left | own


@transaction.atomic
def start_session(actor: Actor, *, project: Project = "", topics: Topics | None = None) -> StartedSession:
    """CALL THIS FIRST in EVERY conversation, unless a hook has opened its session.

    Opens a session for this conversation. Returns what is remembered: company knowledge, the user, facts, sessions.
    """
    started = open_with_context(actor, project=project, topics=topics)
    text = render_to_string("agent/session_started.md", {"reply": started}, using="agent").strip()
    started = replace(started, as_sent=text)
    note_sent(Sent(actor, session=started.session, also=lambda: keep_as_told(started, text)))
    return started


def open_with_context(actor: Actor, *, project: str = "", topics: list[str] | None = None) -> StartedSession:
    """Open the session of a conversation, or find it, with the context that it starts from. Keeps no receipt yet."""
    session = session_of_conversation(actor)
    about = project or (session.project if session else "")
    asked = [ask_notes_left(actor), ask_waiting(actor), *([ask_others(actor, about, own=session)] if about else [])]
    known, found = read_known(actor, about, topics or [], *asked)
    how = cast("Writing", known.writing or str(CaptureMode.AUTOMATIC))
    # The conversation's own session goes on, however old it is.
    stale = Session.objects.of(actor.user).stale().exclude(pk__in=[session.pk] if session else [])
    closed = close_sessions(stale) if known.has_stale else 0
    if not (actor.conversation or actor.connection):
        closed += close_sessions(idle_sessions(actor, project), headline="")
    if closed:
        known, found = read_known(actor, about, topics or [], *asked)
    left, waiting, others = note_for_next(found[0], about), found[1], describe_others(found[2] if about else [])
    notices = [*say_notices(actor, waiting if actor.is_agent else []), *_say_unsettled(known.unsettled)]
    room = count_beside(about, how, others, left, notices, closed)
    context = build_context(actor, known, project=about, topics=topics or [], beside=room)
    if session is None:
        session = begin_session(actor, project=project, topics=topics)
    elif project or topics:
        session.project, session.topics = project or session.project, topics or session.topics
        session.save(update_fields=["project", "topics"])
        note_writings(Kind.SUMMARY, [session.pk], made=True)
    keep = partial(_insert_start, actor, about, topics or [], context)
    note_sent(Sent(actor, _exposures_of(context), session=session, asked=keep, also=partial(_note_told, context)))
    if left:
        note_as_heard(left)
    return StartedSession(session, context, closed, others, left, WRITING[how], notices)


def _say_unsettled(number: int) -> list[str]:
    things = "1 thing" if number == 1 else f"{number} things"
    return [f'{things} to settle with the user: memory_tidy(concern="contradiction")'] if number else []


def _insert_start(actor: Actor, project: str, topics: list[str], context: Context) -> Statement | None:
    return insert_start(actor, project=project, topics=topics, room=context.room_for_company)


def _note_told(context: Context) -> None:
    # Reported once: the next session gets only later decisions.
    for model, is_elsewhere in ((CompanyEntry, False), (Dispatch, True)):
        if told := [int(one.id) for one in context.chosen["decisions"] if one.is_elsewhere is is_elsewhere]:
            model._default_manager.filter(pk__in=told).update(told_at=timezone.now())


def count_beside(
    project: str,
    how: Writing,
    others: Sequence[OtherAgent],
    left: Note | None = None,
    notices: Sequence[str] = (),
    closed: int = 0,
) -> int:
    """Return how many tokens of a start stand around its context."""
    empty = {"project": project, "auto_closed": closed, "handle": LONG_HANDLE, "how_to_write": WRITING[how]}
    empty |= {"others": others, "hand_over": words_of(left), "notices": notices}
    return count_tokens(render_to_string("agent/session_started.md", {"reply": empty}, using="agent"))


def _exposures_of(context: Context) -> list[Exposure]:
    told = [(Kind.COMPANY, context.chosen["company"]), (Kind.FACT, context.facts)]
    return [Exposure(kind, line.id) for kind, lines in told for line in lines]


def keep_as_told(started: StartedSession, text: str) -> list[int] | None:
    """Keep the receipt of a start, and what its agent received, word for word; return the ids of the lines."""
    texts = keep_texts(started.session.user, text, started.owners)
    keep_receipt(started.session, started.context.receipt, tokens=started.context.tokens, texts=texts)
    return texts


@transaction.atomic
def end_session(
    actor: Actor,
    *,
    one_liner: OneLiner,
    topics: Topics | None = None,
    outcome: Outcome = "",
    summary: SummaryText = "",
    key_facts: KeyFacts | None = None,
    code_refs: CodeRefs | None = None,
    importance: Importance = 5,
    used: Used | None = None,
    misleading: Misleading | None = None,
    session_id: SessionId | None = None,
) -> Session:
    """Close the session. Call this LAST, when the conversation ends or the user says goodbye.

    The next session starts from headline, topics and outcome. Returns the session.
    """
    session = session_of_exchange(actor, session_id, closing=True)
    headline, outcome = fit_headline(one_liner, outcome or session.outcome)
    is_renamed = session.one_liner != headline
    session.one_liner, session.outcome, session.importance = headline, outcome, importance
    session.topics = topics if topics is not None else session.topics
    session.ended_at, session.auto_closed = timezone.now(), False
    session.save()
    narrative = {"summary": summary, "key_facts": key_facts, "code_refs": code_refs}
    if sent := {name: value for name, value in narrative.items() if value}:
        Summary.objects.update_or_create(session=session, defaults=sent)
    index_session(session, made=True)
    if is_renamed:
        mark_outdated(Kind.CHUNK, session.chunks.values_list("pk", flat=True))
    AFTER_REPLY.add(_index_people, actor.user, user_id=actor.user.pk)
    note_use(actor, session, used=used, misleading=misleading)
    return session


def _index_people(users: Sequence[User]) -> None:
    for user in dict.fromkeys(users):
        with rls_scope(user.pk), transaction.atomic():
            index_person(user)


def fit_headline(headline: str, outcome: str) -> tuple[str, str]:
    """Return a headline, cut at a word if it is too long, and the outcome, which then begins with the whole of it."""
    is_whole = len(headline) <= ONE_LINER_CHARS or headline in outcome
    return cut(headline, ONE_LINER_CHARS), outcome if is_whole else f"{headline}\n\n{outcome}".strip()


def get_session_detail(actor: Actor, *, session_id: ReadSessionId) -> Session:
    """Read one session: outcome, summary, key facts, code references and flagged chunks.

    Call this when a past session matters now. Returns everything stored about it.
    """
    sessions = Session.objects.select_related("summary", "agent").prefetch_related("chunks")
    if session_id != LATEST:
        return own_session(actor, session_id, sessions)
    if newest := sessions.of(actor.user).in_view().newest_first().first():
        return newest
    raise NotFound("You have no session yet.", hint="memory_start_session opens one.")


def list_sessions(
    actor: Actor,
    *,
    topic: Tag = "",
    project: Project = "",
    text: Query | None = None,
    since: Since | None = None,
    before: Before | None = None,
    include_set_aside: bool = False,
    limit: Limit = 20,
    offset: Offset = 0,
    cursor: Cursor | None = None,
) -> Page[Session]:
    """List sessions, newest first, by topic, project, words in the headline or date.

    Call this to find an earlier conversation. Returns a line for each, with its id.
    """
    sessions = Session.objects.of(actor.user).select_related("summary", "agent").newest_first()
    if not include_set_aside:
        sessions = sessions.in_view()
    if topic:
        sessions = sessions.filter(topics__has_names=[topic])
    if project:
        sessions = sessions.filter(project=project)
    if text:
        sessions = sessions.filter(has_words(text, "one_liner", "outcome"))
    if since:
        sessions = sessions.filter(started_at__gte=since)
    if before:
        sessions = sessions.filter(started_at__lt=before)
    return page_of(sessions, limit=limit, offset=offset, cursor=cursor)


@transaction.atomic
def correct_session(
    actor: Actor,
    *,
    session_id: SomeSessionId,
    one_liner: OneLiner | None = None,
    topics: Topics | None = None,
    outcome: Outcome | None = None,
    project: Project | None = None,
    importance: Importance | None = None,
    summary: SummaryText | None = None,
    key_facts: KeyFacts | None = None,
    code_refs: CodeRefs | None = None,
) -> Session:
    """Correct a session's record: headline, topics, outcome, summary.

    Call this when a session was described wrongly. Omitted arguments stay unchanged. Returns the session.
    """
    session = lock_session(actor, session_id)
    if one_liner is not None:
        one_liner, fitted = fit_headline(one_liner, session.outcome if outcome is None else outcome)
        outcome = fitted if fitted != session.outcome else outcome
    line = {"one_liner": one_liner, "topics": topics, "outcome": outcome, "project": project, "importance": importance}
    for name, value in line.items():
        if value is not None:
            setattr(session, name, value)
    session.save()
    narrative = {"summary": summary, "key_facts": key_facts, "code_refs": code_refs}
    sent = {name: value for name, value in narrative.items() if value is not None}
    if sent:
        Summary.objects.update_or_create(session=session, defaults=sent)
    index_session_and_chunks(session)
    return session


@transaction.atomic
def erase_session(actor: Actor, *, session_id: SomeSessionId) -> Session:
    """Erase a session for good, with its summary and chunks. Facts learned in it stay.

    Call this only when the user asks to forget the conversation. Returns what was erased; it cannot be undone.
    """
    session = lock_session(actor, session_id)  # Else what is kept in it meanwhile would stay in the index.
    erase_passages(Kind.CHUNK, session.chunks.values_list("pk", flat=True))
    erase_passages(Kind.SUMMARY, [session.pk])
    forget_kept_replies(actor.user)
    note_erased(actor.user, "session", session.pk)
    # Its events hold what the user asked in it.
    Conversation.objects.filter(session=session).delete()
    delete_keeping_id(session)
    index_person(actor.user)
    return session


def index_session(session: Session, *, made: bool = False) -> None:
    """Write the passages of a session: one of its outcome and topics, one of its narrative, each under the headline.

    Together in one, a sentence of the narrative would hardly count in the meaning of the whole.

    A session set aside has none; neither have its chunks.
    """
    if not session.is_in_view:
        erase_passages(Kind.SUMMARY, [session.pk])
        return
    summary = Summary.objects.filter(session=session).first()
    about = [session.outcome, ", ".join(session.topics)]
    narrative = [summary.summary, *summary.key_facts, *summary.code_refs] if summary else []
    texts = ["\n\n".join(filter(None, [session.own_headline, *parts])) for parts in (about, narrative) if any(parts)]
    index_passages(
        Kind.SUMMARY,
        session.pk,
        texts or [session.own_headline],
        owner=session.user,
        project=session.project,
        moment=session.started_at,
        made=made,
    )


def index_session_and_chunks(session: Session) -> None:
    """Write the passages of a session, of its chunks, and what they say about its user."""
    index_session(session)
    for chunk in session.chunks.select_related("session", "user"):
        index_chunk(chunk)
    index_person(session.user)


def lock_session(actor: Actor, session_id: str) -> Session:
    """Return the actor's session with this id, or whose id begins so, locked until the transaction ends.

    Raises:
        NotFound: there is none, or it is someone else's.
    """
    return own_session(actor, session_id, Session.objects.select_for_update(of=("self",)))
