"""Lookup of references by their exact names, and the names most similar to an unknown one."""

import re
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from django.db.models import Case, Count, IntegerField, QuerySet, Value, When
from rapidfuzz import fuzz, process

from bigmind.core.errors import NotFound
from bigmind.text.hygiene import echo, mention
from knowledge.models import Reference, ReferenceCollection, ReferenceName, ReferenceType
from knowledge.models.references import ReferenceQuerySet
from knowledge.references.texts import PLAIN_VERBS
from knowledge.search.nearest_names import SUGGESTIONS
from knowledge.search.synonyms import Synonyms, canonical, synonyms_of
from knowledge.search.typed_names import Request, path_candidates, path_form, spell, words_typed

# Function words: a line with one of them is a question, even if it begins with the name of a program.
_OF_A_QUESTION = frozenset(
    """a an and are be can cannot could do does for from how i in into is it my not of on or should that the there this
    to was we what when where which who why will with would you your""".split()  # noqa: SIM905 (reads better)
)
# Words that are not the name of a command: a placeholder, an address, a number, a path, a quoted sentence.
_VALUE = re.compile(r"[<>\[\]{}@/=.:\s\d]|^[A-Z_]+$")
FLAG = re.compile(r"(?:^|\s)-{1,2}[A-Za-z]")

NAMES_COMPARED = 20_000
ALIKE = 50.0
"""The similarity, of 100, from which a name is suggested. Less similar names do not look similar to people."""
SAME_METHOD = 5
"""Points that a path gets for having the requested method."""

_SORTS = (ReferenceName.Sort.NAME, ReferenceName.Sort.ALIAS, ReferenceName.Sort.TITLE)
_KINDS = (ReferenceType.COMMAND, ReferenceType.SETTING, ReferenceType.FEATURE, ReferenceType.GUIDE)


@dataclass(frozen=True)
class SearchedCollections:
    """The collections that a lookup covers.

    Attributes:
        slug: The requested collection; empty for all.
    """

    all: Sequence[ReferenceCollection]
    slug: str

    @property
    def synonyms(self) -> Synonyms:
        """The built-in synonyms and those of the collections."""
        return synonyms_of(*(one.synonyms for one in self.all))

    @property
    def programs(self) -> list[str]:
        """The programs whose name may be left out of a command line, in lookup form, the longest first."""
        return sorted({spell(one.program) for one in self.all if one.program}, key=len, reverse=True)

    def references(self) -> ReferenceQuerySet:
        """Return the current references of these collections."""
        rows = Reference.objects.current()
        return rows.filter(collection__slug=self.slug) if self.slug else rows

    def names(self) -> QuerySet[ReferenceName]:
        """Return the names of their current references."""
        names = ReferenceName.objects.filter(reference__removed_at=None)
        return names.filter(reference__collection__slug=self.slug) if self.slug else names


@dataclass(frozen=True)
class Match:
    """A reference found by one of its names: the sort of name, and the name as it was written (`said`)."""

    reference: Reference
    sort: str
    said: str

    @property
    def matched_on(self) -> str:
        """What it was found by, for the reader."""
        return {"name": "exact name", "path": "path", "key": "key", "title": "title"}.get(
            self.sort, f"alias {echo(self.said)}"
        )


def select_collections(collection: str = "") -> SearchedCollections:
    """Return the collections to search: all, or the one with this name.

    Raises:
        NotFound: there is no collection of this name.
    """
    rows = list(ReferenceCollection.objects.order_by("slug"))
    if not collection:
        return SearchedCollections(rows, "")
    chosen = [row for row in rows if row.slug == collection]
    if not chosen:
        names = ", ".join(row.slug for row in rows[:20])
        raise NotFound(f"There is no collection {mention(collection)}.", hint=f"There are: {names or 'none yet'}.")
    return SearchedCollections(chosen, collection)


@dataclass(frozen=True)
class CommandLine:
    """A command line as it was typed: the command it names, and the words after it."""

    match: Match
    rest: list[str]


def find_by_name(text: str, among: SearchedCollections) -> list[Match]:
    """Return the references with this name: by exact name first, then by alias, key or title.

    A text that begins with a program is a command line, so the program is not prepended to it again.
    """
    matches: dict[Any, Match] = {}
    for name in _names_of(_spellings(spell(text), among), among):
        matches.setdefault(name.reference_id, Match(name.reference, name.sort, name.said))
    return list(matches.values())


def commands_in(line: str, among: SearchedCollections) -> list[CommandLine]:
    """Return the commands that a line with arguments and options may name: the longest match of its first words.

    The remaining words must be possible there: `helios gw users frobnicate` is not `helios gw users`.
    """
    words = words_typed(line)
    lengths: dict[str, int] = {}
    for length in range(1, len(words) + 1):
        # A word without letters, such as the `.` of `black .`, adds nothing to a name.
        for spelling in _spellings(spell(" ".join(words[:length])), among):
            lengths.setdefault(spelling, length)
    found: dict[Any, CommandLine] = {}
    names = _names_of(lengths, among, kind=ReferenceType.COMMAND)
    for name in sorted(names, key=lambda name: -lengths[name.lookup]):
        typed, rest = words[: lengths[name.lookup]], words[lengths[name.lookup] :]
        if _has_the_same_options(name.said, typed) and _can_follow(rest, name.reference):
            found.setdefault(name.reference_id, CommandLine(Match(name.reference, name.sort, name.said), rest))
    longest = min((len(one.rest) for one in found.values()), default=0)
    return [one for one in found.values() if len(one.rest) == longest]


