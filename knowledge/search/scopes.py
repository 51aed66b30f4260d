"""Scopes: the owners whose passages are searched. A large scope has an index of its own over its vectors."""

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
        indexed: For each space with an index for this scope, about how many vectors the index has.
    """

    owner: UUID | None
    indexed: Mapping[int, int] = field(default_factory=dict)

    @property
    def name(self) -> str:
        """The scope's part of the name of an index."""
        return self.owner.hex if self.owner else "shared"

    @property
    def is_large(self) -> bool:
        """Whether it is too large to compare every passage."""
        return bool(self.indexed)

    @property
    def passages(self) -> int:
        """About how many passages a large scope has. PostgreSQL says 0 or -1 of an index it has not analysed yet."""
        return max([1, *self.indexed.values()])


def scopes_of(owner: User, *, shared: bool) -> list[Scope]:
    """Return the scopes that a user searches: their own, and with `shared` the shared one."""
    return _scopes([owner.pk, None] if shared else [owner.pk])


def scope_of_owner(owner: User | None) -> Scope:
    """Return the scope of one owner, or for None the shared scope."""
    return _scopes([owner.pk if owner else None])[0]


def _scopes(owners: list[UUID | None]) -> list[Scope]:
    indexed: dict[str, dict[int, int]] = {}
    with connection.cursor() as cursor:
        cursor.execute(_INDEXES, [f"{PREFIX}%"])
        for name, rows in cursor.fetchall():
            space, _, scope = name.removeprefix(PREFIX).partition("_")
            indexed.setdefault(scope, {})[int(space)] = int(rows)
    return [Scope(owner, indexed.get(Scope(owner).name, {})) for owner in owners]
