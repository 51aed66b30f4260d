"""Which session a conversation of a client writes to: opened, continued, closed, and found again by calls over MCP."""

from datetime import timedelta

from django.db import transaction
from django.db.models import F, QuerySet
from django.utils import timezone

from accounts.actor import Actor
from bigmind.text.hygiene import digest
from knowledge.models import Conversation, Session, ToolUse

from .reports import HookReport

CLIENT_ID_CHARS = 200
FORK_WITHIN = timedelta(days=1)
SOURCES_OF_FORKS = frozenset({"resume", "fork"})
"""Sources of a start at which an earlier conversation goes on; older clients call a fork a resumption, too."""


def digest_of_id(client_id: str) -> str:
    """Return what a conversation is bound by: the same for a hook that reports it and for a call over MCP."""
    return digest(client_id[:CLIENT_ID_CHARS])


def find_conversation(actor: Actor, report: HookReport) -> Conversation | None:
    """Return the conversation that a report is about, locked, if an earlier one was."""
    known = _lock_conversations().filter(user=actor.user, client=report.client, client_id=_id_of(report))
    return known.first()


def note_conversation(actor: Actor, report: HookReport, *, tools: int = 0) -> Conversation:
    """Return the conversation that a report is about, locked, made at its first report, and note that it is at work."""
    now = report.at or timezone.now()
    reported = {
        "version": report.version[:60],
        "folder": report.folder[:1000],
        "repository": report.repository[:200],
        "branch": report.branch[:200],
    }
    conversation, is_new = _lock_conversations().get_or_create(
        user=actor.user,
        client=report.client,
        client_id=_id_of(report),
        defaults=reported
        | {"digest": digest_of_id(report.conversation), "started_at": now, "last_at": now, "tools": tools},
    )
    if not is_new:
        changed = {name: value for name, value in reported.items() if value and value != getattr(conversation, name)}
        for name, value in changed.items():
            setattr(conversation, name, value)
        # Reports that waited while BigMind was away arrive behind newer ones.
        conversation.last_at = max(now, conversation.last_at)
        Conversation.objects.filter(pk=conversation.pk).update(
            **changed, last_at=conversation.last_at, tools=F("tools") + tools
        )
    return conversation


def find_fork(actor: Actor, report: HookReport, conversation: Conversation) -> Session | None:
    """Return the session that a conversation goes on with although the client gave it a new id.

    That is the one the hook names, else of one that is resumed or forked the only one of this client in this folder
    within a day.
    """
    others = Conversation.objects.filter(user=actor.user, client=report.client).exclude(pk=conversation.pk)
    if report.continues:
        parent = others.filter(client_id=report.continues[:CLIENT_ID_CHARS]).select_related("session").first()
        return parent.session if parent else None
    if report.source not in SOURCES_OF_FORKS or not report.folder:
        return None
    # A guess where the client names no parent. Of two that it may be, neither is taken: their sessions would mix.
    here = others.filter(folder=report.folder[:1000], last_at__gt=timezone.now() - FORK_WITHIN).exclude(session=None)
    found = list(here.select_related("session")[:2])
    return found[0].session if len(found) == 1 else None


def continue_session(session: Session) -> None:
    """Open a session again whose conversation goes on."""
    if not session.is_open:
        session.ended_at, session.auto_closed = None, False
        session.save(update_fields=["ended_at", "auto_closed"])


@transaction.atomic
def bind_tool_use(actor: Actor, conversation: Conversation, report: HookReport) -> None:
    """Keep which conversation a call of a tool belongs to, for the call that follows."""
    ToolUse.objects.bulk_create(
        [
            ToolUse(
                user=actor.user,
                conversation=conversation,
                tool_use_id=report.tool_use[:200],
                sub_agent=report.sub_agent[:100],
            )
        ],
        ignore_conflicts=True,
    )


def find_by_tool_use(actor: Actor, tool_use_id: str) -> tuple[str, str] | None:
    """Return the digest of the conversation, and the sub-agent, whose hook announced this call; None if none did."""
    announced = ToolUse.objects.filter(user=actor.user, tool_use_id=tool_use_id[:200])
    return announced.values_list("conversation__digest", "sub_agent").first()


def _lock_conversations() -> "QuerySet[Conversation]":
    """Clients report events side by side, and some of them several times: one waits for the other."""
    return Conversation.objects.select_related("session").select_for_update(of=("self",))


def _id_of(report: HookReport) -> str:
    return report.conversation[:CLIENT_ID_CHARS]
