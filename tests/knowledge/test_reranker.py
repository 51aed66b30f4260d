"""The optional reranker: its order counts while it answers, and nothing is lost when it does not."""

import json
from collections.abc import Callable, Iterator, Sequence
from http.server import BaseHTTPRequestHandler
from time import sleep
from typing import Any

import pytest
from django.core.cache import cache
from django.test import Client

from accounts.actor import Actor
from knowledge.indexing.embedding import embed_pending
from knowledge.memory.facts import store_fact
from knowledge.models import Fact, Passage
from knowledge.recall.recall import recall
from knowledge.recall.semantic_search import semantic_search
from knowledge.search import reranker
from tests.factories import make_actor
from tests.local_server import serve_http

pytestmark = pytest.mark.django_db

FACTS = [
    "The harbour office closes at noon on the harbour holiday.",
    "The harbour master is Ines.",
    "Harbour fees are paid by the shipper.",
]
QUESTION = "harbour"
Scores = Sequence[float]


class Endpoint:
    """A reranker on this machine that scores as a test says, in the words of one of its makers."""

    def __init__(self) -> None:
        self.score: Callable[[str], float] = len
        self.answer: Callable[[Scores], Any] = in_cohere
        self.status = 200
        self.pause = 0.0
        self.asked: list[dict[str, Any]] = []

    def handler(self) -> type[BaseHTTPRequestHandler]:
        endpoint = self

        class Handler(BaseHTTPRequestHandler):
            def do_POST(self) -> None:
                sent = json.loads(self.rfile.read(int(self.headers["Content-Length"])))
                endpoint.asked.append({**sent, "key": self.headers["Authorization"]})
                texts = sent.get("documents") or sent["texts"]
                body = json.dumps(endpoint.answer([endpoint.score(text) for text in texts])).encode()
                self.send_response(endpoint.status)
                self.send_header("Content-Length", str(len(body)))
                self.end_headers()
                sleep(endpoint.pause)
                self.wfile.write(body)

            def log_message(self, *message: object) -> None: ...

        return Handler


def in_cohere(scores: Scores) -> Any:
    """As Cohere, Jina and vLLM answer: the best first."""
    rows = [{"index": number, "relevance_score": score} for number, score in enumerate(scores)]
    return {"results": sorted(rows, key=lambda row: -row["relevance_score"])}


def in_tei(scores: Scores) -> Any:
    """As TEI answers."""
    return [{"index": number, "score": score} for number, score in enumerate(scores)]


NONSENSE: dict[str, Callable[[Scores], Any]] = {
    "an error": lambda scores: {"error": "no model"},
    "too few": lambda scores: in_tei(scores[1:]),
    "twice the same": lambda scores: [{"index": 0, "score": score} for score in scores],
    "one that was not sent": lambda scores: [{"index": at + 1, "score": score} for at, score in enumerate(scores)],
    "no numbers": lambda scores: [{"index": at, "score": None} for at, _ in enumerate(scores)],
    "numbers that are none": lambda scores: in_tei([float("nan")] * len(scores)),
    "nothing": lambda scores: None,
    "a text": lambda scores: "fine",
}


@pytest.fixture
def actor() -> Actor:
    actor = make_actor()
    for fact in FACTS:
        store_fact(actor, category="codebase", fact=fact)
    embed_pending()
    return actor


@pytest.fixture
def endpoint(settings: Any) -> Iterator[Endpoint]:
    cache.clear()
    endpoint = Endpoint()
    with serve_http(endpoint.handler()) as server:
        settings.RERANK_URL = f"http://127.0.0.1:{server.server_port}/rerank"
        settings.RERANK_MODEL = settings.RERANK_API_KEY = ""
        yield endpoint
    cache.clear()


def _found(actor: Actor) -> list[str]:
    return [hit.excerpt for hit in semantic_search(actor, query=QUESTION).items]


@pytest.mark.parametrize("answer", [in_cohere, in_tei])
@pytest.mark.parametrize("fact", FACTS)
def test_what_it_puts_first_is_first(actor: Actor, endpoint: Endpoint, answer: Any, fact: str) -> None:
    endpoint.answer = answer
    endpoint.score = lambda text: 1.0 if fact in text else 0.0

    hits = semantic_search(actor, query=QUESTION).items
    everything = recall(actor, query=QUESTION).items

    assert hits[0].excerpt == everything[0].excerpt == fact
    assert [hit.score for hit in hits] == sorted((hit.score for hit in hits), reverse=True)
    assert len(hits) == len(FACTS)


