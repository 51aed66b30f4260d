"""The two retrievers of a search: each returns the best candidates of one scope, by keyword or by meaning."""

import unicodedata
from collections.abc import Collection, Iterable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import dataclass, replace
from functools import cached_property
from itertools import chain, filterfalse
from operator import attrgetter
from typing import Any, NamedTuple

from pgvector import HalfVector

from bigmind.database.normal_form import sql_without_accents
from bigmind.database.replicas import read_cursor
from bigmind.text.languages import ENGLISH
from knowledge.models import EmbeddingSpace
from knowledge.models.passages import in_parts
from knowledge.search.filters import Filters, Scope, Sql, is_shared, of_scopes, scope_of
from knowledge.search.frequencies import count_words, selective_words
from knowledge.search.indexes import as_indexed
from knowledge.search.language_identification import UNSPACED, language_of
from knowledge.search.synonyms import Synonyms

_SIMPLE = f"unnest(to_tsvector('simple', %(query)s) || to_tsvector('simple', {in_parts('%(query)s')}))"
# A word is left out where either language has it as a stop word, unless the question has no other words.
_LEXEMES = f"""
SELECT lexeme FROM unnest(to_tsvector(%(language)s::regconfig, %(query)s))
UNION
SELECT lexeme FROM {_SIMPLE}
WHERE (to_tsvector('english', lexeme) <> '' AND to_tsvector(%(language)s::regconfig, lexeme) <> '')
    OR to_tsvector(%(language)s::regconfig, %(query)s) = ''
ORDER BY lexeme
"""
_OWN = "to_tsvector(%(language)s::regconfig, word.lexeme)"
_PLAIN = sql_without_accents("word.lexeme")
# The English form of each word, and of one with accents the forms without them.
_OTHER_FORMS = f"""
SELECT ARRAY[own.lexeme, english.lexeme]
FROM {_SIMPLE} AS word, unnest({_OWN}) AS own, unnest(to_tsvector('english', word.lexeme)) AS english
WHERE own.lexeme <> english.lexeme
UNION ALL
SELECT ARRAY[own.lexeme, plain.lexeme]
FROM {_SIMPLE} AS word, unnest({_OWN} || to_tsvector('simple', word.lexeme)) AS own,
    unnest(to_tsvector('english', {_PLAIN}) || to_tsvector('simple', {_PLAIN})) AS plain
WHERE {_PLAIN} <> word.lexeme AND own.lexeme <> plain.lexeme
"""
_READ_WORDS = f"""
SELECT ARRAY({_LEXEMES}), CASE WHEN %(has_one_form)s THEN NULL ELSE ARRAY({_OTHER_FORMS}) END, space.id, space.name,
    space.dimensions
FROM (SELECT) AS question
LEFT JOIN knowledge_embeddingspace AS space ON space.name = ANY(%(spaces)s) AND space.active_since IS NOT NULL
"""

CANDIDATES = 200
MOST_COUNTED = 10_000
"""Where counting ends, of texts that wait for a vector and of all that were searched: a notice says “more than”."""

