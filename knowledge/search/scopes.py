"""Scopes: whose passages are searched. A large one has an index of its own over its vectors."""

from collections.abc import Mapping
from dataclasses import dataclass, field
from uuid import UUID

from django.db import connection

from accounts.models import User

_INDEXES = """
SELECT relname, reltuples FROM pg_index JOIN pg_class ON pg_class.oid = pg_index.indexrelid
WHERE indrelid = 'knowledge_passagevector'::regclass AND indisvalid AND relname LIKE %s
"""
PREFIX = "knowledge_near_"


@dataclass(frozen=True)
class Scope:
    """The passages of one owner, or without an owner the shared ones.

    Attributes:
        indexed: For each space whose vectors have an index here, about how many they are.
    """

    owner: UUID | None
    indexed: Mapping[int, int] = field(default_factory=dict)

    @property
    def name(self) -> str:
        """How it is called in the name of an index."""
        return self.owner.hex if self.owner else "shared"

    @property
    def is_large(self) -> bool:
        """Whether it is too large to look at every passage."""
        return bool(self.indexed)

    @property
    def passages(self) -> int:
        """About how many passages a large one has. PostgreSQL says 0 or -1 of an index it has not counted yet."""
        return max([1, *self.indexed.values()])


def scopes_of(owner: User, *, shared: bool) -> list[Scope]:
    """Return the scopes that somebody searches: their own, and the shared one where asked for."""
    return _scopes([owner.pk, None] if shared else [owner.pk])


def scope_of_owner(owner: User | None) -> Scope:
    """Return the scope of one owner, or without one the shared scope."""
    return _scopes([owner.pk if owner else None])[0]


def _scopes(owners: list[UUID | None]) -> list[Scope]:
    indexed: dict[str, dict[int, int]] = {}
    with connection.cursor() as cursor:
        cursor.execute(_INDEXES, [f"{PREFIX}%"])
        for name, rows in cursor.fetchall():
            space, _, scope = name.removeprefix(PREFIX).partition("_")
            indexed.setdefault(scope, {})[int(space)] = int(rows)
    return [Scope(owner, indexed.get(Scope(owner).name, {})) for owner in owners]
