"""Routes: the paths of OAuth, each the SDK's handler behind what holds for every path here."""

from collections.abc import Awaitable, Callable
from functools import partial
from urllib.parse import urlencode

import anyio
import anyio.to_thread
from django.conf import settings
from mcp.server.auth.handlers.authorize import AuthorizationHandler
from mcp.server.auth.handlers.metadata import MetadataHandler, ProtectedResourceMetadataHandler
from mcp.server.auth.handlers.register import RegistrationHandler
from mcp.server.auth.handlers.token import TokenHandler
from mcp.server.auth.middleware.client_auth import AuthenticationError, ClientAuthenticator
from mcp.server.auth.routes import cors_middleware
from starlette.datastructures import FormData
from starlette.exceptions import HTTPException
from starlette.requests import Request
from starlette.responses import JSONResponse, Response
from starlette.routing import Route

from accounts.oauth.app_tokens import oauth_address
from accounts.oauth.client_documents import is_document_address, must_be_read, read_document
from accounts.oauth.connected_apps import keep_document
from accounts.sign_in.attempts import count_exchange, count_guess
from bigmind.core.errors import BigMindError, ReadOnly, TooMany
from bigmind.database.read_only import is_refused_write
from bigmind.observability.logging import HEADER, begin_request
from bigmind.transports.mcp.admission import RequestRefused, address_of, require_our_host
from bigmind.transports.mcp.oauth.metadata import REGISTRATION, of_the_resource, of_the_server
from bigmind.transports.mcp.oauth.provider import OAuthProvider, is_ours
from bigmind.transports.mcp.protocol_errors import as_protocol_error
from bigmind.transports.mcp.threads import on_a_thread

BODY_BYTES = 64 * 1024
DOCUMENTS_AT_ONCE = 4
NOT_KEPT = {"Cache-Control": "no-store", "Pragma": "no-cache"}
Answer = Callable[[Request, OAuthProvider], Awaitable[Response]]

# Documents are fetched on threads of their own: one that comes slowly must not hold up tool calls.
_fetching = anyio.CapacityLimiter(DOCUMENTS_AT_ONCE)


def oauth_routes() -> list[Route]:
    """Return the routes of OAuth; none where it is switched off, so that every path of it is not found."""
    if not settings.OAUTH:
        return []
    resource = ProtectedResourceMetadataHandler(of_the_resource())
    server = MetadataHandler(of_the_server())

    async def describe_resource(request: Request, _: OAuthProvider) -> Response:
        return await resource.handle(request)

    async def describe_server(request: Request, _: OAuthProvider) -> Response:
        return await server.handle(request)

    return [
        _route("/.well-known/oauth-protected-resource/mcp/oauth", describe_resource, "GET"),
        _route("/.well-known/oauth-authorization-server/mcp/oauth", describe_server, "GET"),
        Route("/mcp/oauth/authorize", _behind(authorize), methods=["GET", "POST"]),
        _route("/mcp/oauth/token", token, "POST"),
        _route("/mcp/oauth/register", register, "POST"),
        _route("/mcp/oauth/revoke", revoke, "POST"),
    ]


async def authorize(request: Request, provider: OAuthProvider) -> Response:
    """Turn to the page on which a person decides; read the app's document first, if it introduces itself by one."""
    params = request.query_params if request.method == "GET" else await request.form()
    client_id = params.get("client_id")
    if isinstance(client_id, str) and is_document_address(client_id):
        await _read_document(client_id, provider)
    response = await AuthorizationHandler(provider).handle(request)
    went_to = response.headers.get("location", "")
    if "error=" in went_to and not went_to.startswith("/"):
        # RFC 9207: an app that receives an error must know which server sent it.
        response.headers["location"] = f"{went_to}&{urlencode({'iss': oauth_address()})}"
    return response


async def token(request: Request, provider: OAuthProvider) -> Response:
    """Exchange a code or a refresh token. The SDK's handler does not look at `resource`."""
    await _count(partial(count_exchange, provider.address), provider)
    form = await request.form()
    if not all(isinstance(named, str) and is_ours(named) for named in form.getlist("resource")):
        return _error(400, "invalid_target", f"resource must be {oauth_address()}")
    response: Response = await TokenHandler(provider, ClientAuthenticator(provider)).handle(request)
    if response.status_code != 200:
        shown = _text(form, "code") or _text(form, "refresh_token") or _text(form, "client_id")
        await _count(partial(count_guess, shown, provider.address), provider)
    return response


