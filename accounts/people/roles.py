"""Roles: what each may do, in words, from the scopes that are enforced."""

from dataclasses import dataclass

from accounts.actor import scopes_of
from accounts.models import SCOPES, Role

ACTIONS: dict[str, tuple[str, ...]] = {
    "read": (
        "Recall what is theirs, and read the knowledge base",
        "Read what is approved as company knowledge",
    ),
    "write": (
        "Remember, correct, set aside and erase what is theirs",
        "Add to the knowledge base, propose company knowledge",
    ),
    "curate": (
        "Decide what becomes company knowledge",
        "Change and delete what others added to the knowledge base",
    ),
    "admin": (
        "Invite people, give them roles, deactivate and delete them",
        "End the keys of others, manage this instance",
    ),
}


@dataclass(frozen=True)
class Right:
    """Something that people may do, and for each role whether it may."""

    action: str
    scope: str
    allowed: tuple[bool, ...]


def role_matrix() -> list[Right]:
    """Return who may do what. The last line holds for everyone, and no scope changes it."""
    rights = [
        Right(action, scope, tuple(scope in scopes_of(role) for role in Role.values))
        for scope in SCOPES
        for action in ACTIONS[scope]
    ]
    return [*rights, Right("Read the private memory of others", "", (False,) * len(Role.values))]
