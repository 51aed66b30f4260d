"""Events: what happens when a hook reports one, and what it is answered.

Start brings the context and opens the session, a prompt brings recall, a tool is bound to its conversation, a stop and
a compaction keep what was said, an end closes the session. Each may be reported several times.
"""

from collections.abc import Callable, Sequence
from dataclasses import dataclass, replace
from time import perf_counter
from typing import cast

from django.core.cache import cache
from django.db import transaction
from django.db.models import F
from django.template.loader import render_to_string
from django.utils import timezone

from accounts.actor import Actor, acts
from bigmind.core.agent_rules import WRITING, Writing
from knowledge.context.other_agents import others_at_work
from knowledge.context.sessions import StartedSession, count_beside, end_session, keep_as_told, open_with_context
from knowledge.context.start_context import build_context, read_known
from knowledge.conversation.chunks import add_chunk
from knowledge.conversation.current_sessions import begin_session
from knowledge.conversation.project_names import canonical_project
from knowledge.exposures.exposures import MEASURED, Exposure, serve
from knowledge.exposures.ledgers import settle
from knowledge.exposures.sent_lines import LineOwner, keep_texts
from knowledge.kinds import KINDS
from knowledge.models import (
    CAPTURED,
    CaptureMode,
    Chunk,
    Conversation,
    HookEvent,
    HookEventName,
    HookHealth,
    Kind,
    Session,
    Speaker,
    Summary,
)
from knowledge.search.passages import erase_passages

from .conversations import (
    SOURCES_OF_FORKS,
    bind_tool_use,
    continue_session,
    digest_of_id,
    find_conversation,
    find_fork,
    note_conversation,
)
from .headlines_without_a_model import headline_of
from .policies import is_excluded, policy_of
from .recall import RecalledLine, list_told, markdown_of, recall_for
from .reports import Cleaned, Closing, HookReply, HookReport, Missed, Said, clean

PROMPT_CHARS = 4_000
CODE_REFS = 50
REMINDED_AFTER = 3
"""Prompts before a conversation is worth a reminder."""
CONTEXT_OF_PROFILE = "profile"
WAITS_MILLISECONDS = 300
"""A client that sends prompts by itself goes on after so long (`_claude_code` in `accounts/connecting/hooks.py`)."""
LATE_IS_NEWS_SECONDS = 60 * 60
CAME_LATE = "What BigMind recalled for the last prompt came too late to be read: memory_recall asks again."


@dataclass(frozen=True)
class _Occasion:
    """One report with all that answering it needs."""

    actor: Actor
    report: HookReport
    conversation: Conversation
    mode: CaptureMode

    @property
    def keeps(self) -> bool:
        """Whether what was said is kept without anyone asking."""
        return self.mode is CaptureMode.AUTOMATIC

    @property
    def keeps_prompts(self) -> bool:
        """Whether the page shows which prompt something was recalled before."""
        return self.mode in {CaptureMode.AUTOMATIC, CaptureMode.ASK}

    @property
    def writing(self) -> Writing:
        """How memory is written, as the rules for agents name it."""
        return cast("Writing", str(self.mode))

    @property
    def writes(self) -> bool:
        """Whether a session may be opened and closed."""
        return self.mode is not CaptureMode.READ_ONLY


def answer_report(actor: Actor, report: HookReport) -> HookReply:
    """Do what an event of a client asks for, and return what its hook is answered.

    A folder that the user excluded is answered with nothing, and nothing of it is kept.
    """
    began, policy = perf_counter(), policy_of(actor)
    settle(actor)
    if not report.conversation or is_excluded(policy, report.folder) or _is_known(actor, report):
        reply = HookReply()
    else:
        # A key that may only read still brings what is known.
        mode = CaptureMode(policy.mode) if "write" in actor.scopes else CaptureMode.READ_ONLY
        bound = replace(actor, conversation=digest_of_id(report.conversation), sub_agent=report.sub_agent[:100])
        with transaction.atomic(), acts(bound):
            reply = _ANSWERS[report.event](bound, report, mode)
    if report.is_direct and report.event is HookEventName.PROMPT:
        reply, report = _in_time(actor, report, reply, milliseconds=round((perf_counter() - began) * 1000))
    note_health(actor, report, brought=reply.brings_something)
    return HookReply() if report.late else reply


