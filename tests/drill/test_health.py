"""T59: what does not work is said by /readyz, `doctor` and the metrics within a minute, and taken back soon after."""

import re
import time

import httpx
import pytest
from redis import Redis

from tests.drill.production import Production, kill_whole
from tests.embedded.instance import eventually

pytestmark = pytest.mark.drill
SAID_WITHIN = WELL_WITHIN = 60.0
_kept: list[Redis] = []
_LINE = re.compile(r'^bigmind_part_well\{part="(\w+)"\} ([01])', re.MULTILINE)


def _stop_workers(whole: Production) -> None:
    for worker in whole.workers:
        kill_whole(worker)


def _start_workers(whole: Production) -> None:
    for worker in whole.workers:
        worker.launch()


def _let_redis_take_nobody(whole: Production) -> None:
    """Leave room for the drill's own connection, by which this is taken back, and drop all others."""
    client = Redis.from_url(whole.redis.url, single_connection_client=True)
    client.config_set("maxclients", 1)
    client.client_kill_filter(skipme=True, _type="normal")
    _kept.append(client)


def _let_redis_take_all(_: Production) -> None:
    with _kept.pop() as client:
        client.config_set("maxclients", 1_000)


@pytest.mark.parametrize(
    ("parts", "disturb", "mend"),
    [
        ({"worker"}, _stop_workers, _start_workers),
        ({"broker"}, lambda whole: whole.redis.kill(), lambda whole: whole.redis.start()),
        ({"broker"}, _let_redis_take_nobody, _let_redis_take_all),
        ({"database"}, lambda whole: whole.pool.kill(), lambda whole: whole.pool.start()),
    ],
    ids=["both workers are away", "Redis is away", "Redis takes nobody", "PgBouncer is away"],
)
def test_what_does_not_work_is_said_within_a_minute(company, parts, disturb, mend, report, request):
    eventually(lambda: not _unwell(company), within=WELL_WITHIN)
    name = request.node.callspec.id

    disturb(company)
    began = time.monotonic()
    try:
        eventually(lambda: parts <= _unwell(company).keys(), within=SAID_WITHIN)
        said = time.monotonic() - began
        found = company.console(company.workers[0]).doctor()
        doubted = {part for part, check in found.items() if check["status"] in {"problem", "warning"}}
        # Figures are kept for some seconds.
        eventually(lambda: parts <= _measured(company), within=SAID_WITHIN)
    finally:
        mend(company)
    began = time.monotonic()
    eventually(lambda: not _unwell(company), within=WELL_WITHIN)

    report(
        f"{name}: /readyz said {', '.join(sorted(parts))} after {said:.1f} s, and took it back after "
        f"{time.monotonic() - began:.1f} s; doctor doubts {', '.join(sorted(doubted))}"
    )
    assert parts <= doubted


def _unwell(whole: Production) -> dict[str, str]:
    checks = httpx.get(f"{whole.webs[0].url}/readyz", timeout=30).json()["checks"]
    # Nobody has set where backups of this production go.
    return {part: str(check) for part, check in checks.items() if not check["ok"] and part != "backups"}


def _measured(whole: Production) -> set[str]:
    lines = _LINE.findall(httpx.get(f"{whole.webs[0].url}/metrics", timeout=30).text)
    return {part for part, is_well in lines if is_well == "0"}
