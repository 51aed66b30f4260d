"""An embedder over HTTP that the tests hold in their hands, and what has become of its vectors."""

import time
from collections.abc import Sequence
from pathlib import Path

from knowledge.embeddings.hashing import Hashing
from tests.embedded.instance import Instance
from tests.knowledge.embeddings.endpoint import Answer, Endpoint, Table
from tests.torture.writes import query

HASHING = Hashing()


def right_vectors(texts: Sequence[str]) -> Table:
    """Return what belongs to these texts, as JSON has it."""
    return HASHING.embed(texts).tolist()


RIGHT = Answer(right_vectors)


def settings_for(endpoint: Endpoint) -> dict[str, str]:
    """Return the variables of an instance that embeds there."""
    return {
        "BIGMIND_EMBEDDING_URL": endpoint.url,
        "BIGMIND_EMBEDDING_MODEL": "hashing",
        "BIGMIND_EMBEDDING_DIMENSIONS": str(HASHING.dimensions),
    }


def waiting(instance: Instance) -> int:
    """Return how many passages have no vector yet."""
    ((count,),) = query(
        instance.home,
        "SELECT count(*) FROM knowledge_passage AS passage LEFT JOIN knowledge_passagevector AS made"
        " ON made.passage_id = passage.id AND made.vector IS NOT NULL WHERE made.id IS NULL",
    )
    return int(count)


def seconds_until_embedded(instance: Instance, *, within: float) -> float:
    """Return how long it takes until no passage waits for its vector.

    Raises:
        AssertionError: some still wait after `within` seconds.
    """
    begun = time.monotonic()
    while left := waiting(instance):
        seconds = time.monotonic() - begun
        assert seconds < within, f"{left} passages have no vector after {seconds:.0f} s."
        time.sleep(0.2)
    return time.monotonic() - begun


def _vectors(home: Path) -> list[tuple[str, str]]:
    return query(
        home,
        "SELECT passage.text, made.vector::text FROM knowledge_passage AS passage"
        " JOIN knowledge_passagevector AS made ON made.passage_id = passage.id WHERE made.vector IS NOT NULL",
    )
