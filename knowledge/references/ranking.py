"""Ranking of documentation by its fields: what a question asks to do, to what, and which names match that.

Matching words anywhere in a text mean little: the description of one endpoint names a dozen others. So a reference is
compared with the question by its title, the words of its operation, its path or command line, its keywords and its
summary, in this order. Four numbers are added up: the share of the question that the fields have (as in BM25F, rare
words count more: Robertson, Zaragoza and Taylor, 2004), the share of the title and of the path that the question asks
for, whether the method or the verb of a command does what the verb of the question says, and whether the path ends in
its object. The weights were chosen on two public APIs and measured on others: docs/benchmarks.md has the figures.
"""

import re
from collections.abc import Collection, Iterable, Mapping, Sequence
from dataclasses import dataclass
from functools import cached_property
from itertools import pairwise
from math import log
from uuid import UUID

from django.db.models import Case, When
from django.db.models.fields.json import KeyTextTransform

from bigmind.core.load_once import load_once
from bigmind.database.replicas import read_cursor
from bigmind.text.words import CAMEL, WORD
from knowledge.models import Reference, ReferenceType
from knowledge.models.references import ReferenceQuerySet
from knowledge.search.findings import Findings
from knowledge.search.synonyms import Synonyms
from knowledge.search.typed_names import PARAMETER, path_form, request_in, spell

CANDIDATES = 60
"""How many references are compared by their fields, of those that the names suggest."""
DERIVED = 4
"""Letters that a stem needs for another to be made of it."""
_ENDINGS = ("e", "ee", "er", "or", "ing", "ment", "ship", "ion", "ed", "s")
"""What English makes nouns of verbs with, and stemming leaves: assign, assignee; member, membership."""

_TITLE, _OPERATION, _PATH, _KEYWORDS, _SUMMARY = 1.0, 0.9, 0.8, 0.7, 0.5
_SYNONYM, _FORM, _ALIAS = 0.9, 0.7, 0.9
MOST_ALIASES = 20
_VERB = 0.6
"""A verb weighs less than what it is done to: many words say the same, and the method says it again."""
_COVERED, _TITLE_ASKED, _PATH_ASKED, _METHOD, _OBJECT, _ONE_OR_MANY = 1.0, 0.4, 0.3, 0.25, 0.2, 0.1
_OUTDATED = 0.13
_WHOLE = _COVERED + _TITLE_ASKED + _PATH_ASKED + _METHOD + _OBJECT + _ONE_OR_MANY

_READS = (
    "get list show view display retrieve fetch read find search see look download check count compare describe query"
)
_ACTS: Mapping[str, tuple[str, Mapping[str, float]]] = {
    "read": (f"{_READS} lookup preview", {"GET": 1.0}),
    "create": ("create add new make insert register post issue attach start open upload", {"POST": 1.0, "PUT": 0.6}),
    "update": ("update edit modify change rename replace patch", {"PATCH": 1.0, "PUT": 1.0, "POST": 0.5}),
    "save": ("store save put set", {"PUT": 1.0, "POST": 0.9, "PATCH": 0.8}),
    "delete": ("delete remove destroy drop erase", {"DELETE": 1.0}),
}
"""What the verbs of a question ask for, and the methods that do it."""
_PLAIN = frozenset(
    """add change create delete destroy display drop edit erase fetch find get insert list look make modify new put read
    remove retrieve save see set show store update view""".split()  # noqa: SIM905
)
"""Verbs that are said of anything, and stand for each other. Others, such as compare, tell by themselves."""
_ACT_OF = {verb: act for act, (verbs, _) in _ACTS.items() for verb in verbs.split()}
_UNKNOWN_ACT = {"POST": 1.0, "PUT": 0.9, "PATCH": 0.8, "DELETE": 0.3}
"""Methods of a verb that is in no list, as in “transfer a repository”: it does something, and hardly deletes."""
_ASKS = frozenset("which what who whose where when".split())  # noqa: SIM905
_LISTS = frozenset("list all every which search find".split())  # noqa: SIM905
_PREPOSITIONS = frozenset("of from in to for on by with at into about as that".split())  # noqa: SIM905
_OBJECT_FOLLOWS = frozenset("a an the all two on for to into someone somebody".split())  # noqa: SIM905
_ANYBODY = frozenset("someone somebody something anything two want need possible please".split())  # noqa: SIM905
_OLD = frozenset("legacy deprecated".split())  # noqa: SIM905
_LEADS_IN = re.compile(
    r"\s*(?:please\s+)?(?:how\s+(?:do|can|to|would|should)\s+)?(?:(?:can|may|could)\s+)?(?:(?:i|we|you|one)\s+)?",
    re.IGNORECASE,
)
_BASE = re.compile(r"v\d\w*|api|apis|rest|\d+")

