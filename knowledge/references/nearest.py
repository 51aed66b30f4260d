"""Did you mean, of references: their real names that are most like one that does not exist, by spelling and meaning."""

from collections.abc import Iterable, Mapping, Sequence

from rapidfuzz import fuzz, process

from knowledge.models import ReferenceName, ReferenceType
from knowledge.references.lookup import FLAG, Shelves
from knowledge.search.names import Request, path_form, spell
from knowledge.search.nearest import SUGGESTIONS
from knowledge.search.synonyms import canonical

NAMES_COMPARED = 20_000
ALIKE = 50.0
"""Of 100. What is less alike than this would not be called near by anybody."""
SAME_METHOD = 5
"""What it counts that a path has the method that was asked for."""

_SORTS = (ReferenceName.Sort.NAME, ReferenceName.Sort.ALIAS, ReferenceName.Sort.TITLE)
_KINDS = (ReferenceType.COMMAND, ReferenceType.SETTING, ReferenceType.FEATURE, ReferenceType.GUIDE)


def nearest_references(
    text: str, among: Shelves, *, kinds: Iterable[str] = (), request: Request | None = None
) -> list[str]:
    """Return up to three real names that are most like what was asked for."""
    if request is not None:
        return _nearest_paths(request, among)
    names = among.names().filter(sort__in=_SORTS, reference__kind__in=list(kinds) or _KINDS)
    rows = names.order_by("pk").values_list("lookup", "reference__name", "reference__title")[:NAMES_COMPARED]
    said = {lookup: name or title for lookup, name, title in rows}
    # What follows the first option says how it was meant to be called, and would only blur what was.
    scores = _scores(spell(FLAG.split(text, maxsplit=1)[0] or text), said, among)
    best = sorted(scores, key=lambda name: (-scores[name], name))
    return list(dict.fromkeys(said[name] for name in best))[:SUGGESTIONS]


def _scores(asked: str, names: Iterable[str], among: Shelves) -> Mapping[str, float]:
    """How alike each name is, by its words in any order with synonyms as one, or by its letters: the better counts."""
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
    """A name without the program it begins with, which all have in common."""
    return next((name.removeprefix(f"{one} ") for one in programs if name.startswith(f"{one} ")), name)


def _nearest_paths(request: Request, among: Shelves) -> list[str]:
    names = among.names().filter(sort=ReferenceName.Sort.PATH).values_list("lookup", "method", "said")
    said = {(lookup, method): said for lookup, method, said in names[:NAMES_COMPARED]}
    choices = {place: place[0] for place in said}
    found = process.extract(path_form(request.path), choices, scorer=fuzz.ratio, limit=40, score_cutoff=ALIKE)
    ranked = sorted(found, key=lambda one: (-one[1] - SAME_METHOD * (one[2][1] == request.method), one[2]))
    return list(dict.fromkeys(said[place] for _, _, place in ranked))[:SUGGESTIONS]
