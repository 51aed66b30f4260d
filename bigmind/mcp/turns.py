"""Turns: one request of an agent, with who asks and what they asked to be shown."""

import socket
from collections.abc import Callable
from dataclasses import dataclass
from ipaddress import ip_address

from accounts.actor import Actor
from bigmind.core.errors import Invalid
from bigmind.operations import TOOLSETS

DEFAULT_TOOLSETS = frozenset({"core"})


@dataclass(frozen=True)
class Client:
    """How a client calls itself."""

    name: str = ""
    version: str = ""


Identify = Callable[[Client], Actor]


@dataclass(frozen=True)
class Caller:
    """Who is at the door.

    Attributes:
        identify: Returns the actor for a client. It reads the database, so call it on a worker thread.
        toolsets: The toolsets whose tools are listed.
        request_id: The id of this request in the reply, the log and the usage record.
        client: What is known of the client before it has introduced itself.
    """

    identify: Identify
    toolsets: frozenset[str]
    request_id: str
    client: Client = Client()


@dataclass(frozen=True)
class Turn:
    """One request of an agent, ready to be answered."""

    actor: Actor
    toolsets: frozenset[str]
    request_id: str


def parse_toolsets(text: str) -> frozenset[str]:
    """Return the toolsets named in `memory,notes`; nothing named means the default.

    Raises:
        Invalid: one of them does not exist.
    """
    names = frozenset(name.strip().lower() for name in text.split(",") if name.strip())
    unknown = sorted(names - TOOLSETS.keys() - {"all"})
    if unknown:
        known = ", ".join((*TOOLSETS, "all"))
        raise Invalid(f"There is no toolset “{unknown[0][:50]}”.", hint=f"There are: {known}.")
    return names or DEFAULT_TOOLSETS


def this_machine() -> str:
    """The name of the machine BigMind runs on: the host of every agent that does not come from elsewhere."""
    return socket.gethostname()


def host_at(address: str) -> str:
    """Return the host of an agent that connects from `address`."""
    try:
        local = ip_address(address).is_loopback
    except ValueError:  # a Unix socket has no address
        local = True
    return this_machine() if local else address
