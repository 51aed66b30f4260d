"""Filters: whose passages a search reads, and what of them it may find, as SQL.

They are applied in the database, so no list of ids has to travel there.
"""

from collections.abc import Collection, Iterable, Mapping, Sequence
from dataclasses import dataclass, field, replace
from functools import cache, cached_property
from itertools import chain
from time import monotonic
from typing import Any
from uuid import UUID

from django.core.exceptions import EmptyResultSet
from django.db import connection
from django.db.models import QuerySet

from accounts.models import User
from bigmind.database.replicas import read_cursor
from bigmind.text.periods import Period
from knowledge.models import Kind, Passage
from knowledge.models.passages import SAMPLE, SAMPLED_OF
from knowledge.search.indexes import INDEXES, LARGE, PREFIX

FEW = 2_000
"""Below this number of things a search compares each of them: an index over many more would be slow to yield them, and
might miss some. Decision 11."""
SIZE_SECONDS, MOST_SIZES = 60.0, 10_000
_SIZE_OF = f"SELECT count(*) FROM knowledge_passage WHERE owner_id {{owner}} AND digest < '{SAMPLE}'"


@dataclass(frozen=True)
class Scope:
    """The passages of one owner, or without an owner the shared ones.

    Attributes:
        indexed: For each space with an index for this scope, about how many vectors the index has.
        size: About how many passages there are where there is no index yet.
    """

    owner: UUID | None
    indexed: Mapping[int, int] = field(default_factory=dict)
    size: int = 0

    @property
    def name(self) -> str:
        """The scope's part of the name of an index."""
        return self.owner.hex if self.owner else "shared"

    @property
    def is_large(self) -> bool:
        """Whether it is too large to compare every passage."""
        return bool(self.indexed) or self.size >= LARGE

    @property
    def passages(self) -> int:
        """About how many passages a large scope has. PostgreSQL says 0 or -1 of an index it has not analysed yet."""
        return max([1, self.size, *self.indexed.values()])


@cache
def is_shared(kind: str) -> bool:
    """Return whether everybody sees the things of a kind."""
    return Kind(kind).is_shared


def scopes_of(owner: User, kinds: Iterable[str], indexes: Mapping[str, float] | None = None) -> list[Scope]:
    """Return the scopes that a user searches for things of these kinds: their own, the shared one, or both.

    Args:
        indexes: What `INDEXES` says, where that was asked already.
    """
    are_shared = sorted(set(map(is_shared, kinds)))
    return _scopes([None if shared else owner.pk for shared in are_shared], indexes)


def scope_of_owner(owner: User | None) -> Scope:
    """Return the scope of one owner, or for None the shared scope."""
    return _scopes([owner.pk if owner else None])[0]


def _scopes(owners: list[UUID | None], indexes: Mapping[str, float] | None = None) -> list[Scope]:
    indexed: dict[str, dict[int, int]] = {}
    if indexes is None:
        with connection.cursor() as cursor:
            cursor.execute(f"SELECT {INDEXES}")
            indexes = cursor.fetchone()[0]
    for name, rows in indexes.items():
        space, _, scope = name.removeprefix(PREFIX).partition("_")
        indexed.setdefault(scope, {})[int(space)] = int(rows)
    scopes = [Scope(owner, indexed.get(Scope(owner).name, {})) for owner in owners]
    return [scope if scope.indexed else replace(scope, size=_size_of(scope.owner)) for scope in scopes]


_sizes_known: dict[UUID | None, tuple[int, float]] = {}


def _size_of(owner: UUID | None) -> int:
    """Return about how many passages a scope has, up to a minute old: by its sample, which an index counts."""
    size, read_at = _sizes_known.get(owner, (0, -SIZE_SECONDS))
    if monotonic() - read_at >= SIZE_SECONDS:
        with read_cursor() as cursor:
            cursor.execute(_SIZE_OF.format(owner="IS NULL" if owner is None else "= %s"), [owner] if owner else [])
            size = int(cursor.fetchone()[0]) * SAMPLED_OF
        if len(_sizes_known) >= MOST_SIZES:
            _sizes_known.clear()
        _sizes_known[owner] = size, monotonic()
    return size


@dataclass(frozen=True)
class Sql:
    """A fragment of SQL with its parameters."""

    text: str
    parameters: tuple[Any, ...] = ()

    def __add__(self, other: "Sql") -> "Sql":
        return Sql(f"{self.text} AND {other.text}", self.parameters + other.parameters)


