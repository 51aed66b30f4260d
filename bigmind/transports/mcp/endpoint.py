"""The endpoints of MCP: Streamable HTTP behind a key or a token, for every revision of the protocol in use."""

import signal
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager

import anyio
from django.conf import settings
from mcp.server.context import CallNext, HandlerResult
from mcp.server.streamable_http_manager import StreamableHTTPSessionManager
from starlette.datastructures import MutableHeaders
from starlette.requests import ClientDisconnect, Request
from starlette.types import Message, Receive, Scope, Send

from bigmind.observability.logging import HEADER, begin_request
from bigmind.transports.mcp import connections
from bigmind.transports.mcp.admission import RequestRefused, admit
from bigmind.transports.mcp.authentication import Guard
from bigmind.transports.mcp.changes import end_streams
from bigmind.transports.mcp.connections import REVISION_HEADER, open_connection
from bigmind.transports.mcp.fast_tool_calls import answer_call, may_be_call, read_call
from bigmind.transports.mcp.request_context import Caller
from bigmind.transports.mcp.server import Context, build_server, read_introduction
from bigmind.transports.request_limits import replay_body

CALLER = "bigmind.caller"
ACTOR = "bigmind.actor"
OPENED = "bigmind.opened"
"""Keys in the ASGI scope of a request: the caller, the actor, and the id of a connection that it opened."""


class McpEndpoint:
    """The ASGI application at `/mcp` or `/mcp/oauth`. It serves while `running()` is entered."""

    def __init__(self, guard: Guard) -> None:
        self._guard = guard
        self._sessions: StreamableHTTPSessionManager | None = None
        self._server = build_server(_caller_of)
        self._server.middleware.append(_open_connection)

    @asynccontextmanager
    async def running(self) -> AsyncIterator[None]:
        """Answer for as long as the server runs."""
        # `admit` checks Host and Origin by the rules of the pages, so the SDK's own guard stays off. One JSON body
        # for each request: no tool streams, and it is the faster of the two forms that every client must accept.
        # Stateless: what the SDK keeps in memory ends with the process, and other processes cannot see it.
        sessions = StreamableHTTPSessionManager(
            self._server, json_response=True, stateless=True, max_request_body_size=settings.MCP_BODY_BYTES
        )
        async with sessions.run(), anyio.create_task_group() as tasks:
            self._sessions = sessions
            tasks.start_soon(_end_streams_with_the_server)
            yield
            tasks.cancel_scope.cancel()

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        """Answer one HTTP request."""
        assert self._sessions is not None, "the lifespan of the application has not begun"
        request = Request(scope, receive)
        request_id = begin_request(request.headers.get(HEADER, ""))
        response = _Response(send, request_id, scope)
        try:
            caller, actor, connection = await admit(request, request_id, self._guard)
        except RequestRefused as refused:
            await refused.response()(scope, receive, response.send)
            return
        scope[CALLER], scope[ACTOR] = caller, actor
        if connection and REVISION_HEADER not in request.headers:
            MutableHeaders(scope=scope)[REVISION_HEADER] = connection.revision
        if may_be_call(request):
            try:
                body = await request.body()
            except ClientDisconnect:
                return
            if call := read_call(body):
                await (await answer_call(self._server, scope, call))(scope, receive, response.send)
                return
            receive = replay_body(body, receive)
        await self._sessions.handle_request(scope, receive, response.send)
        await response.end()


async def _end_streams_with_the_server() -> None:
    """Let Ctrl-C take effect at once: uvicorn waits for open streams before it notifies the application."""
    while not _is_stopping():
        await anyio.sleep(0.5)
    end_streams()


def _is_stopping() -> bool:
    # uvicorn tells an application when its streams have ended; but its handler of signals is a method of the server.
    server = getattr(signal.getsignal(signal.SIGTERM), "__self__", None)
    return bool(getattr(server, "should_exit", False))


async def _open_connection(ctx: Context, call_next: CallNext) -> HandlerResult:
    """Give a client its connection id in the reply to the handshake. It sends the id from then on."""
    result = await call_next(ctx)
    client = read_introduction(ctx)
    if client and ctx.request is not None and isinstance(result, dict):
        ctx.request.scope[OPENED] = open_connection(
            ctx.request.scope[ACTOR], revision=result["protocolVersion"], client=client
        )
    return result


def _caller_of(ctx: Context) -> Caller:
    assert ctx.request is not None, "only HTTP requests come here"
    caller: Caller = ctx.request.scope[CALLER]
    return caller


class _Response:
    """The response of a request: it adds the ids of the request and of a new connection, and always ends."""

    def __init__(self, send: Send, request_id: str, scope: Scope) -> None:
        self._send = send
        self._scope = scope
        self._request_id = request_id
        self._is_open = False

    async def send(self, message: Message) -> None:
        """Send a part of the response."""
        if message["type"] == "http.response.start":
            headers = MutableHeaders(scope=message)
            headers[HEADER] = self._request_id
            if OPENED in self._scope:
                headers[connections.HEADER] = self._scope[OPENED]
        self._is_open = message["type"] == "http.response.start" or message.get("more_body", False)
        await self._send(message)

    async def end(self) -> None:
        """End a body that is still open: an event stream that stopped with the server. uvicorn would hang else."""
        if self._is_open:
            await self.send({"type": "http.response.body", "body": b"", "more_body": False})
