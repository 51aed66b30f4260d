"""Forgetting what hooks brought here: one event, a conversation, a folder, and what is older than its user wants."""

from collections.abc import Iterable
from itertools import chain

from django.db import transaction
from django.db.models import QuerySet
from django.utils import timezone

from accounts.actor import Actor
from accounts.services.idempotency import forget_kept_replies
from bigmind.core.argument_types import RowId
from bigmind.core.errors import Conflict, NotFound
from bigmind.core.limits import QUERY_CHARS
from knowledge.context.sessions import erase_session
from knowledge.exposures.recent_questions import forget_prompts
from knowledge.models import CapturePolicy, Chunk, Conversation, HookEvent, Kind, ReceiptText
from knowledge.models.base import delete_keeping_id
from knowledge.models.conversations import KEEP_DAYS
from knowledge.search.passages import erase_passages

from .firings import forget_uncounted_firings
from .policies import is_within, plain_folder, set_policy
from .recall import FOUND

BATCH = 500
AT_WORK_LINE = "- "
"""What a line begins with that tells of an agent at work; other lines of a session are rows of a table."""


def own_conversation(actor: Actor, conversation_id: int) -> Conversation:
    """Return the actor's conversation with this id.

    Raises:
        NotFound: there is none, or it is someone else's.
    """
    mine = Conversation.objects.filter(user=actor.user).select_related("session", "session__agent")
    if (found := mine.filter(pk__in=actor.user.ids_of(conversation_id)).first()) is None:
        raise NotFound(f"You have no captured conversation {conversation_id}.", hint="The page Captured lists yours.")
    return found


@transaction.atomic
def forget_conversation(actor: Actor, *, conversation_id: RowId) -> Conversation:
    """Erase a captured conversation for good: its events, its session with summary and exchanges. Facts stay.

    Call this only when the user asks to forget the conversation. Returns what was erased; it cannot be undone.
    """
    conversation = own_conversation(actor, conversation_id)
    erase_captured(HookEvent.objects.filter(conversation=conversation))
    session = conversation.session
    delete_keeping_id(conversation)
    if session:
        erase_session(actor, session_id=str(session.pk))
    forget_kept_replies(actor.user)
    return conversation


@transaction.atomic
def forget_event(actor: Actor, *, conversation_id: int, event_id: int) -> Conversation:
    """Erase one event for good: the prompt, and what was kept at it. Return its conversation.

    Raises:
        NotFound: there is none, or it is someone else's.
    """
    conversation = own_conversation(actor, conversation_id)
    events = HookEvent.objects.filter(conversation=conversation, pk__in=actor.user.ids_of(event_id))
    if not events.exists():
        raise NotFound("There is no such event.")
    erase_captured(events)
    forget_kept_replies(actor.user)
    return conversation


@transaction.atomic
def exclude_folder(actor: Actor, *, conversation_id: int) -> str:
    """Take nothing from the folder of a conversation from now on, and forget what was captured there; return it.

    Raises:
        NotFound: there is no such conversation, or it is someone else's.
        Conflict: its client did not say in which folder it was.
    """
    conversation = own_conversation(actor, conversation_id)
    if not conversation.folder:
        raise Conflict("The folder of this conversation is not known.", hint="Forget the conversation by itself.")
    folder = plain_folder(conversation.folder)
    # Locked: of two folders that are excluded at once, one would be left out.
    policy, _ = CapturePolicy.objects.select_for_update().get_or_create(user=actor.user)
    set_policy(actor, never_folders=[*policy.never_folders, folder])
    for conversation in Conversation.objects.filter(user=actor.user):
        if is_within(conversation.folder, folder):
            forget_conversation(actor, conversation_id=conversation.pk)
    return folder


def forget_old_captures() -> int:
    """Forget the conversations that are older than their users want, with what hooks kept; return how many.

    Their sessions stay, with headline, summary and what agents flagged.
    """
    chosen = dict(CapturePolicy.objects.values_list("user", "keep_days"))
    forget_uncounted_firings()
    old = [
        pk
        for pk, user, last_at in Conversation.objects.values_list("pk", "user", "last_at").iterator()
        if (timezone.now() - last_at).days >= chosen.get(user, KEEP_DAYS)
    ]
    for at in range(0, len(old), BATCH):
        with transaction.atomic():
            erase_captured(HookEvent.objects.filter(conversation__in=old[at : at + BATCH]))
            Conversation.objects.filter(pk__in=old[at : at + BATCH]).delete()
    return len(old)


def erase_captured(events: QuerySet[HookEvent]) -> None:
    """Delete events and the exchanges that were kept at them, with their passages."""
    kept: Iterable[list[int]] = events.values_list("chunks", flat=True)
    chunks = list(chain.from_iterable(kept))
    erase_passages(Kind.CHUNK, chunks)
    Chunk.objects.filter(pk__in=chunks).delete()
    # Others received what was asked last here, where a session has no headline.
    sessions = [str(pk) for pk in events.values_list("conversation__session", flat=True).distinct() if pk]
    ReceiptText.objects.filter(kind="session", source_id__in=sessions, text__startswith=AT_WORK_LINE).delete()
    # `insert_question` knows a prompt by its words and the limit of its recall: both have to be as they were.
    prompts = [(user, prompt[:QUERY_CHARS]) for user, prompt in events.exclude(prompt="").values_list("user", "prompt")]
    forget_prompts(prompts, limit=FOUND)
    events.delete()
