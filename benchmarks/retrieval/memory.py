"""Remembering a corpus: through the services agents use, into an instance with the built-in embedder."""

from collections.abc import Callable
from dataclasses import dataclass, field
from datetime import UTC, datetime

from django.db import connection

from accounts.actor import Actor
from accounts.models import User
from accounts.people.users import add_user
from benchmarks.retrieval.beir import Corpus, Document
from knowledge.context.sessions import end_session, start_session
from knowledge.conversation.chunks import append_chunk, index_chunk
from knowledge.indexing.embedding import embed_pending
from knowledge.kb.entries import add_entry
from knowledge.memory.facts import store_fact
from knowledge.memory.hypotheses import add_hypothesis
from knowledge.memory.notes import set_note
from knowledge.models import Entry, Kind, Passage

Place = tuple[str, str]


@dataclass
class Memory:
    """Whose memory it is, and which document each remembered thing holds."""

    actor: Actor
    documents: dict[Place, str] = field(default_factory=dict)
    sessions: dict[str, str] = field(default_factory=dict)

    @property
    def user(self) -> User:
        """The person who remembers."""
        return self.actor.user


def remember(corpus: Corpus) -> Memory:
    """Store every document as what it is, and make all vectors. What another corpus left to share is erased."""
    Entry.objects.all().delete()
    Passage.objects.filter(owner=None).delete()
    memory = Memory(Actor.of(add_user(f"reader-{User.objects.count()}")))
    # Conversations last: while several are open, what is stored outside them would have to name one.
    for document in sorted(corpus.documents, key=lambda one: one.metadata.get("kind") == Kind.CHUNK):
        kind = document.metadata.get("kind", "fact")
        memory.documents[kind, _STORE[kind](memory, document)] = document.id
    embed_pending()
    with connection.cursor() as cursor:
        cursor.execute("ANALYZE")
    return memory


def _fact(memory: Memory, document: Document) -> str:
    """A document of a kind that is not known is a fact too: its title and its text."""
    text = f"{document.title}\n\n{document.text}".strip()
    fact = store_fact(memory.actor, category=document.metadata.get("category", "codebase"), fact=text).fact
    if "date" in document.metadata:
        fact.created_at = datetime.fromisoformat(document.metadata["date"])
        fact.save(update_fields=["created_at"])
    return str(fact.pk)


def _note(memory: Memory, document: Document) -> str:
    domain, _, key = document.title.partition("/")
    return str(set_note(memory.actor, domain=domain, key=key, content=document.text).pk)


def _hypothesis(memory: Memory, document: Document) -> str:
    return str(add_hypothesis(memory.actor, hypothesis=document.text).pk)


def _entry(memory: Memory, document: Document) -> str:
    return str(add_entry(memory.actor, content=document.text, entry_type="fact", tags=document.metadata["tags"]).id)


def _summary(memory: Memory, document: Document) -> str:
    session_id = str(start_session(memory.actor).session_id)
    end_session(memory.actor, one_liner=document.title, summary=document.text, session_id=session_id)
    return session_id


def _chunk(memory: Memory, document: Document) -> str:
    told = document.metadata
    if told["session"] not in memory.sessions:
        memory.sessions[told["session"]] = str(start_session(memory.actor, project=told["project"]).session_id)
    session_id = memory.sessions[told["session"]]
    chunk = append_chunk(memory.actor, role=told["role"], content=document.text, session_id=session_id)
    if "date" in told:
        chunk.created_at = datetime.fromisoformat(told["date"]).replace(tzinfo=UTC)
        chunk.save(update_fields=["created_at"])
        index_chunk(chunk)
    return str(chunk.pk)


_STORE: dict[str, Callable[[Memory, Document], str]] = {
    Kind.FACT: _fact,
    Kind.NOTE: _note,
    Kind.HYPOTHESIS: _hypothesis,
    Kind.ENTRY: _entry,
    Kind.SUMMARY: _summary,
    Kind.CHUNK: _chunk,
}
