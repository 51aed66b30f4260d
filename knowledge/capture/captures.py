"""What was captured, as its user reads it: conversations, what was recalled before each prompt, what was kept."""

from collections.abc import Sequence
from dataclasses import dataclass, field

from django.db.models import Count, Exists, OuterRef, Q, QuerySet

from accounts.actor import Actor
from knowledge.exposures.context_receipts import GONE
from knowledge.exposures.sent_lines import texts_by_id
from knowledge.kinds import KINDS
from knowledge.models import CapturePolicy, Chunk, Conversation, Fact, HookEvent, HookEventName, HookHealth, Serving

from .policies import policy_of

LABELS = {
    HookEventName.START: "Start of the conversation",
    HookEventName.STOP: "The agent stopped",
    HookEventName.COMPACT: "The client shortened the conversation",
    HookEventName.END: "End of the conversation",
}


@dataclass(frozen=True)
class CaptureStatus:
    """How a user's memory is written, and how the hooks of each client do."""

    policy: CapturePolicy
    clients: list[HookHealth]
    conversations: int

    @property
    def mode(self) -> str:
        """How memory is written."""
        return self.policy.mode

    @property
    def keep_days(self) -> int:
        """How long captured conversations are kept."""
        return self.policy.keep_days

    @property
    def never_folders(self) -> list[str]:
        """Folders that nothing is taken from."""
        return self.policy.never_folders


@dataclass(frozen=True)
class ShownThing:
    """One thing that was recalled, as far as it is still there, and whether the session named it as helpful later."""

    kind: str
    title: str
    tokens: int
    route: str = ""
    id: str = ""
    used: bool = False


@dataclass(frozen=True)
class ShownEvent:
    """One event of a conversation, with what was recalled and kept."""

    event: HookEvent
    recalled: list[ShownThing] = field(default_factory=list)
    chunks: list[Chunk] = field(default_factory=list)
    as_told: str = ""

    @property
    def label(self) -> str:
        """What happened; nothing for a prompt, which says it itself."""
        return LABELS.get(HookEventName(self.event.event), "")


def read_status(actor: Actor) -> CaptureStatus:
    """Read how this user's memory is written, and when each client's hooks last ran, returned something or failed.

    Call this when hooks seem broken, or before you write for a user who may want to be asked. Returns both.
    """
    return CaptureStatus(
        policy_of(actor),
        list(HookHealth.objects.filter(user=actor.user).order_by("client")),
        Conversation.objects.filter(user=actor.user).count(),
    )


def list_conversations(actor: Actor, *, client: str = "") -> QuerySet[Conversation]:
    """Return the conversations of a user, the newest first, each with its number of prompts and facts."""
    mine = Conversation.objects.filter(user=actor.user).select_related("session")
    found = mine.filter(client=client) if client else mine
    facts = Fact.objects.filter(source_session=OuterRef("session"), deprecated_at=None)
    return found.annotate(
        prompts=Count("events", filter=Q(events__event=HookEventName.PROMPT)), has_facts=Exists(facts)
    ).order_by("-last_at", "-pk")


def events_of(actor: Actor, conversation: Conversation, events: Sequence[HookEvent]) -> list[ShownEvent]:
    """Return events with what was recalled, whether that was used, and what was kept and is still there."""
    titles = _titles(actor, conversation, events)
    ids = [pk for event in events for pk in event.chunks]
    texts = texts_by_id(actor.user, [pk for event in events for pk in event.texts or []])
    chunks = {chunk.pk: chunk for chunk in Chunk.objects.filter(user=actor.user, pk__in=ids)}
    return [
        ShownEvent(
            event,
            [
                titles.get((line["kind"], line["id"])) or ShownThing(line["kind"], GONE, line["tokens"])
                for line in event.recalled
            ],
            [chunks[pk] for pk in event.chunks if pk in chunks],
            "\n".join(texts[pk].text for pk in event.texts or []),
        )
        for event in events
    ]


def _titles(actor: Actor, conversation: Conversation, events: Sequence[HookEvent]) -> dict[tuple[str, str], ShownThing]:
    lines = {(line["kind"], line["id"]): line["tokens"] for event in events for line in event.recalled}
    cited = Serving.objects.filter(user=actor.user, session=conversation.session_id, cited=True)
    used = set(cited.values_list("kind", "source_id"))
    shown: dict[tuple[str, str], ShownThing] = {}
    for kind in {kind for kind, _ in lines} & set(KINDS):
        row = KINDS[kind]
        ids = [row.read_id(id) for of, id in lines if of == kind]
        # What was erased, archived or is shared no longer has no title here.
        for thing in row.visible(actor.user).filter(pk__in=ids):
            id = str(thing.pk)
            title = row.title(thing) or str(thing)
            shown[kind, id] = ShownThing(row.word, title, lines[kind, id], row.route, id, (kind, id) in used)
    return shown
