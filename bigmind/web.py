"""Pages and REST under ASGI: Django's WSGI application on a bounded pool of threads."""

from typing import Any

from a2wsgi import WSGIMiddleware
from starlette.responses import Response
from starlette.types import ASGIApp, Message, Receive, Scope, Send

from bigmind.environment import environment

BODY_BYTES = 8 * 1024 * 1024
CHUNKS_AHEAD = 64


def web_application(wsgi: Any) -> ASGIApp:
    """Return the ASGI application that serves a WSGI application on as many threads as the settings say."""
    threads: Any = WSGIMiddleware(wsgi, workers=environment().web_threads, send_queue_size=CHUNKS_AHEAD)
    return WholeRequests(threads)


class WholeRequests:
    """Hand on a request when all of it has arrived.

    A slow client so holds no thread while it sends, and a form that breaks off in the middle is not taken for a whole
    one. Headers with an underscore are dropped: WSGI could not tell `X_Forwarded_Proto` from `X-Forwarded-Proto`,
    which a proxy sets and a client must not.
    """

    def __init__(self, app: ASGIApp) -> None:
        self.app = app

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        """Serve one request; nobody is answered who left before they had sent everything."""
        body = bytearray()
        more = True
        while more:
            message = await receive()
            if message["type"] == "http.disconnect":
                return
            body += message.get("body", b"")
            more = message.get("more_body", False)
            if len(body) > BODY_BYTES:
                await _too_large(scope["path"])(scope, receive, send)
                return
        headers = [(name, value) for name, value in scope["headers"] if b"_" not in name]
        if body and not any(name == b"content-length" for name, _ in headers):
            # It came in chunks. WSGI reads nothing of a body without a length.
            headers.append((b"content-length", str(len(body)).encode()))
        await self.app({**scope, "headers": headers}, _replaying(bytes(body), receive), send)


def _too_large(path: str) -> Response:
    detail = f"The request is larger than {BODY_BYTES:,} bytes."
    if not path.startswith("/api/"):
        return Response(f"{detail}\n", 413, media_type="text/plain")
    # Imported here, because Django must be set up first.
    from bigmind.api.problems import problem

    refusal = problem(413, "too_large", detail)
    return Response(refusal.content, 413, dict(refusal.headers))


def _replaying(body: bytes, receive: Receive) -> Receive:
    messages: list[Message] = [{"type": "http.request", "body": body, "more_body": False}]

    async def replay() -> Message:
        return messages.pop() if messages else await receive()

    return replay
