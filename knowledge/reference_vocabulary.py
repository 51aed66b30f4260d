"""The words of documentation: the kinds of references, and how much of a product a source tells."""

from collections.abc import Iterable
from enum import StrEnum


class ReferenceKind(StrEnum):
    """What a reference describes."""

    COMMAND = "command"
    API = "api"
    GUIDE = "guide"
    FEATURE = "feature"
    TROUBLESHOOTING = "troubleshooting"
    SETTING = "setting"


class Completeness(StrEnum):
    """Whether what a source lists is all there is: only then does what it does not list not exist."""

    COMPLETE = "complete"
    PARTIAL = "partial"
    UNKNOWN = "unknown"


CAN_BE_COMPLETE = frozenset({ReferenceKind.COMMAND, ReferenceKind.API})
"""Of these there is a list that can be whole; of guides nobody can tell."""


def least_complete(states: Iterable[str]) -> Completeness:
    """Return what holds of all together: complete only if each is, partial as soon as one is known to be."""
    found = set(states)
    if found == {Completeness.COMPLETE}:
        return Completeness.COMPLETE
    return Completeness.PARTIAL if Completeness.PARTIAL in found else Completeness.UNKNOWN
