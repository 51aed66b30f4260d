"""Sources: by which other names one was imported.

A source is a place, `repository//path`, or a name that the caller made sure is one alone, such as `github:acme/shop`.
Decision 80.
"""

from pathlib import PurePosixPath

from django.db.models import Q

from knowledge.models import SourceRepository
from knowledge.parsers.repositories import SourcePlace, read_place

HALF, MOST = 0.5, 0.75
"""Which share of the entries is the same in a file whose repository, or whose name, is another now."""
FEW = 3
"""From so many equal entries on, those of another name may be of the same source."""


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
