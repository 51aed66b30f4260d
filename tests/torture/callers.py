"""Clients that call without end, each in its way, and note when each call began, when it ended and what went wrong."""

import time
from collections.abc import Callable, Iterator, Sequence
from contextlib import ExitStack, contextmanager
from dataclasses import dataclass, field
from threading import Event, Thread
from typing import Protocol

import httpx

from tests.transports.mcp_wire import HANDSHAKE_REVISIONS, Wire

PAUSE_SECONDS = 0.05


class Address(Protocol):
    """Where clients call, and with which key."""

    @property
    def url(self) -> str:
        """The address of BigMind."""

    @property
    def key(self) -> str:
        """The key."""


@dataclass(frozen=True)
class Made:
    """One call that was made."""

    began: float
    ended: float
    error: str = ""


@dataclass
class Caller:
    """One client: `calls` makes calls, one after the other, each time it is asked for the next."""

    name: str
    made: list[Made] = field(default_factory=list)
    stored: list[str] = field(default_factory=list)
    """What was acknowledged of what it wrote."""
    stopped: Event = field(default_factory=Event)
    paused: Event = field(default_factory=Event)

    def failures(self) -> list[Made]:
        """Return the calls that failed."""
        return [call for call in self.made if call.error]

    def wait_for_more(self, calls: int = 3) -> None:
        """Return when it has made more calls that succeeded."""
        before, give_up = len(self.made), time.monotonic() + 60
        while sum(not call.error for call in self.made[before:]) < calls:
            assert time.monotonic() < give_up, f"{self.name} makes no calls any more: {self.failures()[-3:]}"
            time.sleep(0.05)

    def note(self, began: float, error: str = "") -> None:
        """Keep one call."""
        self.made.append(Made(began, time.time(), error))

    def goes_on(self) -> bool:
        """Wait for a moment, and through a pause; say whether another call is to be made."""
        time.sleep(PAUSE_SECONDS)
        while self.paused.is_set() and not self.stopped.is_set():
            time.sleep(PAUSE_SECONDS)
        return not self.stopped.is_set()


Works = dict[str, Callable[[Caller], None]]


def _by_wire(caller: Caller, served: Address, revision: str) -> None:
    """Write in one revision, and repeat what failed under the same idempotency key."""
    wire, number = Wire(served, served.key, revision=revision), 0
    if revision in HANDSHAKE_REVISIONS:
        wire.initialize(f"wire {revision}")
    wire.call("memory_start_session", {"project": "processes"})
    while caller.goes_on():
        began, said = time.time(), f"{caller.name} {number}"
        try:
            reply = wire.call("memory_flag_important", {"content": said}, **{"bigmind/idempotencyKey": said})
            caller.note(began, reply["content"][0]["text"] if reply.get("isError") else "")
            if not reply.get("isError"):
                caller.stored.append(said)
            number += 1
        except (httpx.TransportError, AssertionError) as error:
            caller.note(began, repr(error))


@contextmanager
def calling_by_hand(served: Address, *revisions: str) -> Iterator[list[Caller]]:
    """Let a client of each of these revisions write until the end."""
    with _at_work(_by_hand(served, revisions)) as callers:
        yield callers


def _by_hand(served: Address, revisions: Sequence[str]) -> Works:
    return {
        f"wire {revision}": lambda caller, revision=revision: _by_wire(caller, served, revision)  # type: ignore[misc]
        for revision in revisions
    }


@contextmanager
def _at_work(works: Works) -> Iterator[list[Caller]]:
    callers = [Caller(name) for name in works]
    with ExitStack() as at_the_end:
        for caller in callers:
            thread = Thread(target=works[caller.name], args=(caller,), name=caller.name, daemon=True)
            thread.start()
            at_the_end.callback(thread.join, 30)
        at_the_end.callback(lambda: [caller.stopped.set() for caller in callers])
        yield callers
