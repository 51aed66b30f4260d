"""How an endpoint authenticates requests, and what it answers to those without a valid credential."""

from collections.abc import Callable
from dataclasses import dataclass

from django.conf import settings

from accounts.actor import Actor
from accounts.authentication import CHALLENGE, authenticate_key, authenticate_token, recall_actor
from accounts.keys import DEFAULT_SCOPES


@dataclass(frozen=True)
class Guard:
    """The kind of credential that an endpoint accepts.

    Attributes:
        authenticate: Returns the actor of a credential. It reads the database, so call it on a worker thread.
        recall: Returns the actor of one that was looked up a moment ago, without the database; None: look it up.
        challenge: The `WWW-Authenticate` header for requests without a valid credential.
        advice: The same for people.
    """

    authenticate: Callable[[str], Actor]
    recall: Callable[[str], Actor | None]
    challenge: str
    advice: str


def keys() -> Guard:
    """At `/mcp`: a key. The challenge does not mention OAuth, because clients then drop their configured key."""
    advice = f"Send your key in the header “Authorization: Bearer bm_…”. Keys are made at {settings.PUBLIC_URL}."
    return Guard(authenticate_key, recall_actor, CHALLENGE, advice)


def tokens() -> Guard:
    """At `/mcp/oauth`: the token of a connected app. The challenge says where to obtain one."""
    metadata = f"{settings.PUBLIC_URL}/.well-known/oauth-protected-resource/mcp/oauth"
    challenge = f'{CHALLENGE}, resource_metadata="{metadata}", scope="{" ".join(DEFAULT_SCOPES)}"'
    advice = f"Sign in by OAuth: {metadata} says how. A key belongs to {settings.PUBLIC_URL}/mcp."
    return Guard(authenticate_token, lambda _: None, challenge, advice)
