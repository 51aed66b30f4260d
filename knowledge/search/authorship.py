"""Authorship: records who wrote what, with which key and through which agent."""

from collections.abc import Iterable

from accounts.actor import acting
from knowledge.models import Kind, Writing


def note_writings(kind: Kind | str, source_ids: Iterable[object], *, made: bool) -> None:
    """Record that the actor of this call has written these things.

    Does nothing for a person on a page: without a key or an agent, the owner of the row is the author.

    Args:
        kind: A kind of passages, or the word for something without passages: `comment`, `feedback`.
        made: Whether the text is the actor's own; otherwise it was there before, and the actor changed or moved it.
    """
    actor = acting()
    if actor is None or (actor.key is None and actor.agent is None):
        return
    Writing.objects.bulk_create(
        Writing(kind=str(kind), source_id=str(source_id), made=made, user=actor.user, key=actor.key, agent=actor.agent)
        for source_id in source_ids
    )
