"""Pages and REST under ASGI: Django's WSGI application on a bounded pool of threads."""

import asyncio
from collections.abc import Callable, Mapping
from typing import Any

from a2wsgi import WSGIMiddleware
from starlette.datastructures import Headers
from starlette.requests import cookie_parser
from starlette.responses import PlainTextResponse, Response
from starlette.types import ASGIApp, Message, Receive, Scope, Send

from bigmind.core.errors import TooMany
from bigmind.core.limits import IMPORT_BYTES
from bigmind.core.load_once import load_once
from bigmind.environment import environment
from bigmind.transports.fair_pool import FairPool, NobodyWaits, People, share_of
from bigmind.web.pages import FOR_PROGRAMS, is_for_programs

REST = "/api/v1/"
SLOW_PAGES = frozenset({"search", "import", "export", "insights"})
"""What is in the path of a page that searches, or reads or writes much. The home page does if it is asked something."""
STRANGERS_BYTES = 64 * 1024
"""What is read of a request before it is known whose it is: more than any form for people without an account has."""
STRANGERS_TOGETHER = 8 * 1024 * 1024
"""The same of all such requests at one time."""
REST_BYTES = 1024 * 1024
BODY_BYTES = 8 * 1024 * 1024
LIMITS: Mapping[str, int] = {
    "/api/v1/import/": IMPORT_BYTES,
    **dict.fromkeys(FOR_PROGRAMS, REST_BYTES),
    "": BODY_BYTES,
}
"""The largest body for each route; the first that an address begins with counts."""
CHUNKS_AHEAD = 64
"""Pieces of an answer that may wait for a slow client before the thread that makes them waits, too."""


def web_application(wsgi: Any) -> ASGIApp:
    """Return the ASGI application that serves a WSGI application on as many threads as the settings say."""
    threads: Any = WSGIMiddleware(wsgi, send_queue_size=CHUNKS_AHEAD)
    threads.executor = FairPool("web", environment().web_threads)
    return WholeRequests(FairShares(threads))


class PlainFraming:
    """Refuse a request that gives the length of its body in two ways: a proxy may have believed the other one."""

    def __init__(self, app: ASGIApp) -> None:
        self.app = app

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        """Serve one request."""
        headers = Headers(scope=scope) if scope["type"] == "http" else {}
        if "content-length" in headers and "transfer-encoding" in headers:
            sentence = "Content-Length and Transfer-Encoding exclude each other.\n"
            await PlainTextResponse(sentence, 400, {"Connection": "close"})(scope, receive, send)
            return
        # uvicorn begins a request that was sent ahead within the one before, with all that was known of that one.
        with share_of(""):
            await self.app(scope, receive, send)


class WholeRequests:
    """Hand on a request when all of it has arrived.

    A slow client so holds no thread while it sends, and a form that breaks off in the middle is not taken for a whole
    one. Of a request that shows neither a key nor a session no more than 64 KiB is read: it is handed on without its
    body, and refused there as it would have been with one. Headers with an underscore are dropped: WSGI could not tell
    `X_Forwarded_Proto` from `X-Forwarded-Proto`, which a proxy sets and a client must not.
    """

    def __init__(self, app: ASGIApp) -> None:
        self.app = app
        self._held = 0

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        """Serve one request; nobody is answered who left before they had sent everything."""
        announced = Headers(scope=scope).get("content-length", "")
        expected = int(announced) if announced.isdecimal() else 0
        body, more, is_known, held = bytearray(), True, False, 0
        try:
            while more:
                size = max(expected, len(body))
                if size > (limit := _limit(scope["path"])):
                    await _too_large(scope["path"], size, limit)(scope, receive, send)
                    return
                is_full = self._held > STRANGERS_TOGETHER and size > 0
                # Looked up only where it makes a difference: most requests are small.
                if not is_known and (size > STRANGERS_BYTES or is_full):
                    is_known = await _is_known(scope)
                if not is_known and _needs_to_be_known(scope, size):
                    await self._hand_on(scope, b"", receive, send)
                    return
                if not is_known and is_full:
                    await _busy(scope["path"])(scope, receive, send)
                    return
                message = await receive()
                if message["type"] == "http.disconnect":
                    return
                body += message.get("body", b"")
                more = message.get("more_body", False)
                # What has come stays here while the rest is awaited, and should not stay in the message too.
                del message
                added = 0 if is_known else len(body) - held
                self._held, held = self._held + added, held + added
            await self._hand_on(scope, bytes(body), receive, send)
        finally:
            self._held -= held

    async def _hand_on(self, scope: Scope, body: bytes, receive: Receive, send: Send) -> None:
        # WSGI reads nothing of a body that came in chunks, and would wait for one that was left unread.
        headers = [(name, value) for name, value in scope["headers"] if b"_" not in name and name not in FRAMING]
        if body or any(name in FRAMING for name, _ in scope["headers"]):
            headers.append((b"content-length", str(len(body)).encode()))
        await self.app({**scope, "headers": headers}, replay_body(body, receive), send)


