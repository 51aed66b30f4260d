"""Recall: finding what is remembered, of one kind, by the words and the meaning of a question."""

from accounts.actor import Actor
from bigmind.core.vocabulary import Limit, Offset, Project, Query
from knowledge.models import Kind
from knowledge.services.hits import Hits, find
from knowledge.services.sources import visible_things
from knowledge.vocabulary import Domain


def search_chunks(actor: Actor, *, query: Query, project: Project = "", limit: Limit = 5, offset: Offset = 0) -> Hits:
    """Search the flagged exchanges of all sessions by words and meaning.

    Call this when asked “do you remember…”, before you answer. Returns excerpts with their sessions, best first.
    """
    things = visible_things(actor.user, [Kind.CHUNK])
    return find(actor, query, things=things, project=project, limit=limit, offset=offset)


def search_notes(
    actor: Actor, *, query: Query, domain: Domain | None = None, limit: Limit = 5, offset: Offset = 0
) -> Hits:
    """Search notes by the words and the meaning of a question, in one domain or all.

    Call this when you do not know the exact domain and key. Returns the notes' addresses with excerpts, the best first.
    """
    things = visible_things(actor.user, [Kind.NOTE])
    if domain is not None:
        things = {kind: notes.filter(domain=domain) for kind, notes in things.items()}
    return find(actor, query, things=things, is_narrowed=domain is not None, limit=limit, offset=offset)
