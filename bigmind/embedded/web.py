"""One process of the web server: it serves the sockets it is handed, as others do.

`python -m bigmind.embedded.web <file of its pulse, or nothing> <descriptor>...` where it is no copy of the supervisor.
"""

import asyncio
import errno
import os
import resource
import socket
import struct
import sys
from collections.abc import Sequence
from functools import partial
from pathlib import Path
from time import monotonic
from typing import Any, cast

import h11
import psutil
import structlog
import uvicorn
from prometheus_client.multiprocess import mark_process_dead
from uvicorn._types import ASGI3Application
from uvicorn.protocols.http.h11_impl import H11Protocol

from bigmind.embedded.connections import Connections, allow_open_files, connections_of_this_process
from bigmind.embedded.heartbeats import BEAT_SECONDS, LOOP, THREADS, Pulse
from bigmind.embedded.listeners import BACKLOG
from bigmind.embedded.preloading import APPLICATION
from bigmind.environment import environment

# Long answers (an agent that listens for events) must not hold up Ctrl-C.
FINISH_WITHIN = 4
ACCEPTED_WITHIN = 0.3
HEARD_WITHIN = 0.2
HEAD_BYTES = 16 * 1024
IGNORED_BYTES = 256 * 1024
LINGER_SECONDS = 2
DISCARD = struct.pack("ii", 1, 0)
# A process that took all that wait would leave the others idle, and have more than may be until they are counted.
ACCEPT_AT_ONCE = 1
REPORT_EVERY = 60
CANNOT_ACCEPT = {errno.EMFILE, errno.ENFILE, errno.ENOBUFS, errno.ENOMEM}

log = structlog.get_logger()