def find_endpoints(request: Request, among: SearchedCollections) -> list[Match]:
    """Return the endpoints of a request's path, whatever the method: those with the fewest parameters.

    As in the routers of servers, `/users/me` wins over `/users/{id}`.
    """
    form = path_form(request.path)
    # Any segment may be a value, so all templates are asked for at once: patterns for each row would use no index.
    # Decision 18.
    names = among.names().filter(sort=ReferenceName.Sort.PATH, lookup__in=path_candidates(form))
    rows = list(names.select_related("reference__collection").order_by("reference__collection__slug", "method", "pk"))
    fewest = min((row.lookup.count("{}") for row in rows), default=0)
    return [Match(row.reference, row.sort, row.said) for row in rows if row.lookup.count("{}") == fewest]


def is_command_line(text: str, among: SearchedCollections) -> bool:
    """Return whether a text is a command rather than a question: it begins with a documented program.

    Such a text is looked up and never searched. Decision 18.
    """
    words = spell(text).split()
    if not words or text.rstrip().endswith("?") or _OF_A_QUESTION & set(words):
        return False
    begins = " ".join(words)
    if any(begins == name or begins.startswith(f"{name} ") for name in among.programs):
        return True
    return (len(words) > 1 or bool(FLAG.search(text))) and _begins_commands(words[0], among)


def _begins_commands(word: str, among: SearchedCollections) -> bool:
    """Return whether most commands of a collection begin with a word, as `git add` and `git push` do with `git`.

    Only collections that declare no program: the others are compared by their program.
    """
    if word in PLAIN_VERBS:
        return False
    commands = among.names().filter(
        sort=ReferenceName.Sort.NAME, reference__kind=ReferenceType.COMMAND, reference__collection__program=""
    )
    below = commands.filter(lookup__startswith=f"{word} ").values_list("reference__collection")
    counted = dict(below.annotate(number=Count("pk")).filter(number__gte=2))
    all_of = dict(
        commands.filter(reference__collection__in=counted)
        .values_list("reference__collection")
        .annotate(number=Count("pk"))
    )
    return any(number * 2 > all_of[collection] for collection, number in counted.items())


_BY_SORT = Case(
    *(When(sort=sort, then=Value(place)) for place, sort in enumerate(ReferenceName.Sort.values)),
    output_field=IntegerField(),
)


def _spellings(query: str, among: SearchedCollections) -> set[str]:
    """Return the possible spellings of a name: unchanged, and with each program that may have been left out."""
    programs = among.programs
    # `helios get users` claims that there is such a command, so no alias is read into what follows the program.
    if not query or any(query == name or query.startswith(f"{name} ") for name in programs):
        return {query} - {""}
    return {query, *(f"{name} {query}" for name in programs)}


def _names_of(lookups: Iterable[str], among: SearchedCollections, *, kind: str = "") -> list[ReferenceName]:
    names = among.names().filter(lookup__in=list(lookups)).exclude(sort=ReferenceName.Sort.PATH)
    if kind:
        names = names.filter(reference__kind=kind)
    return list(names.select_related("reference__collection").order_by(_BY_SORT, "reference__collection__slug", "pk"))


def is_value(word: str) -> bool:
    """Return whether a word is not the name of a command: a placeholder, an address, a number, a path, a sentence."""
    return bool(_VALUE.search(word))


def _has_the_same_options(line: str, typed: Sequence[str]) -> bool:
    """Return whether a name has a dash where a line has one: `docker --version` is not `docker version`."""
    return [word for word in line.split() if word.startswith("-")] == [word for word in typed if word.startswith("-")]


def _can_follow(rest: Sequence[str], command: Reference) -> bool:
    """Return whether words may be options or values of a command, rather than a subcommand that does not exist."""
    if not rest or rest[0].startswith("-"):
        return True
    form = command.form or {}
    if form.get("is_group"):
        return False
    takes_words = bool(form.get("arguments")) and not form.get("holds_commands")
    return takes_words or all(map(is_value, rest[:1]))


def nearest_references(
    text: str, among: SearchedCollections, *, kinds: Iterable[str] = (), request: Request | None = None
) -> list[str]:
    """Return up to three existing names most similar to a text, the nearest first."""
    if request is not None:
        return _nearest_paths(request, among)
    names = among.names().filter(sort__in=_SORTS, reference__kind__in=list(kinds) or _KINDS)
    if asked := _collections_asked(text, among):
        names = names.filter(reference__collection__in=asked)
    rows = names.order_by("pk").values_list("lookup", "reference__name", "reference__title")[:NAMES_COMPARED]
    shown = {lookup: name or title for lookup, name, title in rows}
    # The options and their values are not part of the name, and would only blur the comparison.
    scores = _scores(spell(FLAG.split(text, maxsplit=1)[0] or text), shown, among)
    best = sorted(scores, key=lambda name: (-scores[name], name))
    return list(dict.fromkeys(shown[name] for name in best))[:SUGGESTIONS]


def _collections_asked(text: str, among: SearchedCollections) -> list[Any]:
    """Return the collections of the program that a line begins with: another program's commands do not resemble it."""
    line = f"{spell(text)} "
    return [one.pk for one in among.all if one.program and line.startswith(f"{spell(one.program)} ")]


def _scores(query: str, names: Iterable[str], among: SearchedCollections) -> Mapping[str, float]:
    """Return the similarity of each name, by words with synonyms unified, or by letters."""
    programs, synonyms = among.programs, among.synonyms
    spelling = {name: _bare(name, programs) for name in names}
    meaning = {name: canonical(bare.split(), synonyms) for name, bare in spelling.items()}
    bare_query = _bare(query, programs)
    scores: dict[str, float] = {}
    for choices, sought, scorer in (
        (meaning, canonical(bare_query.split(), synonyms), fuzz.token_sort_ratio),
        (spelling, bare_query, fuzz.ratio),
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
