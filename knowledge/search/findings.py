"""What a search returns: each thing by its best passage, with why it was found."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from datetime import datetime, timedelta

from pgvector import HalfVector

from bigmind.database.replicas import read_cursor
from bigmind.text.periods import Period
from knowledge.embeddings.providers import TokenSigns
from knowledge.models import EmbeddingSpace
from knowledge.search.candidates import Found
from knowledge.search.question import SearchQuestion
from knowledge.search.ranking import EPOCH, PassageText, Ranked, Texts
from knowledge.search.retrievers import MOST_COUNTED

_TEXTS = """
SELECT passage.id, substr(passage.text, passage.head + 1), (extract(epoch FROM passage.created_at) * 1000000)::bigint,
    passage.project
FROM knowledge_passage AS passage WHERE passage.id = ANY(%s) AND {scope}
"""


@dataclass(frozen=True)
class Finding:
    """One thing that was found, by its best passage.

    `keyword` is the share of the question's words that the passage has, `vector` the cosine of both, `late` how well
    their tokens meet, `support` what its neighbours add, and `of_period` what the question's period adds or takes; None
    where that is not known. `same` has the ids of facts that are about the same, of which the newest is first. `lacks`:
    a word of the question is not in it, although one is in something of its group.
    """

    kind: str
    source_id: str
    text: str
    score: float
    retrievers: tuple[str, ...]
    matched: list[str]
    created_at: datetime
    project: str
    keyword: float | None = None
    vector: float | None = None
    support: float = 0.0
    of_period: float = 0.0
    late: float | None = None
    parts: Mapping[str, float] = field(default_factory=dict)
    same: frozenset[str] = frozenset()
    lacks: bool = False


@dataclass(frozen=True)
class Findings:
    """What was found, the best first, out of `total` candidates; `fallback` when the question could not be embedded.

    `milliseconds` says how long each step took: `keyword`, `vector` (with embedding the question), `fusion`;
    `candidates` how many passages each retriever found. `vector` is the question's own, in `space`. `waiting` of
    `searched` passages have no vector yet. `weights` says how much each word of the question counts; those in `missing`
    are in no passage, nor is another form of them. `text` is the question with its corrections, `counts` says in
    how many passages each word is, `terms` has for each word all that count as it, `tokens` those of the question.
    `following` are the first few after `items`: what moves up where one of these goes. What was said in `period` was
    preferred. `unranked` says why the reranker did not put them in order.
    """

    items: list[Finding]
    total: int
    fallback: bool
    reason: str = ""
    milliseconds: dict[str, float] = field(default_factory=dict)
    candidates: dict[str, int] = field(default_factory=dict)
    vector: HalfVector | None = None
    space: EmbeddingSpace | None = None
    waiting: int = 0
    searched: int = 0
    weights: Mapping[str, float] = field(default_factory=dict)
    missing: frozenset[str] = frozenset()
    text: str = ""
    counts: Mapping[str, float] = field(default_factory=dict)
    terms: Mapping[str, Sequence[str]] = field(default_factory=dict)
    tokens: TokenSigns | None = None
    following: Sequence[Finding] = ()
    period: Period | None = None
    unranked: str = ""

    @property
    def searched_something(self) -> bool:
        """Whether anything is stored that could be meant: also what cannot be compared by meaning yet."""
        return bool(self.items or self.waiting or self.fallback)

    @property
    def notice(self) -> str:
        """What was not searched by meaning, or not reranked, in words for the reader; empty: everything was."""
        if self.fallback:
            return f"By words alone: {self.reason}"
        if not self.waiting:
            return f"Not reranked: {self.unranked}" if self.unranked else ""
        waiting, searched = (
            f"more than {MOST_COUNTED:,}" if number >= MOST_COUNTED else f"{number:,}"
            for number in (self.waiting, max(self.waiting, self.searched))
        )
        return f"{waiting} of {searched} texts are still being indexed by meaning: until then only their words count."


def read_findings(ranked: Sequence[Ranked], question: SearchQuestion, found: Found, texts: Texts) -> list[Finding]:
    """Return what is shown; a passage that was deleted meanwhile is left out.

    Args:
        texts: What the best passages say. Those of others are read.
    """
    if others := [one.candidate.passage for one in ranked if one.candidate.passage not in texts]:
        searched = question.searched
        with read_cursor() as cursor:
            cursor.execute(_TEXTS.format(scope=searched.text), [others, *searched.parameters])
            texts = {**texts, **{row[0]: PassageText(*row[1:]) for row in cursor.fetchall()}}
    lexemes = [*enumerate(found.lexemes)]
    matched = {bits: [word for number, word in lexemes if bits >> number & 1] for bits in set(found.has.values())}
    needed = sum([1 << number for number, word in lexemes if found.words.get(word)])
    findings = []
    for one in ranked:
        passage = one.candidate.passage
        if passage in texts:
            shown, has = texts[passage], found.has.get(passage, 0)
            findings.append(
                Finding(
                    kind=one.candidate.kind,
                    source_id=one.candidate.source_id,
                    text=shown.text,
                    # Neighbours and periods may lift a score above 1, which means: every word, and the very meaning.
                    score=round(min(1.0, one.score), 4),
                    retrievers=one.fused.retrievers,
                    matched=[*matched.get(has, ())],
                    created_at=EPOCH + timedelta(microseconds=shown.at),
                    project=shown.project,
                    keyword=found.keyword.get(passage),
                    vector=found.vector.get(passage),
                    support=round(one.support, 4),
                    of_period=one.of_period,
                    late=one.late,
                    parts=one.fused.parts,
                    same=one.same,
                    lacks=bool(needed & ~has),
                )
            )
    return findings
