"""The context of one request over MCP: who sent it, and what they asked to be shown."""

import socket
from collections.abc import Callable
from dataclasses import dataclass
from ipaddress import ip_address

from accounts.actor import Actor
from bigmind.core.errors import Invalid
from bigmind.text.hygiene import echo

AGENT_HOST_HEADER = "X-Agent-Host"
CONVERSATION_HEADER = "BigMind-Conversation"
"""Names the conversation of a request by any id, over MCP and REST: for programs that open a connection per call."""
STRICT_CLIENTS = ("gemini-cli-mcp-client", "qwen-cli-mcp-client", "qwen-code")
"""How clients introduce themselves that check arguments before they send them, and show their model a refusal with all
its metadata: Gemini CLI, and Qwen Code, which is made from it. What a name begins with counts.
"""


@dataclass(frozen=True)
class ClientName:
    """The name and version that a client gives itself."""

    name: str = ""
    version: str = ""


Identify = Callable[[ClientName], Actor]


@dataclass(frozen=True)
class Caller:
    """Who sent a request, as far as the transport knows it.

    Attributes:
        identify: Returns the actor for a client. It reads the database, so call it on a worker thread.
        toolsets: The toolsets whose tools are listed.
        structured: Whether replies carry structured content besides the text, and tools its schemas.
        request_id: The id of this request in the reply, the log and the usage record.
        client: What is known about the client before it introduces itself.
        conversation: What the header `BigMind-Conversation` names; empty without it.
        connection: The id of this connection for as long as it lasts; empty where there is none.
        person: Whose turn its calls take; empty where no one else is served.
    """

    identify: Identify
    toolsets: frozenset[str]
    request_id: str
    client: ClientName = ClientName()
    structured: bool = False
    conversation: str = ""
    connection: str = ""
    person: str = ""


@dataclass(frozen=True)
class RequestContext:
    """One request of an agent, ready to be answered."""

    actor: Actor
    toolsets: frozenset[str]
    request_id: str
    structured: bool = False

    @property
    def is_strict(self) -> bool:
        """Whether the client refuses arguments itself that BigMind would understand."""
        agent = self.actor.agent
        return agent is not None and agent.client_name.startswith(STRICT_CLIENTS)


def parse_structured(text: str) -> bool:
    """Return whether `structured=full` was sent. An empty text means replies as text alone.

    Clients show their model either the structured content or the text, so only a program should ask for both.

    Raises:
        Invalid: it is another value.
    """
    value = text.strip().lower()
    if value not in {"", "full"}:
        raise Invalid(f"There is no structured={echo(value)}.", hint="There is: full. Without it replies are text.")
    return value == "full"


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