# The share of the question that a passage has: a word weighs more, the fewer passages have it. Passages with the same
# words have the same score, so it is computed once for each set of words; a set is the bits of a number. The rows after
# the passages count how many have each word: over all scopes these counts give the weights that fusion uses. All of it
# is done for each unit apart, from one reading of the index.
_RANKED = """
WITH passage AS MATERIALIZED ({found}),
sets AS (SELECT unit, has, count(*) AS passages FROM passage GROUP BY unit, has),
counts AS (
    SELECT unit, number - 1 AS number,
        coalesce(known, sum(passages) FILTER (WHERE has & (1::bigint << number::int - 1) <> 0), 0) AS passages
    FROM generate_series(0, {last}) AS unit CROSS JOIN unnest(%s::float8[]) WITH ORDINALITY AS word(known, number)
    LEFT JOIN sets USING (unit) GROUP BY unit, number, known
),
weights AS (
    SELECT unit, number, weight, sum(weight) OVER (PARTITION BY unit) AS of_all FROM (
        SELECT unit, number, ln(1 + max(passages) OVER (PARTITION BY unit) / greatest(passages, 0.5)) AS weight
        FROM counts
    ) AS weighed
),
scores AS (
    SELECT sets.unit, has, sum(weight / of_all) AS score FROM sets
    JOIN weights ON weights.unit = sets.unit AND has & (1::bigint << number::int) <> 0 GROUP BY sets.unit, has
)
{best} UNION ALL (SELECT NULL, NULL, NULL, passages, number, unit FROM counts ORDER BY unit, number)
"""
_BEST_RANKED = """(SELECT id, kind, source_id, score, has, unit FROM (
    SELECT id, kind, source_id, score, has, unit FROM passage JOIN scores USING (unit, has) WHERE unit = {unit}
    ORDER BY score DESC, id DESC
) AS passage WHERE {condition} LIMIT {limit})"""
_HAS_WORD = "passage.lexemes @@ %s::tsquery"
_HAS_PAIR = "strpos(normalize(passage.text, NFKC), %s) > 0"
_FOUND = """
SELECT passage.id, passage.kind, passage.source_id, {unit} AS unit, {bits} AS has
FROM knowledge_passage AS passage WHERE ({any}) AND {condition}
"""
_COMPARED = """
SELECT passage.id, passage.kind, passage.source_id, vector.vector <=> %s::halfvec AS distance, {unit} AS unit
FROM knowledge_passagevector AS vector JOIN knowledge_passage AS passage ON passage.id = vector.passage_id
WHERE vector.space_id = %s AND vector.vector IS NOT NULL AND {condition}
"""
_BEST_COMPARED = """(SELECT id, kind, source_id, 1 - distance, 0, unit FROM near WHERE unit = {unit}
ORDER BY distance, id DESC LIMIT {limit})"""
# Without a second sort key: PostgreSQL would sort all rows instead of reading them in the order of the index.
# Where no index orders them yet: what is near is looked up alone, so that only that is joined to what it belongs to.
_NEAREST_OF_ALL = f"""
SELECT passage.id, passage.kind, passage.source_id, 1 - near.distance, 0, 0 FROM (
    SELECT passage_id, vector <=> %s::halfvec AS distance FROM knowledge_passagevector AS vector
    WHERE vector.space_id = %s AND vector.vector IS NOT NULL AND {{scope}}
    ORDER BY distance, passage_id DESC LIMIT {2 * CANDIDATES}
) AS near JOIN knowledge_passage AS passage ON passage.id = near.passage_id WHERE {{condition}}
"""
_NEAREST = """
SELECT id, kind, source_id, 1 - distance, 0, 0 FROM (
    SELECT passage.id, passage.kind, passage.source_id, {vector} <=> %s::halfvec({dimensions}) AS distance
    FROM knowledge_passagevector AS vector JOIN knowledge_passage AS passage ON passage.id = vector.passage_id
    WHERE vector.space_id = %s AND vector.vector IS NOT NULL AND {condition}
    ORDER BY distance LIMIT {limit}
) AS near
"""
# Fusion needs both scores of every candidate, and what one retriever found the other has not scored.
_OTHER_RETRIEVER = """
SELECT passage.id, {bits} AS has, NULL::float8 AS distance
FROM knowledge_passage AS passage WHERE passage.id = ANY(%s) AND {of_passages}
UNION ALL
SELECT vector.passage_id, NULL, vector.vector <=> %s::halfvec
FROM knowledge_passagevector AS vector WHERE vector.space_id = %s AND vector.passage_id = ANY(%s) AND {of_vectors}
UNION ALL
SELECT NULL, count(*), NULL FROM ({waiting}) AS waiting
"""
# Spelled like the condition of the partial index `vector_waiting`, so that it is used: usually it is empty.
_WAITING = """
SELECT 1 FROM knowledge_passagevector AS vector JOIN knowledge_passage AS passage ON passage.id = vector.passage_id
WHERE vector.space_id = %s AND vector.vector IS NULL AND NOT (vector.vector IS NOT NULL AND vector.trouble = '')
    AND {of_vectors} AND {condition} LIMIT {limit}
"""
# With ef_search 400 all of the ten nearest of 100,000 were found, with 300 once 98 of 100 (decision 11). Without
# sorting, PostgreSQL has to walk the index. What a relaxed order yields out of turn, `_take_best` puts right.
_IN_ORDER_OF_INDEX = {
    "enable_sort": "off",
    "hnsw.ef_search": "400",
    "hnsw.iterative_scan": "relaxed_order",
    "hnsw.max_scan_tuples": "20000",
}


