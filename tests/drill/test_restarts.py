"""T59: each part is killed with work in hand, and comes back: nothing is lost, and all is at work within 15 s."""

import time
from collections.abc import Iterator
from contextlib import contextmanager

import pytest

from tests.drill.production import Production, Work, kill_process, kill_whole, production, silence
from tests.knowledge.embeddings.endpoint import Answer, Endpoint, Table
from tests.torture.disturbances import web_process
from tests.torture.scale import EMBEDDED_WITHIN
from tests.torture.vectors import RIGHT, right_vectors, settings_for

pytestmark = pytest.mark.drill

BACK_WITHIN = 15.0
STARTED_WITHIN = 30.0
"""A worker that is started from nothing imports first; meanwhile the other one works."""
SENT_WITHIN = 30.0
"""The scheduler sends every 15 s."""
PILED_UP = 1_200
SECONDS_OF_A_TEXT = 0.04
SILENT_SECONDS = 8.0
AWAY_SECONDS = 3.0


@pytest.fixture(scope="module")
def embedder() -> Iterator[Endpoint]:
    """Yield one that answers at once, until it is slowed down."""
    with Endpoint(RIGHT) as endpoint:
        yield endpoint


@pytest.fixture(scope="module")
def company(tmp_path_factory: pytest.TempPathFactory, embedder: Endpoint) -> Iterator[Production]:
    with production(tmp_path_factory.mktemp("redis"), **settings_for(embedder)) as whole:
        yield whole


def _a_web_process(whole: Production) -> None:
    web_process(whole.webs[0], "web-1")
    kill_process(whole.webs[0], "web-1")


def _an_instance(whole: Production) -> None:
    kill_whole(whole.webs[0])
    whole.webs[0].start()


def _the_worker_process(whole: Production) -> None:
    kill_process(whole.workers[0], "worker")


def _a_whole_worker(whole: Production) -> None:
    kill_whole(whole.workers[1])
    whole.workers[1].launch()


def _the_scheduler(whole: Production) -> None:
    kill_process(whole.scheduler, "scheduler")


def _redis(whole: Production) -> None:
    whole.redis.kill()
    time.sleep(AWAY_SECONDS)
    whole.redis.start()


def _redis_at_once(whole: Production) -> None:
    whole.redis.kill()
    whole.redis.start()


def _the_silence_of_redis(whole: Production) -> None:
    silence(whole.redis, SILENT_SECONDS)


def _pgbouncer(whole: Production) -> None:
    whole.pool.kill()
    time.sleep(AWAY_SECONDS)
    whole.pool.start()


def _postgresql(whole: Production) -> None:
    whole.database.kill()
    time.sleep(AWAY_SECONDS)
    whole.database.restart()


def _haproxy(whole: Production) -> None:
    whole.proxy.kill()
    time.sleep(1)
    whole.proxy.start()


@pytest.mark.parametrize(
    "disturb",
    [
        _a_web_process,
        _an_instance,
        _the_worker_process,
        _a_whole_worker,
        _the_scheduler,
        _redis,
        _redis_at_once,
        _the_silence_of_redis,
        _pgbouncer,
        _postgresql,
        _haproxy,
    ],
    ids=lambda disturb: disturb.__name__.strip("_"),
)
def test_what_is_killed_with_work_in_hand_is_soon_at_work_again(company, embedder, disturb, report):
    name = disturb.__name__.strip("_").replace("_", " ")
    with company.load(name) as load, _in_hand(company, embedder, name):
        disturb(company)
        work = Work(company, name).wait()
        load.go_on()
        left = company.query("SELECT count(*) FROM knowledge_passagevector WHERE vector IS NULL")[0][0]
    embedded = company.wait_until_embedded(within=4 * EMBEDDED_WITHIN)

    lost, doubled = company.lost_and_doubled(load)
    report(f"{name}: {work.summary()}")
    assert left, "Nothing was in hand any more."
    report(f"    {load.summary()}; {len(lost)} lost, {len(doubled)} doubled; {left} texts left for {embedded:.0f} s")
    assert (load.writers.surprises, lost, doubled) == ([], [], [])
    answered = work.seconds.pop("both workers answer")
    assert work.slowest() <= BACK_WITHIN
    assert answered <= (STARTED_WITHIN if disturb is _a_whole_worker else BACK_WITHIN)
    assert work.seconds["the scheduler sends"] <= SENT_WITHIN


def _slowly(texts: list[str]) -> Table:
    """Take time for what was piled up, and none for what people write."""
    time.sleep(SECONDS_OF_A_TEXT * sum(": rule " in text for text in texts))
    return right_vectors(texts)


@contextmanager
def _in_hand(whole: Production, embedder: Endpoint, name: str) -> Iterator[None]:
    """Give both workers texts for longer than the block takes, and wait until they have begun."""
    begun, embedder.usual = len(embedder.requests), Answer(_slowly)
    whole.pile_up(PILED_UP, name)
    give_up = time.monotonic() + 30
    while not _has_many(embedder, begun):
        assert time.monotonic() < give_up, "No worker took the work up."
        time.sleep(0.1)
    try:
        yield
    finally:
        embedder.usual = RIGHT


def _has_many(embedder: Endpoint, begun: int) -> bool:
    return sum(len(asked["input"]) >= 10 for asked in embedder.requests[begun:]) >= 3
