"""HTTP/1.1 with deadlines: who connects has to send a whole head, and then a whole body, within so many seconds."""

import asyncio
from typing import Any

import h11
from uvicorn.protocols.http.h11_impl import H11Protocol

from bigmind.environment import environment


class DeadlineProtocol(H11Protocol):
    """uvicorn's protocol, which waits for as long as a connection is open, with a deadline for head and body.

    Each begins with the first byte that is waited for, and no later byte puts it off.
    """

    def __init__(self, *arguments: Any, **named: Any) -> None:
        super().__init__(*arguments, **named)
        self._deadline: asyncio.TimerHandle | None = None
        self._awaited: object = None

    def connection_made(self, transport: asyncio.Transport) -> None:  # type: ignore[override]
        """Begin to wait for the first head."""
        super().connection_made(transport)
        self._watch()

    def data_received(self, data: bytes) -> None:
        """Take in what came, and wait for what is still missing."""
        super().data_received(data)
        self._watch()

    def on_response_complete(self) -> None:
        """Wait for the rest of a body that nobody reads any more, or of a head that came with the one before."""
        super().on_response_complete()
        self._watch()

    def connection_lost(self, exc: Exception | None) -> None:
        """Wait for nothing more."""
        super().connection_lost(exc)
        self._wait_for(None, 0)

    def _watch(self) -> None:
        state = self.conn.their_state
        if state is h11.SEND_BODY:
            self._wait_for(state, environment().body_seconds)
        elif state is h11.IDLE and self.timeout_keep_alive_task is None:
            self._wait_for(state, environment().header_seconds)
        else:
            self._wait_for(None, 0)

    def _wait_for(self, awaited: object, seconds: float) -> None:
        if awaited is self._awaited:
            return
        if self._deadline:
            self._deadline.cancel()
        self._awaited = awaited
        self._deadline = self.loop.call_later(seconds, self._give_up) if awaited else None

    def _give_up(self) -> None:
        """Say why, where there was a request that nobody has answered yet, and close the connection."""
        if self._awaited is h11.SEND_BODY and self.conn.our_state is h11.SEND_RESPONSE and not self._has_answered():
            self._refuse(408, "The request did not arrive in time.\n")
        else:
            self.transport.close()

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
