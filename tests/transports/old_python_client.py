"""One conversation with the first generation of the official client: run by the interpreter that has it installed.

Usage: `python old_python_client.py URL KEY` prints as JSON what the client saw.
"""

import asyncio
import json
import sys
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager

from mcp import ClientSession
from mcp.client.streamable_http import streamablehttp_client


async def converse(url: str, key: str) -> None:
    """Work through one conversation, then start the next, and print the context it starts from."""
    seen: dict[str, object] = {}
    async with _session(url, key) as session:
        handshake = await session.initialize()
        seen["protocol"] = handshake.protocolVersion
        seen["tools"] = [tool.name for tool in (await session.list_tools()).tools]
        await session.call_tool("memory_start_session", {})
        await session.call_tool("memory_store_fact", {"category": "preference", "fact": "Prefers tabs over spaces."})
        await session.call_tool("memory_store_fact", {"category": "decision", "fact": "Deploys on Tuesdays."})
        await session.call_tool("memory_flag_important", {"content": "We keep PostgreSQL."})
        await session.call_tool("memory_end_session", {"one_liner": "Chose a database"})
    async with _session(url, key) as session:
        await session.initialize()
        seen["context"] = (await session.call_tool("memory_start_session", {})).content[0].text
    print(json.dumps(seen))


@asynccontextmanager
async def _session(url: str, key: str) -> AsyncIterator[ClientSession]:
    headers = {"Authorization": f"Bearer {key}"}
    async with streamablehttp_client(url, headers=headers) as (read, write, _), ClientSession(read, write) as session:
        yield session


if __name__ == "__main__":
    asyncio.run(converse(*sys.argv[1:]))
