"""Changes: what the open `subscriptions/listen` streams of a user hear, and nobody else's."""

import asyncio
from collections.abc import Iterator
from typing import Any
from uuid import UUID
from weakref import WeakValueDictionary

from anyio import move_on_after
from mcp import types
from mcp.server.context import ServerRequestContext
from mcp.server.subscriptions import (
    SUBSCRIPTION_ID_META_KEY,
    InMemorySubscriptionBus,
    ListenHandler,
    ResourcesListChanged,
    ResourceUpdated,
    ServerEvent,
)

from bigmind.core.operations import Effect
from bigmind.gate import Outcome
from bigmind.mcp.resources import CONTEXT, notes_uri

STREAM_SECONDS = 60 * 60
STREAMS_PER_USER = 32


class Feed:
    """The streams of one user. It lives as long as one of them is open."""

    def __init__(self) -> None:
        self._bus = InMemorySubscriptionBus()
        self._loop = asyncio.get_running_loop()
        self.listen = ListenHandler(self._bus, max_subscriptions=STREAMS_PER_USER)

    def tell(self, event: ServerEvent) -> None:
        """Send an event to each stream, from whichever thread."""
        asyncio.run_coroutine_threadsafe(self._bus.publish(event), self._loop)


_FEEDS: WeakValueDictionary[UUID, Feed] = WeakValueDictionary()


async def listen(
    user_id: UUID, ctx: ServerRequestContext[Any, Any], params: types.SubscriptionsListenRequestParams
) -> types.SubscriptionsListenResult:
    """Serve one stream. After an hour it ends, so that the key is asked for again; clients then listen anew."""
    feed = _FEEDS.get(user_id) or _FEEDS.setdefault(user_id, Feed())
    with move_on_after(STREAM_SECONDS):
        return await feed.listen(ctx, params)
    return types.SubscriptionsListenResult(_meta={SUBSCRIPTION_ID_META_KEY: ctx.request_id})


def end_streams() -> None:
    """End every stream as the protocol wants it: with a result, so that clients know it was meant."""
    for feed in list(_FEEDS.values()):
        feed.listen.close()


def announce(user_id: UUID, outcome: Outcome) -> None:
    """Tell the user's streams what a call over MCP has changed."""
    feed = _FEEDS.get(user_id)
    if feed is None or outcome.replayed:
        return
    for event in _events(outcome):
        feed.tell(event)


def _events(outcome: Outcome) -> Iterator[ServerEvent]:
    if outcome.operation.effect is Effect.READ:
        return
    yield ResourceUpdated(uri=CONTEXT)
    if outcome.operation.toolset == "notes":
        yield ResourcesListChanged()
        yield ResourceUpdated(uri=notes_uri(outcome.structured()["domain"]))
