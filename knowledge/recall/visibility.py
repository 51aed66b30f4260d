"""Visibility: which items of each kind someone may see now, and the items that passages were made of."""

from collections.abc import Callable, Iterable, Iterator, Mapping
from datetime import datetime
from functools import cache
from typing import Any
from uuid import UUID

from django.db.models import QuerySet

from accounts.models import User
from bigmind.database.fixed_queries import FixedQuery
from bigmind.text.periods import Period
from knowledge.kinds import KINDS, MemoryKind
from knowledge.search.findings import Finding

Things = Mapping[str, QuerySet[Any]]
"""Of each kind, the things that an answer may name."""


def visible_things(
    user: User,
    kinds: Iterable[str],
    *,
    tags: Iterable[str] = (),
    since: datetime | None = None,
    before: datetime | None = None,
    then: Period | None = None,
    only_then: bool = False,
) -> Things:
    """Return, of each kind, what someone may see now: with all of these tags, from these days.

    Args:
        then: A period: what held in it and was replaced since is there, too.
        only_then: Nothing is there that did not hold in that period; of kinds without such days, nothing newer.
    """
    wanted = list(tags)
    asked = [kind for kind in kinds if KINDS[kind].tags or not wanted]
    reader = None if wanted or since or before or then else user
    return _Visible(asked, lambda kind: _filter(KINDS[kind], user, wanted, since, before, then, only_then), reader)


class _Visible(Mapping[str, QuerySet[Any]]):
    """Rows of several kinds. Those of a kind are put together when someone asks for them: a search asks for few.

    Args:
        reader: Who sees them, where they are all that this person may see.
    """

    def __init__(self, kinds: Iterable[str], make: Callable[[str], QuerySet[Any]], reader: User | None = None) -> None:
        self._made: dict[str, QuerySet[Any] | None] = dict.fromkeys(kinds)
        self._make = make
        self.reader = reader

    def __getitem__(self, kind: str) -> QuerySet[Any]:
        made = self._made[kind]
        if made is None:
            made = self._made[kind] = self._make(kind)
        return made

    def __iter__(self) -> Iterator[str]:
        return iter(self._made)

    def __len__(self) -> int:
        return len(self._made)


def read_things(findings: Iterable[Finding], things: Things) -> dict[tuple[str, str], Any]:
    """Read what was found, by kind and id."""
    ids: dict[str, list[Any]] = {}
    for finding in findings:
        ids.setdefault(finding.kind, []).append(KINDS[finding.kind].read_id(finding.source_id))
    return {(kind, str(row.pk)): row for kind, some in ids.items() for row in _rows(kind, some, things)}


def _rows(kind: str, ids: list[Any], things: Things) -> Iterable[Any]:
    reader = things.reader if isinstance(things, _Visible) else None
    if reader is None or KINDS[kind].lapses:
        return things[kind].filter(pk__in=ids)
    return _query_of(kind)(ids) if KINDS[kind].is_shared else _query_of(kind)(ids, reader.pk)


@cache
def _query_of(kind: str) -> FixedQuery:
    """Return the query for things of a kind by their ids. What lapses has none: it depends on the moment."""

    def build(ids: list[Any], user_id: UUID | None = None) -> QuerySet[Any]:
        return KINDS[kind].visible(User(pk=user_id)).filter(pk__any_of=ids)

    return FixedQuery(build, keeps_plan=False)


def _filter(
    source: MemoryKind,
    user: User,
    tags: list[str],
    since: datetime | None,
    before: datetime | None,
    then: Period | None,
    only_then: bool,
) -> QuerySet[Any]:
    rows, conditions = source.visible(user), dict[str, Any]()
    if then and source.held:
        held = source.held(user, *then)
        rows = held if only_then else rows | held
    elif then and only_then:
        before = min(before, then.end) if before else then.end
    if tags:
        conditions[f"{source.tags}__has_names"] = tags
    if since:
        conditions[f"{source.moment}__gte"] = since
    if before:
        conditions[f"{source.moment}__lt"] = before
    return rows.filter(**conditions)
