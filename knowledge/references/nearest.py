"""Did you mean, for references: the real names that are most like an unknown one, by spelling and by synonyms."""

from collections.abc import Iterable, Mapping, Sequence

from rapidfuzz import fuzz, process

from knowledge.models import ReferenceName, ReferenceType
from knowledge.references.lookup import FLAG, SearchedCollections
from knowledge.search.names import Request, path_form, spell
from knowledge.search.nearest import SUGGESTIONS
from knowledge.search.synonyms import canonical

NAMES_COMPARED = 20_000
ALIKE = 50.0
"""Similarity of 100 from which a name is suggested. Less alike names do not look alike to people."""
SAME_METHOD = 5
"""Points that a path gets for having the requested method."""

_SORTS = (ReferenceName.Sort.NAME, ReferenceName.Sort.ALIAS, ReferenceName.Sort.TITLE)
_KINDS = (ReferenceType.COMMAND, ReferenceType.SETTING, ReferenceType.FEATURE, ReferenceType.GUIDE)


def nearest_references(
    text: str, among: SearchedCollections, *, kinds: Iterable[str] = (), request: Request | None = None
) -> list[str]:
    """Return up to three real names that are most like a text, the nearest first."""
    if request is not None:
        return _nearest_paths(request, among)
    names = among.names().filter(sort__in=_SORTS, reference__kind__in=list(kinds) or _KINDS)
    rows = names.order_by("pk").values_list("lookup", "reference__name", "reference__title")[:NAMES_COMPARED]
    shown = {lookup: name or title for lookup, name, title in rows}
    # The options and their values are not part of the name, and would only blur the comparison.
    scores = _scores(spell(FLAG.split(text, maxsplit=1)[0] or text), shown, among)
    best = sorted(scores, key=lambda name: (-scores[name], name))
    return list(dict.fromkeys(shown[name] for name in best))[:SUGGESTIONS]


def _scores(asked: str, names: Iterable[str], among: SearchedCollections) -> Mapping[str, float]:
    """Return the similarity of each name, by words with synonyms unified, or by letters."""
    programs, synonyms = among.programs, among.synonyms
    spelling = {name: _bare(name, programs) for name in names}
    meaning = {name: canonical(bare.split(), synonyms) for name, bare in spelling.items()}
    wanted = _bare(asked, programs)
    scores: dict[str, float] = {}
    for choices, sought, scorer in (
        (meaning, canonical(wanted.split(), synonyms), fuzz.token_sort_ratio),
        (spelling, wanted, fuzz.ratio),
    ):
        for _, score, name in process.extract(sought, choices, scorer=scorer, limit=20, score_cutoff=ALIKE):
            scores[name] = max(score, scores.get(name, 0.0))
    return scores


def _bare(name: str, programs: Sequence[str]) -> str:
    """Return a name without its program, which all names share and which would make all of them similar."""
    return next((name.removeprefix(f"{one} ") for one in programs if name.startswith(f"{one} ")), name)


def _nearest_paths(request: Request, among: SearchedCollections) -> list[str]:
    names = among.names().filter(sort=ReferenceName.Sort.PATH).values_list("lookup", "method", "said")
    shown = {(lookup, method): shown for lookup, method, shown in names[:NAMES_COMPARED]}
    choices = {place: place[0] for place in shown}
    found = process.extract(path_form(request.path), choices, scorer=fuzz.ratio, limit=40, score_cutoff=ALIKE)
    ranked = sorted(found, key=lambda one: (-one[1] - SAME_METHOD * (one[2][1] == request.method), one[2]))
    return list(dict.fromkeys(shown[place] for _, _, place in ranked))[:SUGGESTIONS]
