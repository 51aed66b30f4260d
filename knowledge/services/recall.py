"""Recall: finding what was flagged and noted, by the words of a question."""

from dataclasses import dataclass, field
from datetime import datetime

from rapidfuzz import process

from accounts.actor import Actor
from bigmind.core.vocabulary import Limit, Offset, Project, Query
from knowledge.models import Chunk, Kind, Note, Session
from knowledge.search.keyword import Match, search_by_keyword
from knowledge.vocabulary import Domain

SUGGESTIONS = 3
SUGGEST_FROM = 2000


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
    """Search the flagged exchanges of all your sessions by the words of a question; any word counts.

    Call this when asked “do you remember…”, before you answer from your own knowledge. Returns excerpts with their
    sessions, the best first; nothing is ever made up.
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


def _chunk_hit(match: Match, chunk: Chunk) -> Hit:
    return Hit(
        kind="chunk",
        id=str(chunk.pk),
        title=chunk.session.one_liner or "(session in progress)",
        excerpt=match.excerpt,
        score=match.score,
        matched=match.matched,
        created_at=chunk.created_at,
        project=chunk.session.project,
        session_id=str(chunk.session_id),
    )


def _note_hit(match: Match, note: Note) -> Hit:
    return Hit(
        kind="note",
        id=str(note.pk),
        title=str(note),
        excerpt=match.excerpt,
        score=match.score,
        matched=match.matched,
        created_at=note.created_at,
        project=note.project,
        domain=note.domain,
        key=note.key,
    )


def _did_you_mean(actor: Actor, query: str) -> list[str]:
    """The user's own topics and note keys that look like the question: names that exist, never inventions."""
    topics = Session.objects.of(actor.user).newest_first().values_list("topics", flat=True)[:SUGGEST_FROM]
    keys = Note.objects.of(actor.user).current().values_list("key", flat=True)[:SUGGEST_FROM]
    names = dict.fromkeys([*(topic for row in topics for topic in row), *keys])
    return [name for name, *_ in process.extract(query, list(names), limit=SUGGESTIONS, score_cutoff=60)]
