"""Admission: which HTTP requests reach the protocol, and who is calling."""

import re
from dataclasses import replace
from functools import partial
from ipaddress import ip_address
from urllib.parse import urlsplit

from django.conf import settings
from django.http.request import split_domain_port, validate_host
from mcp.types import INTERNAL_ERROR, INVALID_REQUEST
from starlette.requests import Request
from starlette.responses import JSONResponse

from accounts.actor import Actor
from accounts.authentication import BadKey, bearer_token
from accounts.models import ApiKey
from accounts.services.agents import note_agent
from accounts.services.key_cache import KNOWN_KEYS
from accounts.sign_in.attempts import count_guess
from bigmind.core.errors import Invalid, TooMany
from bigmind.text.hygiene import echo
from bigmind.toolsets import parse_toolsets
from bigmind.transports.fair_pool import People, share_of
from bigmind.transports.mcp.authentication import Guard
from bigmind.transports.mcp.connections import HEADER, REVISION_HEADER, Connection, is_of_a_handshake, read_connection
from bigmind.transports.mcp.protocol_errors import as_protocol_error
from bigmind.transports.mcp.request_context import (
    AGENT_HOST_HEADER,
    CONVERSATION_HEADER,
    Caller,
    ClientName,
    host_at,
    parse_structured,
)
from bigmind.transports.mcp.threads import on_a_thread

_PRODUCT = re.compile(r"([^\s/]+)(?:/(\S+))?")


class RequestRefused(Exception):
    """A request that does not reach the protocol, with the status and the sentence that answer it."""

    def __init__(self, status: int, sentence: str, **headers: str) -> None:
        super().__init__(sentence)
        self.status = status
        self.headers = {name.replace("_", "-"): value for name, value in headers.items()}

    def response(self) -> JSONResponse:
        """The answer, in the form in which clients expect errors."""
        code = INTERNAL_ERROR if self.status >= 500 else INVALID_REQUEST
        body = {"jsonrpc": "2.0", "id": None, "error": {"code": code, "message": str(self)}}
        return JSONResponse(body, self.status, self.headers)


async def admit(request: Request, request_id: str, guard: Guard) -> tuple[Caller, Actor, Connection | None]:
    """Return who is calling, and on which connection where there is one.

    Raises:
        RequestRefused: the request comes from a foreign host or origin, is too large, has no valid key, or names
            something that does not exist.
    """
    # The key before the body, of which nothing is read for a stranger; and before the key what takes no look-up.
    require_our_host(request)
    _require_our_origin(request)
    _require_size(request)
    actor = await _authenticate(request, request_id, guard)
    connection = _connection(request, actor)
    return _caller(request, actor, request_id, connection), actor, connection


def require_our_host(request: Request) -> None:
    """Refuse requests to another host name (DNS rebinding). The setting is the one that also protects the pages.

    Raises:
        RequestRefused: the host is not ours.
    """
    host = request.headers.get("host", "")
    domain, _ = split_domain_port(host)
    if not validate_host(domain, settings.ALLOWED_HOSTS):
        raise RequestRefused(421, _strange(f"the host {echo(host)}"))


def _require_our_origin(request: Request) -> None:
    """Refuse requests that a page of another site makes a browser send."""
    origin = request.headers.get("origin")
    if origin and origin not in settings.CSRF_TRUSTED_ORIGINS and not _is_this_machine(origin):
        raise RequestRefused(403, _strange(f"the origin {echo(origin)}"))


def _is_this_machine(origin: str) -> bool:
    """Whether a page on this machine sent it, on any port: the window of a client, or a proxy in front of us."""
    try:
        host = urlsplit(origin).hostname or ""
        return host == "localhost" or ip_address(host).is_loopback
    except ValueError:
        return False


def _strange(found: str) -> str:
    return f"BigMind is at {settings.PUBLIC_URL}, not at {found}. To change where it is, set BIGMIND_PUBLIC_URL."


