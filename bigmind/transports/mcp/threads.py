"""Where calls run: a bounded pool of threads, each with a connection of its own, shared out fairly."""

import asyncio
from collections.abc import Callable
from contextvars import copy_context
from typing import TypeVar

from django.db import close_old_connections

from bigmind.core.load_once import load_once
from bigmind.environment import environment
from bigmind.observability.logging import begin_request
from bigmind.transports.fair_pool import FairPool

Answer = TypeVar("Answer")


async def on_a_thread(work: Callable[[], Answer], *, request_id: str) -> Answer:
    """Do `work` on a thread of the pool, under this request's id, and return what it returns.

    Work that has begun is finished even when nobody waits for it any more: a write is never torn in half.

    Raises:
        TooMany: so much work of this person waits already.
    """

    def do() -> Answer:
        begin_request(request_id)
        close_old_connections()
        try:
            return work()
        finally:
            close_old_connections()

    return await asyncio.get_running_loop().run_in_executor(_pool(), copy_context().run, do)


@load_once
def _pool() -> FairPool:
    return FairPool("mcp", environment().mcp_threads)
