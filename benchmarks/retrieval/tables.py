"""The tables: each recipe over all shapes of text, the served search by sort of question, and one corpus in detail."""

from collections.abc import Collection
from dataclasses import replace
from hashlib import sha256
from statistics import fmean

from benchmarks.retrieval.beir import Corpus, Question
from benchmarks.retrieval.measures import DEPTH, NOTHING, Quality, mean_of, quality_of
from benchmarks.retrieval.memory import Memory, remember
from benchmarks.retrieval.recipes import FORMER, KEYWORD, RECIPES, SHIPPED, VECTOR, Bench, ask
from benchmarks.retrieval.shapes import misspelt, shapes
from knowledge.kinds import STATEMENTS
from knowledge.search.abstention import count_strong

Judged = dict[str, list[Quality]]
MISSPELT, CURRENT = "misspelt", "current"
WITH_MISSPELT = {"retrieval", "chats"}
_SHOWN_BY_SORT = (KEYWORD, VECTOR, FORMER, SHIPPED)
_ENDS = (
    "| lists of at most ten | precision, ten | precision, shown | recall, ten | recall, shown | shown on average |",
    "|---|---|---|---|---|---|",
)
_SORTS = (f"| recall@10 by sort | questions | {' | '.join(_SHOWN_BY_SORT)} |", "|---|---|---|---|---|---|")


def tables_of_shapes(every: int = 1) -> str:
    """Remember every corpus, ask every Nth question by every recipe; return one table of all, and one by sort."""
    names, judged, sorts = list[str](), dict[str, Judged](), list[str]()
    slips: Judged = {}
    ends = list[str]()
    for corpus in shapes():
        corpus = replace(corpus, questions=corpus.questions[::every])
        memory = remember(corpus)
        found = judge(memory, corpus)
        names.append(f"{corpus.name} ({len(corpus.questions)})")
        judged[corpus.name] = found
        sorts += by_sort(found, corpus.questions, f"{corpus.name}: ")
        ends.append(_end_of_lists(memory, corpus))
        if corpus.name in WITH_MISSPELT:
            for name, qualities in judge(memory, misspelt(corpus)).items():
                slips.setdefault(name, []).extend(qualities)
        if corpus.name == "changes":
            current = [place for place, asked in enumerate(corpus.questions) if asked.sort == CURRENT]
            firsts = {name: fmean(found[name][place].mrr == 1 for place in current) for name in found}
    names += [f"{MISSPELT} ({len(slips[SHIPPED])})", f"current fact first ({len(current)})"]
    lines = [f"| recall@10 / nDCG@10 | {' | '.join(names)} |", f"|---{'|---' * len(names)}|"]
    for name in RECIPES:
        cells = [_cell(found[name]) for found in judged.values()]
        lines.append(f"| {name} | {' | '.join(cells)} | {_cell(slips[name])} | {firsts[name]:.3f} |")
    return "\n".join([*lines, "", *_SORTS, *sorts, "", *_ENDS, *ends, ""])


def _end_of_lists(memory: Memory, corpus: Corpus) -> str:
    """One row: what a page of ten shows, and what is left of it where much weaker statements are not shown."""
    found, shown, wanted = list[float](), list[float](), list[float]()
    lengths, kept = list[int](), list[float]()
    for question in corpus.questions:
        answered = ask(memory, question, limit=DEPTH)
        items = answered.items
        documents = [memory.documents.get((item.kind, item.source_id), "") for item in items]
        first = documents[: count_strong(answered, STATEMENTS)]
        lengths.append(len(first))
        found.append(_share(documents, question.answers, of=documents))
        shown.append(_share(first, question.answers, of=first))
        wanted.append(_share(documents, question.answers, of=question.answers))
        kept.append(_share(first, question.answers, of=question.answers))
    return (
        f"| {corpus.name} | {fmean(found):.3f} | {fmean(shown):.3f} | {fmean(wanted):.3f} | {fmean(kept):.3f} "
        f"| {fmean(lengths):.1f} |"
    )


def _share(found: Collection[str], answers: Collection[str], *, of: Collection[str]) -> float:
    return len({*found} & {*answers}) / len({*of}) if of else 0.0


def judge(memory: Memory, corpus: Corpus) -> Judged:
    """Ask every question of a corpus by every recipe."""
    bench, judged = Bench(memory), Judged()
    for question in corpus.questions:
        bench.asked_at = question.asked_at
        for name, recipe in RECIPES.items():
            judged.setdefault(name, []).append(quality_of(recipe(bench, question.text), question.answers))
    return judged


def tables_of(corpus: Corpus) -> str:
    """Remember a corpus, ask every question by every recipe, and return what came of it as markdown."""
    judged = judge(remember(corpus), corpus)
    heading = f"`{corpus.name}`: {len(corpus.documents):,} documents, {len(corpus.questions):,} questions"
    sorts = by_sort(judged, corpus.questions)
    return "\n".join([heading, "", *by_recipe(judged, corpus.questions), "", *([*_SORTS, *sorts, ""] if sorts else [])])


def by_recipe(judged: Judged, questions: list[Question]) -> list[str]:
    """One row for each recipe. The halves show whether what holds for one part of the questions holds for another."""
    halves = {half: [number for number, asked in enumerate(questions) if half_of(asked) == half] for half in "AB"}
    headings = [f"half {half} ({len(numbers)})" for half, numbers in halves.items()]
    lines = [f"| recipe | recall@10 | MRR | nDCG@10 | {' | '.join(headings)} |", "|---|---|---|---|---|---|"]
    for name, qualities in judged.items():
        parts = [str(mean_of([qualities[number] for number in numbers] or [NOTHING])) for numbers in halves.values()]
        lines.append(f"| {name} | {mean_of(qualities)} | {' | '.join(part.replace(' |', ',') for part in parts)} |")
    return lines


def by_sort(judged: Judged, questions: list[Question], named: str = "") -> list[str]:
    """One row for each sort of question, with both arms, the recipe of before and the search as served."""
    lines = []
    for sort in sorted({question.sort for question in questions if question.sort}):
        own = [number for number, question in enumerate(questions) if question.sort == sort]
        means = [mean_of([judged[name][number] for number in own]) for name in _SHOWN_BY_SORT]
        lines.append(f"| {named}{sort} | {len(own)} | {' | '.join(f'{mean.recall:.3f}' for mean in means)} |")
    return lines


def half_of(question: Question) -> str:
    """Return the half a question belongs to: by its text, so that nobody chose it."""
    return "AB"[int(sha256(question.text.encode()).hexdigest(), 16) % 2]


def _cell(qualities: list[Quality]) -> str:
    mean = mean_of(qualities)
    return f"{mean.recall:.3f} / {mean.ndcg:.3f}"
