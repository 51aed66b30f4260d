"""Keeping who wrote what: with which key, through which agent."""

from collections.abc import Iterable

from accounts.actor import acting
from knowledge.models import Kind, Writing


def note_writings(kind: Kind | str, source_ids: Iterable[object], *, made: bool) -> None:
    """Note that the actor of this call has written these things. What a person writes on a page needs no note.

    Args:
        kind: A kind of passages, or the word for what has none: `comment`, `feedback`.
        made: Whether the text is the actor's own; otherwise it was there before, and the actor changed or moved it.
    """
    actor = acting()
    if actor is None or (actor.key is None and actor.agent is None):
        return
    Writing.objects.bulk_create(
        Writing(kind=str(kind), source_id=str(source_id), made=made, user=actor.user, key=actor.key, agent=actor.agent)
        for source_id in source_ids
    )
