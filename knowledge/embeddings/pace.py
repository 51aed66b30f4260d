"""How many texts the workers embed in a minute, by which the time that the rest takes is estimated."""

from time import time

from django.core.cache import cache

MINUTES = 3
"""Of so many whole minutes the figure is the mean: batches of long and short texts differ."""


def note_pace(space: str, texts: int) -> None:
    """Count what one batch made, for all workers together."""
    key = _key(space, int(time() // 60))
    cache.add(key, 0, timeout=60 * (MINUTES + 2))
    try:
        cache.incr(key, texts)
    except ValueError:  # The cache is away, or was emptied: the next minute counts again.
        return


def texts_a_minute(space: str) -> float:
    """Return how many texts were embedded in a minute lately; 0 when none were, or nobody knows."""
    now = time()
    # The minute that has begun counts by how much of it has passed.
    keys = [_key(space, int(now // 60) - back) for back in range(MINUTES + 1)]
    counted = cache.get_many(keys)
    passed = [(now % 60) / 60, *[1.0] * MINUTES]
    made = [(counted[key], share) for key, share in zip(keys, passed, strict=True) if counted.get(key)]
    return sum(texts for texts, _ in made) / sum(share for _, share in made) if made else 0.0


def _key(space: str, minute: int) -> str:
    return f"embedding-pace:{space}:{minute}"
