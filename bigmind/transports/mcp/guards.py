"""Guards: what lets a request in at an endpoint, and what is said to one that has nothing to show."""

from collections.abc import Callable
from dataclasses import dataclass

from django.conf import settings

from accounts.actor import Actor
from accounts.authentication import CHALLENGE, authenticate_key, authenticate_token
from accounts.keys.keys import DEFAULT_SCOPES


@dataclass(frozen=True)
class Guard:
    """What is asked for at an endpoint.

    Attributes:
        authenticate: Returns the actor for what was shown. It reads the database, so call it on a worker thread.
        challenge: What `WWW-Authenticate` says to whoever shows nothing, or nothing good.
        advice: The same for people.
    """

    authenticate: Callable[[str], Actor]
    challenge: str
    advice: str


def keys() -> Guard:
    """At `/mcp`: a key. OAuth is not mentioned, because clients drop a configured key as soon as they hear of it."""
    advice = f"Send your key in the header “Authorization: Bearer bm_…”. Keys are made at {settings.PUBLIC_URL}."
    return Guard(authenticate_key, CHALLENGE, advice)


def tokens() -> Guard:
    """At `/mcp/oauth`: the token of a connected app, and where to learn how one is had."""
    metadata = f"{settings.PUBLIC_URL}/.well-known/oauth-protected-resource/mcp/oauth"
    challenge = f'{CHALLENGE}, resource_metadata="{metadata}", scope="{" ".join(DEFAULT_SCOPES)}"'
    advice = f"Sign in by OAuth: {metadata} says how. A key belongs to {settings.PUBLIC_URL}/mcp."
    return Guard(authenticate_token, challenge, advice)
