"""MCP over standard input and output, for clients that start their servers themselves."""

from collections.abc import Callable
from uuid import uuid4

import anyio
from mcp.server.stdio import stdio_server

from bigmind.observability.logging import begin_request
from bigmind.transports.mcp.request_context import Caller, ClientName, Identify
from bigmind.transports.mcp.server import build_server


def serve_stdio(identify: Identify, *, toolsets: frozenset[str], structured: bool = False) -> None:
    """Serve one client until it closes its end. Nothing but the protocol is written to standard output."""
    connection = uuid4().hex
    client = ClientName("stdio")

    def caller() -> Caller:
        return Caller(identify, toolsets, begin_request(), client, structured=structured, connection=connection)

    anyio.run(_serve, caller)


async def _serve(caller: Callable[[], Caller]) -> None:
    server = build_server(lambda _: caller())
    async with stdio_server() as (read, write):
        await server.run(read, write, server.create_initialization_options())
