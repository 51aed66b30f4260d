"""T18: another embedding model, under load: search always answers, and at the end every vector is of the new model."""

import time
from collections import Counter
from collections.abc import Iterator
from contextlib import ExitStack, contextmanager
from dataclasses import dataclass
from itertools import count
from pathlib import Path

import httpx
import pytest

from knowledge.embeddings.hashing import Hashing
from tests.embedded.instance import eventually
from tests.growing.compose import Service
from tests.growing.server import TwoRoles, two_roles
from tests.knowledge.embeddings.endpoint import Answer, Endpoint
from tests.redis_server import RedisServer
from tests.torture.day import Day, at_work
from tests.torture.scale import AGENTS, PATIENCE, STORED_BEFORE

pytestmark = pytest.mark.torture

OLD, NEW = Hashing(384), Hashing(256)
SECONDS_FOR_A_BATCH = 0.2
MADE_WITHIN = 600.0
READY = "Ctrl-C stops it"
_VECTORS = """
SELECT space.name, space.active_since IS NOT NULL, vector_dims(made.vector), count(*)
FROM knowledge_passage AS passage LEFT JOIN knowledge_passagevector AS made ON made.passage_id = passage.id
LEFT JOIN knowledge_embeddingspace AS space ON space.id = made.space_id GROUP BY 1, 2, 3
"""


class Proxy(httpx.BaseTransport):
    """What stands before the web processes: whoever does not listen, or breaks off because it ends, is passed over.

    A write has a key (`Idempotency-Key`), so it may be sent again.
    """

    def __init__(self) -> None:
        self.webs: list[Service] = []
        self._turn = count()
        self._transport = httpx.HTTPTransport(limits=httpx.Limits(max_keepalive_connections=0))

    def handle_request(self, request: httpx.Request) -> httpx.Response:
        """Send a request to the next one that takes it."""
        begin = next(self._turn)
        webs = self.webs[:]
        for place in range(len(webs)):
            request.url = request.url.copy_with(port=webs[(begin + place) % len(webs)].port)
            try:
                return self._transport.handle_request(request)
            except (httpx.ConnectError, httpx.ReadError, httpx.RemoteProtocolError):
                continue
        raise httpx.ConnectError("No web process answers.", request=request)


@dataclass
class Company:
    """Two web processes and two workers, of which each is restarted by itself."""

    server: TwoRoles
    folder: Path
    given: dict[str, str]
    webs: list[Service]
    workers: list[Service]
    scheduler: Service
    proxy: Proxy

    def client(self) -> httpx.Client:
        """Return a client of whichever web process listens."""
        key = next(web.key for web in self.webs if "bm_" in web.printed)
        headers = {"Authorization": f"Bearer {key}"}
        url = f"{self.webs[0].url}/api/v1/"
        return httpx.Client(base_url=url, headers=headers, timeout=PATIENCE, transport=self.proxy)

    def vectors(self) -> Counter[tuple[str, bool, int]]:
        """Return how many passages have a vector of which space, whether it is in use, and how long they are."""
        with self.server.as_owner() as owner:
            return Counter({(name, used, dims): n for name, used, dims, n in owner.execute(_VECTORS).fetchall()})


@pytest.fixture
def endpoints() -> Iterator[tuple[Endpoint, Endpoint]]:
    """The endpoints of the old and the new model. The new one takes its time."""
    old = Answer(lambda texts: OLD.embed(texts).tolist())
    new = Answer(lambda texts: NEW.embed(texts).tolist(), delay=SECONDS_FOR_A_BATCH)
    with Endpoint(old) as first, Endpoint(new) as second:
        yield first, second


