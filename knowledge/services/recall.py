"""Recall: finding what is remembered, by the words of a question."""

from collections.abc import Callable, Iterable
from dataclasses import dataclass, field
from datetime import datetime
from typing import Annotated, Any, Literal

from pydantic import Field
from rapidfuzz import process

from accounts.actor import Actor
from bigmind.core.vocabulary import Limit, Offset, Project, Query
from knowledge.models import Chunk, Fact, Hypothesis, Kind, Note, Session
from knowledge.search.keyword import Match, search_by_keyword
from knowledge.vocabulary import Domain

SUGGESTIONS = 3
SUGGEST_FROM = 2000
PERSONAL = (Kind.FACT, Kind.CHUNK, Kind.SUMMARY, Kind.NOTE, Kind.HYPOTHESIS)

Kinds = Annotated[
    list[Literal["fact", "chunk", "summary", "note", "hypothesis"]], Field(description="What to look among.")
]


@dataclass(frozen=True)
class Hit:
    """One thing that was found, with where it comes from and why it matched."""

    kind: str
    id: str
    title: str
    excerpt: str
    score: float
    matched: list[str]
    created_at: datetime
    project: str = ""
    session_id: str | None = None
    domain: str | None = None
    key: str | None = None


@dataclass(frozen=True)
class Hits:
    """What was found, the best first. When nothing was: names that are nearly what was asked for."""

    items: list[Hit]
    total: int
    limit: int
    offset: int
    did_you_mean: list[str] = field(default_factory=list)


def search_chunks(actor: Actor, *, query: Query, project: Project = "", limit: Limit = 5, offset: Offset = 0) -> Hits:
    """Search the flagged exchanges of all sessions by the words of a question; any word counts.

    Call this when asked “do you remember…”, before you answer. Returns excerpts with their sessions, the best first.
    """
    found = search_by_keyword(query, owner=actor.user, kinds=[Kind.CHUNK], project=project, limit=limit, offset=offset)
    chunks = (
        Chunk.objects.select_related("session")
        .filter(user=actor.user)
        .in_bulk([int(match.source_id) for match in found.items])
    )
    hits = [_chunk_hit(match, chunks[int(match.source_id)]) for match in found.items if int(match.source_id) in chunks]
    return Hits(hits, found.total, limit, offset, [] if hits else _did_you_mean(actor, query))


def search_notes(
    actor: Actor, *, query: Query, domain: Domain | None = None, limit: Limit = 5, offset: Offset = 0
) -> Hits:
    """Search notes by the words of a question, in one domain or all; any word counts.

    Call this when you do not know the exact domain and key. Returns the notes' addresses with excerpts, the best first.
    """
    eligible = Note.objects.of(actor.user).current()
    if domain:
        eligible = eligible.filter(domain=domain)
    among = [str(pk) for pk in eligible.values_list("pk", flat=True)]
    found = search_by_keyword(query, owner=actor.user, kinds=[Kind.NOTE], among=among, limit=limit, offset=offset)
    notes = eligible.in_bulk([int(match.source_id) for match in found.items])
    hits = [_note_hit(match, notes[int(match.source_id)]) for match in found.items if int(match.source_id) in notes]
    return Hits(hits, found.total, limit, offset, [] if hits else _did_you_mean(actor, query))


def search_memory(
    actor: Actor,
    *,
    query: Query,
    kinds: Kinds | None = None,
    project: Project = "",
    limit: Limit = 20,
    offset: Offset = 0,
) -> Hits:
    """Search everything the user has by the words of a question: facts, chunks, summaries, notes, hypotheses.

    The search box of the pages asks this. Returns excerpts, the best first, whatever their kind.
    """
    wanted = [Kind(kind) for kind in kinds or PERSONAL]
    found = search_by_keyword(query, owner=actor.user, kinds=wanted, project=project, limit=limit, offset=offset)
    rows = {kind: _rows(actor, kind, found.items) for kind in {match.kind for match in found.items}}
    read = [(match, rows[match.kind].get(match.source_id)) for match in found.items]
    hits = [_HIT_OF[match.kind](match, row) for match, row in read if row is not None]
    # A note that has expired keeps its passage until the next sweep; it is not found, and not counted.
    total = found.total - (len(read) - len(hits))
    return Hits(hits, total, limit, offset, [] if hits else _did_you_mean(actor, query))


def _rows(actor: Actor, kind: str, matches: Iterable[Match]) -> dict[str, Any]:
    user = actor.user
    mine: dict[str, Any] = {
        Kind.FACT: Fact.objects.of(user).current(),
        Kind.CHUNK: Chunk.objects.filter(user=user).select_related("session"),
        Kind.SUMMARY: Session.objects.of(user),
        Kind.NOTE: Note.objects.of(user).current(),
        Kind.HYPOTHESIS: Hypothesis.objects.filter(user=user),
    }
    ids = [match.source_id for match in matches if match.kind == kind]
    return {str(row.pk): row for row in mine[kind].filter(pk__in=ids)}


def _chunk_hit(match: Match, chunk: Chunk) -> Hit:
    session = chunk.session
    return _hit(match, _headline(session), chunk.created_at, session.project, session_id=str(session.pk))


def _summary_hit(match: Match, session: Session) -> Hit:
    return _hit(match, _headline(session), session.started_at, session.project, session_id=str(session.pk))


def _note_hit(match: Match, note: Note) -> Hit:
    return _hit(match, str(note), note.created_at, note.project, domain=note.domain, key=note.key)


def _statement_hit(match: Match, row: Fact | Hypothesis) -> Hit:
    return _hit(match, str(row), row.created_at, row.project)


_HIT_OF: dict[str, Callable[[Match, Any], Hit]] = {
    Kind.FACT: _statement_hit,
    Kind.CHUNK: _chunk_hit,
    Kind.SUMMARY: _summary_hit,
    Kind.NOTE: _note_hit,
    Kind.HYPOTHESIS: _statement_hit,
}


def _hit(match: Match, title: str, created_at: datetime, project: str, **source: str) -> Hit:
    return Hit(
        kind=match.kind,
        id=match.source_id,
        title=title,
        excerpt=match.excerpt,
        score=match.score,
        matched=match.matched,
        created_at=created_at,
        project=project,
        **source,
    )


def _headline(session: Session) -> str:
    return session.one_liner or "(session in progress)"


def _did_you_mean(actor: Actor, query: str) -> list[str]:
    """The user's own topics and note keys that look like the question: names that exist, never inventions."""
    topics = Session.objects.of(actor.user).newest_first().values_list("topics", flat=True)[:SUGGEST_FROM]
    keys = Note.objects.of(actor.user).current().values_list("key", flat=True)[:SUGGEST_FROM]
    names = dict.fromkeys([*(topic for row in topics for topic in row), *keys])
    return [name for name, *_ in process.extract(query, list(names), limit=SUGGESTIONS, score_cutoff=60)]
