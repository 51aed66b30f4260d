"""Server configs: what a client needs to know to connect."""

from dataclasses import dataclass

KEY_PLACEHOLDER = "bm_YOUR_KEY"
KEY_VARIABLE = "BIGMIND_API_KEY"


@dataclass(frozen=True)
class ServerConfig:
    """What a client needs to connect.

    Attributes:
        public_url: The address of this BigMind, as people and agents type it.
        key: The text of a key, or the placeholder for one.
        toolsets: The toolsets to list; empty means the default.
        command: How a client on the same machine starts `bigmind mcp`; empty when there is no such way.
        environment: What that command must find in its environment, besides the key.
    """

    public_url: str
    key: str = KEY_PLACEHOLDER
    toolsets: tuple[str, ...] = ()
    command: tuple[str, ...] = ()
    environment: tuple[tuple[str, str], ...] = ()

    @property
    def endpoint(self) -> str:
        """The address of the MCP endpoint, with the toolsets to list."""
        query = f"?toolsets={','.join(self.toolsets)}" if self.toolsets else ""
        return f"{self.public_url}/mcp{query}"

    @property
    def authorization(self) -> str:
        """The value of the Authorization header."""
        return f"Bearer {self.key}"

    @property
    def headers(self) -> dict[str, str]:
        """The headers a client must send."""
        return {"Authorization": self.authorization}