_ALWAYS = Sql("true")


class QuestionWords(NamedTuple):
    """The words of a question, stemmed in its language and unchanged; a passage needs any one of them.

    Of Chinese, Japanese and Korean they are the pairs of neighbouring characters. Stop words like “what” and “the”
    occur in nearly every passage: they are left out, unless there is nothing else. A question in another language may
    be about English texts, whose terms it bends as its own language does: `forms` has for each of its stems how
    English stemming ends that word, and of a word with accents how it is written without them. `space` has the active
    vectors of the model that was named.
    """

    lexemes: list[str]
    forms: Synonyms
    space: EmbeddingSpace | None


def read_words(query: str, *spaces: str) -> QuestionWords:
    """Return the words of a question, and the space that is active of those with these names."""
    query = unicodedata.normalize("NFKC", query)
    # Chinese, Japanese and Korean have no spaces to find words by.
    words = UNSPACED.sub(" ", query)
    language = language_of(words)
    has_one_form = language == ENGLISH and words.isascii()
    parameters: dict[str, Any] = {
        "query": words,
        "language": language,
        "has_one_form": has_one_form,
        "spaces": list(spaces),
    }
    with read_cursor() as cursor:
        cursor.execute(_READ_WORDS, parameters)
        lexemes, pairs, id, name, dimensions = cursor.fetchone()
    forms: dict[str, frozenset[str]] = {}
    for own, other in pairs or []:
        forms[own] = forms.get(own, frozenset({own})) | {other}
    active = EmbeddingSpace(pk=id, name=name, dimensions=dimensions) if id else None
    return QuestionWords([*lexemes, *_pairs_of(query)], forms, active)


def lexemes_of(query: str) -> list[str]:
    """Return the words of a question."""
    return read_words(query).lexemes


def _pairs_of(query: str) -> list[str]:
    """Return the pairs of neighbouring characters in Chinese, Japanese and Korean, as such texts are searched."""
    runs = UNSPACED.findall(query)
    pairs = [run[start : start + 2] for run in runs for start in range(max(1, len(run) - 1))]
    return list(dict.fromkeys(pairs))


class Candidate(NamedTuple):
    """A passage that a retriever found. `has`: which words of the question it has, as the bits of a number."""

    passage: int
    kind: str
    source_id: str
    score: float
    has: int = 0
    unit: int = 0


@dataclass(frozen=True)
class Unit:
    """The kinds of one group in one scope: their words are counted together, and the best of them are its candidates.

    Attributes:
        group: The number of the group.
        filters: What of these kinds may be found.
        few: Whether so few things remain that comparing each is faster than reading an index in its order.
    """

    scope: Scope
    filters: Filters
    group: int = 0
    few: bool = False


class Units(tuple[Unit, ...]):
    """Units that are searched together."""

    @cached_property
    def whole(self) -> list[int]:
        """The numbers of those of which each passage is compared: no index orders them."""
        return [number for number, unit in enumerate(self) if unit.few or not unit.scope.indexed]

    @cached_property
    def branches(self) -> "list[_Branch]":
        """The conditions that find what these have: both retrievers ask by them."""
        return _branches([self[number] for number in self.whole])


_BETWEEN = "\0"
"""No text in PostgreSQL has it."""
_QUOTED = str.maketrans({"\\": "\\\\", "'": "''", _BETWEEN: "' | '"})
_BY_SCORE, _PASSAGE = attrgetter("score", "passage"), attrgetter("passage")


class KeywordCandidates(NamedTuple):
    """What the keyword retriever found in one unit, and in how many of its passages each word occurs."""

    candidates: list[Candidate]
    counts: list[float]


def units_of(filters: Filters, scopes: Sequence[Scope]) -> Units:
    """Return the units of a search: each group in each scope that has any of its kinds."""
    units = []
    for group, kinds in enumerate(filters.groups or [filters.kinds]):
        for scope in scopes:
            if of_scope := [*(filterfalse if scope.owner else filter)(is_shared, kinds)]:
                narrowed = replace(filters, kinds=of_scope, groups=())
                units.append(Unit(scope, narrowed, group, few=bool(scope.indexed) and narrowed.leave_few(scope)))
    return Units(units)