def _in_time(actor: Actor, report: HookReport, reply: HookReply, *, milliseconds: int) -> tuple[HookReply, HookReport]:
    """Take note of an answer that comes too late for a client that waits by itself, and say so in the one after it."""
    mark = f"hooks:late:{actor.user.pk}:{digest_of_id(report.conversation)}"
    if cache.delete(mark):
        reply = replace(reply, context="\n\n".join(filter(None, (CAME_LATE, reply.context))))
    if milliseconds <= WAITS_MILLISECONDS:
        return reply, report
    if reply.context:
        cache.set(mark, True, LATE_IS_NEWS_SECONDS)
        # Nobody read it, so it is recalled again when it answers a prompt.
        events = HookEvent.objects.filter(user=actor.user, conversation__client_id=report.conversation[:200])
        newest = events.filter(event=HookEventName.PROMPT).order_by("-pk").values("pk")[:1]
        HookEvent.objects.filter(pk__in=newest).update(recalled=[], texts=None, tokens=0)
    why = f"The answer to a prompt took {milliseconds} ms; its client waits for {WAITS_MILLISECONDS}."
    return reply, replace(report, missed=Missed(late=1, reason=why))


def read_start(actor: Actor, report: HookReport) -> HookReply:
    """Return the context for a start while nothing can be stored, and say that nothing is."""
    started = _read_context(actor, canonical_project(actor, report.repository[:100]))
    how = WRITING["read_only"]
    return HookReply(context=_render("agent/hook_started.md", started=started, how=how, is_open=False))


def note_health(actor: Actor, report: HookReport, *, brought: bool = False, failure: str = "") -> None:
    """Record that a hook of this client ran, that it brought something, or why it failed."""
    now = timezone.now()
    values: dict[str, object] = {"last_event": report.event, "version": report.version[:60]}
    values |= {"failed_at": now, "failure": failure[:300]} if failure else {"ran_at": now}
    if brought:
        values["brought_at"] = now
    missed = report.missed
    if missed.late or missed.away:
        values |= {"failed_at": missed.at or now, "failure": missed.reason[:300]}
    changed = [name for name in values if name != "version" or report.version]
    HookHealth.objects.bulk_create(
        [HookHealth(user=actor.user, client=report.client, **values)],
        update_conflicts=True,
        unique_fields=["user", "client"],
        update_fields=changed,
    )
    if missed.late or missed.away:
        HookHealth.objects.filter(user=actor.user, client=report.client).update(
            late=F("late") + missed.late, missed=F("missed") + missed.away
        )


def _is_known(actor: Actor, report: HookReport) -> bool:
    """Whether this event was delivered before."""
    return bool(report.event_id) and HookEvent.objects.filter(user=actor.user, event_id=report.event_id).exists()


def _occasion(actor: Actor, report: HookReport, mode: CaptureMode) -> _Occasion:
    return _Occasion(actor, report, note_conversation(actor, report), mode)


def _start(actor: Actor, report: HookReport, mode: CaptureMode) -> HookReply:
    """Open the session and bring the context; a conversation that is resumed has both already."""
    began, occasion = perf_counter(), _occasion(actor, report, mode)
    if report.source in SOURCES_OF_FORKS and _resume(occasion):
        _record(occasion)
        session = occasion.conversation.session
        return HookReply(context=_render("agent/hook_resumed.md", session=session, how=WRITING[occasion.writing]))
    if report.late:
        _begin(occasion)
        _record(occasion)
        return HookReply()
    started = _open(occasion)
    told, texts = _tell(occasion, started)
    _record(occasion, recalled=_lines_of(started), texts=texts, tokens=started.context.tokens, began=began)
    return HookReply(context=told)