_STEMS = "SELECT word, (ts_lexize('english_stem', word))[1] FROM unnest(%s::text[]) AS word"
_MOST_STEMS = 50_000
_stems: dict[str, str] = {}
"""Asked of PostgreSQL, because they are compared with what it made of the passages. They never change, so a process
keeps them; the limit bounds its memory where questions bring ever new words."""

# Of the first passages, which begin with the title and have all names: grouped by which words they have, the most
# telling are chosen without reading the others. Of equals those with short titles, which have little besides. Ids
# become text once, because passages have theirs as text.
_NAMED = """
WITH eligible AS MATERIALIZED (SELECT id::text FROM ({eligible}) AS eligible(id))
SELECT has, count(*), (array_agg(source_id ORDER BY title, id))[1:{limit}] FROM (
    SELECT passage.id, passage.source_id, strpos(passage.text, chr(10)) AS title, {bits} AS has
    FROM knowledge_passage AS passage
    WHERE passage.kind = 'reference' AND passage.ordinal = 0 AND passage.owner_id IS NULL
        AND passage.lexemes @@ %s::tsquery
        AND passage.source_id IN (SELECT id FROM eligible)
) AS passage GROUP BY has UNION ALL SELECT 0, count(*), NULL FROM eligible
"""
_NEAR = """
SELECT passage.source_id, 1 - (vector.vector <=> %s::halfvec)
FROM knowledge_passage AS passage JOIN knowledge_passagevector AS vector ON vector.passage_id = passage.id
WHERE vector.space_id = %s AND passage.kind = 'reference' AND passage.source_id = ANY(%s) AND passage.ordinal = 0
    AND passage.owner_id IS NULL AND vector.owner_id IS NULL AND vector.vector IS NOT NULL
"""


@dataclass(frozen=True)
class Wish:
    """A question as fields answer it.

    Attributes:
        terms: Its words, stemmed, without those that say nothing.
        verb: The stem of the word that says what is to be done, if it is one of many that say the same.
        act: What the verb asks for: a key of the table of verbs, `other` for any other verb, or empty.
        objects: The stems of what it is done to, before any “of …” or “to …”.
        lists: Whether several are asked for.
        compounds: Neighbouring words as one: “cron job” for CronJob, each with the two stems.
    """

    terms: Sequence[str]
    verb: str
    act: str
    objects: Sequence[str]
    lists: bool
    compounds: Mapping[str, frozenset[str]]
    synonyms: Synonyms

    def alternatives(self, term: str) -> Collection[str]:
        """Return all words that mean the same as a word of the question."""
        return self.synonyms.get(term, frozenset({term}))

    def words_in(self, card: "Card") -> list[str]:
        """Return the words of the question that the fields have, or one that means the same."""
        every = card.named | card.keywords | card.summary
        return [term for term in self.terms if every.intersection(self.alternatives(term))]

    @property
    def methods(self) -> Mapping[str, float]:
        """How well each HTTP method does what is asked; empty where nothing is known."""
        return _ACTS[self.act][1] if self.act in _ACTS else _UNKNOWN_ACT if self.act else {}


