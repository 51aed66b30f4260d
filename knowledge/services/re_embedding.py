"""Making all vectors again."""

from dataclasses import dataclass
from typing import Annotated

from pydantic import Field

from accounts.actor import Actor

from . import embedding


@dataclass(frozen=True)
class Rebuild:
    """How far the vectors are."""

    total: int
    processed: int
    status: str


def rebuild_embeddings(
    actor: Actor, *, batch_size: Annotated[int, Field(ge=1, le=100)] = 100, clear_cache: bool = True
) -> Rebuild:
    """Make all vectors again, after the model changed or to be sure. Search goes on meanwhile.

    Call this as an admin. Returns how far it is; workers do the rest in the background, and may be stopped at any time.
    """
    actor.require("admin")
    progress = embedding.start_again(batch_size=batch_size, clear_cache=clear_cache)
    return Rebuild(progress.total, progress.processed, "in_progress" if progress.waiting else "complete")