def _prompt(actor: Actor, report: HookReport, mode: CaptureMode) -> HookReply:
    """Bring what answers the prompt. Where no start was reported, bring the context with it."""
    began, occasion = perf_counter(), _occasion(actor, report, mode)
    prompt = clean(report.prompt, PROMPT_CHARS)
    _count_withheld(occasion, prompt)
    session = occasion.conversation.session
    if session and session.auto_closed and occasion.writes:
        # Someone goes on in a window that stayed open overnight: the sweep had taken the session for abandoned.
        continue_session(session)
    parts: list[str] = []
    told = list_told(occasion.conversation, report.sub_agent)
    # Clients go on in silence without a hook that failed or took too long, so a start may be missing.
    if not (report.sub_agent or report.late) and not occasion.conversation.events.exists():
        started = _open(occasion)
        text, texts = _tell(occasion, started)
        parts.append(text)
        lines = _lines_of(started)
        _record(
            # The id is that of the prompt, which is recorded below: each id counts once.
            replace(occasion, report=replace(report, event=HookEventName.START, event_id=None)),
            recalled=lines,
            texts=texts,
            tokens=started.context.tokens,
            began=began,
        )
        told |= {(str(line["kind"]), str(line["id"])) for line in lines}
    recalled: list[RecalledLine] = []
    if not report.late:
        keeps = occasion.keeps_prompts and occasion.writes
        recalled = recall_for(actor, prompt.text, conversation=occasion.conversation, told=told, keeps=keeps)
        if occasion.conversation.session and occasion.writes:
            exposures = [Exposure(line.kind, line.id) for line in recalled if line.kind in MEASURED]
            serve(occasion.conversation.session, exposures)
    parts.append(markdown_of(recalled))
    owners = {line.markdown: LineOwner(line.kind, line.id) for line in recalled}
    _record(
        occasion,
        prompt=prompt.text if occasion.keeps_prompts else "",
        recalled=[line.kept for line in recalled],
        texts=keep_texts(actor.user, parts[-1], owners) if recalled and occasion.writes else None,
        tokens=sum(line.tokens for line in recalled),
        began=began,
    )
    return HookReply(context="\n\n".join(part for part in parts if part))


def _tool(actor: Actor, report: HookReport, mode: CaptureMode) -> HookReply:
    """Bind a call of a tool to its conversation."""
    conversation = note_conversation(actor, report, tools=1)
    if report.tool_use:
        bind_tool_use(actor, conversation, report)
    return HookReply()


def _stop(actor: Actor, report: HookReport, mode: CaptureMode) -> HookReply:
    """Keep what was said since, and ask the agent to wrap up, once."""
    began, occasion = perf_counter(), _occasion(actor, report, mode)
    chunks = _keep(occasion)
    # Asked again while it goes on, the agent would never come to an end.
    reminder = "" if report.is_going_on or report.late or report.sub_agent else _reminder(occasion)
    if chunks or reminder:
        _record(occasion, chunks=chunks, began=began)
    return HookReply(go_on=reminder)


def _compact(actor: Actor, report: HookReport, mode: CaptureMode) -> HookReply:
    """Keep what was said, before the client shortens it."""
    # Gemini CLI reports a compaction before every request to its model.
    if report.is_frequent and not report.closing.messages:
        return HookReply()
    began, occasion = perf_counter(), _occasion(actor, report, mode)
    if chunks := _keep(occasion):
        _record(occasion, chunks=chunks, began=began)
    return HookReply()


def _end(actor: Actor, report: HookReport, mode: CaptureMode) -> HookReply:
    """Close the session with what the client's record says of it. Later reports of the same end change nothing."""
    known = find_conversation(actor, report)
    # Gemini CLI reports one end three times.
    if known is None or not known.is_open:
        return HookReply()
    began, occasion = perf_counter(), _Occasion(actor, report, known, mode)
    chunks = _keep(occasion)
    known.ended_at = known.last_at = max(known.last_at, report.at or timezone.now())
    known.save(update_fields=["ended_at", "last_at"])
    _record(occasion, chunks=chunks, began=began)
    _close(occasion)
    return HookReply()


_ANSWERS: dict[HookEventName, Callable[[Actor, HookReport, CaptureMode], HookReply]] = {
    HookEventName.START: _start,
    HookEventName.PROMPT: _prompt,
    HookEventName.TOOL: _tool,
    HookEventName.STOP: _stop,
    HookEventName.COMPACT: _compact,
    HookEventName.END: _end,
}


