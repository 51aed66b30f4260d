"""What a reranker can bring: the small memories, asked without one, and with a stand-in that knows the answers."""

import json
from collections.abc import Iterator
from contextlib import contextmanager
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from statistics import median
from threading import Thread

from django.conf import settings

from accounts.actor import Actor
from accounts.people.users import add_user
from benchmarks.retrieval.small import ANSWERABLE, SmallMemory, read_memories, remember
from benchmarks.rows import took
from knowledge.models import Passage
from knowledge.recall.recall import recall

SORTS = (*ANSWERABLE, "lang")
Asked = tuple[str, int | None, float]


def measure() -> list[str]:
    """Return how often the answer comes first and among three, without and with the stand-in, for each half."""
    knows: dict[str, set[str]] = {}
    without, reranked = list[Asked](), list[Asked]()
    with _standing_in(knows) as url:
        for memory in read_memories():
            actor = Actor.of(add_user(f"reranked-{memory.name}".lower()))
            ids = remember(actor, memory)
            knows |= _answers(memory, ids)
            settings.RERANK_URL = ""
            without += _ask(actor, memory, ids)
            settings.RERANK_URL = url
            reranked += _ask(actor, memory, ids)
    settings.RERANK_URL = ""
    lines = ["| small memories | half | first | among three | a recall, p50 |", "|---|---|---|---|---|"]
    for name, asked in (("without a reranker", without), ("with one that knows the answers", reranked)):
        for half in "AB":
            places = [place for of, place, _ in asked if of == half]
            rates = [sum(place is not None and place < most for place in places) / len(places) for most in (1, 3)]
            taken = median(milliseconds for of, _, milliseconds in asked if of == half)
            lines.append(f"| {name} | {half}, {len(places)} | {rates[0]:.1%} | {rates[1]:.1%} | {taken:.0f} ms |")
    return lines


def _answers(memory: SmallMemory, ids: dict[tuple[str, str], str]) -> dict[str, set[str]]:
    """Return for each question the texts of the passages that answer it."""
    texts: dict[str, set[str]] = {}
    for (kind, id), name in ids.items():
        of_item = Passage.objects.filter(kind=kind, source_id=id)
        texts.setdefault(name, set()).update(passage.words for passage in of_item)
    return {
        question: {text for name in answers for text in texts.get(name, ())}
        for _, question, answers in memory.questions
    }


def _ask(actor: Actor, memory: SmallMemory, ids: dict[tuple[str, str], str]) -> Iterator[Asked]:
    for sort, question, answers in memory.questions:
        if sort in SORTS:
            shown: list[str | None] = []
            milliseconds = took(
                lambda: shown.extend(ids.get((hit.kind, hit.id)) for hit in recall(actor, query=question).items)  # noqa: B023
            )
            yield memory.half, next((at for at, name in enumerate(shown) if name in answers), None), milliseconds


@contextmanager
def _standing_in(knows: dict[str, set[str]]) -> Iterator[str]:
    """Serve a reranker as TEI does; it scores an answer 1 and any other text 0."""

    class StandIn(BaseHTTPRequestHandler):
        def do_POST(self) -> None:
            sent = json.loads(self.rfile.read(int(self.headers["Content-Length"])))
            answers = knows.get(sent["query"], set())
            scores = [{"index": at, "score": float(text in answers)} for at, text in enumerate(sent["texts"])]
            body = json.dumps(scores).encode()
            self.send_response(200)
            self.send_header("Content-Length", str(len(body)))
            self.end_headers()
            self.wfile.write(body)

        def log_message(self, *message: object) -> None: ...

    server = ThreadingHTTPServer(("127.0.0.1", 0), StandIn)
    Thread(target=server.serve_forever, daemon=True).start()
    try:
        yield f"http://127.0.0.1:{server.server_port}/rerank"
    finally:
        server.shutdown()
        server.server_close()