def match_words(words: Sequence[str], units: Units, *, synonyms: Synonyms | None = None) -> list[KeywordCandidates]:
    """Return for each unit the passages with any of these words, ranked by all of them. A synonym counts as the word.

    Args:
        words: At most as many as a bigint has bits: `find_candidates` chooses them.
    """
    if not words:
        return [KeywordCandidates([], []) for _ in units]
    terms, found = terms_of(words, synonyms), dict[int, KeywordCandidates]()
    if whole := units.whole:
        read = _read_candidates(_rank_by_words(terms, words, units.branches, units=len(whole)), len(whole))
        found |= zip(whole, read, strict=True)
    for number, unit in enumerate(units):
        if number not in found:
            filters, scope = unit.filters, unit.scope
            selective, known = selective_words(words, scope), count_words(words, scope)
            branch = filters.common(scope) + Sql("passage.kind = ANY(%s)", ([str(kind) for kind in filters.kinds],))
            branches = [_Branch("0", scope, branch)]
            ranked = _rank_by_words(terms, selective, branches, known=known, condition=filters.one_by_one())
            [found[number]] = _read_candidates(ranked, 1)
    return [found[number] for number in range(len(units))]


def compare_meaning(vector: HalfVector, space: EmbeddingSpace, units: Units) -> list[list[Candidate]]:
    """Return for each unit the passages whose vectors are nearest."""
    found = dict[int, list[Candidate]]()
    for number, unit in enumerate(units):
        if not unit.few and space.pk in unit.scope.indexed:
            narrowed = unit.filters.common(unit.scope) + unit.filters.one_by_one()
            with tune(_IN_ORDER_OF_INDEX):
                near = _read_rows(_nearest(vector, space, unit.scope, narrowed))
            if len(near) >= CANDIDATES:
                found[number] = _take_best(near)
        elif number not in units.whole:
            near = _read_rows(_nearest_of_all(vector, space, unit))
            if len(near) >= CANDIDATES:
                found[number] = _take_best(near)
    # Also where the index came back with too few, because a filter left little of what it walked through: so a filter
    # can make a search slower, and never wrong.
    whole = [number for number in range(len(units)) if number not in found]
    if whole:
        for number in whole:
            found[number] = []
        branches = units.branches if whole == units.whole else _branches([units[number] for number in whole])
        for one in _read_rows(_compare_vectors(vector, space, branches, len(whole))):
            found[whole[one.unit]].append(one)
    return [found[number] for number in range(len(units))]


def retrieve_by_words(
    words: Sequence[str], filters: Filters, scope: Scope, *, few: bool, synonyms: Synonyms | None = None
) -> KeywordCandidates:
    """Return the passages of a scope with any of these words, ranked by all of them: `match_words` for one unit."""
    return match_words(words, Units([Unit(scope, filters, few=few)]), synonyms=synonyms)[0]


def retrieve_by_meaning(
    vector: HalfVector, space: EmbeddingSpace, filters: Filters, scope: Scope, *, few: bool
) -> list[Candidate]:
    """Return the passages of a scope whose vectors are nearest: `compare_meaning` for one unit."""
    return compare_meaning(vector, space, Units([Unit(scope, filters, few=few)]))[0]


class OtherScores(NamedTuple):
    """Words (`has`) and similarities (`near`) of what only the other retriever found; how many wait for a vector."""

    has: dict[int, int]
    near: dict[int, float]
    waiting: int


def score_by_other_retriever(
    terms: Mapping[str, str],
    vector: HalfVector,
    space: EmbeddingSpace,
    of_passages: Sql,
    searched: Sql,
    *,
    without_words: Collection[int],
    without_distance: Collection[int],
    scopes: Collection[Scope],
) -> OtherScores:
    """Return the words and the similarities of passages that only the other retriever found, in one query.

    Passages without a vector have no similarity.

    Args:
        of_passages: The condition that a passage is of one of the scopes.
        searched: The condition on `passage` of all that is searched, for counting what waits for a vector.
        without_words: Passages that only the vector retriever found.
        without_distance: Passages that only the keyword retriever found.
        scopes: Those that all of them belong to.
    """
    of_vectors = of_scopes("vector", scopes)
    waiting = _WAITING.format(of_vectors=of_vectors.text, condition=searched.text, limit=MOST_COUNTED)
    bits = _bits(terms)
    text = _OTHER_RETRIEVER.format(bits=bits, of_passages=of_passages.text, of_vectors=of_vectors.text, waiting=waiting)
    parameters = [
        *(*_test_parameters(terms), list(without_words), *of_passages.parameters),
        *(vector.to_text(), space.pk, list(without_distance), *of_vectors.parameters),
        *(space.pk, *of_vectors.parameters, *searched.parameters),
    ]
    with read_cursor() as cursor:
        cursor.execute(text, parameters)
        *rows, (_, count, _) = cursor.fetchall()
    has = {passage: bits for passage, bits, distance in rows if bits is not None}
    return OtherScores(has, {passage: 1 - distance for passage, _, distance in rows if distance is not None}, count)


