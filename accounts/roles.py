"""Roles: which scopes each of them has."""

from accounts.models import SCOPES, Role

SCOPES_OF_ROLE: dict[str, frozenset[str]] = {
    Role.MEMBER: frozenset({"read", "write"}),
    Role.CURATOR: frozenset({"read", "write", "curate"}),
    Role.ADMIN: frozenset(SCOPES),
}


def scopes_of(role: str) -> frozenset[str]:
    """Return what a role permits."""
    return SCOPES_OF_ROLE[role]
