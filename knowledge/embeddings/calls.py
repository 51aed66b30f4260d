"""Calls of an embedder: with retries for workers, without for questions. All pass the circuit and the budget."""

import hashlib
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import contextmanager, suppress
from threading import Thread
from time import sleep
from typing import Any

import structlog
from django.core.cache import cache

from knowledge.embeddings import budget
from knowledge.embeddings.providers import (
    BATCH_SECONDS,
    LARGEST_BATCH,
    Embedded,
    Embedder,
    EmbedderBroken,
    EmbedderDown,
    EmbedderError,
    TextsRefused,
    TokenEmbedder,
    provider,
)

PAUSES = (1.0, 2.0, 4.0)
"""Seconds before each retry of a batch."""
LONGEST_PAUSE = 10.0
"""A worker does not sleep longer than this. For an embedder that asks for more the circuit opens instead."""
QUERY_SECONDS = 2.0
"""A user waits. Where processes share no cache, each of them loses three times as much before its circuit opens."""
FAILURES = 3
SHORTEST = 15.0
"""Seconds that the circuit is open the first time. Each failed probe doubles them, up to LONGEST."""
LONGEST = 600.0

_PROBE = 60
"""Seconds after which another call may probe: the process of the first may have been killed before it reported."""
_REMEMBERED = 3600
"""Seconds that a count of failures is kept, longer than the circuit is ever open."""

log = structlog.get_logger()


class Circuit:
    """The circuit of one space: closed (all calls pass), open (none passes), or half-open (one call probes).

    After three failures in a row no process calls the embedder for a while. The state is in the cache, so that web and
    workers share it where the cache is shared. One that was lost or has expired means a closed circuit: the next three
    failures open it again.
    """

    def __init__(self, space: str) -> None:
        # Hashed, because a model's name may have characters that a cache key may not.
        name = f"embedding-circuit:{hashlib.sha256(space.encode()).hexdigest()[:16]}"
        self._keys = {part: f"{name}:{part}" for part in ("open", "probe", "trips", "failures")}
        self._kept: Mapping[str, Any] = {}

    def is_open(self) -> bool:
        """Return whether calls are refused now. A half-open circuit is no longer open."""
        return cache.get(self._keys["open"]) is not None

    def admits(self) -> bool:
        """Return whether the caller may call now. While half-open, only the first caller may: others would all wait."""
        self._kept = cache.get_many(self._keys.values())
        if self._keys["open"] in self._kept:
            return False
        return not self._kept.get(self._keys["trips"]) or cache.add(self._keys["probe"], True, timeout=_PROBE)

    def note_success(self) -> None:
        """Close the circuit where the call was admitted after failures, because the embedder has answered."""
        if self._kept:
            self.close()

    def close(self) -> None:
        """Let all calls pass, and forget the failures."""
        cache.delete_many(self._keys.values())

    def note_failure(self, retry_after: float | None = None) -> None:
        """Count a failure. The third in a row opens the circuit for 15 seconds; a failed probe doubles the time.

        An embedder that sent a `Retry-After` is not called until then, ten minutes at most.
        """
        if self.is_open():  # A call that began before the circuit opened has failed as well: not another failed probe.
            return
        pause = retry_after or 0.0
        if cache.get(self._keys["trips"]) or self._count("failures") >= FAILURES:
            pause = max(pause, SHORTEST * 2 ** min(self._count("trips") - 1, 10))
        if pause:
            cache.set(self._keys["open"], True, timeout=min(LONGEST, pause))
            cache.delete(self._keys["probe"])

    def _count(self, part: str) -> int:
        cache.add(self._keys[part], 0, timeout=_REMEMBERED)
        try:
            return cache.incr(self._keys[part])
        except ValueError:  # It expired between the two lines.
            return 1


class CircuitOpen(EmbedderError):
    """The embedder failed so often that it is not called for a while. Nothing was sent."""


def embed_batch(embedder: Embedder, texts: Sequence[str], *, sleep: Callable[[float], object] = sleep) -> Embedded:
    """Return the vectors of 1 to 100 texts, for a worker: up to three retries, after 1, 2 and 4 seconds.

    That can take two minutes, so hold neither a lock nor a transaction meanwhile. The circuit counts all tries as one.

    Raises:
        CircuitOpen, BudgetSpent: nothing was sent; leave the texts for a later sweep.
        EmbedderDown, EmbedderBroken: no vectors; leave the texts for a later sweep.
        TextsRefused: send each text alone, to find out which one is refused.
    """
    if not 1 <= len(texts) <= LARGEST_BATCH:
        raise ValueError(f"A batch has 1 to {LARGEST_BATCH} texts, not {len(texts)}.")
    with _pass_circuit(embedder):
        if embedder.is_paid:
            budget.pay(texts, share=budget.SHARE_OF_BATCHES)
        return _try_again(lambda: _embed(embedder, texts, BATCH_SECONDS), sleep)


def embed_query(embedder: Embedder, query: str) -> Embedded:
    """Embed a question while a user waits: one try of two seconds, none while the circuit is open.

    Raises:
        EmbedderError: of any kind; search by keyword alone then, and say so.
    """
    with _pass_circuit(embedder):
        if embedder.is_paid:
            budget.pay([query])
        return _embed(embedder, [query], QUERY_SECONDS)


def _embed(embedder: Embedder, texts: Sequence[str], timeout: float) -> Embedded:
    if isinstance(embedder, TokenEmbedder):
        return embedder.embed_tokens(texts)
    return Embedded(embedder.embed(texts, timeout=timeout))


def embed_question(query: str) -> Embedded:
    """Return the vector of a question, and its tokens as it is searched for.

    Raises:
        EmbedderError: search by keyword alone then, and say so.
    """
    embedder = provider()
    embedded = embed_query(embedder, query)
    return embedder.weigh_question(query, embedded) if isinstance(embedder, TokenEmbedder) else embedded


def warm_up() -> None:
    """Let a server of models load ours, so that the next question does not wait for that.

    Call it when a question is likely soon. An embedder that costs money is left alone, and so is one of this process,
    which has its model. A failure is not reported: the question itself will meet it.
    """
    embedder = provider()
    if not (embedder.is_paid or embedder.is_local):
        Thread(target=_embed_quietly, args=[embedder], daemon=True).start()


def _embed_quietly(embedder: Embedder) -> None:
    with suppress(EmbedderError):
        embedder.embed(["warm up"], timeout=QUERY_SECONDS)


def _try_again(ask: Callable[[], Embedded], sleep: Callable[[float], object]) -> Embedded:
    for pause in PAUSES:
        try:
            return ask()
        except EmbedderDown as error:
            seconds = max(pause, error.retry_after or 0)
            if seconds > LONGEST_PAUSE:
                raise
            sleep(seconds)
    return ask()


@contextmanager
def _pass_circuit(embedder: Embedder) -> Iterator[None]:
    """Check the circuit before the call, and report the outcome to it."""
    circuit = Circuit(embedder.space)
    if not circuit.admits():
        raise CircuitOpen("The embedder failed several times in a row and is left alone for a while.")
    try:
        yield
    except (EmbedderDown, EmbedderBroken) as error:
        circuit.note_failure(getattr(error, "retry_after", None))
        about = {"space": embedder.space, "reason": error.reason, "circuit_open": circuit.is_open()}
        log.warning("The embedder failed.", outage="embedder", **about)
        raise
    except TextsRefused:
        circuit.note_success()  # It answered: the texts are at fault.
        raise
    else:
        circuit.note_success()
