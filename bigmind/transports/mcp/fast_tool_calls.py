"""Calls of tools over the handshake revisions: one request in, one answer out, without what streams would need.

The SDK's transport starts a task, four streams and a router for each request, which cost more than the rest of the
protocol. A call needs none of them: it is handed to the kernel that the SDK's own entry for revision 2026-07-28 uses.
Whatever is not plainly a call goes to the transport, which knows how to answer it.
"""

from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Any

import anyio
from mcp.server.connection import Connection
from mcp.server.lowlevel import Server
from mcp.server.runner import modern_error_data, serve_one
from mcp.server.streamable_http import check_accept_headers
from mcp.shared.dispatcher import CallOptions
from mcp.shared.exceptions import NoBackChannelError
from mcp.shared.message import ServerMessageMetadata
from mcp.shared.transport_context import TransportContext
from mcp.types import DEFAULT_NEGOTIATED_VERSION, JSONRPCError, JSONRPCRequest, JSONRPCResponse
from pydantic import ValidationError
from pydantic_core import from_json
from starlette.requests import Request
from starlette.responses import Response
from starlette.types import Scope

from bigmind.transports.mcp.connections import REVISION_HEADER, is_of_a_handshake

CALL = "tools/call"
JSON = "application/json"


@dataclass(frozen=True)
class OneAnswer:
    """What the kernel has to know of a request that gets one answer: nothing can be sent to the client beside that."""

    transport: TransportContext
    request_id: str | int
    message_metadata: ServerMessageMetadata
    cancel_requested: anyio.Event = field(default_factory=anyio.Event)
    can_send_request: bool = False

    async def send_raw_request(
        self, method: str, params: Mapping[str, Any] | None, opts: CallOptions | None = None
    ) -> dict[str, Any]:
        """Refuse: a client is asked nothing.

        Raises:
            NoBackChannelError: always.
        """
        raise NoBackChannelError(method)

    async def notify(self, method: str, params: Mapping[str, Any] | None, opts: CallOptions | None = None) -> None:
        """Drop it: the answer is one document."""

    async def progress(self, progress: float, total: float | None = None, message: str | None = None) -> None:
        """Drop it, too."""


def may_be_call(request: Request) -> bool:
    """Whether a request has the form of a call, as far as its headers say: then its body is worth reading here."""
    headers = request.headers
    return (
        request.method == "POST"
        # Of a body without a length the SDK counts what comes, and refuses one that is too large.
        and "content-length" in headers
        and headers.get("content-type", "").partition(";")[0].strip().lower() == JSON
        and is_of_a_handshake(headers.get(REVISION_HEADER))
        and check_accept_headers(request)[0]
    )


def read_call(body: bytes) -> JSONRPCRequest | None:
    """Return the call of a tool that a body is; None for anything else."""
    try:
        message = from_json(body)
        if isinstance(message, dict) and message.get("method") == CALL and "id" in message:
            return JSONRPCRequest.model_validate(message, by_name=False)
    except (ValueError, ValidationError):
        pass
    return None


async def answer_call(server: Server[Any], scope: Scope, call: JSONRPCRequest) -> Response:
    """Return the answer to a call, in the same words as the transport would give it."""
    request = Request(scope)
    exchange = OneAnswer(
        TransportContext(kind="streamable-http", can_send_request=False, headers=request.headers),
        call.id,
        ServerMessageMetadata(request_context=request),
    )
    connection = Connection.from_envelope(request.headers.get(REVISION_HEADER, DEFAULT_NEGOTIATED_VERSION), None, None)
    answer: JSONRPCResponse | JSONRPCError
    try:
        result = await serve_one(server, exchange, CALL, call.params, connection=connection, lifespan_state={})
        answer = JSONRPCResponse(jsonrpc="2.0", id=call.id, result=result)
    except Exception as error:  # noqa: BLE001 - the outermost loop of a request
        answer = JSONRPCError(jsonrpc="2.0", id=call.id, error=modern_error_data(error))
    return Response(answer.model_dump_json(by_alias=True, exclude_unset=True), media_type=JSON)
