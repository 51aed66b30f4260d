"""Change events: sent to the open `subscriptions/listen` streams of the user whose memory changed, and to no others."""

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
from bigmind.transports.mcp.request_context import RequestContext
from bigmind.transports.mcp.resources import CONTEXT, notes_uri
from bigmind.transports.mcp.threads import on_a_thread

STREAM_SECONDS = 60 * 60
STREAMS_PER_USER = 32
CHECK_SECONDS = 0.5

log = structlog.get_logger()


@dataclass(eq=False)
class Stream:
    """One open stream: its actor, with the present permissions of the key, and what is needed to end it."""

    actor: Actor
    scope: CancelScope
    bus: InMemorySubscriptionBus = field(default_factory=InMemorySubscriptionBus)
    loop: asyncio.AbstractEventLoop = field(default_factory=asyncio.get_running_loop)

    def end(self) -> None:
        """End it with a result, as the protocol asks, so that clients know it was on purpose."""
        self.scope.cancel()


@dataclass(frozen=True)
class ResourceChange:
    """An event, and the operation that reads what changed: only callers who may use it receive the event."""

    event: ServerEvent
    read_by: Operation


_STREAMS: set[Stream] = set()
_WATCHES: dict[asyncio.AbstractEventLoop, "asyncio.Task[None]"] = {}


def listener(context: RequestContext, _: types.SubscriptionsListenRequestParams) -> Actor:
    """Return the actor who listens.

    Raises:
        Forbidden: the key may not read.
    """
    context.actor.require("read")
    return context.actor


async def listen(
    actor: Actor, ctx: ServerRequestContext[Any, Any], params: types.SubscriptionsListenRequestParams
) -> types.SubscriptionsListenResult:
    """Serve one stream while its key is valid, for an hour at most; clients then subscribe again."""
    if len(_streams_of(actor.user.pk)) >= STREAMS_PER_USER:
        raise MCPError(types.INTERNAL_ERROR, f"You have {STREAMS_PER_USER} open streams. Close one first.")
    with move_on_after(STREAM_SECONDS) as scope:
        stream = Stream(actor, scope)
        _STREAMS.add(stream)
        STREAMS.inc()
        _watch()
        try:
            return await ListenHandler(stream.bus)(ctx, params)
        finally:
            _STREAMS.discard(stream)
            STREAMS.dec()
    return types.SubscriptionsListenResult(_meta={SUBSCRIPTION_ID_META_KEY: ctx.request_id})


def end_streams() -> None:
    """End every stream, because the server stops."""
    for stream in list(_STREAMS):
        stream.end()


def announce(user_id: UUID, outcome: Outcome) -> None:
    """Send what a call over MCP has changed to the user's streams, without waiting for delivery."""
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
    """Start the task that checks the keys of all streams of this event loop, unless it is running already."""
    loop = asyncio.get_running_loop()
    if loop not in _WATCHES:
        _WATCHES[loop] = loop.create_task(_end_streams_with_their_keys(loop))


async def _end_streams_with_their_keys(loop: asyncio.AbstractEventLoop) -> None:
    try:
        while streams := [stream for stream in _STREAMS if stream.loop is loop]:
            await _end_those_that_are_shut(streams)
            await asyncio.sleep(CHECK_SECONDS)
    finally:
        # Not in a callback: that runs later, and nothing would watch a stream that opens in between.
        del _WATCHES[loop]


async def _end_those_that_are_shut(streams: Collection[Stream]) -> list[Stream]:
    """Check the key of each stream again; end the streams that may no longer read, and return the others.

    When the database is unreachable, no key can be checked: all streams end, and clients subscribe again.
    """
    try:
        actors = await on_a_thread(partial(_actors_now, [stream.actor for stream in streams]), request_id="")
    except Exception as error:  # noqa: BLE001 - the outermost loop: a key that cannot be checked does not count as valid
        log.warning("Streams end: their keys cannot be looked up.", error=type(error).__name__)
        actors = {}
    open_ones = []
    for stream in streams:
        now = actors.get(_credential(stream.actor))
        if now is None or now.user.pk != stream.actor.user.pk or "read" not in now.scopes:
            stream.end()
        else:
            # The token of an app may have fewer scopes than the app's key, so only the common ones remain.
            stream.actor = replace(now, scopes=now.scopes & stream.actor.scopes) if now.is_app else now
            open_ones.append(stream)
    return open_ones


def _actors_now(actors: Collection[Actor]) -> dict[UUID, Actor]:
    """Return the actors with their present permissions, by key. Actors without a key (stdio) are returned by user."""
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
    return operation.scope in actor.scopes and actor.may_use(operation.toolsets)


def _changes(outcome: Outcome) -> Iterator[ResourceChange]:
    if outcome.operation.effect is Effect.READ:
        return
    yield ResourceChange(ResourceUpdated(uri=CONTEXT), CATALOGUE["memory_get_context"])
    if outcome.operation.toolset == "notes":
        notes = CATALOGUE["knowledge_get"]
        yield ResourceChange(ResourcesListChanged(), notes)
        yield ResourceChange(ResourceUpdated(uri=notes_uri(outcome.to_data()["domain"])), notes)