async def register(request: Request, provider: OAuthProvider) -> Response:
    """Get to know an app."""
    response = await RegistrationHandler(provider, REGISTRATION).handle(request)
    response.headers.update(NOT_KEPT)
    return response


async def revoke(request: Request, provider: OAuthProvider) -> Response:
    """End an app's access by either of its tokens (RFC 7009).

    The SDK's own handler asks every client for a secret, which apps here have not.
    """
    await _count(partial(count_exchange, provider.address), provider)
    form = await request.form()
    try:
        client = await ClientAuthenticator(provider).authenticate_request(request)
    except AuthenticationError as error:
        await _count(partial(count_guess, _text(form, "client_id"), provider.address), provider)
        return _error(401, "invalid_client", error.message)
    text = _text(form, "token")
    if not text:
        return _error(400, "invalid_request", "token is required.")
    found = await provider.load_access_token(text) or await provider.load_refresh_token(client, text)
    if found is not None and found.client_id == client.client_id:
        await provider.revoke_token(found)
    else:
        await _count(partial(count_guess, text, provider.address), provider)
    return Response(status_code=200, headers=NOT_KEPT)


async def _count(count: Callable[[], None], provider: OAuthProvider) -> None:
    """Count what may be done a few times only, on a thread: the cache and the database are asked."""
    await on_a_thread(count, request_id=provider.request_id)


async def _read_document(client_id: str, provider: OAuthProvider) -> None:
    ask = partial(on_a_thread, request_id=provider.request_id)
    if not await ask(partial(must_be_read, client_id, address=provider.address)):
        return
    document = await anyio.to_thread.run_sync(partial(read_document, client_id), limiter=_fetching)
    keep = partial(keep_document, name=document.name, redirect_uris=document.redirect_uris, address=provider.address)
    await ask(partial(keep, client_id))


def _route(path: str, answer: Answer, method: str) -> Route:
    """Allow calls from pages of other sites (CORS): no cookies are used here, and an app may run in a browser."""
    methods = [method, "OPTIONS"]
    return Route(path, cors_middleware(_behind(answer), methods), methods=methods)


def _behind(answer: Answer) -> Callable[[Request], Awaitable[Response]]:
    """Put an answer behind what holds for all: our own name, a small body, an id, and an error that tells nothing."""

    async def endpoint(request: Request) -> Response:
        request_id = begin_request(request.headers.get(HEADER, ""))
        try:
            require_our_host(request)
            await _require_small(request)
            response = await answer(request, OAuthProvider(request_id, address_of(request)))
        except Exception as error:  # noqa: BLE001 - the outermost loop of a request
            response = _refusal(error, request_id)
        response.headers[HEADER] = request_id
        return response

    return endpoint


def _refusal(error: Exception, request_id: str) -> Response:
    if isinstance(error, RequestRefused):
        return _error(error.status, "invalid_request", str(error))
    if isinstance(error, HTTPException):
        return _error(error.status_code, "invalid_request", str(error.detail))
    if isinstance(error, TooMany):
        return _error(429, "temporarily_unavailable", str(error), {"Retry-After": str(error.retry_after)})
    if isinstance(error, ReadOnly) or is_refused_write(error):
        later = {"Retry-After": str(ReadOnly.retry_after)}
        return _error(503, "temporarily_unavailable", str(ReadOnly()), later)
    if isinstance(error, BigMindError):
        return _error(400, "invalid_request", str(error))
    sentence = as_protocol_error(error, request_id).message
    return _error(503, "temporarily_unavailable", sentence, {"Retry-After": "5"})


def _error(status: int, code: str, sentence: str, headers: dict[str, str] | None = None) -> Response:
    return JSONResponse({"error": code, "error_description": sentence}, status, NOT_KEPT | (headers or {}))


async def _require_small(request: Request) -> None:
    """Refuse a body that is too large, or in parts, before it is read as a form. What was read, the request keeps."""
    if request.headers.get("content-type", "").lower().startswith("multipart/"):
        raise RequestRefused(415, "Send the form as application/x-www-form-urlencoded.")
    size, body = 0, []
    async for piece in request.stream():
        size += len(piece)
        if size > BODY_BYTES:
            raise RequestRefused(413, f"The request is larger than {BODY_BYTES:,} bytes.")
        body.append(piece)
    request._body = b"".join(body)


def _text(form: FormData, name: str) -> str:
    # A form can also contain files, under any name.
    value = form.get(name)
    return value if isinstance(value, str) else ""
