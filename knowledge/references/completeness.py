"""Completeness: whether a collection lists all commands or endpoints, so that what it lacks does not exist."""

from collections.abc import Iterable, Sequence

from knowledge.models import Reference, ReferenceType
from knowledge.reference_vocabulary import CAN_BE_COMPLETE, Completeness, ReferenceKind, least_complete
from knowledge.references.lookup import SearchedCollections


def completeness_of(references: Iterable[Reference]) -> dict[ReferenceKind, Completeness]:
    """Return for each type how complete the sources of these commands and endpoints are."""
    return _states((one.collection.completeness, one.origin, one.kind) for one in references)


def lists_all(among: SearchedCollections, kind: ReferenceKind, *, program: str = "") -> bool:
    """Return whether all things of a type are documented: every source declares itself complete.

    Of commands only the collections of a program count, unless one was named: nobody lists all programs.
    """
    sources = among.references().filter(kind=kind).order_by()
    if program:
        sources = sources.filter(collection__program=program)
    rows = sources.values_list("collection__completeness", "origin", "kind").distinct()
    return _states(rows).get(kind) == Completeness.COMPLETE


def is_listed_whole(words: Sequence[str], among: SearchedCollections) -> bool:
    """Return whether all commands that begin like a line are listed, so that what is not listed does not exist.

    The longest command that the words begin with decides; where they begin with none, the collection of the program.
    """
    wanted = {" ".join(words[:length]) for length in range(1, len(words) + 1)}
    programs = [one.program for one in among.all if one.program]
    wanted |= {f"{program} {words_}" for program in programs for words_ in list(wanted)}
    forms = among.references().filter(kind=ReferenceType.COMMAND, name__in=wanted).values_list("name", "form")
    by_length = sorted(forms, key=lambda found: -len(found[0]))
    if by_length:
        longest = [form for name, form in by_length if len(name.split()) == len(by_length[0][0].split())]
        return all((form or {}).get("completeness") == Completeness.COMPLETE for form in longest)
    line = f"{' '.join(words)} ".casefold()
    named = [program for program in programs if line.startswith(f"{program.casefold()} ")]
    if not named:
        return bool(among.slug) and lists_all(among, ReferenceKind.COMMAND)
    return all(lists_all(among, ReferenceKind.COMMAND, program=program) for program in named)


def _states(rows: Iterable[tuple[dict[str, dict[str, str]], str, str]]) -> dict[ReferenceKind, Completeness]:
    states: dict[ReferenceKind, set[str]] = {}
    for declared, origin, kind in rows:
        if kind in CAN_BE_COMPLETE:
            states.setdefault(ReferenceKind(kind), set()).add(declared.get(origin, {}).get(kind, Completeness.UNKNOWN))
    return {kind: least_complete(found) for kind, found in states.items()}