def _resume(occasion: _Occasion) -> bool:
    """Go on with the session that this conversation has, or was forked from; False where there is none."""
    conversation = occasion.conversation
    session = conversation.session or find_fork(occasion.actor, occasion.report, conversation)
    if session is None or not session.is_in_view:
        return False
    if occasion.writes:
        continue_session(session)
    conversation.session, conversation.ended_at = session, None
    conversation.save(update_fields=["session", "ended_at"])
    return True


def _begin(occasion: _Occasion) -> Session:
    """Open the session of a conversation that nobody waits for: nothing is sent, so nothing counts as sent."""
    conversation, report = occasion.conversation, occasion.report
    session = conversation.session
    if session is None and occasion.writes:
        session = begin_session(
            occasion.actor, project=canonical_project(occasion.actor, report.repository[:100]), at=report.at
        )
        conversation.session = session
        conversation.save(update_fields=["session"])
    return session or Session(user=occasion.actor.user)


def _open(occasion: _Occasion) -> StartedSession:
    """Start the session of a conversation, or go on with the one it has, and return it with the context.

    In read-only nothing is opened: the context alone is read.
    """
    conversation, project = occasion.conversation, canonical_project(occasion.actor, occasion.report.repository[:100])
    if not occasion.writes:
        return _read_context(occasion.actor, project)
    if conversation.session and conversation.session.is_in_view:
        continue_session(conversation.session)
        project = conversation.session.project or project
    started = open_with_context(occasion.actor, project=project)
    conversation.session, conversation.ended_at = started.session, None
    conversation.save(update_fields=["session", "ended_at"])
    return started


def _read_context(actor: Actor, project: str) -> StartedSession:
    others = others_at_work(actor, project, own=None)
    known, _ = read_known(actor, project, [])
    beside = count_beside(project, "read_only", others)
    context = build_context(actor, known, project=project, topics=[], beside=beside)
    return StartedSession(Session(user=actor.user, project=project), context, 0, others)


def _tell(occasion: _Occasion, started: StartedSession) -> tuple[str, list[int] | None]:
    """Return what the agent receives at the start, and the ids of its lines, which are kept unless nothing is."""
    text = _render("agent/hook_started.md", started=started, how=WRITING[occasion.writing], is_open=occasion.writes)
    return text, keep_as_told(started, text) if occasion.writes else None


def _render(template: str, **context: object) -> str:
    return render_to_string(template, context, using="agent").strip()


def _lines_of(started: StartedSession) -> list[dict[str, object]]:
    """What a context sent, as an event keeps it. The profile is no single thing."""
    return [
        {"kind": _KINDS_OF_LINES.get(line.kind, line.kind), "id": line.id, "tokens": line.tokens}
        for line in started.context.receipt
        if line.kind != CONTEXT_OF_PROFILE
    ]


_KINDS_OF_LINES = {"session": str(Kind.SUMMARY), "decision": str(Kind.COMPANY)}


def _record(
    occasion: _Occasion,
    *,
    prompt: str = "",
    recalled: Sequence[dict[str, object]] = (),
    texts: list[int] | None = None,
    tokens: int = 0,
    chunks: Sequence[Chunk] = (),
    began: float | None = None,
) -> None:
    """Keep the event, as the page Captured shows it."""
    report = occasion.report
    event = HookEvent(
        conversation=occasion.conversation,
        user=occasion.actor.user,
        event_id=report.event_id,
        event=report.event,
        at=report.at or timezone.now(),
        late=report.late,
        sub_agent=report.sub_agent[:100],
        prompt=prompt,
        recalled=list(recalled),
        texts=texts,
        tokens=tokens,
        milliseconds=round((perf_counter() - began) * 1000) if began else 0,
        chunks=[chunk.pk for chunk in chunks],
    )
    # The same event may be delivered twice at once.
    HookEvent.objects.bulk_create([event], ignore_conflicts=True)


def _count_withheld(occasion: _Occasion, *texts: Cleaned) -> None:
    if withheld := sum(text.withheld for text in texts):
        conversation = occasion.conversation
        conversation.withheld += withheld
        conversation.save(update_fields=["withheld"])


