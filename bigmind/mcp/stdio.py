"""MCP over standard input and output, for clients that start their servers themselves."""

import anyio
from mcp.server.stdio import stdio_server

from bigmind.mcp.server import build_server
from bigmind.mcp.turns import Caller, Client, Identify
from bigmind.request_ids import begin_request


def serve_stdio(identify: Identify, *, toolsets: frozenset[str]) -> None:
    """Serve one client until it closes its end. Nothing but the protocol is written to standard output."""
    anyio.run(_serve, identify, toolsets)


async def _serve(identify: Identify, toolsets: frozenset[str]) -> None:
    server = build_server(lambda _: Caller(identify, toolsets, begin_request(), Client("stdio")))
    async with stdio_server() as (read, write):
        await server.run(read, write, server.create_initialization_options())
