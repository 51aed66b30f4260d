"""What a passage is a piece of: reading the things themselves, as far as someone may see them now."""

from collections.abc import Iterable, Mapping
from datetime import datetime
from typing import Any

from django.db.models import QuerySet

from accounts.models import User
from bigmind.core.periods import Period
from knowledge.kinds import KINDS, MemoryKind
from knowledge.search.hybrid import Finding

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
) -> dict[str, QuerySet[Any]]:
    """Return, of each kind, what someone may see now: with all of these tags, from these days.

    Args:
        then: A period: what held in it and was replaced since is there, too.
        only_then: Nothing is there that did not hold in that period; of kinds without such days, nothing newer.
    """
    wanted = list(tags)
    return {
        kind: _filter(KINDS[kind], user, wanted, since, before, then, only_then)
        for kind in kinds
        if KINDS[kind].tags or not wanted
    }


def read_things(findings: Iterable[Finding], things: Things) -> dict[tuple[str, str], Any]:
    """Read what was found, by kind and id."""
    found = list(findings)
    return {
        (kind, str(row.pk)): row for kind in {finding.kind for finding in found} for row in _rows(kind, found, things)
    }


def _rows(kind: str, found: Iterable[Finding], things: Things) -> QuerySet[Any]:
    return things[kind].filter(pk__in=_ids(kind, found))


def _ids(kind: str, found: Iterable[Finding]) -> list[Any]:
    return [KINDS[kind].read_id(finding.source_id) for finding in found if finding.kind == kind]


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
        conditions[f"{source.tags}__contains"] = tags
    if since:
        conditions[f"{source.moment}__gte"] = since
    if before:
        conditions[f"{source.moment}__lt"] = before
    return rows.filter(**conditions)
