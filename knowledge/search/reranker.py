"""The optional reranker: an endpoint that reads a question beside each of the best texts, and puts these in order.

It speaks `/rerank` as Cohere, Jina and vLLM do (a model, `documents`), or without a model as TEI does (`texts`).
"""

import json
import math
from collections.abc import Sequence
from contextlib import suppress
from dataclasses import replace
from typing import Any

import httpx
import structlog
from django.conf import settings

from bigmind.network.http_clients import client_for, deadline
from bigmind.privacy.screening.redaction import redact
from knowledge.embeddings.budget import SHARE_OF_BATCHES, BudgetSpent, pay
from knowledge.embeddings.calls import Circuit
from knowledge.search.findings import Finding, Findings
from knowledge.search.newest_first import put_newest_first
from knowledge.search.ranking import RERANKED

SECONDS = 1.0
"""A user waits, and has an order already."""
TEXT_CHARS = 2_000
"""So much of each text is sent: rerankers read some hundred words."""

log = structlog.get_logger()


class RerankerError(Exception):
    """There is no other order. It says why in one sentence, without any of the texts or the key."""


def reranker_error() -> str:
    """Say that the endpoint is left alone because it failed; nothing where it works."""
    return "does not answer; search goes on in its own order" if _circuit().is_open() else ""


def rerank(query: str, found: Sequence[Findings]) -> list[Findings]:
    """Put the best of all that was found in the order of the endpoint; without one leave the order, and say why.

    The scores stay those that were there, handed out in the new order: a score goes on meaning the same. What the
    endpoint cannot know decides before it: where the question names a time, when it was said; of facts that are about
    the same, which is the newest.
    """
    ranked = [(item, number) for number, one in enumerate(found) for item in one.items]
    ranked.sort(key=lambda pair: -pair[0].score)
    best, rest = ranked[:RERANKED], ranked[RERANKED:]
    if len(best) < 2 or any(one.period for one in found):
        return list(found)
    try:
        order = _newest_first(ask_order(query, [item.text for item, _ in best]), [item for item, _ in best])
    except RerankerError as error:
        log.warning("Search keeps its own order.", outage="reranker", reason=str(error))
        return [replace(one, unranked=str(error)) for one in found]
    moved = [
        (replace(best[number][0], score=old.score), best[number][1])
        for number, (old, _) in zip(order, best, strict=True)
    ]
    return [
        replace(one, items=[item for item, of in [*moved, *rest] if of == number]) for number, one in enumerate(found)
    ]


def _newest_first(order: Sequence[int], items: Sequence[Finding]) -> list[int]:
    ages = {number: (item.created_at, int(item.source_id)) for number, item in enumerate(items) if item.same}
    pairs = {frozenset((one, two)) for one in ages for two in ages if items[two].source_id in items[one].same}
    return put_newest_first(order, ages, pairs)


def ask_order(query: str, texts: Sequence[str]) -> list[int]:
    """Return the numbers of the texts in the order of the endpoint, the best first. Secrets are not sent.

    What a paid one reads counts into the daily budget of embedders, of which it leaves a rest for questions.

    Raises:
        RerankerError: the endpoint is away, slow, or answers nonsense, or the budget is spent.
    """
    asked, sent = redact(query), [redact(text[:TEXT_CHARS]) for text in texts]
    named = {"model": settings.RERANK_MODEL, "query": asked, "documents": sent}
    circuit = _circuit()
    if not circuit.admits():
        raise RerankerError("the reranker failed several times in a row and is left alone for a while.")
    try:
        if settings.RERANK_API_KEY:
            pay([asked, *sent], share=SHARE_OF_BATCHES)
    except BudgetSpent as error:
        raise RerankerError("the budget of today is spent (BIGMIND_EMBEDDING_DAILY_TOKENS).") from error
    try:
        answer = _post(named if settings.RERANK_MODEL else {"query": asked, "texts": sent})
        scores = _read_scores(answer, len(texts))
    except RerankerError:
        circuit.note_failure()
        raise
    circuit.note_success()
    return sorted(range(len(texts)), key=lambda number: (-scores[number], number))


def _post(body: dict[str, Any]) -> bytes:
    sent, answer = {"Accept-Encoding": "identity"}, b""
    if settings.RERANK_API_KEY:
        sent["Authorization"] = f"Bearer {settings.RERANK_API_KEY}"
    try:
        with (
            deadline(SECONDS),
            client_for(settings.RERANK_URL).stream("POST", settings.RERANK_URL, json=body, headers=sent) as response,
        ):
            for part in response.iter_raw():
                answer += part
                if len(answer) > RERANKED * TEXT_CHARS:
                    raise RerankerError("the reranker answered at too great a length.")
    except httpx.TimeoutException as error:
        raise RerankerError("the reranker did not answer in time.") from error
    except (httpx.HTTPError, httpx.InvalidURL) as error:
        raise RerankerError("the reranker cannot be reached.") from error
    if response.status_code != httpx.codes.OK:
        raise RerankerError(f"the reranker answered {response.status_code}.")
    return answer


def _read_scores(answer: bytes, count: int) -> dict[int, float]:
    with suppress(ValueError, TypeError, KeyError, AttributeError, RecursionError):
        read: Any = json.loads(answer)
        rows = read["results"] if isinstance(read, dict) else read
        scores = {row["index"]: float(row.get("relevance_score", row.get("score"))) for row in rows}
        if len(rows) == count and scores.keys() == set(range(count)) and all(map(math.isfinite, scores.values())):
            return scores
    raise RerankerError("the answer of the reranker has no score for each text.")


def _circuit() -> Circuit:
    return Circuit(f"rerank:{settings.RERANK_URL}:{settings.RERANK_MODEL}")