def _require_size(request: Request) -> None:
    """Refuse bodies whose `Content-Length` exceeds the limit. The SDK counts those that come without one."""
    size, limit = request.headers.get("content-length", ""), settings.MCP_BODY_BYTES
    if size.isdecimal() and int(size) > limit:
        raise RequestRefused(413, f"The request is {int(size):,} bytes; the limit is {limit:,}. Send it in parts.")


async def _authenticate(request: Request, request_id: str, guard: Guard) -> Actor:
    shown = request.headers.get("authorization", "")
    token = bearer_token(shown)
    if not token:
        raise RequestRefused(401, guard.advice, WWW_Authenticate=guard.challenge)
    if known := guard.recall(token):
        return known
    work = partial(_actor_for, token, guard, address_of(request))
    try:
        # That too much waits, the call says: agents read tool errors, and clients keep the others to themselves.
        with share_of(People.find(shown, address_of(request)), is_limited=False):
            actor = await on_a_thread(work, request_id=request_id)
        People.note(shown, actor.user.pk)
        return actor
    except BadKey as bad:
        raise RequestRefused(401, str(bad), WWW_Authenticate=f'{guard.challenge}, error="invalid_token"') from bad
    except TooMany as many:
        raise RequestRefused(429, str(many), Retry_After=str(many.retry_after)) from many
    except Exception as error:  # the outermost loop of a request
        raise RequestRefused(503, as_protocol_error(error, request_id).message, Retry_After="5") from error


def address_of(request: Request) -> str:
    """Return the address of the peer. Headers such as `X-Forwarded-For` are ignored: any client can send them."""
    return request.client.host if request.client else ""


def _actor_for(token: str, guard: Guard, address: str) -> Actor:
    try:
        return guard.authenticate(token)
    except BadKey:
        count_guess(token, address)
        raise


def _connection(request: Request, actor: Actor) -> Connection | None:
    """Return the connection that a request names; None if it names none, as usual since revision 2026-07-28.

    A connection is stored nowhere, because each request is answered by itself. So it has no stream to open (GET) and
    nothing to end (DELETE).
    """
    if not is_of_a_handshake(request.headers.get(REVISION_HEADER)):
        return None
    if request.method != "POST":
        raise RequestRefused(
            405, "Send each message by POST: there is no other stream, and nothing to end.", Allow="POST"
        )
    if HEADER not in request.headers:
        return None
    connection = read_connection(actor, request.headers[HEADER])
    if connection is None:
        raise RequestRefused(404, "Session not found. Send `initialize` to begin a new one.")
    return connection


def _caller(request: Request, actor: Actor, request_id: str, connection: Connection | None) -> Caller:
    host = request.headers.get(AGENT_HOST_HEADER) or host_at(address_of(request))
    try:
        toolsets = parse_toolsets(",".join(request.query_params.getlist("toolsets")))
        structured = parse_structured(request.query_params.get("structured", ""))
    except Invalid as invalid:
        raise RequestRefused(400, str(invalid)) from invalid
    return Caller(
        identify=partial(_with_agent, actor, host=host),
        toolsets=toolsets,
        structured=structured,
        request_id=request_id,
        client=connection.introduced if connection else _client_by_user_agent(request),
        conversation=request.headers.get(CONVERSATION_HEADER, "").strip(),
        connection=connection.id if connection else "",
        person=str(actor.user.pk),
    )


def _client_by_user_agent(request: Request) -> ClientName:
    product = _PRODUCT.match(request.headers.get("user-agent", ""))
    return ClientName(product[1], product[2] or "") if product else ClientName("unknown client")


def _with_agent(actor: Actor, client: ClientName, *, host: str) -> Actor:
    agent = note_agent(actor.user, client_name=client.name, client_version=client.version, host=host)
    used_by = str(agent)[:200]
    # The key was looked up before the client had introduced itself, so who uses it is noted only now.
    if actor.key and actor.key.last_used_by != used_by:
        ApiKey.objects.filter(pk=actor.key.pk).update(last_used_by=used_by)
        KNOWN_KEYS.forget()
    return replace(actor, agent=agent)
