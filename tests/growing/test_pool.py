"""A BigMind behind PgBouncer in the mode `transaction`: nobody's rows come to anybody else, and nothing fails."""

from collections.abc import Iterator
from concurrent.futures import ThreadPoolExecutor
from typing import Any
from urllib.parse import urlsplit

import httpx
import pytest

from tests.embedded.console import Console
from tests.embedded.instance import CopiedInstance, Instance, eventually
from tests.growing.server import PASSWORD, TwoRoles, two_roles
from tests.pool import SESSIONS, Pool
from tests.torture.writes import client_of

PEOPLE, FACTS = 5, 4
Checks = dict[str, dict[str, Any]]


@pytest.fixture(scope="module")
def pooled() -> Iterator[tuple[Instance, Pool, TwoRoles]]:
    with two_roles(migrated=True) as (server, folder):
        (folder / "pool").mkdir()
        with Pool(folder / "pool", server.application_url) as pool:
            variables = {**server.variables, "BIGMIND_DATABASE_URL": pool.url}
            variables["BIGMIND_BACKUP_DIR"] = str(folder / "backups")
            instance = CopiedInstance(
                folder / "home", BIGMIND_EMBEDDING_PROVIDER="hashing", BIGMIND_RATE_LIMIT="0", **variables
            )
            try:
                yield instance.start(), pool, server
            finally:
                instance.hurry()


def test_everybody_reads_what_is_theirs_and_nothing_fails(pooled: tuple[Instance, Pool, TwoRoles]) -> None:
    instance, pool, server = pooled
    variables = {**server.variables, "BIGMIND_DATABASE_URL": pool.url}
    names = [f"person{number}" for number in range(PEOPLE)]
    console = Console(instance.home, **variables)
    keys = [console.add_person(name) for name in names]

    with ThreadPoolExecutor(PEOPLE) as threads:
        told = list(threads.map(lambda person: _live(instance.url, *person), zip(names, keys, strict=True)))

    assert PEOPLE > SESSIONS
    for name, (facts, found) in zip(names, told, strict=True):
        assert facts == sorted(f"{name} keeps lantern {number}." for number in range(FACTS))
        assert f"{name} keeps" in found
        assert not [other for other in names if other != name and f"{other} keeps" in found]
    logs = "".join(log.read_text() for log in (instance.home / "logs").glob("*.log"))
    assert "Traceback" not in logs


def test_the_worker_makes_its_backups_past_the_pool(pooled: tuple[Instance, Pool, TwoRoles]) -> None:
    instance, _, server = pooled
    console = Console(instance.home, **server.variables)
    ask = "from accounts.models import BackupRun; print([run.error for run in BackupRun.objects.all()])"

    console.script("from bigmind.celery import app; app.send_task('bigmind.tasks.back_up', ignore_result=True)")
    eventually(lambda: console.script(ask).strip() != "[]")

    assert console.script(ask).strip() == "['']"
    assert [*(instance.home.parent / "backups").iterdir()] != []


def test_a_backup_that_cannot_go_past_the_pool_says_what_to_set(pooled, tmp_path):
    instance, pool, _ = pooled

    done = Console(instance.home, BIGMIND_DATABASE_URL=pool.url).run("backup", str(tmp_path))

    assert "a pool stands before the database; let BIGMIND_DATABASE_OWNER_URL lead past it" in done.stderr
    assert [*tmp_path.iterdir()] == []


@pytest.fixture(scope="module")
def examined(
    pooled: tuple[Instance, Pool, TwoRoles],
) -> tuple[Checks, Checks, Checks]:
    """What the doctor finds as it should be, with an owner who goes through the pool as well, and without one."""
    instance, pool, server = pooled
    # The pool takes everybody; the server asks for the password of the application.
    address = pool.url.replace("@", f":{PASSWORD}@")
    variables = {**server.variables, "BIGMIND_DATABASE_URL": address, "BIGMIND_PORT": str(instance.port)}
    through_it = {**variables, "BIGMIND_DATABASE_OWNER_URL": f"{pool.url}?application_name=owner"}
    server_alone = f"postgres://{urlsplit(server.owner_url).netloc.rpartition('@')[2]}"
    without_owner = {**variables, "BIGMIND_DATABASE_OWNER_URL": "", "BIGMIND_DATABASE_DIRECT_URL": server_alone}
    consoles = [Console(instance.home, **reached) for reached in (variables, through_it, without_owner)]
    with ThreadPoolExecutor(3) as threads:  # Each waits for what does not come.
        past, through, web = threads.map(Console.doctor, consoles)
    return past, through, web


def test_the_doctor_is_content_and_says_that_a_pool_is_there(examined: tuple[Checks, Checks, Checks]) -> None:
    wall, without_owner, _ = (checks["wall"] for checks in examined)

    assert (wall["status"], "behind a pool" in wall["found"]) == ("ok", True)
    assert without_owner["status"] == "problem"
    assert "BIGMIND_DATABASE_OWNER_URL" in without_owner["advice"]


def test_the_doctor_says_whether_anybody_can_listen_for_changes(examined: tuple[Checks, Checks, Checks]) -> None:
    past_the_pool, through_it, web = (checks["changes"] for checks in examined)

    assert (past_the_pool["status"], web["status"]) == ("ok", "ok"), (past_the_pool, web)
    assert (through_it["status"], "BIGMIND_DATABASE_DIRECT_URL" in through_it["advice"]) == ("warning", True)


def test_the_doctor_reads_how_soon_the_pool_tries_again(examined: tuple[Checks, Checks, Checks]) -> None:
    found = examined[0]["pool"]

    assert (found["status"], found["found"]) == ("ok", "PgBouncer: server_login_retry = 1, query_wait_timeout = 5")


def test_everything_is_answered_again_soon_after_the_server_was_away(pooled):
    instance, _, server = pooled
    with client_of(instance) as rest:
        server.stop()
        assert rest.get("facts/", timeout=15).status_code == 503  # Two minutes at PgBouncer's default.
        server.data.chmod(0o700)  # The pool, as another user, was let in further than the server likes.
        server.restart()

        eventually(lambda: rest.get("facts/").status_code == 200, within=8)  # 15 s at PgBouncer's default.
    assert "Traceback" not in "".join(log.read_text() for log in (instance.home / "logs").glob("*.log"))


def _live(url: str, name: str, key: str) -> tuple[list[str], str]:
    """Write and read as one person; return all facts that are listed, and what a search finds."""
    with httpx.Client(base_url=f"{url}/api/v1/", headers={"Authorization": f"Bearer {key}"}, timeout=60) as rest:
        for number in range(FACTS):
            stored = rest.post("facts/", json={"fact": f"{name} keeps lantern {number}.", "category": "decision"})
            assert stored.status_code == 201, stored.text
            assert len(_facts(rest)) == number + 1
        eventually(lambda: "keeps lantern" in rest.get("search/", params={"query": "lantern"}).raise_for_status().text)
        return _facts(rest), rest.get("search/", params={"query": "lantern"}).text


def _facts(rest: httpx.Client) -> list[str]:
    return sorted(row["fact"] for row in rest.get("facts/", params={"limit": 50}).raise_for_status().json()["items"])
