"""Where calls run: one bounded pool of threads that live as long as the process, so that each keeps its connection."""

import asyncio
from collections.abc import Callable
from concurrent.futures import ThreadPoolExecutor
from contextvars import copy_context
from functools import cache
from typing import TypeVar

from django.db import close_old_connections

from bigmind.environment import environment
from bigmind.observability.logging import begin_request

Answer = TypeVar("Answer")


async def on_a_thread(work: Callable[[], Answer], *, request_id: str) -> Answer:
    """Do `work` on a thread of the pool, under this request's id, and return what it returns.

    Work that has begun is finished even when nobody waits for it any more: a write is never torn in half.
    """

    def do() -> Answer:
        begin_request(request_id)
        close_old_connections()
        try:
            return work()
        finally:
            close_old_connections()

    return await asyncio.get_running_loop().run_in_executor(_pool(), copy_context().run, do)


@cache
def _pool() -> ThreadPoolExecutor:
    return ThreadPoolExecutor(max_workers=environment().mcp_threads, thread_name_prefix="mcp")
