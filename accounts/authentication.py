"""One authentication for MCP and REST: a Bearer key, or the token of a connected app, becomes an actor."""

from dataclasses import replace
from datetime import timedelta

from django.contrib.auth import SESSION_KEY
from django.contrib.sessions.backends.db import SessionStore
from django.http import HttpRequest
from django.utils import timezone

from accounts.actor import Actor
from accounts.keys import digest_of, is_well_formed, key_with_digest, recall_key
from accounts.models import ApiKey, AppToken, User
from accounts.oauth.app_tokens import find_token
from accounts.services.agents import note_agent
from accounts.services.key_cache import KNOWN_KEYS
from bigmind.database.read_only import is_read_only

USED_EVERY = timedelta(minutes=1)
CHALLENGE = 'Bearer realm="BigMind"'


class BadKey(Exception):
    """The key is not valid. The sentence says why, and never more than its holder may know."""


def authenticate_key(token: str, *, client_name: str = "", client_version: str = "", host: str = "") -> Actor:
    """Return the actor for a key. One indexed look-up, or none if a serving process has just looked it up. A revoked
    key is refused as soon as the database has sent a notification, and within half a second in any case.

    Raises:
        BadKey: the key is malformed, unknown, revoked, expired, or linked to no active user.
    """
    if not is_well_formed(token):
        raise BadKey("This is not a BigMind key: keys begin with bm_ and end with a checksum. Copy it again.")
    key = key_with_digest(digest_of(token))
    if key is None:
        raise BadKey("This key is unknown here. Make one on the page “Keys”.")
    if key.state in {"revoked", "expired"}:
        raise BadKey(f"This key is {key.state}. Make a new one on the page “Keys”.")
    if key.user is None or not key.user.is_active:
        raise BadKey("This key is linked to no active user. Ask an admin of this BigMind.")
    agent = (
        note_agent(key.user, client_name=client_name, client_version=client_version, host=host) if client_name else None
    )
    _note_use(key, by=str(agent or ""))
    return Actor.of(key.user, key=key, agent=agent)


def recall_actor(token: str) -> Actor | None:
    """Return the actor for a key that was looked up a moment ago. It does not query the database, so it needs no
    thread.

    None: ask `authenticate_key`, which also says what is wrong with an invalid key.
    """
    key = recall_key(digest_of(token))
    if key is None or key.user is None or not key.user.is_active or key.state in {"revoked", "expired"}:
        return None
    return None if _is_use_to_note(key, by="") else Actor.of(key.user, key=key)


def authenticate_token(text: str) -> Actor:
    """Return the actor of a connected app. Nothing is cached, so that an app whose access has ended is refused at once.

    Raises:
        BadKey: the token is unknown, expired or no longer valid.
    """
    token = find_token(text, AppToken.Type.ACCESS)
    if token is None or token.key.user is None:
        raise BadKey("This token opens nothing, or no more. Refresh it, or ask the user to connect again.")
    _note_use(token.key, by="")
    actor = Actor.of(token.key.user, key=token.key)
    return replace(actor, scopes=actor.scopes & frozenset(token.scopes))


def bearer_token(header: str) -> str | None:
    """Return the token of an `Authorization: Bearer …` header, or None when there is no such header."""
    scheme, _, token = header.partition(" ")
    return token.strip() if scheme.lower() == "bearer" else None


def is_known_key(header: str) -> bool:
    """Whether an `Authorization` header has a valid key: clients without one get less time."""
    try:
        return bool(authenticate_key(bearer_token(header) or ""))
    except BadKey:
        return False


def is_known_session(session_key: str) -> bool:
    """Whether the session of this cookie belongs to a signed-in user."""
    return SESSION_KEY in SessionStore(session_key)


def actor_of(request: HttpRequest) -> Actor:
    """Return the actor for a page: the person who is signed in, with all that their role permits."""
    assert isinstance(request.user, User), "the view must require sign-in"
    return Actor.of(request.user)


def _note_use(key: ApiKey, *, by: str) -> None:
    if not _is_use_to_note(key, by=by):
        return
    now, user = timezone.now(), key.user
    assert user is not None
    ApiKey.objects.filter(pk=key.pk).update(last_used_at=now, last_used_by=by[:200] or key.last_used_by)
    type(user).objects.filter(pk=user.pk).update(last_seen=now)
    # The kept row still has the earlier use: with it, each call until it is dropped would write again.
    KNOWN_KEYS.forget()


def _is_use_to_note(key: ApiKey, *, by: str) -> bool:
    is_long_ago = key.last_used_at is None or key.last_used_at < timezone.now() - USED_EVERY
    return (is_long_ago or bool(by and key.last_used_by != by)) and not is_read_only()