def wish_in(question: str, synonyms: Synonyms) -> Wish:
    """Return what a question asks for. Only its first word is taken for a verb: issue, store and set are nouns, too."""
    words = _words(question[_LEADS_IN.match(question).end() :])  # type: ignore[union-attr]
    stems = stems_of(words)
    known_words = [word for word in words if stems[word] and word not in _ANYBODY]
    asks = bool(words) and (words[0] in _ASKS or "many" in words)
    first = known_words[0] if known_words and not asks else ""
    follows = words[words.index(first) + 1 :] if first else words
    act = "read" if asks else _ACT_OF.get(first, "")
    if not act and len(words) > 2 and follows and follows[0] in _OBJECT_FOLLOWS:
        act = "other"
    objects: list[str] = []
    for word in follows if act else words:
        if word in _PREPOSITIONS and objects:
            break
        if word in known_words:
            objects.append(stems[word])
    pairs = [(one, other) for one, other in pairwise(words) if stems[one] and stems[other]]
    joined = {one + other: frozenset({stems[one], stems[other]}) for one, other in pairs}
    for one, other, third in zip(words, words[1:], words[2:], strict=False):
        if stems[one] and stems[other] and stems[third]:
            joined[one + other + third] = frozenset({stems[one], stems[other], stems[third]})
    compounds = {stem: joined[word] for word, stem in stems_of(joined).items() if stem}
    terms = list(dict.fromkeys(stems[word] for word in known_words))
    verb = stems[first] if first in _PLAIN else ""
    return Wish(terms, verb, act, objects, bool(_LISTS & set(words)), compounds, synonyms)


def stems_of(words: Iterable[str]) -> dict[str, str]:
    """Return the English stem of each word, empty for words that say nothing, such as “the”. Stems are kept."""
    unknown = set(words)
    if missing := [word for word in unknown if word not in _stems]:
        if len(_stems) > _MOST_STEMS:
            _stems.clear()
            missing = list(unknown)
        with read_cursor() as cursor:
            cursor.execute(_STEMS, [missing])
            _stems.update({word: stem or "" for word, stem in cursor.fetchall()})
    return {word: _stems[word] for word in unknown}


@dataclass(frozen=True)
class NamedReferences:
    """The references whose names or summaries have most of a question, and how much each of its words weighs."""

    ids: list[str]
    weights: Mapping[str, float]
    size: int


def find_named(wish: Wish, eligible: ReferenceQuerySet) -> NamedReferences:
    """Return the references whose first passage has the rarest words of a question, the best first.

    A word counts by how few of these references have it: what other collections hold changes nothing.
    """
    # Each word is a bit of a bigint, and a condition that is checked for every passage found.
    terms, (subquery, parameters) = list(wish.terms)[:30], eligible.order_by().values("pk").query.sql_with_params()
    if not terms:
        return NamedReferences([], {}, 0)
    queries = [_query(wish, term) for term in terms]
    methods = " | ".join(f"'{method.casefold()}'" for method, fits in wish.methods.items() if fits >= 0.5)
    bits = [
        f"((passage.lexemes @@ %s::tsquery)::int::bigint << {number})" for number in range(len(queries) + bool(methods))
    ]
    # Nearly every endpoint gets, lists or creates: what is done is counted, but only an object finds.
    finding = [query for term, query in zip(terms, queries, strict=True) if term != wish.verb] or queries
    with read_cursor() as cursor:
        statement = _NAMED.format(limit=CANDIDATES, bits=" | ".join(bits), eligible=subquery)
        cursor.execute(statement, [*parameters, *queries, *([methods] if methods else []), " | ".join(finding)])
        # A UNION has no order. The row without ids has the number of all.
        *groups, (_, size, _) = sorted(cursor.fetchall(), key=lambda row: row[2] is None)
    counts = [sum(number for has, number, _ in groups if has >> place & 1) for place in range(len(bits))]
    weights = {term: log(1 + size / max(0.5, count)) for term, count in zip(terms, counts, strict=False)}
    weigh = [*weights.values(), *([_METHOD] if methods else [])]
    worth = {has: sum(weight for place, weight in enumerate(weigh) if has >> place & 1) for has, _, _ in groups}
    ids: list[str] = []
    for _, _, some in sorted(groups, key=lambda group: -worth[group[0]]):
        ids += some
        if len(ids) >= CANDIDATES:
            break
    return NamedReferences(ids[:CANDIDATES], weights, size)


def cosines_of(ids: Sequence[UUID], found: Findings) -> dict[UUID, float]:
    """Return how near the first passages of references are to a question, as far as they have a vector."""
    if found.vector is None or found.space is None:
        return {}
    with read_cursor() as cursor:
        cursor.execute(_NEAR, [found.vector.to_text(), found.space.pk, [str(id) for id in ids]])
        return {UUID(id): float(cosine) for id, cosine in cursor.fetchall()}


