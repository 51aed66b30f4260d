"""Changes: what the open `subscriptions/listen` streams of a user hear, and nobody else's."""

import asyncio
from collections.abc import Collection, Iterator
from dataclasses import dataclass, field, replace
from functools import partial
from typing import Any
from uuid import UUID

import structlog
from anyio import CancelScope, move_on_after
from mcp import MCPError, types
from mcp.server.context import ServerRequestContext
from mcp.server.subscriptions import (
    SUBSCRIPTION_ID_META_KEY,
    InMemorySubscriptionBus,
    ListenHandler,
    ResourcesListChanged,
    ResourceUpdated,
    ServerEvent,
)

from accounts.actor import Actor
from accounts.models import ApiKey, User
from bigmind.core.metrics import STREAMS
from bigmind.core.operations import Effect, Operation
from bigmind.gate import Outcome
from bigmind.operations import CATALOGUE
from bigmind.transports.mcp.request_context import Turn
from bigmind.transports.mcp.resources import CONTEXT, notes_uri
from bigmind.transports.mcp.threads import on_a_thread

STREAM_SECONDS = 60 * 60
STREAMS_PER_USER = 32
CHECK_SECONDS = 0.5

log = structlog.get_logger()


@dataclass(eq=False)
class Stream:
    """One open stream: whom it tells, as far as their key permits it now, and how it is ended."""

    actor: Actor
    scope: CancelScope
    bus: InMemorySubscriptionBus = field(default_factory=InMemorySubscriptionBus)
    loop: asyncio.AbstractEventLoop = field(default_factory=asyncio.get_running_loop)

    def end(self) -> None:
        """End it as the protocol wants it: with a result, so that clients know it was meant."""
        self.scope.cancel()


@dataclass(frozen=True)
class ResourceChange:
    """An event, and the operation that reads what it is about: whoever may not read it does not hear of it."""

    event: ServerEvent
    read_by: Operation


_STREAMS: set[Stream] = set()
STREAMS.set_function(lambda: len(_STREAMS))
_WATCHES: dict[asyncio.AbstractEventLoop, "asyncio.Task[None]"] = {}


def listener(turn: Turn, _: types.SubscriptionsListenRequestParams) -> Actor:
    """Return who listens.

    Raises:
        Forbidden: the key may not read.
    """
    turn.actor.require("read")
    return turn.actor


async def listen(
    actor: Actor, ctx: ServerRequestContext[Any, Any], params: types.SubscriptionsListenRequestParams
) -> types.SubscriptionsListenResult:
    """Serve one stream for as long as its key is good, an hour at most; clients then listen anew."""
    if len(_streams_of(actor.user.pk)) >= STREAMS_PER_USER:
        raise MCPError(types.INTERNAL_ERROR, f"You have {STREAMS_PER_USER} open streams. Close one first.")
    with move_on_after(STREAM_SECONDS) as scope:
        stream = Stream(actor, scope)
        _STREAMS.add(stream)
        _watch()
        try:
            return await ListenHandler(stream.bus)(ctx, params)
        finally:
            _STREAMS.discard(stream)
    return types.SubscriptionsListenResult(_meta={SUBSCRIPTION_ID_META_KEY: ctx.request_id})


def end_streams() -> None:
    """End every stream, because the server stops."""
    for stream in list(_STREAMS):
        stream.end()


def announce(user_id: UUID, outcome: Outcome) -> None:
    """Tell the user's streams what a call over MCP has changed. Nobody waits until they have heard it."""
    streams = _streams_of(user_id)
    changes = [] if outcome.replayed or not streams else list(_changes(outcome))
    if changes:
        for loop in {stream.loop for stream in streams}:
            asyncio.run_coroutine_threadsafe(_tell([each for each in streams if each.loop is loop], changes), loop)


async def _tell(streams: Collection[Stream], changes: Collection[ResourceChange]) -> None:
    for stream in await _end_those_that_are_shut(streams):
        for change in changes:
            if _may_hear(stream.actor, change.read_by):
                await stream.bus.publish(change.event)


def _watch() -> None:
    """See to it that one task looks at the keys of all streams of this process, for as long as there are any."""
    loop = asyncio.get_running_loop()
    if loop not in _WATCHES:
        _WATCHES[loop] = loop.create_task(_end_streams_with_their_keys(loop))


async def _end_streams_with_their_keys(loop: asyncio.AbstractEventLoop) -> None:
    try:
        while streams := [stream for stream in _STREAMS if stream.loop is loop]:
            await _end_those_that_are_shut(streams)
            await asyncio.sleep(CHECK_SECONDS)
    finally:
        # Not by a callback: that runs later, and a stream that opens in between would have nobody who watches it.
        del _WATCHES[loop]


async def _end_those_that_are_shut(streams: Collection[Stream]) -> list[Stream]:
    """Look up what each stream may hear now; end those that may hear nothing, and return the others.

    What cannot be looked up is not told: while the database is away the streams end, and clients listen anew.
    """
    try:
        actors = await on_a_thread(partial(_actors_now, [stream.actor for stream in streams]), request_id="")
    except Exception as error:  # noqa: BLE001 - the outermost loop: whatever went wrong, an unseen key is not a good one
        log.warning("Streams end: their keys cannot be looked up.", error=type(error).__name__)
        actors = {}
    open_ones = []
    for stream in streams:
        now = actors.get(_credential(stream.actor))
        if now is None or now.user.pk != stream.actor.user.pk or "read" not in now.scopes:
            stream.end()
        else:
            # The token of an app may permit less than the app's key does.
            stream.actor = replace(now, scopes=now.scopes & stream.actor.scopes) if now.is_app else now
            open_ones.append(stream)
    return open_ones


def _actors_now(actors: Collection[Actor]) -> dict[UUID, Actor]:
    """Return the actors as they are now, by their keys; those without one, at their own machine, by their users."""
    keys = ApiKey.objects.usable().filter(pk__in={actor.key.pk for actor in actors if actor.key}, user__is_active=True)
    found = {key.pk: Actor.of(key.user, key=key) for key in keys.select_related("user") if key.user}
    without = {actor.user.pk for actor in actors if actor.key is None}
    if without:
        found |= {user.pk: Actor.of(user) for user in User.objects.filter(pk__in=without, is_active=True)}
    return found


def _credential(actor: Actor) -> UUID:
    return actor.key.pk if actor.key else actor.user.pk


def _streams_of(user_id: UUID) -> list[Stream]:
    return [stream for stream in list(_STREAMS) if stream.actor.user.pk == user_id]


def _may_hear(actor: Actor, operation: Operation) -> bool:
    return operation.scope in actor.scopes and actor.may_use(operation.toolset)


def _changes(outcome: Outcome) -> Iterator[ResourceChange]:
    if outcome.operation.effect is Effect.READ:
        return
    yield ResourceChange(ResourceUpdated(uri=CONTEXT), CATALOGUE["memory_get_context"])
    if outcome.operation.toolset == "notes":
        notes = CATALOGUE["knowledge_get"]
        yield ResourceChange(ResourcesListChanged(), notes)
        yield ResourceChange(ResourceUpdated(uri=notes_uri(outcome.to_data()["domain"])), notes)