def test_it_is_asked_in_the_words_of_its_maker(actor: Actor, endpoint: Endpoint, settings: Any) -> None:
    _found(actor)
    settings.RERANK_MODEL, settings.RERANK_API_KEY = "rerank-v3.5", "a key"
    _found(actor)

    as_tei, as_cohere = endpoint.asked
    assert as_tei.keys() == {"query", "texts", "key"}
    assert as_tei["key"] is None
    assert as_cohere.keys() == {"model", "query", "documents", "key"}
    assert (as_cohere["model"], as_cohere["key"], as_cohere["query"]) == ("rerank-v3.5", "Bearer a key", QUESTION)


def test_each_page_is_cut_out_of_one_order(actor: Actor, endpoint: Endpoint) -> None:
    endpoint.score = lambda text: -len(text)

    pages = [semantic_search(actor, query=QUESTION, limit=1, offset=offset).items[0].excerpt for offset in range(3)]

    assert pages == sorted(FACTS, key=len)


@pytest.mark.parametrize("answer", NONSENSE.values(), ids=NONSENSE)
def test_nonsense_leaves_the_order_and_is_said(actor, endpoint, settings, answer):
    endpoint.answer = answer

    reply, url = semantic_search(actor, query=QUESTION), settings.RERANK_URL
    settings.RERANK_URL = ""

    assert reply.notice == "Not reranked: the answer of the reranker has no score for each text."
    assert [hit.excerpt for hit in reply.items] == _found(actor)
    assert url


@pytest.mark.parametrize("trouble", ["away", "slow", "503"])
def test_without_it_the_order_is_the_one_before(actor, endpoint, settings, monkeypatch, trouble):
    if trouble == "away":
        settings.RERANK_URL = "http://127.0.0.1:9/rerank"
    monkeypatch.setattr(reranker, "SECONDS", 0.2)
    endpoint.pause, endpoint.status = (1.0, 200) if trouble == "slow" else (0.0, 503)

    replies = [semantic_search(actor, query=QUESTION) for _ in range(4)]
    ready = Client().get("/readyz")
    settings.RERANK_URL = ""
    before = _found(actor)

    assert all([hit.excerpt for hit in reply.items] == before for reply in replies)
    assert all(reply.notice.startswith("Not reranked: the reranker ") and not reply.fallback for reply in replies)
    assert "left alone for a while" in replies[3].notice
    assert ready.status_code == 200
    assert "does not answer" in ready.json()["checks"]["reranker"]["trouble"]


def test_of_facts_about_the_same_the_newest_stays_first(endpoint: Endpoint) -> None:
    actor = make_actor()
    for day in ("Thursday", "Friday", "Monday"):
        store_fact(actor, category="codebase", fact=f"The release of the harbour robot is on {day}.")
    embed_pending()
    endpoint.score = lambda text: 1.0 if "Thursday" in text else 0.0

    hits = semantic_search(actor, query="when is the harbour robot released").items

    assert endpoint.asked
    assert [hit.excerpt.split()[-1] for hit in hits] == ["Monday.", "Friday.", "Thursday."]


def test_a_paid_one_is_left_alone_once_the_budget_of_the_day_is_spent(actor, endpoint, settings):
    settings.EMBEDDING_DAILY_TOKENS, settings.RERANK_API_KEY = 10, "a key"

    first, second = [semantic_search(actor, query=QUESTION) for _ in range(2)]
    settings.RERANK_API_KEY = ""
    free = semantic_search(actor, query=QUESTION)

    assert first.notice == free.notice == ""
    assert "the budget of today is spent (BIGMIND_EMBEDDING_DAILY_TOKENS)" in second.notice
    assert len(endpoint.asked) == 2
    assert len(second.items) == len(FACTS)


def test_secrets_are_not_sent(actor: Actor, endpoint: Endpoint) -> None:
    secret = "ghp_" + "q8Zt4vKc2LmX9rWb7NsJ5yHd3PfG6aEu1TiQ"
    fact = store_fact(actor, category="codebase", fact="The harbour robot signs in by itself.").fact
    Fact.objects.filter(pk=fact.pk).update(fact=f"The harbour robot signs in with {secret}.")

    Passage.objects.filter(source_id=str(fact.pk)).update(text=f"The harbour robot signs in with {secret}.")

    semantic_search(actor, query=f"harbour robot {secret}")

    assert "harbour robot" in endpoint.asked[0]["query"]
    assert any("harbour robot" in text for text in endpoint.asked[0]["texts"])
    assert secret not in json.dumps(endpoint.asked)


def test_what_was_said_when_the_question_says_stays_before_what_was_not(actor: Actor, endpoint: Endpoint) -> None:
    endpoint.score = lambda text: -len(text)

    semantic_search(actor, query="What did we decide about the harbour yesterday?")

    assert endpoint.asked == []


def test_nobody_else_s_texts_are_sent(actor: Actor, endpoint: Endpoint) -> None:
    store_fact(make_actor(), category="codebase", fact="The harbour of another person is full.")

    _found(actor)

    assert "another person" not in json.dumps(endpoint.asked)
