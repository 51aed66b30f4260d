"""The registry of kinds of memory: a kind of thing that is stored and found is one row here, and its own files.

Search, arguments, handles, pages, timeline, archive, feedback, upkeep, promotion, exports and forgetting read this
table, and keep none of their own. What a kind does is named by its path and imported at first use, because the services
themselves read the registry.
"""

from collections.abc import Callable
from dataclasses import dataclass
from datetime import datetime
from functools import cached_property
from typing import Any
from uuid import UUID

from django.db.models import Model, Q, QuerySet, UUIDField
from django.utils.module_loading import import_string

from accounts.actor import Actor
from accounts.models import User
from bigmind.text.hygiene import one_line
from knowledge.models import (
    AUTO_CLOSED,
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

QUOTED_CHARS = 160

Rows = Callable[[User], QuerySet[Any]]


@dataclass(frozen=True)
class OwnMemory:
    """What a kind has besides when each thing of it belongs to one user, who may archive and erase it.

    Attributes:
        rows: All of a user's, archived ones too.
        lock: Path of the function that returns the actor's own by its id, locked, or raises NotFound.
        index: Path of the function that writes the passages of one, or erases them when it is archived.
        erase: Path of the operation that erases one for good; it takes `<word>_id`.
        part: Path of what a memory document has of the kind (`MemoryPart`).
        archived_at: The field that says since when one is archived.
        part_of: The word of the kind that each is a part of: it is listed with that, and is no event of its own.
        event_title: The one or two fields that the timeline calls one by.
        event: What came about then: `stored`.
    """

    rows: Rows
    lock: str
    index: str
    erase: str
    part: str = ""
    archived_at: str = "set_aside_at"
    part_of: str = ""
    event_title: tuple[str, ...] = ()
    event: str = "stored"


@dataclass(frozen=True)
class MemoryKind:
    """One kind of thing that is stored and can be found.

    Attributes:
        tier: The tier it belongs to.
        word: What people call one; operations and addresses name the kinds of one's own by it.
        label: What people call all of them.
        route: The page about one.
        list_route: The page with all of them, where there is one.
        visible: What a user may find now: nothing that has expired or was archived since it was indexed.
        own: What it has besides when it belongs to one user; None when everybody here sees it.
        moment: The field that says how old one is.
        began: The field that says when one came about, which no later change moves.
        lapses: Whether one may cease to be visible by the passing of time alone, while it still has passages.
        may_be_empty: Whether one that is visible may have nothing to search, and so no passages.
        tags: The field with its tags, where the kind has any: a search by tag leaves out the kinds that have none.
        held: What of one's own held from a moment to another one, replaced since or not; None: it has no such days.
        title: What one is called.
        told: What a hit says besides: `session_id`, `session_handle`, `role`, `domain`, `key`, `owner`, `approver`,
            `may_contradict`, `validity`, `freshness`.
        symbol: What pages draw one as, of the symbols in `static/img/icons.svg`.
        letter: What its handles begin with: `F12`; empty: with the name of the kind.
        is_statement: Whether one is a single sentence: of many few matter to a question, and it is its own title.
        is_searched: Whether a search over everything looks for it.
        takes_feedback: Whether users and agents may say that one was useful, wrong or outdated, or cite it.
        promoted: The text that promoting one to company knowledge proposes; None: it cannot be promoted.
        project: The project of one that is promoted.
        is_forgotten_apart: Whether forgetting a source has a step of its own for it, as more goes than the thing.
        session: The field with the session it was stored in, where it keeps that.
        index: Path of the function that writes the passages of one; of one's own `own` names it.
        section: Path of what a shared kind is exported by (`ExportSection`).
        searchable: All that must have passages, no matter whose; None: nothing can be said of the kind.
        anchored: Those that a check of a repository gets, if they cite code; None: the kind cites none.
    """

    model: type[Model]
    tier: str
    word: str
    label: str
    route: str
    visible: Rows
    own: OwnMemory | None = None
    list_route: str = ""
    moment: str = "created_at"
    began: str = "created_at"
    lapses: bool = False
    may_be_empty: bool = False
    tags: str = ""
    held: Callable[[User, datetime, datetime], QuerySet[Any]] | None = None
    title: Callable[[Any], str] = str
    told: Callable[[Any], dict[str, str]] = lambda thing: {}
    symbol: str = "folder"
    letter: str = ""
    is_statement: bool = False
    is_searched: bool = True
    takes_feedback: bool = True
    promoted: Callable[[Any], str] | None = None
    project: Callable[[Any], str] = lambda thing: thing.project
    is_forgotten_apart: bool = False
    session: str = ""
    index: str = ""
    section: str = ""
    searchable: Callable[[], QuerySet[Any]] | None = None
    anchored: Rows | None = None

    def write_passages(self, thing: Any) -> None:
        """Write the passages of a thing again, or erase them where it is archived, undecided or removed."""
        import_string(self.own.index if self.own else self.index)(thing)

    @cached_property
    def is_shared(self) -> bool:
        """Whether everybody here sees it. What is not shared belongs to the user who asks."""
        return self.own is None

    @property
    def plural(self) -> str:
        """What replies call the number of them: `facts`."""
        return self.label.lower().replace(" ", "_")

    @cached_property
    def has_uuid(self) -> bool:
        """Whether its rows have UUIDs; else they are numbered."""
        return isinstance(self.model._meta.pk, UUIDField)

    @cached_property
    def read_id(self) -> Callable[[str], Any]:
        """Makes the key of a row from the id that its passages carry."""
        return UUID if self.has_uuid else int

    def key_in(self, id: str) -> Any:
        """Return the key of a row that an id names; None where the text is no id of this kind."""
        if self.read_id is int:
            # Nineteen digits and more may exceed a bigint, which PostgreSQL answers with an error.
            return int(id) if id.isascii() and id.isdecimal() and len(id) < 19 else None
        try:
            return self.read_id(id)
        except ValueError:
            return None

    def of_id(self, user: User, id: str) -> QuerySet[Any]:
        """Return the row of an id, as a user writes it, of those that they may name; none where the text is no id."""
        id = id.strip("[] ")
        id = id[1:] if id[:1].upper() == self.letter and id[1:].isdecimal() else id
        if self.letter and self.has_uuid and id.isdecimal() and len(id) < 8:
            return self.readable(user).filter(number=int(id))  # `S7`: a session has a number beside its id.
        return self.readable(user).filter(pk__in=self.keys_of(user, id))

    def keys_of(self, user: User, id: str) -> tuple[Any, ...]:
        """Return the keys that the row of an id can have: none where the text is no id."""
        key = self.key_in(id)
        # A number of one's own things may stand for two ids (decision 32).
        return () if key is None else user.ids_of(key) if self.own and self.read_id is int else (key,)

    def readable(self, user: User) -> QuerySet[Any]:
        """Return what a user may name by its id: their own, archived too, and what is shared and visible."""
        return self.own.rows(user) if self.own else self.visible(user)

    def time_of_archiving(self, thing: Any) -> datetime | None:
        """Return since when a thing is archived; None when it is in view, or of a kind that nobody archives."""
        since: datetime | None = getattr(thing, self.own.archived_at) if self.own else None
        return since


OPEN_SESSION, NO_HEADLINE = UNTITLED = ("(session in progress)", "(no headline)")
"""What pages show in place of a headline; a line for agents leaves it out."""


def _headline(session: Session) -> str:
    return session.one_liner or (OPEN_SESSION if session.is_open else NO_HEADLINE)


def _sessions_with_text() -> QuerySet[Any]:
    # Topics alone are no text: a session has them from its start, and is searched from its end.
    says = Q(outcome__gt="") | Q(one_liner__gt="") & ~Q(one_liner=AUTO_CLOSED) | ~Q(summary=None)
    return Session.objects.in_view().filter(says).select_related("user")


def _first_line(text: str) -> str:
    lines = (line.strip(" \t#*->") for line in text.splitlines())
    return next((line for line in lines if line), "")[:80]


def _contradiction(fact: Fact) -> str:
    newer = fact.contradicted_by
    return f"F{newer.number}: {one_line(newer.fact)[:QUOTED_CHARS]}" if newer and not newer.is_past else ""


def _approver(entry: CompanyEntry) -> str:
    return f"{entry.decider or ''} ({entry.source})".strip() if entry.source else entry.decider or ""


KINDS: dict[str, MemoryKind] = {
    Kind.FACT: MemoryKind(
        Fact,
        tier="1",
        word="fact",
        label="Facts",
        route="memory-fact",
        list_route="memory-facts",
        symbol="fact",
        letter="F",
        is_statement=True,
        searchable=lambda: Fact.objects.current().select_related("user"),
        visible=lambda user: Fact.objects.of(user).current().select_related("contradicted_by", "superseded_by"),
        own=OwnMemory(
            rows=lambda user: Fact.objects.of(user),
            lock="knowledge.memory.facts.own_fact",
            index="knowledge.truth.fact_index.index_fact",
            erase="knowledge.memory.facts.erase_fact",
            part="knowledge.transfer.own_imports.FACTS",
            archived_at="deprecated_at",
            event_title=("fact",),
        ),
        held=lambda user, start, end: (
            Fact.objects.of(user).held(start, end).select_related("contradicted_by", "superseded_by")
        ),
        told=lambda fact: {
            "may_contradict": _contradiction(fact) if fact.contradicted_by_id else "",
            "validity": fact.validity,
            "freshness": fact.freshness if fact.anchors else "",
        },
        promoted=lambda fact: str(fact.fact),
        session="source_session",
        anchored=lambda user: Fact.objects.of(user).current(),
    ),
    Kind.SUMMARY: MemoryKind(
        Session,
        tier="2",
        word="session",
        label="Sessions",
        route="memory-session",
        list_route="memory-sessions",
        symbol="session",
        letter="S",
        is_forgotten_apart=True,
        searchable=lambda: _sessions_with_text(),
        visible=lambda user: Session.objects.of(user).in_view(),
        own=OwnMemory(
            rows=lambda user: Session.objects.of(user),
            lock="knowledge.context.sessions.lock_session",
            index="knowledge.context.sessions.index_session_and_chunks",
            erase="knowledge.context.sessions.erase_session",
            part="knowledge.transfer.own_imports.SESSIONS",
            event_title=("one_liner",),
            event="began",
        ),
        moment="started_at",
        began="started_at",
        may_be_empty=True,
        tags="topics",
        title=_headline,
        told=lambda session: {"session_id": str(session.pk), "session_handle": session.handle},
    ),
    Kind.CHUNK: MemoryKind(
        Chunk,
        tier="3",
        word="chunk",
        label="Chunks",
        route="memory-chunk",
        list_route="memory-sessions",
        symbol="session",
        is_forgotten_apart=True,
        searchable=lambda: (
            Chunk.objects.without_echo()
            .filter(set_aside_at=None, session__set_aside_at=None)
            .select_related("session", "user")
        ),
        visible=lambda user: Chunk.objects.filter(
            user=user, set_aside_at=None, session__set_aside_at=None
        ).select_related("session"),
        own=OwnMemory(
            rows=lambda user: Chunk.objects.filter(user=user).select_related("session"),
            lock="knowledge.conversation.chunks.own_chunk",
            index="knowledge.conversation.chunks.index_chunk",
            erase="knowledge.conversation.chunks.erase_chunk",
            part_of="session",
        ),
        tags="session__topics",
        title=lambda chunk: _headline(chunk.session),
        told=lambda chunk: {
            "session_id": str(chunk.session_id),
            "session_handle": chunk.session_handle,
            "role": chunk.role,
        },
        promoted=lambda chunk: str(chunk.content),
        project=lambda chunk: str(chunk.session.project),
        session="session",
    ),
    Kind.NOTE: MemoryKind(
        Note,
        tier="1",
        word="note",
        label="Notes",
        route="memory-note",
        list_route="memory-notes",
        symbol="note",
        searchable=lambda: Note.objects.current().select_related("user"),
        visible=lambda user: Note.objects.of(user).current(),
        own=OwnMemory(
            rows=lambda user: Note.objects.of(user),
            lock="knowledge.memory.notes.lock_note",
            index="knowledge.memory.notes.index_note",
            erase="knowledge.memory.notes.erase_note",
            part="knowledge.transfer.own_imports.NOTES",
            event_title=("domain", "key"),
            event="written",
        ),
        moment="updated_at",
        lapses=True,
        told=lambda note: {"domain": note.domain, "key": note.key},
    ),
    Kind.HYPOTHESIS: MemoryKind(
        Hypothesis,
        tier="1",
        word="hypothesis",
        label="Hypotheses",
        route="memory-hypothesis",
        list_route="memory-hypotheses",
        symbol="hypothesis",
        letter="H",
        is_statement=True,
        searchable=lambda: Hypothesis.objects.filter(set_aside_at=None).select_related("user"),
        visible=lambda user: Hypothesis.objects.filter(user=user, set_aside_at=None),
        own=OwnMemory(
            rows=lambda user: Hypothesis.objects.filter(user=user),
            lock="knowledge.memory.hypotheses.own_hypothesis",
            index="knowledge.memory.hypotheses.index_hypothesis",
            erase="knowledge.memory.hypotheses.erase_hypothesis",
            part="knowledge.transfer.own_imports.HYPOTHESES",
            event_title=("hypothesis",),
            event="believed",
        ),
        promoted=lambda belief: f"{belief.hypothesis}\n\n{belief.resolution}".strip(),
        session="session",
    ),
    Kind.ENTRY: MemoryKind(
        Entry,
        tier="kb",
        word="shared entry",
        label="Shared entries",
        route="kb-entry",
        symbol="kb",
        section="knowledge.kb.entry_exports.SECTION",
        is_forgotten_apart=True,
        list_route="kb",
        index="knowledge.kb.entries.index_entry",
        searchable=lambda: Entry.objects.all(),
        visible=lambda user: Entry.objects.select_related("created_by"),
        moment="updated_at",
        tags="tags",
        title=lambda entry: _first_line(entry.content),
        told=lambda entry: {"owner": str(entry.created_by or ""), "freshness": entry.freshness},
        promoted=lambda entry: str(entry.content),
        anchored=lambda user: Entry.objects.all(),
    ),
    Kind.COMPANY: MemoryKind(
        CompanyEntry,
        tier="G",
        word="company knowledge",
        label="Company knowledge",
        route="company-entry",
        symbol="company",
        section="curation.services.company_exports.SECTION",
        is_forgotten_apart=True,
        list_route="company",
        letter="C",
        index="knowledge.kb.company.index_company_entry",
        searchable=lambda: CompanyEntry.objects.approved(),
        visible=lambda user: CompanyEntry.objects.approved().select_related("owner", "decided_by", "copy__server"),
        moment="decided_at",
        began="decided_at",
        tags="topics",
        title=lambda entry: f"[{entry.handle}] {entry.title}",
        told=lambda entry: {
            "owner": entry.keeper or "",
            "approver": _approver(entry),
            "freshness": entry.freshness,
        },
        promoted=lambda entry: str(entry.content),
        anchored=lambda user: CompanyEntry.objects.approved().own(),
    ),
    Kind.REFERENCE: MemoryKind(
        Reference,
        tier="docs",
        word="documentation",
        label="Documentation",
        route="reference",
        symbol="reference",
        section="knowledge.references.exports.SECTION",
        is_forgotten_apart=True,
        list_route="docs",
        index="knowledge.references.imports.index_reference",
        searchable=lambda: Reference.objects.current().select_related("collection"),
        visible=lambda user: Reference.objects.current().select_related("collection", "edited_by"),
        moment="updated_at",
        tags="keywords",
        title=lambda reference: reference.name or reference.title,
        told=lambda reference: {"owner": str(reference.edited_by or reference.collection)},
    ),
    Kind.APP_ENTITY: MemoryKind(
        AppEntity,
        tier="apps",
        word="row of an app",
        label="Rows of apps",
        route="app-map-of-entity",
        symbol="app",
        section="knowledge.app_maps.import_export.SECTION",
        is_forgotten_apart=True,
        index="knowledge.app_maps.learning.index_entity",
        searchable=lambda: AppEntity.objects.select_related("table__app"),
        visible=lambda user: AppEntity.objects.select_related("table__app"),
        moment="last_seen",
        title=lambda entity: f"{entity.table.app} › {entity.table.name} › {entity.name}",
        told=lambda entity: {"owner": "everybody"},
        takes_feedback=False,
    ),
    Kind.APP_TABLE: MemoryKind(
        AppTable,
        tier="apps",
        word="table of an app",
        label="Tables of apps",
        route="app-map-of-table",
        symbol="app",
        section="knowledge.app_maps.import_export.SECTION",
        is_forgotten_apart=True,
        index="knowledge.app_maps.learning.index_table",
        searchable=lambda: AppTable.objects.select_related("app"),
        visible=lambda user: AppTable.objects.select_related("app"),
        moment="last_seen",
        title=lambda table: f"{table.app} › {table.name}",
        told=lambda table: {"owner": "everybody"},
        takes_feedback=False,
    ),
    Kind.APP_WORKFLOW: MemoryKind(
        AppWorkflow,
        tier="apps",
        word="workflow of an app",
        label="Workflows of apps",
        route="app-map-of-workflow",
        symbol="app",
        section="knowledge.app_maps.import_export.SECTION",
        is_forgotten_apart=True,
        index="knowledge.app_maps.learning.index_workflow",
        searchable=lambda: AppWorkflow.objects.select_related("app"),
        visible=lambda user: AppWorkflow.objects.select_related("app"),
        moment="last_seen",
        title=lambda workflow: f"{workflow.app} › {workflow.name}",
        told=lambda workflow: {"owner": "everybody"},
        takes_feedback=False,
    ),
    Kind.PERSON: MemoryKind(
        User,
        tier="people",
        word="person",
        label="People",
        route="directory",
        symbol="person",
        is_forgotten_apart=True,
        index="knowledge.people.people_index.index_person",
        # The directory alone finds people, by what each of them shows.
        visible=lambda user: User.objects.none(),
        is_searched=False,
        takes_feedback=False,
    ),
}
"""In the order in which pages list them."""

SEARCHED = [kind for kind, row in KINDS.items() if row.is_searched]
SHARED = frozenset(kind for kind, row in KINDS.items() if row.is_shared)
STATEMENTS = frozenset(kind for kind, row in KINDS.items() if row.is_statement)
KIND_OF_WORD = {row.word: Kind(kind) for kind, row in KINDS.items()}
LISTED = {row.word: row for row in KINDS.values() if row.own and not row.own.part_of}
"""The kinds of one's own that have a list, and grow, by themselves."""
OWN: dict[str, OwnMemory] = {row.word: row.own for row in KINDS.values() if row.own}
"""The kinds of one's own, by the word that operations and addresses name them by: `session` is what has summaries."""


def lock_own(actor: Actor, name: str, id: object) -> Any:
    """Return the actor's own thing of a kind, locked until the transaction ends.

    Raises:
        NotFound: there is none, or it is someone else's.
    """
    return import_string(OWN[name].lock)(actor, id)


def index_own(name: str, thing: Any) -> None:
    """Write the passages of a thing, or erase them where it is archived."""
    import_string(OWN[name].index)(thing)


def erase_own(actor: Actor, name: str, id: object) -> None:
    """Erase the actor's own thing of a kind for good."""
    # Operations take the beginning of a UUID too, so they read text.
    import_string(OWN[name].erase)(actor, **{f"{name}_id": str(id) if isinstance(id, UUID) else id})
