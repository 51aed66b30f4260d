"""T30: clients of every revision behind a round robin over two servers, while those are killed, restarted and idle."""

from collections import Counter
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from pathlib import Path

import pytest

from tests.growing.compose import Service
from tests.growing.server import TwoRoles, two_roles
from tests.redis_server import RedisServer
from tests.torture.callers import calling
from tests.torture.disturbances import (
    WEB,
    Clock,
    Disturbance,
    all_go_on,
    kill,
    restart,
    stay_idle,
    was_in_it,
)
from tests.torture.proxies import taking_turns

pytestmark = [pytest.mark.torture, pytest.mark.alone]


@dataclass(frozen=True)
class Balanced:
    """Two servers of two web processes each, on one database and one Redis, and the address that leads to both."""

    url: str
    key: str
    servers: list[Service]
    database: TwoRoles


@pytest.fixture
def clock(tmp_path: Path) -> Clock:
    """The clock of both servers."""
    return Clock(tmp_path)


@pytest.fixture
def balanced(clock: Clock, tmp_path: Path) -> Iterator[Balanced]:
    with two_roles(migrated=True) as (database, folder), RedisServer(tmp_path) as redis:
        given = {"BIGMIND_DATABASE_URL": database.application_url, "BIGMIND_REDIS_URL": redis.url}
        given |= {"BIGMIND_EMBEDDING_PROVIDER": "hashing", "BIGMIND_RATE_LIMIT": "0", "BIGMIND_WEB_PROCESSES": "2"}
        owner = {"BIGMIND_DATABASE_OWNER_URL": database.owner_url}
        worker = Service("worker", folder / "worker", **given, **owner, **clock.variables).launch()
        servers = [Service("web", folder / f"web-{n}", **given, **clock.variables) for n in (1, 2)]
        try:
            for server in servers:
                server.start()
            key = next(server.key for server in servers if "bm_" in server.printed)
            with taking_turns([server.url for server in servers]) as url:
                yield Balanced(url, key, servers, database)
        finally:
            for service in (*servers, worker):
                service.hurry()


def test_no_call_fails_but_those_in_a_process_that_is_killed(
    balanced: Balanced, clock: Clock, report: Callable[[str], None]
) -> None:
    disturbed: list[Disturbance] = []
    with calling(balanced) as callers:
        all_go_on(callers)
        for server in balanced.servers:
            for name in WEB:
                disturbed.append(kill(server, name))
                all_go_on(callers)
        for server in balanced.servers:
            restart(server)
            all_go_on(callers)
        stay_idle(callers, clock)
        all_go_on(callers)

    lost = [call for caller in callers for call in caller.failures()]
    for caller in callers:
        report(f"{caller.name}: {len(caller.made)} calls, {len(caller.failures())} failed")
    others = [call for call in lost if not any(was_in_it(call, one) for one in disturbed)]
    report(f"{len(disturbed)} kills took {len(lost) - len(others)} calls along; restarts and idleness {len(others)}")
    assert others == []
    with balanced.database.as_owner() as owner:
        texts = Counter(text for (text,) in owner.execute("SELECT content FROM knowledge_chunk"))
    assert texts
    assert set(texts.values()) == {1}