class DeadlineProtocol(H11Protocol):
    """uvicorn's protocol, which waits for as long as a connection is open, with a deadline for head, body and answer.

    Each begins with the first byte that is waited for, and no later byte puts it off. The answer must be read in parts
    that fit into the buffers. A connection beyond the limits is closed before anything is made for it.
    """

    counted: Connections
    """The connections of this process; set before it serves."""

    def __init__(self, *arguments: Any, **named: Any) -> None:
        super().__init__(*arguments, **named)
        self._deadline: asyncio.TimerHandle | None = None
        self._awaited: object = None
        self._ignored = 0
        self._lingers = False
        self.app = partial(self._answer, self.app)

    def connection_made(self, transport: asyncio.Transport) -> None:  # type: ignore[override]
        """Begin to wait for the first head."""
        if not self.counted.admit(self, (transport.get_extra_info("peername") or [""])[0]):
            transport.set_protocol(asyncio.Protocol())
            transport.abort()
            return
        super().connection_made(transport)
        self._watch()

    def data_received(self, data: bytes) -> None:
        """Take in what came, and wait for what is still missing."""
        self._ignored = self._ignored + len(data) if self._lingers or self._has_ended() else 0
        if self._lingers:
            if self._ignored > IGNORED_BYTES:
                self.flow.pause_reading()
            return
        super().data_received(data)
        self._watch()

    def pause_writing(self) -> None:
        """Wait for the client to read."""
        super().pause_writing()
        self._watch()

    def resume_writing(self) -> None:
        """Go on, because the client has read."""
        super().resume_writing()
        self._watch()

    def on_response_complete(self) -> None:
        """Wait for the rest of a body that nobody reads any more, or of a head that came with the one before."""
        super().on_response_complete()
        self._watch()

    def connection_lost(self, exc: Exception | None) -> None:
        """Wait for nothing more."""
        super().connection_lost(exc)
        # What leads back here would keep this and its buffers until the collector of garbage comes by.
        self.app = self.config.loaded_app
        if self.cycle is not None:
            self.cycle.transport = self.transport
        self._wait_for(None, None)
        self.counted.release(self)

    def linger(self) -> None:
        """Send the rest of the answer and its end, and let the client read before the connection is closed.

        Closed at once, with bytes that nobody has read, the kernel would reset it, and the client might lose the answer
        (RFC 9112, section 9.6).
        """
        if not self._lingers:
            self._lingers = True
            self.transport.write_eof()
            self._wait_for(self.cycle, LINGER_SECONDS)

    def make_way(self) -> None:
        """Close at once, for a new connection: this one has let us wait."""
        self._give_up()
        self.transport.abort()

    async def _answer(self, app: ASGI3Application, scope: Any, receive: Any, send: Any) -> None:
        """Say with an answer that comes before a large body that no request can follow it.

        The client of a proxy would lose the next one, which is sent while the rest of the body is thrown away.
        """

        async def tell(message: Any) -> None:
            if message["type"] == "http.response.start" and self._is_too_much_coming(scope):
                message = {**message, "headers": [*message.get("headers", ()), (b"connection", b"close")]}
                self.cycle.transport = cast("asyncio.Transport", LingeringTransport(self))
            await send(message)

        await app(scope, receive, tell)

    def _is_too_much_coming(self, scope: Any) -> bool:
        if self.conn.their_state is not h11.SEND_BODY:
            return False
        declared = dict(scope["headers"]).get(b"content-length", b"")
        return not declared or int(declared) > IGNORED_BYTES

    def _watch(self) -> None:
        if self._lingers:
            return
        state = self.conn.their_state
        if self.flow.write_paused:
            self._wait_for(self.flow, environment().body_seconds)
        elif state is h11.SEND_BODY and self._ignored > IGNORED_BYTES:
            # Reading on would cost more than the answer did. The client has a moment to see it.
            self.flow.pause_reading()
            self._wait_for(self.cycle, LINGER_SECONDS)
        elif state is h11.SEND_BODY:
            self._wait_for(state, environment().body_seconds)
        elif state is h11.IDLE:
            # Between two requests uvicorn has a deadline of its own.
            is_between = self.timeout_keep_alive_task is not None
            self._wait_for(self if is_between else state, None if is_between else environment().header_seconds)
        else:
            self._wait_for(None, None)

    def _wait_for(self, awaited: object, seconds: float | None) -> None:
        if awaited is self._awaited:
            return
        if self._deadline:
            self._deadline.cancel()
        self._awaited = awaited
        self._deadline = self.loop.call_later(seconds, self._give_up) if seconds else None
        self.counted.wait_for_client(self) if awaited else self.counted.serve(self)

    def _give_up(self) -> None:
        """Say why, where there was a request that nobody has answered yet, and close the connection."""
        if self._awaited is h11.SEND_BODY and self.conn.our_state is h11.SEND_RESPONSE and not self._has_answered():
            self._refuse(408, "The request did not arrive in time.\n")
        elif self._awaited is self.flow:
            # Otherwise transport and kernel would keep the rest until it is read.
            self.transport.get_extra_info("socket").setsockopt(socket.SOL_SOCKET, socket.SO_LINGER, DISCARD)
            self.transport.abort()
        else:
            self.transport.close()

    def _has_ended(self) -> bool:
        """Whether a body is still coming that nobody reads any more."""
        return self.conn.our_state is h11.DONE and self.conn.their_state is h11.SEND_BODY

    def _has_answered(self) -> bool:
        return self.cycle is None or self.cycle.response_started

    def _refuse(self, status: int, sentence: str) -> None:
        body = sentence.encode()
        headers = [("content-type", "text/plain"), ("content-length", str(len(body))), ("connection", "close")]
        parts = (h11.Response(status_code=status, headers=headers), h11.Data(data=body), h11.EndOfMessage())
        for part in parts:
            self.transport.write(self.conn.send(part) or b"")
        self.cycle.disconnected = True
        self.cycle.message_event.set()
        self.transport.close()


class LingeringTransport:
    """The transport of an answer after which the connection ends, but not at once."""

    def __init__(self, protocol: DeadlineProtocol) -> None:
        self._protocol = protocol

    def __getattr__(self, name: str) -> Any:
        """Do all else as the transport does."""
        return getattr(self._protocol.transport, name)

    def close(self) -> None:
        """Let the client read the answer first."""
        self._protocol.linger()