def _query(wish: Wish, term: str) -> str:
    """Return the words that stand for one word of a question, as PostgreSQL looks for them."""
    found = {*wish.alternatives(term), *(word for word, parts in wish.compounds.items() if term in parts)}
    found |= {term + ending for ending in _ENDINGS} if len(term) >= DERIVED else set()
    return " | ".join(f"'{word.replace(chr(39), '')}'" for word in sorted(found))


@dataclass(frozen=True)
class FieldScore:
    """How well the fields of a reference fit, 0 to 1, and the share of the question's words that they have."""

    score: float
    covered: float


@dataclass(frozen=True)
class Card:
    """The fields of a reference as stems."""

    title: frozenset[str]
    aliases: Sequence[frozenset[str]]
    path: frozenset[str]
    last: frozenset[str]
    keywords: frozenset[str]
    summary: frozenset[str]
    method: str = ""
    is_item: bool = False
    acts: frozenset[str] = frozenset()
    is_old: bool = False

    @cached_property
    def named(self) -> frozenset[str]:
        """The words of its names."""
        return self.title.union(self.path, *self.aliases)

    @cached_property
    def operation(self) -> frozenset[str]:
        """The words of its other names."""
        return frozenset().union(*self.aliases)


def read_candidates(references: ReferenceQuerySet) -> list[Reference]:
    """Read of references what `cards_of` needs, and none of their long texts."""
    is_group = KeyTextTransform("is_group", "form")
    read = references.annotate(is_group=Case(When(kind=ReferenceType.COMMAND, then=is_group), default=None))
    return list(read.only("title", "name", "aliases", "keywords", "category", "subcategory", "summary"))


def cards_of(references: Sequence[Reference]) -> list[Card]:
    """Return the fields of references. The summary of a group lists its commands: it is none of its fields."""
    read = [_fields(reference) for reference in references]
    called = [[_words(alias) for alias in reference.aliases[:MOST_ALIASES]] for reference in references]
    texts = [*(words for fields in read for words in fields.values()), *(words for some in called for words in some)]
    stems = stems_of({word for words in texts for word in words})

    def stem(words: Iterable[str]) -> frozenset[str]:
        return frozenset(stems[word] for word in words) - {""}

    cards = []
    for reference, fields, aliases in zip(references, read, called, strict=True):
        request = request_in(reference.name)
        acts = frozenset(_ACT_OF[word] for word in fields["path"] if word in _ACT_OF)
        cards.append(
            Card(
                **{name: stem(words) for name, words in fields.items()},
                aliases=[stem(words) for words in aliases],
                method=request.method if request else "",
                is_item=request is not None and path_form(request.path).endswith(PARAMETER),
                acts=acts if request is None and reference.name else frozenset(),
                is_old=bool(_OLD & set(fields["title"])),
            )
        )
    return cards


def _fields(reference: Reference) -> dict[str, list[str]]:
    request = request_in(reference.name)
    written = _segments(request.path) if request else reference.name.split()[1:] or reference.name.split()
    things = [one for one in written if request or one.casefold() not in _ACT_OF] or written
    # Where the title is the request or the command itself, the summary says what it does.
    is_line = bool(request_in(reference.title)) or spell(reference.title) in spell(reference.name)
    return {
        "title": _words(reference.summary[:200] or reference.title if is_line else reference.title),
        "path": _words(" ".join(written)),
        "last": _words(things[-1]) if things else [],
        "keywords": _words(" ".join([*reference.keywords, reference.category, reference.subcategory])),
        "summary": [] if getattr(reference, "is_group", "") == "true" else _words(reference.summary[:500]),
    }


def _segments(path: str) -> list[str]:
    """Return what a path names, without parameters and what only says which API it is."""
    segments = [one for one in path.split("?")[0].split("/") if one]
    forms = path_form("/" + "/".join(segments)).split("/")[1:]
    pairs = zip(segments, forms, strict=False)
    return [one for one, form in pairs if PARAMETER not in form and not _BASE.fullmatch(form)]


