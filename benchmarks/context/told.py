"""Measures the share of the needed lines that a start context tells, and what the first prompt adds to it."""

from collections.abc import Sequence
from dataclasses import dataclass, field

from benchmarks.context.memory import Memory, remember
from benchmarks.context.people import Person, Task, read_people
from benchmarks.rows import row
from knowledge.capture.recall import recall_for
from knowledge.context.budget import TOTAL_TOKENS
from knowledge.context.start_context import get_context
from knowledge.indexing.embedding import embed_pending
from knowledge.models import Conversation

GOAL = 0.85
USED = 0.95


@dataclass(frozen=True)
class Outcome:
    """What one task needed, and which of it was told."""

    task: Task
    told: frozenset[str]
    tokens: int = 0
    by_prompt: frozenset[str] = field(default_factory=frozenset)


def measure() -> list[str]:
    """Measure the starts of all tasks: the half that was tuned to, the one that was not, and after the first prompt."""
    people = read_people()
    found = {person.name: outcomes_of(person, people, prompts=True) for person in people}
    halves = {half: [one for person in people if person.half == half for one in found[person.name]] for half in "ab"}
    every = halves["a"] + halves["b"]
    tasks, needed = len(every), sum(len(one.task.needs) for one in every)
    least = min(one.tokens for one in every) / TOTAL_TOKENS
    both = share([Outcome(one.task, one.told | one.by_prompt) for one in every])
    told = "project and topics are named; {} tasks"
    return [
        _share("needed lines that a start tells, half a", share(halves["a"]), told.format(len(halves["a"]))),
        _share("the same, half b, which was never tuned to", share(halves["b"]), told.format(len(halves["b"]))),
        _share("the same, all", share(every), f"{needed} lines of {tasks} tasks, whole, among about 330 facts each"),
        _share("the same, with what a hook recalls before the first prompt", both, "300 tokens more"),
        row("budget used, least", f"{least:.0%}", f"≥ {USED:.0%}", "of 1,300 tokens", met=least >= USED),
    ]


def outcomes_of(person: Person, people: Sequence[Person], *, prompts: bool = False) -> list[Outcome]:
    """Start each task of a person, and look for what it needs in what is told, each line whole.

    Args:
        prompts: Whether to ask what a hook would recall before the prompt, too.
    """
    memory = remember(person, [other for other in people if other.name != person.name], indexed=prompts)
    if prompts:
        embed_pending()
    return [_outcome(task, memory, prompts=prompts) for task in person.tasks]


def share(outcomes: Sequence[Outcome]) -> float:
    """Return the share of all needed lines that were told."""
    return sum(len(one.told) for one in outcomes) / sum(len(one.task.needs) for one in outcomes)


def _outcome(task: Task, memory: Memory, *, prompts: bool) -> Outcome:
    context = get_context(memory.actor, project=task.project, topics=list(task.topics))
    recalled = _recall(task, memory) if prompts else ""
    return Outcome(task, _among(task, memory, context.markdown), context.tokens, _among(task, memory, recalled))


def _recall(task: Task, memory: Memory) -> str:
    conversation = Conversation(user=memory.actor.user, repository=task.project)
    lines = recall_for(memory.actor, task.prompt, conversation=conversation, told=set())
    return "\n".join(line.markdown for line in lines)


def _among(task: Task, memory: Memory, text: str) -> frozenset[str]:
    return frozenset(key for key in task.needs if memory.words[key] in text)


def _share(what: str, found: float, how: str) -> str:
    return row(what, f"{found:.3f}", f"≥ {GOAL}", how, met=found >= GOAL)
