"""Consent: an import that would change or remove most of what is there asks first. Decision 80."""

from bigmind.core.errors import Conflict

UNASKED = 3
"""Up to so many rows an import changes or removes without a question, whatever their share is. It deletes none so."""


class WouldReplace(Conflict):
    """An import would change or remove most of what its source brought, or what another source brought."""


def require_consent(
    source: str,
    *,
    changed: int,
    removed: int,
    there: int,
    foreign: int = 0,
    replaces: bool = False,
    unasked: int = UNASKED,
) -> None:
    """Refuse an import that would change or remove most of what is there, unless its caller says that this is meant.

    Args:
        foreign: How many of the rows to change were brought by another source.
        replaces: The caller's explicit word.
        unasked: Up to so many rows there is no question: 0 where they are deleted for good.

    Raises:
        WouldReplace: more than half of what the source brought, and more than `unasked` rows, or any of another source.
    """
    touched = changed + removed
    if replaces or not (foreign or (touched > unasked and touched * 2 > there)):
        return
    others = f" {foreign:,} of them were brought by another source." if foreign else ""
    raise WouldReplace(
        f"{source or 'This import'} would change {changed:,} and remove {removed:,} of the {there:,} there.{others}"
        " None of that was done.",
        hint="If that is meant, say `replaces` (on the command line --replace).",
        changed=changed,
        removed=removed,
        there=there,
    )