def score_fields(wish: Wish, card: Card, weights: Mapping[str, float], size: int) -> FieldScore:
    """Return how well a reference fits a question by its fields. `weights` says how much each word counts."""
    # A word that was not counted weighs like one that every twentieth reference has.
    usual = log(1 + size / max(1.0, size / 20))
    matched: dict[str, float] = {}
    covered, whole = 0.0, 0.0
    joined = [word for word in wish.compounds if word in card.named or word in card.keywords]
    parts = frozenset().union(*(wish.compounds[word] for word in joined))
    matched |= dict.fromkeys(joined, 1.0)
    for term in wish.terms:
        weight = weights.get(term, usual) * (_VERB if term == wish.verb else 1.0)
        best = 0.9 if term in parts else 0.0
        for word in wish.alternatives(term):
            found = _best_field(word, card)
            if found:
                best, matched[word] = max(best, found * (1.0 if word == term else _SYNONYM)), 1.0
        if term == wish.verb:
            best = max(best, 0.7 * _fit(wish, card))
        elif best < _FORM:
            for word in card.named:
                if _is_form(word, term):
                    best = max(best, _best_field(word, card) * _FORM)
                    matched.setdefault(word, 0.5)
        covered, whole = covered + weight * best, whole + weight

    def share_of_words(words: Iterable[str]) -> float:
        every = list(words)
        known = [weights.get(word, usual) for word in every]
        total = sum(known)
        hit = sum(
            weight * (1.0 if wish.act and _acts_by_stem().get(word) == wish.act else matched.get(word, 0.0))
            for word, weight in zip(every, known, strict=True)
        )
        return hit / total if total else 0.0

    title = max(share_of_words(card.title), *(_ALIAS * share_of_words(alias) for alias in card.aliases), 0.0)
    path = share_of_words(card.path) if card.path else title
    share = covered / whole if whole else 0.0
    many = wish.lists != card.is_item if wish.act == "read" else 0.0
    score = _COVERED * share + _TITLE_ASKED * title + _PATH_ASKED * path + _METHOD * _fit(wish, card)
    score += _OBJECT * (_object(wish, card) if card.path else title) + _ONE_OR_MANY * (many if card.method else title)
    return FieldScore(max(0.0, score / _WHOLE - (_OUTDATED if card.is_old else 0.0)), share)


def _best_field(word: str, card: Card) -> float:
    if word in card.title:
        return _TITLE
    if word in card.operation:
        return _OPERATION
    if word in card.path:
        return _PATH
    if word in card.keywords:
        return _KEYWORDS
    return _SUMMARY if word in card.summary else 0.0


def _fit(wish: Wish, card: Card) -> float:
    """Return how well the method, or the verb of a command, does what is asked; a half where nothing is known."""
    if not wish.act or not (card.method or card.acts):
        return 0.5
    if card.method:
        return wish.methods.get(card.method, 0.0)
    return 1.0 if wish.act in card.acts else 0.0 if wish.act in _ACTS else 0.5


def _object(wish: Wish, card: Card) -> float:
    """Return whether a path ends in what the question wants something done to."""
    hits = sum(_names(word, wish.objects, wish) for word in card.last)
    if hits:
        return hits / len(card.last)
    return 0.3 if any(_names(word, wish.terms, wish) for word in card.last) else 0.0


def _names(word: str, terms: Iterable[str], wish: Wish) -> float:
    same = {other for term in terms for other in wish.alternatives(term)}
    if word in same or word in wish.compounds:
        return 1.0
    return 0.6 if any(_is_form(word, one) for one in same) else 0.0


def _is_form(word: str, other: str) -> bool:
    """Return whether one of two stems is made of the other."""
    short, long = sorted((word, other), key=len)
    return len(short) >= DERIVED and long.startswith(short) and long[len(short) :] in _ENDINGS


@load_once
def _acts_by_stem() -> Mapping[str, str]:
    stems = stems_of(_ACT_OF)
    return {stems[verb]: act for verb, act in _ACT_OF.items()}


def _words(text: str) -> list[str]:
    return [
        part.casefold() for word in WORD.findall(text) for part in ([word] if word.islower() else CAMEL.split(word))
    ]
