"""What search costs at 100,000 passages, what its indexes miss, and what it takes to bring knowledge in."""

import asyncio
from collections.abc import Callable, Iterable
from statistics import median
from time import perf_counter
from typing import Any
from uuid import uuid4

import httpx
import psutil
from django.db import connection, transaction
from pgvector import HalfVector

from accounts.actor import Actor
from accounts.keys import create_key
from accounts.people.users import add_user
from benchmarks.calls import agent, in_turns, served
from benchmarks.library import Library, copy_rows, fill
from benchmarks.rows import row, took
from knowledge.embeddings.providers import provider
from knowledge.indexing.embedding import space_of
from knowledge.kb.entry_imports import NewEntry, import_entries
from knowledge.kb.entry_reading import search_entries
from knowledge.models import EmbeddingSpace, Entry, Kind
from knowledge.search import hybrid
from knowledge.search.candidates import find_candidates
from knowledge.search.filters import Filters, scope_of_owner, scopes_of
from knowledge.search.frequencies import forget_statistics
from knowledge.search.indexes import keep_indexes
from knowledge.search.retrievers import retrieve_by_meaning, tune
from knowledge.search.spelling import forget_vocabularies

SMALL, LARGE = 10_000, 100_000
OWNERS, OF_EACH = 1_000, 50
OWN = 20_000
"""Facts of who asks, as after some years of use: a search for what is shared must not pay for them."""
QUESTIONS = 60
IMPORTED = 10_000
"""Bulk imports come in calls of 1,000."""
TEXTS = 100


def measure() -> list[str]:
    """Measure with the built-in model; the vectors of the passages are mixtures of what it made of texts."""
    library = Library()
    rows = [*_model(library), _import(library)]
    Entry.objects.all().delete()
    actor = Actor.of(add_user("reader"))
    fill(library, SMALL)
    fill(library, OWN, owners=[actor.user])
    small = _search(library, actor)
    space = fill(library, LARGE - SMALL)
    began = perf_counter()
    keep_indexes()
    built = perf_counter() - began
    forget_statistics()
    forget_vocabularies()
    large = _search(library, actor)
    rows += [_growth(small, large), *_over_mcp(library, actor), *_recall(library, space, built)]
    return rows


def _model(library: Library) -> list[str]:
    """The built-in model on one core: its linear algebra is held to one thread."""
    embedder = provider()
    texts = [library.text() for _ in range(TEXTS)]
    embedder.embed(texts[:10])
    began = perf_counter()
    for at in range(0, TEXTS, 50):
        embedder.embed(texts[at : at + 50])
    rate = TEXTS / (perf_counter() - began)
    query = median(_taken(lambda question: embedder.embed([question]), _questions(library)))
    said = f"texts of {sum(map(len, texts)) // TEXTS} characters on average, in batches of 50"
    return [
        row("texts a second, built-in model, one core", f"{rate:.0f}", "≥ 40", said, met=rate >= 40),
        row("embedding one question, built-in model", f"{query:.1f} ms", "≤ 12 ms", "p50", met=query <= 12),
    ]


def _import(library: Library) -> str:
    """Both are taken twice, in turns, and the better counts; what is imported is deleted in between."""
    actor, space = Actor.of(add_user("importer")), space_of(provider())
    best = {"import": 0.0, "copy": 0.0}
    for _ in range(2):
        texts = [f"{library.text()} {uuid4()}" for _ in range(IMPORTED)]
        new = [NewEntry(content=text, tags=["bench"]) for text in texts]
        best["import"] = max(best["import"], IMPORTED / _seconds(lambda: _in_thousands(actor, new)))  # noqa: B023
        _empty()
        best["copy"] = max(best["copy"], IMPORTED / _seconds(lambda: copy_rows(texts, space)))  # noqa: B023
        _empty()
    share = best["import"] / best["copy"]
    return row(
        f"bulk import of {IMPORTED:,} entries, without embedding, against COPY into the same tables",
        f"{share:.0%}",
        "≥ 50 %",
        f"{best['import']:,.0f} against {best['copy']:,.0f} entries/s, `import_entries` in calls of 1,000",
        met=share >= 0.5,
    )


def _in_thousands(actor: Actor, new: list[NewEntry]) -> None:
    for at in range(0, len(new), 1_000):
        assert import_entries(actor, entries=new[at : at + 1_000]).imported == 1_000


def _search(library: Library, actor: Actor) -> float:
    return median(_taken(lambda question: search_entries(actor, query=question), _questions(library)))


def _growth(small: float, large: float) -> str:
    ratio = large / small
    said = f"`kb_search` in the process, p50 {large:.1f} ms against {small:.1f} ms"
    what = f"search time, {LARGE:,} passages against {SMALL:,}"
    return row(what, f"{ratio:.2f} ×", "≤ 2 ×", said, met=ratio <= 2)


def _over_mcp(library: Library, actor: Actor) -> list[str]:
    """In turns, so both meet the same machine; with questions of their own, so neither warms the other's pages."""
    key = create_key(actor.user).text
    rows = []
    with served("bigmind.asgi:application") as url:
        for tool in ("kb_search", "memory_semantic_search"):
            bare, called, resident = asyncio.run(_asked(url, key, tool, actor, library))
            ratio = called / bare
            rows.append(
                row(
                    f"`{tool}` over MCP at {LARGE:,} passages, against embedding the query and the bare SQL",
                    f"{ratio:.2f} ×",
                    "≤ 1.5 ×",
                    f"p50 {called:.1f} ms against {bare:.1f} ms; in a session, {OWN:,} own facts; Zipf’s law",
                    met=ratio <= 1.5,
                )
            )
    what = "memory of the web process with the model loaded"
    return [*rows, row(what, f"{resident:.0f} MB", "< 400 MB", "resident, after these calls", met=resident < 400)]


