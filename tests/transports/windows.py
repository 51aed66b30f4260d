"""A window of a real client, in which somebody works."""

import re
from typing import Any

from mcp import Client

Said = tuple[bool, str]
"""Whether a call was refused, and what is read."""


class Window:
    """One window of a client."""

    def __init__(self, client: Client) -> None:
        self._client = client

    async def call(self, tool: str, **arguments: Any) -> Said:
        """Call a tool; return whether it was refused, and what is read."""
        result = await self._client.call_tool(tool, arguments)
        return bool(result.is_error), result.content[0].text  # type: ignore[union-attr]

    async def start(self, project: str) -> str:
        """Start a session and return its handle."""
        _, text = await self.call("memory_start_session", project=project)
        found = re.search(r"Session `(S\d+)`", text)
        assert found, text
        return found[1]
