"""The one process that serves everything: `/mcp` to the MCP endpoint, all else to Django."""

import os
import sys
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from typing import Any

from django.core.wsgi import get_wsgi_application
from starlette.routing import Route, Router

os.environ.setdefault("DJANGO_SETTINGS_MODULE", "bigmind.settings")
django = get_wsgi_application()  # sets Django up, which the imports below need

from bigmind.mcp.endpoint import Endpoint  # noqa: E402
from bigmind.web import web_application  # noqa: E402

# The event loop and the threads share one interpreter lock. At the default of 5 ms a thread that comes back from the
# database waits for the lock longer than it worked: calls took twice as long (make bench).
sys.setswitchinterval(0.0005)

mcp = Endpoint()
web = web_application(django)


@asynccontextmanager
async def lifespan(_: Any) -> AsyncIterator[None]:
    """Serve MCP between the start and the stop of the server."""
    async with mcp.running():
        yield


application = Router([Route("/mcp", mcp), Route("/mcp/", mcp)], redirect_slashes=False, default=web, lifespan=lifespan)
