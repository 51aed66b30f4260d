"""People and what they remember, made for tests."""

from collections.abc import Collection
from itertools import count
from typing import Any

from django.test import Client

from accounts.actor import Actor
from accounts.keys import NewKey, create_key
from accounts.models import Role, User
from accounts.services.agents import note_agent
from accounts.views.sign_in import CONFIRMED

_NUMBERS = count(1)


def make_user(username: str = "", *, role: str = Role.MEMBER, **fields: Any) -> User:
    """Make a user; nobody else has the name."""
    return User.objects.create_user(username or f"user{next(_NUMBERS)}", role=role, **fields)


def make_key(user: User | None = None, **options: Any) -> NewKey:
    """Create an API key that may read and write, unless `options` say otherwise; its `text` is what a client sends."""
    return create_key(user or make_user(), **options)


def make_actor(
    user: User | None = None, *, curator: bool = False, admin: bool = False, scopes: Collection[str] | None = None
) -> Actor:
    """Make an actor: in the browser, or with a key of the given scopes."""
    role = Role.ADMIN if admin else Role.CURATOR if curator else Role.MEMBER
    user = user or make_user(role=role)
    return Actor.of(user) if scopes is None else Actor.of(user, key=make_key(user, scopes=scopes).key)


def make_agent(user: User, client_name: str, *, host: str = "laptop") -> Actor:
    """Return the actor for a client of this person."""
    return Actor.of(user, agent=note_agent(user, client_name=client_name, client_version="1.0", host=host))


def browser_of(user: User) -> Client:
    """Return a browser in which somebody is signed in."""
    browser = Client()
    browser.force_login(user)
    return browser


def rest_for_an_hour(browser: Client) -> None:
    """Let the sign-in of a browser be an hour ago, so that it no longer counts as a confirmation."""
    session = browser.session
    session[CONFIRMED] -= 3600
    session.save()
