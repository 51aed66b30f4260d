"""Small memories, as people have them after an hour or a week: what recall answers, and which questions become gaps.

`small/memories.txt` has one line for an item or a question, fields separated by `|`:
    # name
    F category id|text                                  fact
    S id|headline|topics|outcome|summary                session that was ended
    C session id|text|why                               exchange flagged in that session
    N id|domain/key|text                                note
    Q sort|question|ids of items that answer            sorts: para (no shared words), kw (short), meta, typo, long,
                                                        lang (another language than the memory's),
    Q on|question|    Q off|question|                   and questions without an answer: on the topic, off the topic

Thresholds are fitted on the memories of half A; half B never had a part in it.
"""

from collections.abc import Callable, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import cast

from accounts.actor import Actor
from accounts.people.users import add_user
from accounts.services.agents import note_agent
from knowledge.argument_types import CategoryName
from knowledge.context.sessions import end_session, start_session
from knowledge.conversation.chunks import flag_important
from knowledge.exposures.gaps import newest_passage
from knowledge.indexing.embedding import embed_pending
from knowledge.memory.facts import store_fact
from knowledge.memory.notes import set_note
from knowledge.models import UnansweredQuestion
from knowledge.recall.asking_again import ask_again
from knowledge.recall.recall import recall

MEMORIES = Path(__file__).parent / "small" / "memories.txt"
ANSWERABLE = ("para", "kw", "meta", "typo", "long", "lang")


@dataclass
class SmallMemory:
    """One person's items and questions."""

    name: str
    half: str
    items: list[tuple[str, list[str]]] = field(default_factory=list)
    questions: list[tuple[str, str, set[str]]] = field(default_factory=list)


@dataclass(frozen=True)
class Asked:
    """What became of one question: the place of the first hit that answers, what recall said, whether it is a gap.

    `closed_by` is the item that closed it, had it been asked before anything was stored; `answers` those that answer.
    """

    half: str
    sort: str
    text: str
    place: int | None
    shown: int
    is_certain: bool
    has_strong: bool
    is_gap: bool
    answers: set[str]
    closed_by: str | None


Rate = tuple[str, Sequence[str], Callable[[Asked], bool]]
OF_REPLIES: list[Rate] = [
    ("answerable: nothing shown", ANSWERABLE, lambda one: not one.shown),
    ("answerable: the answer comes first", ANSWERABLE, lambda one: one.place == 0),
    ("answerable: the answer is among three", ANSWERABLE, lambda one: one.place is not None and one.place < 3),
    ("answerable: said to be uncertain", ANSWERABLE, lambda one: not one.is_certain),
    ("off the topic: said to be uncertain", ["off"], lambda one: not one.is_certain),
    ("on the topic, no answer: said to be uncertain", ["on"], lambda one: not one.is_certain),
]
STRONG: Rate = ("first hits that are called strong: right", (*ANSWERABLE, "on", "off"), lambda one: one.place == 0)
"""Of those alone that have a strong one."""
_OF_GAPS: list[Rate] = [
    ("answerable: a false gap", ANSWERABLE, lambda one: one.is_gap),
    ("off the topic: a missed gap", ["off"], lambda one: not one.is_gap),
    ("on the topic, no answer: a missed gap", ["on"], lambda one: not one.is_gap),
    ("asked before: closed by an answer", ANSWERABLE, lambda one: one.closed_by in one.answers),
    ("asked before: closed by something else", ANSWERABLE, lambda one: one.closed_by not in {None, *one.answers}),
    ("on the topic, no answer, asked before: closed", ["on"], lambda one: bool(one.closed_by)),
    ("off the topic, asked before: closed", ["off"], lambda one: bool(one.closed_by)),
]


def read_memories(path: Path = MEMORIES) -> list[SmallMemory]:
    """Read the file; of the memories every other one is of half A."""
    memories: list[SmallMemory] = []
    for line in path.read_text().splitlines():
        sort, _, rest = line.partition(" ")
        if sort == "#":
            memories.append(SmallMemory(rest.split()[0], "AB"[len(memories) % 2]))
        elif sort == "Q":
            kind, question, answers = rest.split("|")
            memories[-1].questions.append((kind, question, set(filter(None, answers.split(",")))))
        else:
            memories[-1].items.append((sort, rest.split("|")))
    return memories