@dataclass(frozen=True)
class Filters:
    """What may be found. Filters are applied exactly, before the best candidates are chosen.

    The kinds say whose passages are searched: the user's own, the shared ones, or both.

    Attributes:
        eligible: Of these kinds, only the things of the queryset. Of the other kinds, all.
        then: The period that the question is about: what was replaced since is found, too.
        said_in: Only what was said or stored in this period.
        groups: Kinds of which each group brings candidates of its own, so that no other crowds them out.
    """

    kinds: Collection[str]
    project: str = ""
    eligible: Mapping[Any, QuerySet[Any]] | None = None
    then: Period | None = None
    said_in: Period | None = None
    groups: Sequence[Collection[str]] = ()

    @cached_property
    def narrowing(self) -> dict[str, QuerySet[Any]]:
        """The querysets of `eligible` that exclude something. The others would cost a subquery for nothing."""
        return {
            str(kind): rows
            for kind, rows in (self.eligible or {}).items()
            if kind in self.kinds and (rows.query.where or rows.query.is_sliced)
        }

    @cached_property
    def _narrowed_ids(self) -> dict[str, Sql]:
        """The ids of these querysets: both retrievers ask for them in each scope."""
        return {kind: _ids(rows) for kind, rows in self.narrowing.items()}

    def leave_few(self, scope: Scope) -> bool:
        """Return whether fewer than FEW things of a scope remain, so that each can be compared. Counts no further."""
        narrowing = self.narrowing
        is_each_narrowed = bool(narrowing) and len(narrowing) == len(self.kinds)
        if is_each_narrowed and _at_most_few(list(narrowing.values())):
            return True
        if is_each_narrowed and not self.project:
            return False  # Each of so many things has a passage.
        return _at_most_few([self._passages(scope)])

    def branches(self, scope: Scope) -> list[Sql]:
        """Return the conditions on `passage` of an exhaustive search: one for each narrowed kind, one for the others.

        They are separate because PostgreSQL plans each for itself, and can start from the things when they are few.
        Joined by OR, all of them would be evaluated on every passage.
        """
        common, narrowing = self.common(scope), self.narrowing
        others = [str(kind) for kind in self.kinds if kind not in narrowing]
        branches = [common + Sql("passage.kind = ANY(%s)", (others,))] if others or not narrowing else []
        for kind, ids in self._narrowed_ids.items():
            chosen = Sql(f"passage.source_id IN (SELECT pk::text FROM ({ids.text}) AS eligible(pk))", ids.parameters)
            branches.append(common + Sql("passage.kind = %s", (kind,)) + chosen)
        return branches

    def roughly(self, searched: Sql) -> Sql:
        """Return the condition on `passage` for a rough count of what is searched: owners, kinds and project."""
        condition = searched + Sql("passage.kind = ANY(%s)", ([str(kind) for kind in self.kinds],))
        return condition + Sql("passage.project = %s", (self.project,)) if self.project else condition

    def one_by_one(self) -> Sql:
        """Return the condition on `passage` for a scan that stops early: each passage looks up its own thing."""
        condition = Sql("passage.kind = ANY(%s)", ([str(kind) for kind in self.kinds],))
        for kind, rows in self.narrowing.items():
            ids = self._narrowed_ids[kind]
            # A scalar subquery, because PostgreSQL turns EXISTS into a join that reads all things first. The CASE
            # keeps the cast to ids of this kind, in whatever order the conditions are evaluated.
            id_of_thing = f"CASE WHEN passage.kind = %s THEN passage.source_id::{_type_of_id(rows)} END"
            there = f"(SELECT true FROM ({ids.text}) AS eligible(pk) WHERE eligible.pk = {id_of_thing} LIMIT 1)"
            condition += Sql(f"(passage.kind <> %s OR {there})", (kind, *ids.parameters, kind))
        return condition

    def common(self, scope: Scope) -> Sql:
        """Return the condition on `passage` that holds for every kind."""
        condition = scope_of("passage", scope)
        if self.then is None:
            condition += Sql("NOT passage.past")
        if self.project:
            condition += Sql("passage.project = %s", (self.project,))
        if self.said_in:
            condition += Sql("passage.created_at >= %s AND passage.created_at < %s", self.said_in)
        return condition

    def _passages(self, scope: Scope) -> QuerySet[Any]:
        passages = Passage.objects.filter(owner=scope.owner, kind__in=[str(kind) for kind in self.kinds])
        if self.then is None:
            passages = passages.filter(past=False)
        return passages.filter(project=self.project) if self.project else passages


def scope_of(table: str, scope: Scope) -> Sql:
    """Return the condition that rows of a table belong to a scope."""
    if scope.owner is None:
        return Sql(f"{table}.owner_id IS NULL")
    return Sql(f"{table}.owner_id = %s", (scope.owner,))


def of_scopes(table: str, scopes: Iterable[Scope]) -> Sql:
    """Return the condition that rows of a table belong to any of these scopes."""
    each = [scope_of(table, scope) for scope in scopes]
    text = " OR ".join([one.text for one in each])
    return Sql(f"({text})", tuple(chain.from_iterable([one.parameters for one in each])))


def _ids(rows: QuerySet[Any]) -> Sql:
    # The order of a slice decides what is in it; elsewhere it would only cost a sort.
    ids = rows.values("pk") if rows.query.is_sliced else rows.order_by().values("pk")
    try:
        text, parameters = ids.query.sql_with_params()
    # Django knows that the queryset is empty (`none()`, an empty list), and makes no SQL of it.
    except EmptyResultSet:
        return Sql("SELECT NULL::bigint WHERE false")
    return Sql(text, tuple(parameters))


def _type_of_id(rows: QuerySet[Any]) -> str:
    return str(rows.model._meta.pk.rel_db_type(connection))


def _at_most_few(parts: list[QuerySet[Any, Any]]) -> bool:
    left = FEW
    for rows in parts:
        left -= rows.order_by()[:left].count() if not rows.query.is_sliced else rows.count()
        if left <= 0:
            return False
    return True
