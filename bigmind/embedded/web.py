"""The web server's process: `python -m bigmind.embedded.web <descriptor>...` serves the sockets it is handed."""

import asyncio
import errno
import resource
import socket
import sys
from contextlib import suppress
from time import monotonic
from typing import Any

import structlog
import uvicorn

from bigmind.embedded.protocol import DeadlineProtocol

# Long answers (an agent that listens for events) must not hold up Ctrl-C.
FINISH_WITHIN = 4
MOST_FILES = 1 << 20
REPORT_EVERY = 60
CANNOT_ACCEPT = {errno.EMFILE, errno.ENFILE, errno.ENOBUFS, errno.ENOMEM}

log = structlog.get_logger()


class Server(uvicorn.Server):
    """uvicorn's server, which says once in a minute that no connection can be accepted, and not for each attempt."""

    _reported_at = float("-inf")

    async def startup(self, sockets: list[socket.socket] | None = None) -> None:
        """Begin to accept connections."""
        asyncio.get_running_loop().set_exception_handler(self._note)
        await super().startup(sockets)

    def _note(self, loop: asyncio.AbstractEventLoop, context: dict[str, Any]) -> None:
        error = context.get("exception")
        if not (isinstance(error, OSError) and error.errno in CANNOT_ACCEPT and "socket" in context):
            loop.default_exception_handler(context)
        elif monotonic() - self._reported_at >= REPORT_EVERY:
            self._reported_at = monotonic()
            files = resource.getrlimit(resource.RLIMIT_NOFILE)[0]
            log.error("No connection can be accepted.", error=str(error), limit_of_open_files=files)


def serve(descriptors: list[int]) -> None:
    """Serve BigMind on listening sockets that the parent process opened."""
    allow_open_files()
    config = uvicorn.Config(
        "bigmind.asgi:application",
        http=DeadlineProtocol,  # On h11: httptools accepts a header that the MCP conformance suite wants refused.
        lifespan="on",
        log_config=None,
        access_log=False,
        server_header=False,
        # Nobody in front of us is known, so nobody's word for the client's address is taken.
        proxy_headers=False,
        timeout_graceful_shutdown=FINISH_WITHIN,
    )
    Server(config).run([socket.socket(fileno=descriptor) for descriptor in descriptors])


def allow_open_files() -> None:
    """Raise the soft limit of open files to the hard one: each connection is a file, and 1,024 are held in no time."""
    _, hard = resource.getrlimit(resource.RLIMIT_NOFILE)
    most = MOST_FILES if hard == resource.RLIM_INFINITY else hard
    with suppress(ValueError, OSError):  # Some systems allow fewer than they say.
        resource.setrlimit(resource.RLIMIT_NOFILE, (most, hard))


if __name__ == "__main__":
    serve([int(argument) for argument in sys.argv[1:]])
