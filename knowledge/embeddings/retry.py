"""Calls of an embedder: with retries for workers, without for questions. Both pass the circuit and the budget."""

from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager, suppress
from threading import Thread
from time import sleep

import structlog

from knowledge.embeddings import budget
from knowledge.embeddings.circuit import Circuit
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

log = structlog.get_logger()


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
