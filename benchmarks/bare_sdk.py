"""The official SDK serving one tool and nothing else: what a call over MCP costs at the least."""

from collections.abc import AsyncIterator, Awaitable, Callable
from contextlib import asynccontextmanager
from typing import Any

from mcp import types
from mcp.server.lowlevel import Server
from mcp.server.streamable_http_manager import StreamableHTTPASGIApp, StreamableHTTPSessionManager
from starlette.applications import Starlette
from starlette.routing import Route

CallTool = Callable[[Any, types.CallToolRequestParams], Awaitable[types.CallToolResult]]


async def list_tools(ctx: Any, params: Any) -> types.ListToolsResult:
    """List the one tool."""
    return types.ListToolsResult(tools=[types.Tool(name="echo", input_schema={"type": "object"})])


async def call_tool(ctx: Any, params: types.CallToolRequestParams) -> types.CallToolResult:
    """Say a word."""
    return types.CallToolResult(content=[types.TextContent(text="hello")], structured_content={"text": "hello"})


def serve(answer: CallTool) -> Starlette:
    """Return an application that answers each call of a tool by one function."""
    server = Server("bare", on_list_tools=list_tools, on_call_tool=answer)
    sessions = StreamableHTTPSessionManager(server, json_response=True)

    @asynccontextmanager
    async def lifespan(app: Starlette) -> AsyncIterator[None]:
        """Keep the sessions for as long as the server runs."""
        async with sessions.run():
            yield

    return Starlette(routes=[Route("/mcp", StreamableHTTPASGIApp(sessions))], lifespan=lifespan)


application = serve(call_tool)