class Server(uvicorn.Server):
    """uvicorn's server, which shares its sockets with others like it, and shows the supervisor that it is well.

    That no connection can be accepted it says once in a minute, and not for each attempt.
    """

    _reported_at = float("-inf")

    def __init__(self, config: uvicorn.Config, pulse: Pulse | None) -> None:
        super().__init__(config)
        self._pulse = pulse
        self._heart: asyncio.Task[None] | None = None

    async def startup(self, sockets: list[socket.socket] | None = None) -> None:
        """Begin to accept connections."""
        asyncio.get_running_loop().set_exception_handler(self._note)
        await super().startup(sockets)
        for listener in sockets or ():
            listener.listen(BACKLOG)  # asyncio made it as short as the number that it accepts at once.
        if self._pulse is not None:
            self._heart = asyncio.create_task(_beat(self._pulse))

    async def shutdown(self, sockets: list[socket.socket] | None = None) -> None:
        """Answer those who have connected, also whom nobody has accepted yet and who have sent nothing yet."""
        await asyncio.sleep(ACCEPTED_WITHIN)
        for server in self.servers:
            server.close()
        await asyncio.sleep(HEARD_WITHIN)
        await super().shutdown(sockets)

    def _note(self, loop: asyncio.AbstractEventLoop, context: dict[str, Any]) -> None:
        error = context.get("exception")
        if not (isinstance(error, OSError) and error.errno in CANNOT_ACCEPT and "socket" in context):
            loop.default_exception_handler(context)
        elif monotonic() - self._reported_at >= REPORT_EVERY:
            self._reported_at = monotonic()
            files = resource.getrlimit(resource.RLIMIT_NOFILE)[0]
            log.error("No connection can be accepted.", error=str(error), limit_of_open_files=files)


async def _beat(pulse: Pulse) -> None:
    """Count the rounds of the event loop, and those in which the threads took up something."""
    from bigmind.transports.fair_pool import probe_threads

    probe = asyncio.ensure_future(probe_threads())
    while True:
        pulse.beat(LOOP)
        if probe.done():
            pulse.beat(THREADS)
            probe = asyncio.ensure_future(probe_threads())
        await asyncio.sleep(BEAT_SECONDS)


def serve(descriptors: Sequence[int], pulse: Path | None = None) -> None:
    """Serve BigMind on listening sockets that the parent process opened."""
    allow_open_files()
    forget_streams_of_the_dead()
    DeadlineProtocol.counted = connections_of_this_process()
    config = uvicorn.Config(
        f"{APPLICATION}:application",
        http=DeadlineProtocol,  # On h11: httptools accepts a header that the MCP conformance suite wants refused.
        lifespan="on",
        log_config=None,
        access_log=False,
        server_header=False,
        backlog=ACCEPT_AT_ONCE,
        h11_max_incomplete_event_size=HEAD_BYTES,
        # Nobody in front of us is known, so nobody's word for the client's address is taken.
        proxy_headers=False,
        timeout_graceful_shutdown=FINISH_WITHIN,
    )
    beats = Pulse(pulse) if pulse else None
    Server(config, beats).run([socket.socket(fileno=os.dup(descriptor)) for descriptor in descriptors])
    from bigmind.transports.fair_pool import finish_work

    finish_work()


def forget_streams_of_the_dead() -> None:
    """Remove what processes that were killed counted of the present: their streams have ended with them."""
    folder = os.environ.get("PROMETHEUS_MULTIPROC_DIR", "")
    for file in Path(folder).glob("gauge_live*.db") if folder else ():
        pid = file.stem.rpartition("_")[2]
        if not psutil.pid_exists(int(pid)):
            mark_process_dead(int(pid), folder)  # type: ignore[no-untyped-call]


if __name__ == "__main__":
    serve([int(argument) for argument in sys.argv[2:]], Path(sys.argv[1]) if sys.argv[1] else None)