def merge_candidates(groups: Iterable[list[Candidate]]) -> list[dict[int, Candidate]]:
    """Return the best CANDIDATES of several scopes, by passage, in each group."""
    merged = []
    for found in groups:
        best = sorted(found, key=_BY_SCORE, reverse=True)[:CANDIDATES]
        merged.append(dict(zip(map(_PASSAGE, best), best, strict=True)))
    return merged


@contextmanager
def tune(parameters: dict[str, str], question: str = "NULL", *, is_left: bool = False) -> Iterator[Any]:
    """Set parameters of PostgreSQL for the queries inside the `with`, and yield what it says. Needs a transaction.

    Args:
        question: An expression that the same statement answers.
        is_left: Whether nothing follows in the transaction: its end sets them back.
    """
    with read_cursor() as cursor:
        names = ", ".join(["set_config(%s, %s, true)"] * len(parameters))
        cursor.execute(f"SELECT {question}, {names}", [*chain.from_iterable(parameters.items())])
        yield cursor.fetchone()[0]
        if is_left:
            return
        # The caller may go on with its transaction. No `finally`: after a query that failed all of it is rolled back.
        cursor.execute("; ".join(f"SET LOCAL {name} TO DEFAULT" for name in parameters))


def _read_rows(question: Sql) -> list[Candidate]:
    with read_cursor() as cursor:
        cursor.execute(question.text, question.parameters)
        return [*map(Candidate._make, cursor.fetchall())]


def _read_candidates(question: Sql, units: int) -> list[KeywordCandidates]:
    found = [KeywordCandidates([], []) for _ in range(units)]
    for row in _read_rows(question):
        if row.passage is None:
            found[row.unit].counts.append(float(row.score))
        else:
            found[row.unit].candidates.append(row)
    return found


class _Branch(NamedTuple):
    """A condition on `passage` in one scope, and SQL for the number of the unit that a passage belongs to."""

    unit: str
    scope: Scope
    condition: Sql


def _branches(units: Sequence[Unit]) -> list[_Branch]:
    """Return the conditions that find what these units have. Those of one scope are read together."""
    number_of = {str(kind): number for number, unit in enumerate(units) for kind in unit.filters.kinds}
    branches = []
    for scope in {unit.scope.owner: unit.scope for unit in units}.values():
        filters = [unit.filters for unit in units if unit.scope.owner == scope.owner]
        kinds = [str(kind) for one in filters for kind in one.kinds]
        cases = " ".join([f"WHEN '{kind}' THEN {number_of[kind]}" for kind in kinds])
        numbers = set(map(number_of.__getitem__, kinds))
        unit = str(min(numbers)) if len(numbers) == 1 else f"CASE passage.kind {cases} END"
        branches += [_Branch(unit, scope, branch) for branch in replace(filters[0], kinds=kinds).branches(scope)]
    return branches


def _union_all(branches: Iterable[Sql]) -> Sql:
    joined = list(branches)
    text = " UNION ALL ".join([f"({branch.text})" for branch in joined])
    return Sql(text, tuple(chain.from_iterable([branch.parameters for branch in joined])))


def _take_best(found: Iterable[Candidate]) -> list[Candidate]:
    return sorted(found, key=_BY_SCORE, reverse=True)[:CANDIDATES]


