"""Ranking of documentation by its fields: what a question asks to do, to what, and which names match that.

Matching words anywhere in a text mean little: the description of one endpoint names a dozen others. So a reference is
compared with the question by its title, the words of its operation, its path or command line, its keywords and its
summary, in this order. Four numbers are added up: the share of the question that the fields have (as in BM25F, rare
words count more: Robertson, Zaragoza and Taylor, 2004), the share of the title and of the path that the question asks
for, whether the method or the verb of a command does what the verb of the question says, and whether the path ends in
its object. The weights were chosen on two public APIs and measured on others: docs/benchmarks.md has the figures.
"""

import re
from collections.abc import Iterable, Mapping, Sequence
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
from knowledge.references.plain_words import CONTENT, PEOPLE, name_acts, word_meanings
from knowledge.search.findings import Findings
from knowledge.search.synonyms import Synonyms
from knowledge.search.typed_names import PARAMETER, path_form, request_in, spell

CANDIDATES = 60
"""How many references are compared by their fields, of those that the names suggest."""
DERIVED = 4
"""Letters that a stem needs for another to be made of it."""
_ENDINGS = ("e", "ee", "er", "i", "or", "ing", "ment", "ship", "ion", "ed", "s")
"""What English makes nouns of verbs with, and stemming leaves: assign, assignee; member, membership."""

_TITLE, _OPERATION, _PATH, _KEYWORDS, _SUMMARY = 1.0, 0.9, 0.8, 0.7, 0.5
_SYNONYM, _MEANT, _FORM, _ALIAS = 0.9, 0.75, 0.7, 0.9
MOST_ALIASES = 20
_VERB = 0.45
"""A verb weighs less than what it is done to: many words say the same, and the method says it again."""
_PERSON = 0.5
"""Somebody is hardly ever named: that a user or member is meant counts half."""
_COVERED, _TITLE_ASKED, _PATH_ASKED, _METHOD, _OBJECT, _ONE_OR_MANY = 1.0, 0.36, 0.3, 0.4, 0.2, 0.2
_OBJECT_ALONE = 0.7
"""How well a path fits that ends in the object of a verb, where others end in the verb: /issues, to watch an issue."""
_OUTDATED, _IN_BULK = 0.2, 0.1
_WHOLE = _COVERED + _TITLE_ASKED + _PATH_ASKED + _METHOD + _OBJECT + _ONE_OR_MANY

