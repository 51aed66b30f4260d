"""Payloads: what a hook sends, read into a report. What is missing or of another type is empty, never refused."""

from collections.abc import Iterable, Mapping
from datetime import UTC, datetime
from typing import Any, NamedTuple
from uuid import UUID

from django.utils import timezone
from django.utils.dateparse import parse_datetime

from bigmind.operations import CATALOGUE
from bigmind.text.hygiene import REFUSED
from bigmind.transports.hooks.dialects import Dialect
from bigmind.transports.mcp.conversations import CONVERSATION_ARGUMENT
from knowledge.capture.firings import NotedAct, NotedFiring
from knowledge.capture.reports import Closing, HookReport, Missed, Said

MESSAGES, REFERENCES, MOST_MISSED = 200, 50, 10_000
ACTS = 300
NAME_CHARS = 1_000
OUR_NAME = "bigmind"
HOOK_CONTEXT, END_OF_HOOK_CONTEXT = "<hook_context>", "</hook_context>"


Payload = Mapping[str, Any]


def event_of(payload: Payload) -> str:
    """Return what the client calls the event; the hook program says it where the client does not."""
    return _text(payload, "hook_event_name", "hookEventName") or _text(_own(payload), "event")


def report_of(client: str, dialect: Dialect, payload: Payload) -> HookReport | None:
    """Return the report of an event; None for one that nothing is done about."""
    name, own = event_of(payload), _own(payload)
    event = dialect.events.get(name)
    if event is None:
        return None
    return HookReport(
        client=client,
        event=event,
        conversation=_text(payload, "session_id", "sessionId", "conversation_id"),
        source=_text(payload, "source", "reason"),
        is_frequent=name in dialect.frequent,
        prompt=drop_hook_context(_text(payload, "prompt", limit=None)),
        answer=_text(payload, "last_assistant_message", "prompt_response", limit=None),
        is_going_on=payload.get("stop_hook_active") is True or bool(payload.get("loop_count")),
        tool_use=_text(payload, "tool_use_id", "toolUseId"),
        sub_agent=_text(payload, "agent_id") or _text(own, "sub_agent"),
        continues=_text(own, "continues"),
        folder=_text(own, "folder") or _text(payload, "cwd"),
        repository=_text(own, "repository"),
        branch=_text(own, "branch"),
        version=_text(own, "version"),
        event_id=_uuid(own.get("event_id")),
        at=_moment(own.get("at")),
        late=own.get("late") is True,
        closing=_closing(own.get("closing")),
        is_direct=not own,
        missed=_read_missed(own.get("missed")),
    )


def complete_arguments(report: HookReport, payload: Payload) -> dict[str, Any] | None:
    """Return the arguments of a call of one of our tools with the conversation added; None for any other call.

    They must be whole: a client replaces the arguments by what it gets.
    """
    name, context = _text(payload, "tool_name"), payload.get("mcp_context")
    server = _text(context, "server_name") if isinstance(context, Mapping) else ""
    sent = payload.get("tool_input")
    # Another server's tool would refuse an argument that it does not know.
    is_ours = OUR_NAME in f"{name} {server}".lower() and any(name.endswith(own) for own in CATALOGUE)
    if not is_ours or not report.conversation or not isinstance(sent, dict):
        return None
    return sent | {CONVERSATION_ARGUMENT: report.conversation}


class KeptCall(NamedTuple):
    """A call of a tool that found BigMind away, as its hook kept it."""

    tool: str
    arguments: dict[str, Any]
    conversation: str
    event_id: UUID | None


def read_kept_call(payload: Payload) -> KeptCall:
    sent = payload.get("tool_input")
    given = sent if isinstance(sent, dict) else {}
    arguments = {name: value for name, value in given.items() if name != CONVERSATION_ARGUMENT}
    own = _own(payload)
    return KeptCall(_text(payload, "tool_name"), arguments, _text(payload, "session_id"), _uuid(own.get("event_id")))