def _rank_by_words(
    terms: Mapping[str, str],
    sought: Sequence[str],
    branches: Sequence[_Branch],
    *,
    units: int = 1,
    known: Sequence[float | None] = (),
    condition: Sql = _ALWAYS,
) -> Sql:
    """Return the statement that ranks passages by words.

    Args:
        units: How many the branches have, each ranked by itself.
        known: How many passages have each word, where that need not be counted: in large scopes.
        condition: What each of the best has to fulfil besides.
    """
    bits = _bits(terms)
    # Large scopes are asked through the index, which has pairs of characters as words. Small ones are read in any case,
    # so there a pair is looked for in the text: also in what no worker has indexed by pairs yet.
    pairs = [] if known else [*filter(UNSPACED.fullmatch, sought)]
    indexed = " | ".join([terms[word] for word in sought if word not in pairs])
    any_sought = " OR ".join([*([_HAS_WORD] if indexed else []), *([_HAS_PAIR] * len(pairs))])
    tested = (*_test_parameters(terms), *([indexed] if indexed else []), *pairs)
    found = _union_all(
        [
            Sql(
                _FOUND.format(unit=branch.unit, bits=bits, any=any_sought, condition=branch.condition.text),
                (*tested, *branch.condition.parameters),
            )
            for branch in branches
        ]
    )
    best = _union_all_of(_BEST_RANKED, units, condition=condition.text)
    text = _RANKED.format(found=found.text, last=units - 1, best=best)
    return Sql(text, (*found.parameters, list(known) or [None] * len(terms), *condition.parameters * units))


def _union_all_of(template: str, units: int, **parts: str) -> str:
    return " UNION ALL ".join([template.format(unit=unit, limit=CANDIDATES, **parts) for unit in range(units)])


def _bits(terms: Iterable[str]) -> str:
    """Return SQL for the words that a passage has, as the bits of a number."""
    pairs = {*filter(UNSPACED.fullmatch, terms := [*terms])}
    tests = [
        f"(({_HAS_PAIR if word in pairs else _HAS_WORD})::int::bigint << {number})" for number, word in enumerate(terms)
    ]
    return " | ".join(tests) or "0::bigint"


def _test_parameters(terms: Mapping[str, str]) -> list[str]:
    """Return what the tests of `_bits` take as parameters."""
    pairs = {*filter(UNSPACED.fullmatch, terms)}
    return [word if word in pairs else term for word, term in terms.items()]


def _compare_vectors(vector: HalfVector, space: EmbeddingSpace, branches: Iterable[_Branch], units: int) -> Sql:
    near = _union_all(
        [
            Sql(
                _COMPARED.format(unit=branch.unit, condition=condition.text),
                (vector.to_text(), space.pk, *condition.parameters),
            )
            for branch in branches
            for condition in [scope_of("vector", branch.scope) + branch.condition]
        ]
    )
    return Sql(f"WITH near AS ({near.text}) {_union_all_of(_BEST_COMPARED, units)}", near.parameters)


def _nearest(vector: HalfVector, space: EmbeddingSpace, scope: Scope, condition: Sql) -> Sql:
    condition = scope_of("vector", scope) + condition
    indexed = as_indexed("vector.vector", space.dimensions)
    text = _NEAREST.format(vector=indexed, dimensions=space.dimensions, condition=condition.text, limit=CANDIDATES)
    return Sql(text, (vector.to_text(), space.pk, *condition.parameters))


def _nearest_of_all(vector: HalfVector, space: EmbeddingSpace, unit: Unit) -> Sql:
    scope, condition = scope_of("vector", unit.scope), unit.filters.common(unit.scope) + unit.filters.one_by_one()
    text = _NEAREST_OF_ALL.format(scope=scope.text, condition=condition.text)
    return Sql(text, (vector.to_text(), space.pk, *scope.parameters, *condition.parameters))


def terms_of(words: Iterable[str], synonyms: Synonyms | None) -> dict[str, str]:
    """Return for each word a tsquery that matches passages with the word or a synonym."""
    # They are quoted, so that no word can be an operator.
    return {
        word: f"'{_BETWEEN.join(same).translate(_QUOTED)}'" for word, same in with_synonyms(words, synonyms).items()
    }


def with_synonyms(words: Iterable[str], synonyms: Synonyms | None) -> dict[str, list[str]]:
    """Return for each word itself and its synonyms."""
    others = synonyms or {}
    return {word: sorted({word, *others.get(word, ())}) for word in words}
