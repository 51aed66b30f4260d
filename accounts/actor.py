"""Actor: who performs an operation: a user, with a key's scopes, through an agent."""

from collections.abc import Collection, Iterator
from contextlib import contextmanager
from contextvars import ContextVar
from dataclasses import dataclass, field

from accounts.models import SCOPES, Agent, ApiKey, Role, User
from bigmind.core.errors import Forbidden

_ACTIONS = {"read": "read", "write": "write", "curate": "decide what is shared", "admin": "do what admins do"}


SCOPES_OF_ROLE: dict[str, frozenset[str]] = {
    Role.MEMBER: frozenset({"read", "write"}),
    Role.CURATOR: frozenset({"read", "write", "curate"}),
    Role.ADMIN: frozenset(SCOPES),
}
"""What each role permits."""


@dataclass(frozen=True)
class Actor:
    """Who performs an operation.

    Attributes:
        user: The person whose memory the call reads and writes.
        key: The API key that was shown; none in the browser and on the command line.
        agent: The client that acts for the person, where one is known.
        scopes: What may be done: what the key allows and the role permits.
        toolsets: The toolsets the key is limited to; empty means all.
        conversation: A digest of what the client calls this conversation; empty where it says nothing.
        connection: A digest of the connection, which may outlive a conversation; empty where there is none.
        sub_agent: The client's id of the sub-agent that acts; empty for the agent itself.
        typed: Whether the person typed the command, without a key.
    """

    user: User
    key: ApiKey | None = None
    agent: Agent | None = None
    scopes: frozenset[str] = field(default_factory=frozenset)
    toolsets: frozenset[str] = field(default_factory=frozenset)
    conversation: str = ""
    connection: str = ""
    sub_agent: str = ""
    typed: bool = False

    @classmethod
    def of(cls, user: User, *, key: ApiKey | None = None, agent: Agent | None = None, typed: bool = False) -> "Actor":
        """Return the actor for a person: in the browser with all that the role permits, with a key what it allows."""
        scopes = SCOPES_OF_ROLE[user.role]
        if key is None:
            return cls(user=user, agent=agent, scopes=scopes, typed=typed)
        return cls(user, key, agent, scopes & frozenset(key.scopes), frozenset(key.toolsets))

    def require(self, scope: str) -> None:
        """Refuse when the scope is missing, saying whether the key or the role is in the way."""
        if scope in self.scopes:
            return
        action = _ACTIONS[scope]
        if scope in SCOPES_OF_ROLE[self.user.role] and self.is_app:
            hint = f"Its user can connect it again and permit `{scope}`."
            raise Forbidden(f"This app may not {action}.", hint=hint, scope=scope)
        if scope in SCOPES_OF_ROLE[self.user.role]:
            raise Forbidden(f"This key may not {action}.", hint=f"Use a key with the scope `{scope}`.", scope=scope)
        raise Forbidden(f"A {self.user.role} may not {action}.", hint="Ask an admin of this BigMind.", scope=scope)

    def require_toolset(self, toolsets: Collection[str]) -> None:
        """Refuse when the key is limited to other toolsets than these."""
        if not self.may_use(toolsets):
            allowed, needed = ", ".join(sorted(self.toolsets)), " or ".join(f"`{name}`" for name in sorted(toolsets))
            hint = f"Use a key with the toolset {needed}."
            if self.is_app:
                hint = f"Its user can connect it again and permit the toolset {needed}."
            raise Forbidden(f"This {'app' if self.is_app else 'key'} is limited to: {allowed}.", hint=hint)

    @property
    def is_agent(self) -> bool:
        """Whether an agent or another program sends the call, or the command line does."""
        return self.key is not None or self.agent is not None

    @property
    def is_person(self) -> bool:
        """Whether the person acts: in the browser, or by a command that they typed. They may decide what no agent may.

        A client that starts `bigmind mcp` on their machine acts for them without a key, and is none the less an agent.
        """
        return self.typed or not self.is_agent

    @property
    def is_app(self) -> bool:
        """Whether a connected app acts, with tokens instead of a key of its own."""
        return self.key is not None and self.key.app_id is not None

    def may_use(self, toolsets: Collection[str]) -> bool:
        """Whether the key may use what is in any of these toolsets."""
        return not self.toolsets or not self.toolsets.isdisjoint(toolsets)


_ACTING: ContextVar[Actor | None] = ContextVar("acting", default=None)


@contextmanager
def acts(actor: Actor) -> Iterator[None]:
    """Attribute what is stored and done inside this block to this actor."""
    token = _ACTING.set(actor)
    try:
        yield
    finally:
        _ACTING.reset(token)


def acting() -> Actor | None:
    """Return the actor of this call; on a page the signed-in user; None in a command or task."""
    return _ACTING.get()