_READS = (
    "get list show view display retrieve fetch read find search see look download check count compare describe query"
)
_CREATES = "create add new make insert register post issue attach start"
_ACTS: Mapping[str, tuple[str, Mapping[str, float]]] = {
    "read": (f"{_READS} lookup preview", {"GET": 1.0}),
    "create": (f"{_CREATES} open upload send leave give ask write log record", {"POST": 1.0, "PUT": 0.6}),
    "update": ("update edit modify change rename replace patch", {"PATCH": 1.0, "PUT": 1.0, "POST": 0.5}),
    "save": ("store save", {"POST": 1.0, "PUT": 0.9, "PATCH": 0.8}),
    "set": ("set", {"PUT": 1.0, "POST": 0.9, "PATCH": 0.8}),
    "put": ("put", {"POST": 1.0, "PUT": 0.9, "PATCH": 0.8}),
    "delete": ("delete remove destroy drop erase kick", {"DELETE": 1.0}),
    "end": (
        "cancel stop end terminate finish abort close reopen",
        {"POST": 0.9, "PUT": 1.0, "PATCH": 1.0, "DELETE": 0.9},
    ),
}
"""What the verbs of a question ask for, and the methods that do it."""
_PLAIN = frozenset(
    """add change create delete destroy display drop edit erase fetch find get give insert kick leave list look make
    modify new put read remove retrieve save see send set show store update view write""".split()  # noqa: SIM905
)
"""Verbs that are said of anything, and stand for each other. Others, such as compare, tell by themselves."""
_ACT_OF = {verb: act for act, (verbs, _) in _ACTS.items() for verb in verbs.split()}
_MAKES = frozenset({"create", "update", "save", "set", "put"})
_PLAINLY = frozenset({"read", "create", "update", "delete"})
_UNKNOWN_ACT = {"POST": 1.0, "PUT": 0.9, "PATCH": 0.8, "DELETE": 0.3}
"""Methods of a verb that is in no list, as in “transfer a repository”: it does something, and hardly deletes."""
_ASKS = frozenset("which what who whose where when".split())  # noqa: SIM905
_LISTS = frozenset("list all every everybody everyone which who search find".split())  # noqa: SIM905
_PREPOSITIONS = frozenset("of from in to for on by with at into about as that onto off out".split())  # noqa: SIM905
_OBJECT_FOLLOWS = frozenset("a an the all two on for to into people several multiple".split())  # noqa: SIM905
_SAYS_NOTHING = frozenset("something anything two want need possible please belong belongs".split())  # noqa: SIM905
_OLD = frozenset("legacy deprecated".split())  # noqa: SIM905
_BULK = frozenset("batch bulk mass multiple".split())  # noqa: SIM905
_MANY_AT_ONCE = _BULK | {"all", "many", "several"}
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
        path_verb: The stem of a verb that paths may end in, as those of “fork” and “snooze” do, or empty.
        objects: The stems of what it is done to, before any “of …” or “to …”.
        lists: Whether several are asked for.
        bulk: Whether something is to be done to several at once.
        compounds: Neighbouring words as one: “cron job” for CronJob, each with the two stems.
    """

    terms: Sequence[str]
    verb: str
    act: str
    path_verb: str
    objects: Sequence[str]
    lists: bool
    bulk: bool
    compounds: Mapping[str, frozenset[str]]
    synonyms: Synonyms

    def alternatives(self, term: str) -> Mapping[str, float]:
        """Return all words that may mean the same as a word of the question, and how much each counts."""
        meant = dict.fromkeys(_meanings_by_stem().get(term, ()), _MEANT)
        return meant | dict.fromkeys(self.synonyms.get(term, ()), _SYNONYM) | {term: 1.0}

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
    said = _words(question[_LEADS_IN.match(question).end() :])  # type: ignore[union-attr]
    words = name_acts(said)
    stems = stems_of(words)
    known_words = [word for word in words if stems[word] and word not in _SAYS_NOTHING]
    asks = bool(words) and (said[0] in _ASKS or "many" in words)
    first = known_words[0] if known_words and not asks else ""
    follows = words[words.index(first) + 1 :] if first else words
    act = "read" if asks else _ACT_OF.get(first, "")
    if not act and follows and follows[0] in _OBJECT_FOLLOWS and (len(words) > 2 or follows[0] == PEOPLE):
        act = "other"
    objects: list[str] = []
    is_plural, path_verb = False, ""
    for word in follows if act else words:
        if word in _PREPOSITIONS and objects:
            break
        if word in known_words:
            objects.append(stems[word])
            is_plural = is_plural or _says_several(word, stems[word])
    pairs = [(one, other) for one, other in pairwise(words) if stems[one] and stems[other]]
    joined = {
        word: frozenset({stems[one], stems[other]}) for one, other in pairs for word in (one + other, other + one)
    }
    for one, other, third in zip(words, words[1:], words[2:], strict=False):
        if stems[one] and stems[other] and stems[third]:
            joined[one + other + third] = frozenset({stems[one], stems[other], stems[third]})
    compounds = {stem: joined[word] for word, stem in stems_of(joined).items() if stem}
    terms = list(dict.fromkeys(stems[word] for word in known_words))
    verb = stems[first] if first in _PLAIN else ""
    lists, bulk = is_plural or not _LISTS.isdisjoint([*said, *words]), not _MANY_AT_ONCE.isdisjoint(words)
    act = act or ("read" if lists else "")
    if first and act not in {"", "read"} and first not in _PLAIN:
        # What is done is often what a path ends in: “fork a repository” is /forks.
        path_verb, objects = stems[first], [word for word in objects if word != _person()]
    return Wish(terms, verb, act, path_verb, objects, lists, bulk, compounds, synonyms)


def stems_of(words: Iterable[str]) -> dict[str, str]:
    """Return the English stem of each word, empty for words that say nothing, such as “the”. Stems are kept."""
    unknown = set(words)
    if missing := [word for word in unknown if word not in _stems]:
        if len(_stems) > _MOST_STEMS:
            _stems.clear()
            missing = list(unknown)
        with read_cursor() as cursor:
            cursor.execute(_STEMS, [missing])
            _stems.update({word: stem or ("me" if word == "me" else "") for word, stem in cursor.fetchall()})
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
    lists: bool | None = None
    act: str = ""
    is_bulk: bool = False
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
        ends = path_form(request.path).rpartition("/")[2] if request else ""
        is_item = ends == PARAMETER or ends.startswith(f"{PARAMETER}.")
        title, several = fields["title"], [*fields["last"][-1:], *fields["title"]]
        acting = [*title[:1], *title[-1:], *(words[0] for words in aliases[:1] if words)]
        cards.append(
            Card(
                **{name: stem(words) for name, words in fields.items()},
                aliases=[stem(words) for words in aliases],
                method=request.method if request else "",
                is_item=is_item,
                lists=False if is_item else any(_says_several(word, stems[word]) for word in several) or None,
                act=next((act for word in acting if (act := _acts_by_stem().get(stems[word]))), ""),
                is_bulk=not _BULK.isdisjoint([*title, *fields["path"]]),
                acts=acts if request is None and reference.name else frozenset(),
                is_old=bool(_OLD & set(fields["title"])),
            )
        )
    return cards


def _fields(reference: Reference) -> dict[str, list[str]]:
    request = request_in(reference.name)
    written = _segments(request.path) if request else reference.name.split()[1:] or reference.name.split()
    things = [one for one in written if request or one.casefold() not in _ACT_OF] or written
    # Where the title is the request or the command itself, the summary says what it does, or the name of the operation.
    titles = [reference.title, reference.summary[:200], *reference.aliases[:1]]
    names = [one for one in titles if one and not request_in(one) and spell(one) not in spell(reference.name)]
    return {
        "title": _words(next(iter(names), reference.title)),
        "path": _words(" ".join(written)),
        "last": _words(things[-1]) if things else [],
        "keywords": _words(" ".join([*reference.keywords, reference.category, reference.subcategory])),
        "summary": [] if getattr(reference, "is_group", "") == "true" else _words(reference.summary[:500]),
    }


def _segments(path: str) -> list[str]:
    """Return what a path names, without parameters and what only says which API it is."""
    segments = [one.removesuffix(".json") for one in path.split("?")[0].split("/") if one]
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
        weight = weights.get(term, usual)
        weight *= _VERB if term == wish.verb else _PERSON if term == _person() else 1.0
        best = 0.9 if term in parts else 0.0
        may_mean = wish.alternatives(term)
        if term == CONTENT and _is_in_what_is_asked(wish, card):
            may_mean = {**may_mean, **dict.fromkeys(card.last, _MEANT)}
        for word, likeness in may_mean.items():
            found = _best_field(word, card)
            if found:
                best = max(best, found * likeness)
                matched[word] = max(matched.get(word, 0.0), 1.0 if likeness > _MEANT else likeness)
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
            weight * (_says_act(wish, word) or matched.get(word, 0.0))
            for word, weight in zip(every, known, strict=True)
        )
        return hit / total if total else 0.0

    title = max(share_of_words(card.title), *(_ALIAS * share_of_words(alias) for alias in card.aliases), 0.0)
    path = share_of_words(card.path) if card.path else title
    share = covered / whole if whole else 0.0
    many = 0.0
    if wish.act == "read":
        many = 0.5 if card.lists is None else float(wish.lists == card.lists)
    score = _COVERED * share + _TITLE_ASKED * title + _PATH_ASKED * path + _METHOD * _fit(wish, card)
    score += _OBJECT * (_object(wish, card) if card.path else title) + _ONE_OR_MANY * (many if card.method else title)
    minus = (_OUTDATED if card.is_old else 0.0) + (_IN_BULK if card.is_bulk and not wish.bulk else 0.0)
    return FieldScore(max(0.0, score / _WHOLE - minus), share)


def _says_act(wish: Wish, word: str) -> float:
    """Return how much a word of a title says what is asked to be done. “Assign” may be called “add assignee”."""
    act = _acts_by_stem().get(word, "")
    return 1.0 if act and act == wish.act else 0.5 if wish.path_verb and act in _MAKES else 0.0


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
        fits = wish.methods.get(card.method, 0.0)
        if card.act == wish.act:
            return max(fits, 0.9)
        differs = card.act in _PLAINLY if wish.act in _PLAINLY else card.act in {"read", "delete"}
        return 0.6 * fits if differs or (wish.act == "end" and card.act == "create") else fits
    return 1.0 if wish.act in card.acts else 0.0 if wish.act in _ACTS else 0.5


def _object(wish: Wish, card: Card) -> float:
    """Return whether a path ends in what the question wants something done to."""
    last = [word for word in card.last if _acts_by_stem().get(word) != wish.act] or card.last
    verbs = sum(_names(word, [wish.path_verb], wish) for word in last) if wish.path_verb else 0.0
    hits = sum(_names(word, wish.objects, wish) for word in last) * (_OBJECT_ALONE if wish.path_verb else 1.0)
    if verbs or hits:
        return max(verbs, hits) / len(last)
    if any(_names(word, wish.terms, wish) for word in card.last):
        return 0.3
    return _OBJECT_ALONE if CONTENT in wish.objects and _is_in_what_is_asked(wish, card) else 0.0


def _is_in_what_is_asked(wish: Wish, card: Card) -> bool:
    """Return whether a path ends in what something has: what is in a milestone may be called issues."""
    return bool(card.lists) and card.last.isdisjoint(wish.terms) and not card.path.isdisjoint(wish.terms)


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


@load_once
def _meanings_by_stem() -> Mapping[str, frozenset[str]]:
    meant = word_meanings()
    stems = stems_of({word for asked, others in meant.items() for word in (asked, *others)})
    return {stems[asked]: frozenset(stems[word] for word in others) - {""} for asked, others in meant.items()}


@load_once
def _person() -> str:
    return stems_of([PEOPLE])[PEOPLE]


def _says_several(word: str, stem: str) -> bool:
    is_plural = word.endswith("s") and not word.endswith(("ss", "us")) and not stem.endswith("s")
    return is_plural or word == PEOPLE or word in _LISTS


def _words(text: str) -> list[str]:
    return [
        part.casefold() for word in WORD.findall(text) for part in ([word] if word.islower() else CAMEL.split(word))
    ]
