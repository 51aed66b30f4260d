"""Re-embedding everything."""

from typing import Annotated

from pydantic import Field

from accounts.actor import Actor
from knowledge.shapes.entries import RebuildShape

from . import embedding


def rebuild_embeddings(
    actor: Actor, *, batch_size: Annotated[int, Field(ge=1, le=100)] = 100, clear_cache: bool = True
) -> RebuildShape:
    """Re-embed everything, after the model changed or to be sure. Search keeps working.

    Call this as an admin. Returns the progress; workers continue in the background, and may be stopped at any time.
    """
    actor.require("admin")
    progress = embedding.start_again(batch_size=batch_size, clear_cache=clear_cache)
    return RebuildShape(
        total=progress.total, processed=progress.processed, status="in_progress" if progress.waiting else "complete"
    )
