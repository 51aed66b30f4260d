"""Protocol errors: translates exceptions into one sentence for the client, never a traceback."""

import structlog
from django.db import InterfaceError, OperationalError
from mcp import MCPError, types

from accounts.authentication import BadKey
from bigmind.core.errors import BigMindError, ReadOnly, TooMany
from bigmind.core.full_disk import is_disk_full
from bigmind.core.metrics import DATABASE_ERRORS
from bigmind.database.read_only import is_refused_write
from bigmind.observability.health import is_full_disk_behind

log = structlog.get_logger()

DATABASE_AWAY = "BigMind's database does not answer (request {}). Try again in a minute."
DISK_FULL = (
    "BigMind's disk is full, so nothing can be stored (request {}). Tell the user; send it again once there is space."
)
BROKEN = "Something went wrong here (request {}). Look before you repeat a write: it may not have been stored."


class ProtocolError(MCPError):
    """An error before an operation was reached: an invalid key, too much that waits, a database away, a bug of ours."""


def as_protocol_error(error: Exception, request_id: str) -> MCPError:
    """Return the JSON-RPC error for an exception of a request; log it when the fault is ours."""
    if isinstance(error, MCPError):
        return error
    if is_refused_write(error):
        error = ReadOnly()
    if isinstance(error, TooMany):
        about = {"code": error.code, "retryAfter": error.retry_after, "requestId": request_id}
        return ProtocolError(types.INVALID_REQUEST, str(error), about)
    if isinstance(error, BigMindError):
        return MCPError(types.INVALID_PARAMS, str(error), {"code": error.code, "requestId": request_id})
    if isinstance(error, BadKey):
        return ProtocolError(types.INVALID_REQUEST, str(error), {"requestId": request_id})
    return _our_fault(error, request_id)


def _our_fault(error: Exception, request_id: str) -> ProtocolError:
    if isinstance(error, OperationalError | InterfaceError) or is_disk_full(error):
        log.error("The database does not answer.", request_id=request_id, error=error)
        DATABASE_ERRORS.labels("mcp").inc()
        sentence = DISK_FULL if is_full_disk_behind(error) else DATABASE_AWAY
    else:
        log.error("A request over MCP failed.", request_id=request_id, exc_info=error)
        sentence = BROKEN
    return ProtocolError(types.INTERNAL_ERROR, sentence.format(request_id), {"requestId": request_id})
