"""Change events: sent to the open `subscriptions/listen` streams of the user whose memory changed, and to no others.

Each change is sent to all processes (`bigmind/database/change_notifications.py`). A process in which a stream is open
listens on a connection of its own, on which nothing else is asked.
"""

import asyncio
from collections.abc import Collection, Iterator
from contextlib import suppress
from dataclasses import dataclass, field, replace
from functools import partial
from typing import Any
from uuid import UUID, uuid4

import psycopg
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
from bigmind.core.operations import Operation
from bigmind.database.change_notifications import ANY, CHANNEL, Change, listening_parameters
from bigmind.operations import CATALOGUE, may_call
from bigmind.transports.mcp.request_context import RequestContext
from bigmind.transports.mcp.resources import CONTEXT, NOTES, notes_uri
from bigmind.transports.mcp.threads import on_a_thread

STREAM_SECONDS = 60 * 60
STREAMS_PER_USER = 32
CHECK_SECONDS = 0.5
"""How long a stream outlives its key: no longer than calls with it (decision 63)."""
HEARS_WITHIN = 3.0
CONNECT_AGAIN_SECONDS = 1.0

log = structlog.get_logger()


@dataclass(eq=False)
class Stream:
    """One open stream: its actor, with the present permissions of the key, and what is needed to end it."""

    actor: Actor
    scope: CancelScope
    resources: Collection[str]
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


class Ears:
    """What an event loop hears of changes while it has streams."""

    def __init__(self) -> None:
        self.hears = asyncio.Event()
        self.tasks: list[asyncio.Task[None]] = []


_STREAMS: set[Stream] = set()
_EARS: dict[asyncio.AbstractEventLoop, Ears] = {}


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
        stream = Stream(actor, scope, params.notifications.resource_subscriptions or ())
        _STREAMS.add(stream)
        STREAMS.inc()
        try:
            # What changes from the acknowledgement on is reported. While the database is away, nothing changes.
            with move_on_after(HEARS_WITHIN):
                await _listen_here().hears.wait()
            return await ListenHandler(stream.bus)(ctx, params)
        finally:
            _STREAMS.discard(stream)
            STREAMS.dec()
    return types.SubscriptionsListenResult(_meta={SUBSCRIPTION_ID_META_KEY: ctx.request_id})


def end_streams() -> None:
    """End every stream, because the server stops."""
    for stream in list(_STREAMS):
        stream.end()


def _listen_here() -> Ears:
    """Start what this event loop needs while it has streams: the check of their keys, and the ear for changes."""
    loop = asyncio.get_running_loop()
    if loop not in _EARS:
        ears = _EARS[loop] = Ears()
        ears.tasks = [loop.create_task(_end_streams_with_their_keys(loop)), loop.create_task(_hear(loop, ears))]
    return _EARS[loop]


async def _end_streams_with_their_keys(loop: asyncio.AbstractEventLoop) -> None:
    try:
        while streams := _streams_on(loop):
            await _end_those_that_are_shut(streams)
            await asyncio.sleep(CHECK_SECONDS)
    finally:
        # Not in a callback: that runs later, and nothing would watch a stream that opens in between.
        for task in _EARS.pop(loop).tasks[1:]:
            task.cancel()


async def _hear(loop: asyncio.AbstractEventLoop, ears: Ears) -> None:
    """Tell the streams of this event loop what changes, until it is cancelled."""
    is_new, past_pool = True, True
    while True:
        with suppress(psycopg.Error):
            # Past a pool and through it in turns, until one of the two leads to the database.
            parameters, past_pool = listening_parameters(past_pool=past_pool), not past_pool
            async with await psycopg.AsyncConnection.connect(**parameters) as ear:
                past_pool = not past_pool  # The way that led there is taken again, any other only in its turn.
                await ear.execute(f"LISTEN {CHANNEL}")
                # Whether anything comes through: a pool that lends connections to transactions lets nobody listen.
                token = uuid4().hex
                # By another connection: this one would hear itself while it has the session that listens.
                async with await psycopg.AsyncConnection.connect(**parameters) as speaker:
                    await speaker.execute("SELECT pg_notify(%s, %s)", [CHANNEL, token])
                async for notice in ear.notifies(timeout=HEARS_WITHIN, stop_after=1):
                    if notice.payload == token:
                        ears.hears.set()
                if not ears.hears.is_set():
                    log.warning(
                        "Changes are not heard: the database is behind a pool in the mode “transaction”. See doctor."
                    )
                if not is_new:
                    await _tell_all(loop, Change(domain=ANY))  # Nobody knows what was missed.
                is_new = False
                async for notice in ear.notifies():
                    with suppress(ValueError, TypeError):
                        await _tell_all(loop, Change.read(notice.payload))
        await asyncio.sleep(CONNECT_AGAIN_SECONDS)


async def _tell_all(loop: asyncio.AbstractEventLoop, change: Change) -> None:
    """Tell the streams that a change concerns."""
    concerned = [stream for stream in _streams_on(loop) if change.user in {"", str(stream.actor.user.pk)}]
    for stream in await _end_those_that_are_shut(concerned) if concerned else []:
        for event in _events(change, stream.resources):
            if may_call(stream.actor, event.read_by):
                await stream.bus.publish(event.event)


async def _end_those_that_are_shut(streams: Collection[Stream]) -> list[Stream]:
    """Check the key of each stream again; end the streams that may no longer read, and return the others.

    When the database is unreachable, no key can be checked: all streams end, and clients subscribe again.
    """
    try:
        actors = await on_a_thread(partial(_actors_now, [stream.actor for stream in streams]), request_id="")
    except Exception as error:  # noqa: BLE001 - the outermost loop: a key that cannot be checked does not count as valid
        log.warning("Streams end: their keys cannot be looked up.", error=error)
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


def _streams_on(loop: asyncio.AbstractEventLoop) -> list[Stream]:
    return [stream for stream in list(_STREAMS) if stream.loop is loop]


def _events(change: Change, resources: Collection[str]) -> Iterator[ResourceChange]:
    yield ResourceChange(ResourceUpdated(uri=CONTEXT), CATALOGUE["memory_get_context"])
    if not change.domain:
        return
    notes = CATALOGUE["knowledge_get"]
    yield ResourceChange(ResourcesListChanged(), notes)
    if change.domain != ANY:
        yield ResourceChange(ResourceUpdated(uri=notes_uri(change.domain)), notes)
        return
    for uri in resources:
        if uri.startswith(NOTES):
            yield ResourceChange(ResourceUpdated(uri=uri), notes)
