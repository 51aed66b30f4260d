"""The one process that serves everything: `/mcp` and `/mcp/oauth` to the MCP endpoints, all else to Django."""

import os
import sys
from asyncio import Event, create_task, get_running_loop, sleep, to_thread
from collections.abc import AsyncIterator
from contextlib import AsyncExitStack, asynccontextmanager
from typing import Any

from django.core.wsgi import get_wsgi_application
from starlette.routing import Route, Router

os.environ.setdefault("DJANGO_SETTINGS_MODULE", "bigmind.settings")
django = get_wsgi_application()  # sets Django up, which the imports below need

from django.conf import settings  # noqa: E402

from accounts.services.key_cache import KNOWN_KEYS, forget_changed_keys  # noqa: E402
from bigmind.core.after_reply import AFTER_REPLY, WRITTEN_AFTER  # noqa: E402
from bigmind.database.rls import deny_by_default  # noqa: E402
from bigmind.database.roles import forget_owner  # noqa: E402
from bigmind.transports.fair_pool import SWITCH_SECONDS, share_of  # noqa: E402
from bigmind.transports.mcp import authentication  # noqa: E402
from bigmind.transports.mcp.endpoint import McpEndpoint  # noqa: E402
from bigmind.transports.mcp.oauth.routes import oauth_routes  # noqa: E402
from bigmind.transports.mcp.threads import on_a_thread  # noqa: E402
from bigmind.transports.request_limits import PlainFraming, web_application  # noqa: E402
from bigmind.warming import load_ahead  # noqa: E402

endpoints = {"/mcp": McpEndpoint(authentication.keys())}
if settings.OAUTH:
    endpoints["/mcp/oauth"] = McpEndpoint(authentication.tokens())
web = web_application(django)


@asynccontextmanager
async def lifespan(_: Any) -> AsyncIterator[None]:
    """Serve between the start and the stop of the server. Only now does this process become one that serves."""
    sys.setswitchinterval(SWITCH_SECONDS)
    forget_owner()
    load_ahead()
    async with AsyncExitStack() as running:
        running.enter_context(deny_by_default())
        running.enter_context(KNOWN_KEYS.remember())
        for endpoint in endpoints.values():
            await running.enter_async_context(endpoint.running())
        waiting, loop = Event(), get_running_loop()
        running.enter_context(AFTER_REPLY.gather(lambda: loop.call_soon_threadsafe(waiting.set)))
        tasks = [create_task(forget_changed_keys()), create_task(_write_ledgers(waiting))]
        try:
            yield
        finally:
            for task in tasks:
                task.cancel()
            await _write_what_waits()
            if settings.TRACES:
                from bigmind.observability.tracing import flush_traces

                await to_thread(flush_traces)


async def _write_ledgers(waiting: Event) -> None:
    while await waiting.wait():
        await sleep(WRITTEN_AFTER)
        waiting.clear()
        await _write_what_waits()


async def _write_what_waits() -> None:
    if AFTER_REPLY:
        with share_of("", is_limited=False):
            await on_a_thread(AFTER_REPLY.write, request_id="")


routes = [Route(f"{path}{slash}", endpoint) for path, endpoint in endpoints.items() for slash in ("", "/")]
application = PlainFraming(Router([*routes, *oauth_routes()], redirect_slashes=False, default=web, lifespan=lifespan))
