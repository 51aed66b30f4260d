"""REST's way in: the key in `Authorization: Bearer …` makes the actor of the request."""

import re
import socket
from dataclasses import replace
from typing import NamedTuple

from rest_framework.authentication import BaseAuthentication
from rest_framework.exceptions import AuthenticationFailed
from rest_framework.request import Request

from accounts.actor import Actor
from accounts.authentication import CHALLENGE, BadKey, authenticate_key, bearer_token
from accounts.models import User
from accounts.sign_in.attempts import count_guess
from bigmind.transports.fair_pool import People
from bigmind.transports.mcp.request_context import AGENT_HOST_HEADER, CONVERSATION_HEADER
from knowledge.capture.conversations import digest_of_id

_PRODUCT = re.compile(r"(?P<name>[^\s/()]+)(?:/(?P<version>[^\s()]+))?")
_LOOPBACK = {"127.0.0.1", "::1"}


class RestClient(NamedTuple):
    """The program that sends a request, as it names itself."""

    name: str
    version: str


class KeyAuthentication(BaseAuthentication):
    """Makes the key's user `request.user` and the actor `request.auth`."""

    def authenticate(self, request: Request) -> tuple[User, Actor] | None:
        """Return who sends this request; None when no credentials came with it.

        Raises:
            AuthenticationFailed: the credentials open nothing.
            TooMany: too many of that kind came from there.
        """
        header = request.headers.get("Authorization", "")
        if not header:
            return None
        token = bearer_token(header)
        if token is None:
            raise AuthenticationFailed("The Authorization header must read: Bearer, a space, and the key.")
        client = self.client_of_request(request)
        try:
            actor = authenticate_key(
                token, client_name=client.name, client_version=client.version, host=_host_of(request)
            )
        except BadKey as error:
            count_guess(token, request.META.get("REMOTE_ADDR", ""))
            raise AuthenticationFailed(str(error)) from error
        People.note(header, actor.user.pk)
        named = request.headers.get(CONVERSATION_HEADER, "").strip()
        return actor.user, replace(actor, conversation=digest_of_id(named)) if named else actor

    def client_of_request(self, request: Request) -> RestClient:
        """Return the program that sends a request, as its User-Agent names it."""
        return client_of(request.headers.get("User-Agent", ""))

    def authenticate_header(self, request: Request) -> str:
        """Return the challenge that goes with a 401 (RFC 6750: a key that came and opens nothing is named so)."""
        return f'{CHALLENGE}, error="invalid_token"' if request.headers.get("Authorization") else CHALLENGE


def actor_of(request: Request) -> Actor:
    assert isinstance(request.auth, Actor), "the view must require a key"
    return request.auth


def client_of(user_agent: str) -> RestClient:
    """Return the first product of a User-Agent: `python-httpx/0.28.1 (…)` is python-httpx, 0.28.1."""
    product = _PRODUCT.match(user_agent.strip())
    return RestClient(product["name"], product["version"] or "") if product else RestClient("", "")


def _host_of(request: Request) -> str:
    """The machine the client says it runs on; this one, for a client that connects from here without a proxy."""
    if named := request.headers.get(AGENT_HOST_HEADER, ""):
        return named
    is_local = request.META.get("REMOTE_ADDR") in _LOOPBACK and "X-Forwarded-For" not in request.headers
    return socket.gethostname() if is_local else ""
