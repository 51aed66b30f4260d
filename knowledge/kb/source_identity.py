"""Sources: by which other names one was imported, and when an import has to ask before it changes what is there.

A source is a place, `repository//path`, or a name that the caller made sure is one alone, such as `github:acme/shop`.
Decision 80.
"""

from pathlib import PurePosixPath

from django.db.models import Q

from bigmind.core.errors import Conflict
from knowledge.models import SourceRepository
from knowledge.parsers.repositories import SourcePlace, read_place

HALF, MOST = 0.5, 0.75
"""Which share of the entries is the same in a file whose repository, or whose name, is another now."""
FEW = 3
"""Up to so many rows an import changes or removes without a question, whatever their share is."""


class WouldReplace(Conflict):
    """An import would change or remove most of what its source brought, or what another source brought."""


def remember_place(place: SourcePlace) -> None:
    """Keep the first commit of a repository, by which it is recognized under another address."""
    if place.first_commit:
        SourceRepository.objects.update_or_create(name=place.repository, defaults={"first_commit": place.first_commit})


def earlier_names(place: SourcePlace) -> list[str]:
    """Return the other names of the same source: under another address of its repository, and before it was one."""
    same = SourceRepository.objects.filter(~Q(first_commit=""), first_commit=place.first_commit)
    names = [str(place.beside(place.path, of=name)) for name in same.values_list("name", flat=True)]
    return [name for name in [*names, place.without_git] if name and name != str(place)]


def is_bare_name_of(name: str, place: SourcePlace) -> bool:
    """Whether an earlier version of BigMind may have called a place so: by its file name, or by part of its path."""
    if place.bare_name:
        return name == place.bare_name
    if ":" in name or read_place(name):
        return False
    parts, others = PurePosixPath(place.path or place.repository).parts, PurePosixPath(name).parts
    length = min(len(parts), len(others))
    return length > 0 and parts[-length:] == others[-length:]


def require_consent(
    source: str, *, changed: int, removed: int, there: int, foreign: int = 0, replaces: bool = False
) -> None:
    """Refuse an import that would change or remove most of what is there, unless its caller says that this is meant.

    Args:
        foreign: How many of the rows to change were brought by another source.
        replaces: The caller's explicit word.

    Raises:
        WouldReplace: more than half of what the source brought, and more than three rows, or any of another source.
    """
    touched = changed + removed
    if replaces or not (foreign or (touched > FEW and touched * 2 > there)):
        return
    others = f" {foreign:,} of them were brought by another source." if foreign else ""
    raise WouldReplace(
        f"{source or 'This import'} would change {changed:,} and remove {removed:,} of the {there:,} there.{others}"
        " Nothing was changed.",
        hint="If that is meant, say `replaces` (on the command line --replace).",
        changed=changed,
        removed=removed,
        there=there,
    )