def measure() -> list[str]:
    """Ask all questions of their memories, and return both error rates of each half."""
    asked = [one for memory in read_memories() for one in ask_all(memory)]
    lines = ["| small memories | half A | half B, held out |", "|---|---|---|"]
    for name, sorts, holds in [*OF_REPLIES, *_OF_GAPS]:
        chosen = [[one for one in asked if one.sort in sorts and one.half == half] for half in "AB"]
        cells = [f"{sum(map(holds, some)) / len(some):.1%} of {len(some)}" for some in chosen]
        lines.append(f"| {name} | {' | '.join(cells)} |")
    for name, sorts in (("of answerable questions", ANSWERABLE), ("of all", STRONG[1])):
        strong = [[one for one in asked if one.has_strong and one.sort in sorts and one.half == half] for half in "AB"]
        cells = [f"{sum(one.place == 0 for one in some) / len(some):.1%} of {len(some)}" for some in strong]
        lines.append(f"| first hits that are called strong, {name}: right | {' | '.join(cells)} |")
    return lines


def ask_all(memory: SmallMemory) -> list[Asked]:
    """Ask everything as an agent does before anything is stored, remember everything, and ask everything again."""
    actor = Actor.of(add_user(f"small-{memory.name}".lower()))
    actor = Actor.of(actor.user, agent=note_agent(actor.user, client_name="bench", client_version="1", host="bench"))
    for _, question, _ in memory.questions:
        recall(actor, query=question)
    ids = remember(actor, memory)
    closed = {text: ids.get((kind, id), "?") for text, kind, id in _close(actor)}
    return [ask(actor, memory, ids, closed, *question) for question in memory.questions]


def _close(actor: Actor) -> list[tuple[str, str, str]]:
    """Let a worker ask everything again; return the questions that were answered, with kind and id of what answered."""
    mine, newest = UnansweredQuestion.objects.filter(user=actor.user), newest_passage()
    while mine.filter(answered_at=None, asked_up_to__lt=newest).exists():
        ask_again(newest)
    closed = list(mine.exclude(answered_at=None).values_list("text", "kind", "source_id"))
    mine.delete()
    return closed


def remember(actor: Actor, memory: SmallMemory) -> dict[tuple[str, str], str]:
    """Store all items through the services, and return which item each thing is."""
    ids: dict[tuple[str, str], str] = {}
    for sort, (head, *fields) in memory.items:
        name = head.split()[-1]
        if sort == "F":
            fact = store_fact(actor, category=cast("CategoryName", head.split()[0]), fact=fields[0]).fact
            ids["fact", str(fact.pk)] = name
        elif sort == "N":
            domain, _, key = fields[0].partition("/")
            ids["note", str(set_note(actor, domain=domain, key=key, content=fields[1]).pk)] = name
    for sort, (name, *fields) in memory.items:
        if sort != "S":
            continue
        headline, topics, outcome, summary = fields
        session = str(start_session(actor, topics=topics.split(", ")).session_id)
        for other, (head, *flagged) in memory.items:
            if other == "C" and head.split()[0] == name:
                chunk = flag_important(actor, content=flagged[0], flag_reason=flagged[1], session_id=session)
                ids["chunk", str(chunk.pk)] = head.split()[1]
        end_session(actor, one_liner=headline, outcome=outcome, summary=summary, session_id=session)
        ids["summary", session] = name
    embed_pending()
    return ids


def ask(
    actor: Actor,
    memory: SmallMemory,
    ids: dict[tuple[str, str], str],
    closed: dict[str, str],
    sort: str,
    question: str,
    answers: set[str],
) -> Asked:
    """Ask one question of a memory, and return what became of it."""
    reply = recall(actor, query=question)
    shown = [ids.get((hit.kind, hit.id)) for hit in reply.items]
    return Asked(
        half=memory.half,
        sort=sort,
        text=question,
        place=next((place for place, name in enumerate(shown) if name in answers), None),
        shown=len(shown),
        is_certain=reply.state == "answer",
        has_strong=bool(reply.items) and reply.items[0].relevance == "strong",
        is_gap=UnansweredQuestion.objects.filter(user=actor.user, text=question).exists(),
        answers=answers,
        closed_by=closed.get(question),
    )
