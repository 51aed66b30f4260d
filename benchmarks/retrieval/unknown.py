"""Known or unknown: how often what a question found is taken for an answer, where one is there and where none is.

Each question is asked of its own memory, then of what is left of the list without its answers (on the topic, the answer
absent), and of the other memories (about something else).
"""

from collections.abc import Iterator, Sequence
from dataclasses import dataclass, replace
from statistics import fmean

from benchmarks.retrieval.beir import CHATS, OURS, Corpus, read_corpus
from benchmarks.retrieval.memory import remember
from benchmarks.retrieval.recipes import ask
from benchmarks.retrieval.shapes import assistants, beliefs, errors, multilingual
from benchmarks.retrieval.tables import half_of
from knowledge.search.abstention import is_answered

ANSWERED, ABSENT, ELSEWHERE = "the answer is there", "on the topic, the answer is absent", "about something else"
READ = 30
OTHERS = 2
"""Of the other corpora's questions, every second is asked."""


@dataclass(frozen=True)
class Asked:
    """One question of one memory: of which sort, in which half, and whether what it found was taken for an answer."""

    corpus: str
    sort: str
    half: str
    is_known: bool


def measure(every: int = 1) -> list[str]:
    """Ask every Nth question, and return how many are called unknown, by corpus and half."""
    corpora = [read_corpus(OURS), read_corpus(CHATS), assistants(), beliefs(), errors(), multilingual()]
    corpora = [replace(corpus, questions=corpus.questions[::every]) for corpus in corpora]
    lines = [f"| called unknown, half A / half B | {ANSWERED} | {ABSENT} | {ELSEWHERE} |", "|---|---|---|---|"]
    for corpus in corpora:
        asked = [*_ask_all(corpus, corpora)]
        cells = [_halves([one for one in asked if one.sort == sort]) for sort in (ANSWERED, ABSENT, ELSEWHERE)]
        lines.append(f"| {corpus.name} | {' | '.join(cells)} |")
    return lines


def _ask_all(corpus: Corpus, corpora: Sequence[Corpus]) -> Iterator[Asked]:
    memory = remember(corpus)
    for question in corpus.questions:
        found, half = ask(memory, question, limit=READ), half_of(question)
        answers = [memory.documents.get((item.kind, item.source_id)) in question.answers for item in found.items]
        if any(answers[:10]):
            rest = [item for item, is_answer in zip(found.items, answers, strict=True) if not is_answer]
            yield Asked(corpus.name, ANSWERED, half, is_answered(found))
            yield Asked(corpus.name, ABSENT, half, is_answered(replace(found, items=rest)))
    for other in corpora:
        for question in other.questions[::OTHERS] if other is not corpus else ():
            found = ask(memory, question, limit=READ)
            yield Asked(corpus.name, ELSEWHERE, half_of(question), is_answered(found))


def _halves(asked: Sequence[Asked]) -> str:
    of = [[one for one in asked if one.half == half] for half in "AB"]
    return " / ".join(f"{fmean(not one.is_known for one in some):.1%} of {len(some)}" if some else "–" for some in of)