class FairShares:
    """Let a request wait for its turn: people take turns, and what is slow holds up nothing that is quick."""

    def __init__(self, app: ASGIApp) -> None:
        self.app = app

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        """Serve one request, or say that too many of this person are waiting; do nothing for a client that has left."""
        whole = await receive()  # All of the body, in one message.
        leaving = asyncio.ensure_future(_leave(receive))
        try:
            with share_of(_person_of(scope), is_slow=_is_slow(scope), has_left=leaving.done):
                await self.app(scope, replay_body(whole["body"], receive), send)
        except TooMany as refusal:
            # Nothing has been sent: it was refused before a thread took it up.
            await _too_many(scope["path"], refusal)(scope, receive, send)
        except NobodyWaits:
            return
        finally:
            leaving.cancel()


async def _leave(receive: Receive) -> None:
    """Return when the client has left."""
    while (await receive())["type"] != "http.disconnect":
        pass


def _person_of(scope: Scope) -> str:
    """Return whose turn a request takes, from what it shows; nothing is looked up for it."""
    from django.conf import settings

    headers = Headers(scope=scope)
    cookies = cookie_parser(headers.get("cookie", ""))
    shown = headers.get("authorization", "") or cookies.get(settings.SESSION_COOKIE_NAME, "")
    return People.find(shown, scope["client"][0] if scope.get("client") else "")


def _is_slow(scope: Scope) -> bool:
    path: str = scope["path"]
    if path.startswith(REST):
        return _matches(scope["method"], path.removeprefix(REST).split("/"))
    return (path == "/" and bool(scope["query_string"])) or not SLOW_PAGES.isdisjoint(path.split("/"))


def _matches(method: str, parts: list[str]) -> bool:
    """Whether a request goes to a slow operation."""
    return any(
        method == slow
        and len(parts) == len(route)
        and all(name in {"", part} for name, part in zip(route, parts, strict=True))
        for slow, route in _slow_routes()
    )


@load_once
def _slow_routes() -> tuple[tuple[str, tuple[str, ...]], ...]:
    """Return method and path of the slow operations; what differs from request to request is empty in them."""
    from bigmind.operations import CATALOGUE

    return tuple(
        (operation.method, tuple("" if part.startswith("{") else part for part in operation.path.split("/")))
        for operation in CATALOGUE.values()
        if operation.is_slow
    )


def _too_many(path: str, refusal: TooMany) -> Response:
    retry = {"Retry-After": str(refusal.retry_after)}
    if not is_for_programs(path):
        return PlainTextResponse(f"{refusal}\n", 429, retry)
    # Imported here, because Django must be set up first.
    from bigmind.transports.rest.problems import problem_of

    answer = problem_of(refusal)
    return Response(answer.content, 429, dict(answer.headers))


FRAMING = {b"content-length", b"transfer-encoding"}


def _limit(path: str) -> int:
    return next(limit for beginning, limit in LIMITS.items() if path.startswith(beginning))


def _needs_to_be_known(scope: Scope, size: int) -> bool:
    """Whether more would be read of a stranger than is read of anybody; of REST without a key, that is nothing."""
    needs_key = is_for_programs(scope["path"]) and scope["method"] not in {"GET", "HEAD", "OPTIONS"}
    return size > STRANGERS_BYTES or (needs_key and size > 0 and "authorization" not in Headers(scope=scope))


async def _is_known(scope: Scope) -> bool:
    """Whether a request shows what its path takes: a key that opens something, or the session of who is signed in."""
    # Imported here, because Django must be set up first.
    from django.conf import settings

    from accounts.authentication import is_known_key, is_known_session
    from bigmind.observability.logging import begin_request
    from bigmind.transports.mcp.threads import on_a_thread

    headers = Headers(scope=scope)
    check: Callable[[str], bool]
    if is_for_programs(scope["path"]):
        shown, check = headers.get("authorization", ""), is_known_key
    else:
        cookies = cookie_parser(headers.get("cookie", ""))
        shown, check = cookies.get(settings.SESSION_COOKIE_NAME, ""), is_known_session
    with share_of(_person_of(scope), is_limited=False):
        return bool(shown) and await on_a_thread(lambda: check(shown), request_id=begin_request(""))


def _too_large(path: str, size: int, limit: int) -> Response:
    detail = f"The request has {size:,} bytes; the limit is {limit:,}."
    return _refusal(path, 413, "too_large", detail, hint="Send it in several parts.")


def _busy(path: str) -> Response:
    answer = _refusal(
        path, 503, "too_many", "Too many requests are being received.", hint="Try again in a few seconds."
    )
    answer.headers["Retry-After"] = "5"
    return answer


def _refusal(path: str, status: int, code: str, detail: str, *, hint: str) -> Response:
    if not is_for_programs(path):
        return Response(f"{detail} {hint}\n", status, media_type="text/plain")
    # Imported here, because Django must be set up first.
    from bigmind.transports.rest.problems import problem

    refusal = problem(status, code, detail, hint=hint)
    return Response(refusal.content, status, dict(refusal.headers))


def replay_body(body: bytes, receive: Receive) -> Receive:
    """Return what receives a body that was read already, then what comes after it."""
    messages: list[Message] = [{"type": "http.request", "body": body, "more_body": False}]

    async def replay() -> Message:
        return messages.pop() if messages else await receive()

    return replay