async def _asked(url: str, key: str, tool: str, actor: Actor, library: Library) -> tuple[float, float, float]:
    async with agent(f"{url}?toolsets=core,kb", key) as call:
        await call("memory_start_session", {"topics": ["search"]})  # As agents do: what is asked is noted there.
        taken = [
            await in_turns(
                lambda: call(tool, {"query": question}),  # noqa: B023
                lambda: _bare(another, actor, tool),  # noqa: B023
            )
            for question, another in [(question, library.question()) for question in _questions(library)]
        ]
    called, bare = zip(*taken[QUESTIONS // 10 :], strict=True)
    return median(bare), median(called), _resident(url)


def _bare(question: str, actor: Actor, tool: str) -> None:
    """Embed a question, and send the SQL of both arms, with the tool's filters: no texts are read, nothing is fused."""
    sure = {Kind.ENTRY: Entry.objects.filter(confidence__gte=0.5)}
    filters = {
        "kb_search": Filters([Kind.ENTRY], eligible=sure),
        "memory_semantic_search": Filters(list(Kind.values)),
    }
    asked = hybrid.understand(question, owner=actor.user)
    with transaction.atomic(), tune(hybrid._SHORT):
        find_candidates(asked, filters[tool], scopes_of(actor.user, filters[tool].kinds))


def _recall(library: Library, space: EmbeddingSpace, built: float) -> list[str]:
    """Recall of the ten nearest, through what search uses against looking at every vector."""
    tagged = {Kind.ENTRY: Entry.objects.filter(tags__contains=["tag-3"])}
    sure = {Kind.ENTRY: Entry.objects.filter(confidence__gte=0.5)}
    cases = {
        "all": Filters([Kind.ENTRY]),
        "confidence ≥ 0.5, 6 of 7": Filters([Kind.ENTRY], eligible=sure),
        "one tag, 1 of 100": Filters([Kind.ENTRY], eligible=tagged),
    }
    questions = [HalfVector(vector.tolist()) for vector in library.vectors(QUESTIONS)]
    shared = {name: _found(space, filters, questions, owner=None) for name, filters in cases.items()}
    worst = min(shared.values())
    owners = [add_user(f"owner-{number}") for number in range(OWNERS)]
    fill(library, OWNERS * OF_EACH, owners=owners)
    alone = _found(space, Filters([Kind.FACT]), questions, owner=owners[OWNERS // 2])
    said = ", ".join(f"{name}: {recall:.3f}" for name, recall in shared.items())
    return [
        row(
            f"recall@10 of vectors, one user among {OWNERS:,} with {OF_EACH} passages each",
            f"{alone:.3f}",
            "≥ 0.99",
            "against the exact answer",
            met=alone >= 0.99,
        ),
        row(
            f"recall@10 of vectors, {LARGE:,} shared passages, under filters",
            f"{worst:.3f}",
            "≥ 0.99",
            f"{said}; index built in {built:.0f} s",
            met=worst >= 0.99,
        ),
    ]


def _found(space: EmbeddingSpace, filters: Filters, questions: list[HalfVector], *, owner: Any) -> float:
    scope = scope_of_owner(owner)
    shares = []
    for vector in questions:
        with transaction.atomic():
            few = scope.is_large and filters.leave_few(scope)
            found = {one.passage for one in retrieve_by_meaning(vector, space, filters, scope, few=few)[:10]}
            nearest = _by_comparing(vector, space, filters, owner)
        shares.append(len(found & nearest) / len(nearest))
    return sum(shares) / len(shares)


def _by_comparing(vector: HalfVector, space: EmbeddingSpace, filters: Filters, owner: Any) -> set[int]:
    """The ten nearest among all that pass, without anything that search does."""
    sources = next(iter((filters.eligible or {}).values()), None)
    with connection.cursor() as cursor:
        cursor.execute(
            "SELECT passage_id FROM knowledge_passagevector AS vector JOIN knowledge_passage AS passage"
            " ON passage.id = passage_id WHERE space_id = %s AND vector.owner_id IS NOT DISTINCT FROM %s"
            " AND (%s::text[] IS NULL OR source_id = ANY(%s)) ORDER BY vector <=> %s LIMIT 10",
            [space.pk, owner and owner.pk, *[_texts(sources)] * 2, vector.to_text()],
        )
        return {number for (number,) in cursor.fetchall()}


def _texts(sources: Any) -> list[str] | None:
    return None if sources is None else [str(pk) for pk in sources.values_list("pk", flat=True)]


def _questions(library: Library) -> list[str]:
    return [library.question() for _ in range(QUESTIONS)]


def _taken(work: Callable[[str], object], questions: Iterable[str]) -> list[float]:
    taken = [took(lambda: work(question)) for question in questions]  # noqa: B023
    return taken[len(taken) // 10 :]


def _seconds(work: Callable[[], object]) -> float:
    return took(work) / 1000


def _empty() -> None:
    with connection.cursor() as cursor:
        cursor.execute("TRUNCATE knowledge_entry, knowledge_passage CASCADE")


def _resident(url: str) -> float:
    port = httpx.URL(url).port
    serving = next(one for one in psutil.net_connections("tcp") if one.laddr and one.laddr.port == port and one.pid)
    return float(psutil.Process(serving.pid).memory_info().rss) / 2**20
