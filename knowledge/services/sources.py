"""What a passage is a piece of: of each kind, what somebody may see now, and what a hit tells about one.

A kind of thing that can be found is one row here; whatever searches reads this table and nothing else.
"""

from collections.abc import Callable, Iterable, Mapping
from dataclasses import dataclass
from datetime import datetime
from typing import Any
from uuid import UUID

from django.db.models import QuerySet

from accounts.models import User
from knowledge.models import (
    AppEntity,
    AppTable,
    AppWorkflow,
    Chunk,
    CompanyEntry,
    Entry,
    Fact,
    Hypothesis,
    Kind,
    Note,
    Reference,
    Session,
)
from knowledge.search.hybrid import Finding

Things = Mapping[str, QuerySet[Any]]
"""Of each kind, the things that an answer may name."""


@dataclass(frozen=True)
class SearchableKind:
    """One kind of thing that can be found.

    Attributes:
        tier: The tier it belongs to.
        visible: Those that somebody may see now; what has expired or was set aside since it was indexed is not among
            them.
        read_id: Makes the key of a row from the id that its passages carry.
        moment: The field that says how old one is.
        lapses: Whether one may cease to be visible by the passing of time alone, while it still has passages.
        tags: The field with its tags, where the kind has any: a search by tag leaves out the kinds that have none.
        is_shared: Whether everybody here sees it. What is not shared belongs to whoever asks.
        title: What one is called.
        told: What a hit says besides: `session_id`, `role`, `domain`, `key`, `owner`, `approver`.
    """

    tier: str
    visible: Callable[[User], QuerySet[Any]]
    read_id: Callable[[str], Any] = int
    moment: str = "created_at"
    lapses: bool = False
    tags: str = ""
    is_shared: bool = False
    title: Callable[[Any], str] = str
    told: Callable[[Any], dict[str, str]] = lambda thing: {}


def _headline(session: Session) -> str:
    return session.one_liner or ("(session in progress)" if session.is_open else "(no headline)")


def _first_line(text: str) -> str:
    lines = (line.strip(" \t#*->") for line in text.splitlines())
    return next((line for line in lines if line), "")[:80]


def _approver(entry: CompanyEntry) -> str:
    return f"{entry.decider or ''} ({entry.source})".strip() if entry.is_copy else entry.decider or ""


SOURCES: dict[str, SearchableKind] = {
    Kind.FACT: SearchableKind("1", lambda user: Fact.objects.of(user).current()),
    Kind.CHUNK: SearchableKind(
        "3",
        lambda user: Chunk.objects.filter(user=user, set_aside_at=None, session__set_aside_at=None).select_related(
            "session"
        ),
        tags="session__topics",
        title=lambda chunk: _headline(chunk.session),
        told=lambda chunk: {"session_id": str(chunk.session_id), "role": chunk.role},
    ),
    Kind.SUMMARY: SearchableKind(
        "2",
        lambda user: Session.objects.of(user).in_view(),
        read_id=UUID,
        moment="started_at",
        tags="topics",
        title=_headline,
        told=lambda session: {"session_id": str(session.pk)},
    ),
    Kind.NOTE: SearchableKind(
        "1",
        lambda user: Note.objects.of(user).current(),
        moment="updated_at",
        lapses=True,
        told=lambda note: {"domain": note.domain, "key": note.key},
    ),
    Kind.HYPOTHESIS: SearchableKind("1", lambda user: Hypothesis.objects.filter(user=user, set_aside_at=None)),
    Kind.ENTRY: SearchableKind(
        "kb",
        lambda user: Entry.objects.select_related("created_by"),
        read_id=UUID,
        moment="updated_at",
        tags="tags",
        is_shared=True,
        title=lambda entry: _first_line(entry.content),
        told=lambda entry: {"owner": str(entry.created_by or "")},
    ),
    Kind.COMPANY: SearchableKind(
        "G",
        lambda user: CompanyEntry.objects.approved().select_related("owner", "decided_by", "copy__server"),
        moment="decided_at",
        tags="topics",
        is_shared=True,
        title=lambda entry: f"[{entry.handle}] {entry.title}",
        told=lambda entry: {"owner": entry.keeper or "", "approver": _approver(entry)},
    ),
    Kind.REFERENCE: SearchableKind(
        "docs",
        lambda user: Reference.objects.current().select_related("collection", "edited_by"),
        read_id=UUID,
        moment="updated_at",
        tags="keywords",
        is_shared=True,
        title=lambda reference: reference.name or reference.title,
        told=lambda reference: {"owner": str(reference.edited_by or reference.collection)},
    ),
    Kind.APP_TABLE: SearchableKind(
        "apps",
        lambda user: AppTable.objects.select_related("app"),
        moment="last_seen",
        is_shared=True,
        title=lambda table: f"{table.app} › {table.name}",
        told=lambda table: {"owner": "everybody"},
    ),
    Kind.APP_ENTITY: SearchableKind(
        "apps",
        lambda user: AppEntity.objects.select_related("table__app"),
        moment="last_seen",
        is_shared=True,
        title=lambda entity: f"{entity.table.app} › {entity.table.name} › {entity.name}",
        told=lambda entity: {"owner": "everybody"},
    ),
    Kind.APP_WORKFLOW: SearchableKind(
        "apps",
        lambda user: AppWorkflow.objects.select_related("app"),
        moment="last_seen",
        is_shared=True,
        title=lambda workflow: f"{workflow.app} › {workflow.name}",
        told=lambda workflow: {"owner": "everybody"},
    ),
}


def visible_things(
    user: User,
    kinds: Iterable[str],
    *,
    tags: Iterable[str] = (),
    since: datetime | None = None,
    before: datetime | None = None,
) -> dict[str, QuerySet[Any]]:
    """Return, of each kind, what somebody may see now: with all of these tags, from these days."""
    wanted = list(tags)
    return {
        kind: _filter(SOURCES[kind], user, wanted, since, before) for kind in kinds if SOURCES[kind].tags or not wanted
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
    return [SOURCES[kind].read_id(finding.source_id) for finding in found if finding.kind == kind]


def _filter(
    source: SearchableKind, user: User, tags: list[str], since: datetime | None, before: datetime | None
) -> QuerySet[Any]:
    conditions: dict[str, Any] = {}
    if tags:
        conditions[f"{source.tags}__contains"] = tags
    if since:
        conditions[f"{source.moment}__gte"] = since
    if before:
        conditions[f"{source.moment}__lt"] = before
    return source.visible(user).filter(**conditions)
