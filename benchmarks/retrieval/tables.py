"""The tables of a corpus: each recipe over all questions and over both halves, and the served search by sort."""

from hashlib import sha256

from benchmarks.retrieval.beir import Corpus, Question
from benchmarks.retrieval.measures import NOTHING, Quality, mean_of, quality_of
from benchmarks.retrieval.memory import remember
from benchmarks.retrieval.recipes import KEYWORD, RECIPES, SHIPPED, VECTOR, Bench

Judged = dict[str, list[Quality]]


def tables_of(corpus: Corpus) -> str:
    """Remember a corpus, ask every question by every recipe, and return what came of it as markdown."""
    bench = Bench(remember(corpus))
    judged = {
        name: [quality_of(recipe(bench, question.text), question.answers) for question in corpus.questions]
        for name, recipe in RECIPES.items()
    }
    heading = f"`{corpus.name}`: {len(corpus.documents):,} documents, {len(corpus.questions):,} questions"
    sorts = by_sort(judged, corpus.questions)
    return "\n".join([heading, "", *by_recipe(judged, corpus.questions), "", *([*sorts, ""] if sorts else [])])


def by_recipe(judged: Judged, questions: list[Question]) -> list[str]:
    """One row for each recipe. The halves show whether what holds for one part of the questions holds for another."""
    halves = {half: [number for number, asked in enumerate(questions) if half_of(asked) == half] for half in "AB"}
    headings = [f"half {half} ({len(numbers)})" for half, numbers in halves.items()]
    lines = [f"| recipe | recall@10 | MRR | nDCG@10 | {' | '.join(headings)} |", "|---|---|---|---|---|---|"]
    for name, qualities in judged.items():
        parts = [str(mean_of([qualities[number] for number in numbers] or [NOTHING])) for numbers in halves.values()]
        lines.append(f"| {name} | {mean_of(qualities)} | {' | '.join(part.replace(' |', ',') for part in parts)} |")
    return lines


def by_sort(judged: Judged, questions: list[Question]) -> list[str]:
    """One row for each sort of question, with both arms and the search as served; nothing without sorts."""
    sorts = sorted({question.sort for question in questions if question.sort})
    if not sorts:
        return []
    lines = [f"| recall@10 by sort | questions | {KEYWORD} | {VECTOR} | {SHIPPED} |", "|---|---|---|---|---|"]
    for sort in sorts:
        own = [number for number, question in enumerate(questions) if question.sort == sort]
        means = [mean_of([judged[name][number] for number in own]) for name in (KEYWORD, VECTOR, SHIPPED)]
        lines.append(f"| {sort} | {len(own)} | {' | '.join(f'{mean.recall:.3f}' for mean in means)} |")
    return lines


def half_of(question: Question) -> str:
    """Return the half a question belongs to: by its text, so that nobody chose it."""
    return "AB"[int(sha256(question.text.encode()).hexdigest(), 16) % 2]
