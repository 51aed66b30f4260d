"""The exam of small memories at every size: the same items and questions, beside ever more that others might remember.

One person has so many facts of `small/others.txt`. Each memory's items come in beside them, are asked for, and go. From
`EMBEDDED` on a fact's vector is a mixture of two that the models made: making 60,000 would take most of an hour.
"""

from collections.abc import Iterator, Sequence
from itertools import islice
from random import Random
from statistics import fmean

from django.db import connection

from accounts.actor import Actor
from accounts.people.users import add_user
from accounts.services.agents import note_agent
from benchmarks.retrieval.memory import remember as remember_corpus
from benchmarks.retrieval.shapes import changes
from benchmarks.retrieval.small import (
    MEMORIES,
    OF_REPLIES,
    STRONG,
    Asked,
    Rate,
    SmallMemory,
    ask,
    read_memories,
    remember,
)
from bigmind.text.hygiene import digest
from knowledge.indexing.embedding import embed_pending
from knowledge.models import Chunk, Fact, Kind, Note, Passage, PassageVector, Session, UnansweredQuestion
from knowledge.recall.semantic_search import semantic_search
from knowledge.search.frequencies import forget_statistics
from knowledge.search.indexes import keep_indexes
from knowledge.search.passages import Indexed, index_new

SIZES = (60, 450, 3_000, 18_000, 60_000)
EMBEDDED = 3_000
CHANGED = (605, 18_000)
"""How many facts there are when those that changed are asked for."""
_MIX = """
WITH made AS (
    SELECT vector, row_number() OVER (ORDER BY passage_id) - 1 AS number FROM knowledge_passagevector
    WHERE owner_id = %(owner)s AND vector IS NOT NULL
), waiting AS (
    SELECT passage_id, row_number() OVER (ORDER BY passage_id) AS number FROM knowledge_passagevector
    WHERE owner_id = %(owner)s AND vector IS NULL
)
UPDATE knowledge_passagevector AS mixed SET vector = l2_normalize(one.vector + other.vector)
FROM waiting, made AS one, made AS other
WHERE mixed.passage_id = waiting.passage_id AND one.number = waiting.number %% %(made)s
    AND other.number = waiting.number * 7919 %% %(made)s
"""


def measure(every: int = 1) -> list[str]:
    """Return a row for each rate with both halves at each size, and how often the current of changed facts is first."""
    asked = dict(ask_at_sizes(every))
    lines = [f"| half A / half B, items | {' | '.join(asked)} |", f"|---{'|---' * len(asked)}|"]
    for rate in OF_REPLIES:
        lines.append(f"| {rate[0]} | {' | '.join(_halves(rate, some) for some in asked.values())} |")
    strong = [_halves(STRONG, [one for one in some if one.has_strong]) for some in asked.values()]
    lines.append(f"| {STRONG[0]} | {' | '.join(strong)} |")
    lines += ["", "| facts that changed, asked for what holds | questions | the current one first |", "|---|---|---|"]
    return [*lines, *(f"| among {size:,} | {count} | {share:.1%} |" for size, count, share in ask_of_changes(every))]


def ask_at_sizes(every: int = 1, sizes: Sequence[int] = SIZES) -> Iterator[tuple[str, list[Asked]]]:
    """Yield what became of every Nth question in memories of their own size, and at each of these."""
    actor, texts, count, memories = _person(), others(), 0, read_memories()
    yield "own (5 to 42)", [one for memory in memories for one in _ask(actor, memory, every)]
    for size in sizes:
        add_facts(actor, [*islice(texts, size - count)])
        count = size
        yield f"{size:,}", [one for memory in memories for one in _ask(actor, memory, every)]


def ask_of_changes(every: int = 1, sizes: Sequence[int] = CHANGED) -> Iterator[tuple[int, int, float]]:
    """Yield how often the current of facts that changed is first, among so many."""
    corpus, texts = changes(), others()
    memory, count = remember_corpus(corpus), len(corpus.documents)
    questions = [one for one in corpus.questions if one.sort == "current"][::every]
    for size in sizes:
        add_facts(memory.actor, [*islice(texts, size - count)])
        count = size
        found = [semantic_search(memory.actor, query=one.text).items[:1] for one in questions]
        first = [{memory.documents.get((hit.kind, hit.id)) for hit in hits} for hits in found]
        yield (
            size,
            len(questions),
            fmean(one == set(asked.answers) for one, asked in zip(first, questions, strict=True)),
        )


def others() -> Iterator[str]:
    """Yield ever more facts of the same kind as the memories', about other people and things; no two are equal."""
    lines = (MEMORIES.parent / "others.txt").read_text(encoding="utf-8").splitlines()
    names = [line[2:].split("; ") for line in lines if line.startswith("> ")]
    templates, random, known = [line[2:] for line in lines if line.startswith("- ")], Random(6), set[str]()
    while True:
        who, what, where, when = map(random.choice, names)
        text = random.choice(templates).format(who=who, what=what, where=where, when=when, n=random.randrange(3, 900))
        if text not in known:
            known.add(text)
            yield text[0].upper() + text[1:]


def add_facts(actor: Actor, texts: Sequence[str]) -> None:
    """Store many facts at once, as an import does."""
    made = PassageVector.objects.filter(owner=actor.user).count()
    facts = Fact.objects.bulk_create(
        [Fact(user=actor.user, category="codebase", fact=text, digest=digest(text)) for text in texts]
    )
    index_new(Kind.FACT, [Indexed(fact.pk, fact.fact, "") for fact in facts], owner=actor.user)
    if made + len(texts) > EMBEDDED:
        with connection.cursor() as cursor:
            cursor.execute(_MIX, {"owner": actor.user.pk, "made": made})
    embed_pending()
    with connection.cursor() as cursor:
        cursor.execute("ANALYZE")
    keep_indexes()
    forget_statistics()


def _person() -> Actor:
    user = add_user("sized")
    return Actor.of(user, agent=note_agent(user, client_name="bench", client_version="1", host="bench"))


def _ask(actor: Actor, memory: SmallMemory, every: int) -> list[Asked]:
    ids = remember(actor, memory)
    found = [ask(actor, memory, ids, {}, *question) for question in memory.questions[::every]]
    _take_back(actor, ids)
    return found


def _take_back(actor: Actor, ids: dict[tuple[str, str], str]) -> None:
    UnansweredQuestion.objects.filter(user=actor.user).delete()
    for model, kind in ((Chunk, Kind.CHUNK), (Session, Kind.SUMMARY), (Note, Kind.NOTE), (Fact, Kind.FACT)):
        theirs = [id for of, id in ids if of == kind]
        Passage.objects.filter(kind=kind, source_id__in=theirs).delete()
        model.objects.filter(pk__in=theirs).delete()


def _halves(rate: Rate, some: Sequence[Asked]) -> str:
    _, sorts, holds = rate
    of = [[holds(one) for one in some if one.sort in sorts and one.half == half] for half in "AB"]
    return " / ".join(f"{fmean(held):.3f}" if held else "–" for held in of)
