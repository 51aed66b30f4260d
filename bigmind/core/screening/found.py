"""Secrets as they are found: their kind and their place, never their text."""

from collections.abc import Iterable
from dataclasses import dataclass


@dataclass(frozen=True, slots=True)
class Secret:
    """One secret in a text: what it is, in words such as “AWS access key”, and where it stands."""

    kind: str
    start: int
    end: int


def merge_overlaps(candidates: Iterable[Secret]) -> list[Secret]:
    """Return the secrets in the order of the text, those that overlap as one. The kind found first names it."""
    ranked = sorted(enumerate(candidates), key=lambda each: (each[1].start, each[0]))
    kept: list[tuple[int, Secret]] = []
    for rank, secret in ranked:
        if kept and secret.start < kept[-1][1].end:
            best, last = kept[-1]
            kind = secret.kind if rank < best else last.kind
            kept[-1] = (min(rank, best), Secret(kind, last.start, max(last.end, secret.end)))
        else:
            kept.append((rank, secret))
    return [secret for _, secret in kept]