def _keep(occasion: _Occasion) -> list[Chunk]:
    """Keep what was said since the last time, as exchanges that nobody flagged."""
    if not occasion.keeps:
        return []
    texts = [(said.role, clean(said.text)) for said in _messages(occasion)]
    _count_withheld(occasion, *(text for _, text in texts))
    new = [(role, text.text) for role, text in texts if text.text]
    if not new:
        return []
    session = occasion.conversation.session or _begin(occasion)
    session = Session.objects.select_for_update(of=("self",)).get(pk=session.pk)
    # A report that got no answer comes again, with the same messages and with later ones.
    known = set(session.chunks.filter(flag_reason=CAPTURED).values_list("role", "content"))
    return [
        add_chunk(session, role=role, content=text, flag_reason=CAPTURED)
        for role, text in dict.fromkeys(new)
        if (role, text) not in known
    ]


def _messages(occasion: _Occasion) -> list[Said]:
    """Return what was said: the messages that the hook read, else the last prompt and the answer it reports."""
    report = occasion.report
    if report.closing.messages:
        known = set(Speaker.values)
        return [
            Said(said.role if said.role in known else Speaker.ASSISTANT, said.text) for said in report.closing.messages
        ]
    if not report.answer:
        return []
    prompt = report.prompt or _last_prompt(occasion)
    return [Said(Speaker.USER, prompt), Said(Speaker.ASSISTANT, report.answer)]


def _last_prompt(occasion: _Occasion) -> str:
    prompts = occasion.conversation.events.filter(event=HookEventName.PROMPT, sub_agent=occasion.report.sub_agent[:100])
    return prompts.order_by("-pk").values_list("prompt", flat=True).first() or ""


def _reminder(occasion: _Occasion) -> str:
    """Return what asks the agent to wrap up: once, after some prompts, while it has stored nothing itself."""
    conversation = occasion.conversation
    if not occasion.keeps_prompts or conversation.reminded_at:
        return ""
    if conversation.events.filter(event=HookEventName.PROMPT, sub_agent="").count() < REMINDED_AFTER:
        return ""
    if conversation.session is None or not conversation.session.is_open or _has_stored(conversation.session):
        return ""
    conversation.reminded_at = timezone.now()
    conversation.save(update_fields=["reminded_at"])
    return _render("agent/hook_reminder.md", how=WRITING[occasion.writing])


def _has_stored(session: Session) -> bool:
    """Whether an agent stored something in a session, besides what hooks kept."""
    stored = [row.model._default_manager.filter(**{row.session: session}) for row in KINDS.values() if row.session]
    own = [rows.exclude(flag_reason=CAPTURED) if rows.model is Chunk else rows for rows in stored]
    return Summary.objects.filter(session=session).exists() or any(rows.exists() for rows in own)


def _close(occasion: _Occasion) -> None:
    """Close the session of a conversation, unless its agent did; one in which nothing happened goes."""
    session = occasion.conversation.session
    if session is None or not session.is_open or not occasion.writes:
        return
    if _is_empty(occasion, session):
        erase_passages(Kind.SUMMARY, [session.pk])
        session.delete()
        return
    closing = occasion.report.closing if occasion.keeps_prompts else Closing()
    headline = session.one_liner or headline_of(closing)
    refs = [clean(ref, 300).text for ref in (*closing.files, *closing.commits)][:CODE_REFS]
    has_summary = Summary.objects.filter(session=session).exists()
    end_session(
        occasion.actor,
        session_id=str(session.pk),
        one_liner=headline,
        # `end_session` overwrites it: what the agent said of it is passed on.
        importance=session.importance,
        code_refs=None if has_summary else [ref for ref in refs if ref],
    )
    if occasion.report.late and occasion.report.at:
        # `end_session` ends now; this conversation ended while BigMind was away.
        ended_at = max(session.started_at, occasion.report.at)
        Session.objects.filter(pk=session.pk).update(ended_at=ended_at)


def _is_empty(occasion: _Occasion, session: Session) -> bool:
    """Whether nothing happened in a conversation. Of one that came late no prompt may be known, and only its record."""
    closing, prompts = occasion.report.closing, occasion.conversation.events.filter(event=HookEventName.PROMPT)
    reported = closing.messages or closing.files or closing.commits
    return not (reported or prompts.exists() or _has_stored(session) or session.chunks.exists())