def test_agents_go_on_while_the_model_changes(endpoints, report, tmp_path):
    old, new = (_model(*one) for one in zip(endpoints, (OLD, NEW), ("old", "new"), strict=True))
    with _company(tmp_path, old) as company, company.client() as client:
        before = Day(client, "Before").rounds(STORED_BEFORE)
        eventually(lambda: _are_all_made(company, OLD.dimensions), within=MADE_WITHIN)
        with at_work(client, "Model changes", agents=AGENTS) as day:
            begun = time.monotonic()
            _restart_one_after_the_other(company, new)
            restarted = time.monotonic() - begun
            eventually(lambda: _are_all_in_use(company, NEW.dimensions), within=MADE_WITHIN)
            changed = time.monotonic() - begun
        eventually(lambda: _are_all_made(company, NEW.dimensions), within=MADE_WITHIN)
        eventually(lambda: not client.get("search/", params={"query": "router"}).json()["fallback"], within=PATIENCE)
        after = Day(client, "After").rounds(5)
        eventually(lambda: _are_all_made(company, NEW.dimensions), within=MADE_WITHIN)

        report(before.summary())
        report(f"{day().summary()}; fell back on words: {dict(day().fallbacks)}")
        report(f"restarted in {restarted:.0f} s, changed after {changed:.0f} s; {dict(company.vectors())}")
        assert [failure for one in (before, day(), after) for failure in one.failures] == []
        assert set(after.fallbacks) == {False}
        assert {(used, dims) for _, used, dims in company.vectors()} == {(True, NEW.dimensions)}


def _model(endpoint: Endpoint, embedder: Hashing, name: str) -> dict[str, str]:
    return {
        "BIGMIND_EMBEDDING_URL": endpoint.url,
        "BIGMIND_EMBEDDING_MODEL": name,
        "BIGMIND_EMBEDDING_DIMENSIONS": str(embedder.dimensions),
    }


@contextmanager
def _company(folder: Path, model: dict[str, str]) -> Iterator[Company]:
    """Run the parts of docker-compose.yml with a model."""
    with two_roles() as (server, homes), RedisServer(folder) as redis, ExitStack() as stack:
        given = {"BIGMIND_DATABASE_URL": server.application_url, "BIGMIND_REDIS_URL": redis.url}
        given |= {"BIGMIND_RATE_LIMIT": "0", "BIGMIND_DATABASE_OWNER_URL": server.owner_url}
        company = Company(server, homes, given, [], [], None, Proxy())
        stack.callback(lambda: [one.hurry() for one in (*company.webs, *company.workers, company.scheduler) if one])
        company.workers = [_started(company, "worker", model) for _ in range(2)]
        company.webs = company.proxy.webs = [_started(company, "web", model) for _ in range(2)]
        company.scheduler = _started(company, "scheduler", model)
        for web in company.webs:
            web.read_until(READY)
        yield company


def _started(company: Company, part: str, model: dict[str, str]) -> Service:
    number = next(_NUMBERS)
    return Service(part, company.folder / f"{part}-{number}", **company.given, **model).launch()


def _restart_one_after_the_other(company: Company, model: dict[str, str]) -> None:
    """One worker first and the other last: for a while both models have one."""
    first, last = company.workers
    company.workers[0] = _replaced(company, first, model)
    for place, web in enumerate(company.webs[:]):
        company.webs[place] = _replaced(company, web, model)
        eventually(company.webs[place].is_served, within=PATIENCE)
    company.scheduler = _replaced(company, company.scheduler, model)
    eventually(lambda: _are_all_in_use(company, NEW.dimensions), within=MADE_WITHIN)
    company.workers[1] = _replaced(company, last, model)


def _replaced(company: Company, service: Service, model: dict[str, str]) -> Service:
    service.stop()
    return _started(company, service.service, model)


def _are_all_made(company: Company, dimensions: int) -> bool:
    """Whether each passage has a vector of this length, and no other."""
    return {dims for _, _, dims in company.vectors()} == {dimensions}


def _are_all_in_use(company: Company, dimensions: int) -> bool:
    """Whether search uses vectors of this length; some that were written a moment ago may still wait."""
    return {dims for _, used, dims in company.vectors() if used} <= {dimensions, None}


_NUMBERS = count(1)