def asks_for_settings(payload: Payload) -> bool:
    """Whether the hook program takes settings out of an answer before the client reads it."""
    return _own(payload).get("settings") is True


class ReportedActs(NamedTuple):
    """The acts at which triggers fired, and by which signature the program for acts knows its triggers."""

    acts: list[NotedAct]
    signature: str


def acts_of(payload: Payload) -> ReportedActs | None:
    """Return at which acts triggers fired since the last time; None where no program for acts is installed."""
    own = _own(payload)
    if "triggers" not in own:
        return None
    noted = [_act_in(act) for act in _list(own.get("acts"))[:ACTS] if isinstance(act, Mapping)]
    return ReportedActs([act for act in noted if act.told_id], _text(own, "triggers"))


def _act_in(sent: Payload) -> NotedAct:
    fired = [one for one in _list(sent.get("f"))[:REFERENCES] if isinstance(one, Mapping)]
    return NotedAct(
        told_id=_text(sent, "id", limit=60),
        at=_moment(sent.get("at")) or timezone.now(),
        conversation=_text(sent, "s", limit=200),
        folder=_text(sent, "d"),
        fired=[
            NotedFiring(
                _text(one, "k"), _text(one, "i", limit=36), _text(one, "t"), _text(one, "l"), one.get("b") is True
            )
            for one in fired
        ],
    )


def drop_hook_context(text: str) -> str:
    """Return a text without what hooks put before it: Gemini CLI hands a prompt on with the context of its start."""
    at = 0
    while text.startswith(HOOK_CONTEXT, at) and (ends := text.find(END_OF_HOOK_CONTEXT, at)) >= 0:
        at = ends + len(END_OF_HOOK_CONTEXT)
        while at < len(text) and text[at].isspace():
            at += 1
    return text[at:]


def _own(payload: Payload) -> Payload:
    """Return what the hook program added; a client that calls by itself adds nothing."""
    own = payload.get(OUR_NAME)
    return own if isinstance(own, Mapping) else {}


def _closing(sent: Any) -> Closing:
    if not isinstance(sent, Mapping):
        return Closing()
    recent = [message for message in _list(sent.get("messages"))[-MESSAGES:] if isinstance(message, Mapping)]
    return Closing(
        files=_texts(sent.get("files")),
        commits=_texts(sent.get("commits")),
        messages=[
            Said(_text(message, "role"), drop_hook_context(_text(message, "text", limit=None))) for message in recent
        ],
    )


def _read_missed(sent: Any) -> Missed:
    if not isinstance(sent, Mapping):
        return Missed()
    return Missed(_count(sent.get("late")), _count(sent.get("away")), _moment(sent.get("at")), _text(sent, "reason"))


def _count(sent: Any) -> int:
    return min(sent, MOST_MISSED) if type(sent) is int and sent > 0 else 0


def _texts(sent: Any) -> list[str]:
    return [REFUSED.sub("", text)[:NAME_CHARS] for text in _list(sent)[:REFERENCES] if isinstance(text, str) and text]


def _list(sent: Any) -> list[Any]:
    return sent if isinstance(sent, list) else []


def _text(values: Payload, *names: str, limit: int | None = NAME_CHARS) -> str:
    """Return the first of these that is a text, as it can be stored."""
    found: Iterable[Any] = (values.get(name) for name in names)
    return REFUSED.sub("", next((text for text in found if isinstance(text, str) and text), ""))[:limit]


def _uuid(sent: Any) -> UUID | None:
    try:
        return UUID(sent) if isinstance(sent, str) else None
    except ValueError:
        return None


def _moment(sent: Any) -> datetime | None:
    """Return when it happened, and nothing for what is no moment or lies ahead."""
    try:
        moment = parse_datetime(sent) if isinstance(sent, str) else None
        if moment is None:
            return None
        aware = moment if moment.tzinfo else moment.replace(tzinfo=UTC)
        return min(aware.astimezone(UTC), timezone.now())
    except (ValueError, OverflowError):
        return None
