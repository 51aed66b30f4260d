"""The golden questions of an instance, asked by every recipe: what a change of recipe would lose there."""

from accounts.actor import Actor
from benchmarks.retrieval.beir import Corpus, Question
from benchmarks.retrieval.memory import Memory
from benchmarks.retrieval.recipes import RECIPES
from benchmarks.retrieval.tables import judge
from curation.decisions.golden_questions import ANYBODY
from curation.models import GoldenQuestion
from knowledge.models import Passage


def measure() -> list[str]:
    """Ask the golden questions of the instance that the settings name; return a table. Nothing is changed there."""
    golden = list(GoldenQuestion.objects.order_by("pk"))
    if not golden:
        return ["No golden question is pinned here."]
    shared = Passage.objects.filter(owner=None).values_list("kind", "source_id").distinct()
    memory = Memory(Actor.of(ANYBODY), {place: " ".join(place) for place in shared})
    questions = [Question(one.handle, one.question, {f"{one.kind} {one.source_id}": 1}) for one in golden]
    judged = judge(memory, Corpus("golden", [], questions))
    lines = ["| recipe | golden questions that hold | MRR |", "|---|---|---|"]
    for name in RECIPES:
        held = sum(one.mrr >= 1 / wanted.within for one, wanted in zip(judged[name], golden, strict=True))
        mean = sum(one.mrr for one in judged[name]) / len(golden)
        lines.append(f"| {name} | {held} of {len(golden)} | {mean:.3f} |")
    return lines
