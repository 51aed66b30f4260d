"""People for tests, made by the services that make them in earnest."""

from collections.abc import Collection
from itertools import count

from accounts.actor import Actor
from accounts.models import Role, User
from accounts.services.agents import note_agent
from accounts.services.keys import DEFAULT_SCOPES, NewKey, create_key
from accounts.services.users import add_user

_numbers = count(1)


def make_user(username: str = "", *, role: str = Role.MEMBER, password: str | None = None) -> User:
    """Make a person."""
    return add_user(username or f"person{next(_numbers)}", role=role, password=password)


def make_actor(*, curator: bool = False, admin: bool = False) -> Actor:
    """Make a person and return the actor for them, as in the browser."""
    role = Role.ADMIN if admin else Role.CURATOR if curator else Role.MEMBER
    return Actor.of(make_user(role=role))


def make_agent(user: User, client_name: str, *, host: str = "laptop") -> Actor:
    """Return the actor for a client of this person."""
    return Actor.of(user, agent=note_agent(user, client_name=client_name, client_version="1.0", host=host))


def make_key(user: User | None = None, *, scopes: Collection[str] = DEFAULT_SCOPES) -> NewKey:
    """Make a key, for a new person if none is given."""
    return create_key(user or make_user(), scopes=scopes)
