"""A streaming replica that answers reads: nobody misses what they just wrote, or sees what is another's."""

import json
import re
import sys
import time
from collections.abc import Iterator
from concurrent.futures import ThreadPoolExecutor
from contextlib import contextmanager
from pathlib import Path
from typing import Any
from urllib.parse import quote

import httpx
import pytest

from bigmind.file_cache import FileCache
from tests.embedded.console import Console
from tests.embedded.instance import CopiedInstance, Instance, eventually
from tests.growing.replica import Replica, replicated
from tests.growing.server import TwoRoles

ASKED = {"fact": "Ada goes on.", "category": "decision"}
UNFILTERED = """
import json
from accounts.models import User
from bigmind.database.replicas import answer_read
from bigmind.database.rls import NOBODY, begin_seeing, rls_bypass, rls_scope
from knowledge.models import Fact

def texts():
    rows = Fact.objects.all()
    return rows.db, sorted(row.fact for row in rows)

with rls_bypass():
    ada, bea = (User.objects.get(username=name).pk for name in ("ada", "bea"))
begin_seeing(NOBODY)
seen = {"nobody": answer_read(ada, texts)}
for name, who in {"ada": ada, "bea": bea}.items():
    with rls_scope(who):
        seen[name] = answer_read(who, texts)
with rls_bypass():
    seen["everybody"] = answer_read(ada, texts)
print(json.dumps(seen))
"""
"""Queries that forget to ask for the rows of one person."""
ENDED = """
import json
from uuid import uuid4
from django.db import OperationalError
from bigmind.database.replicas import answer_read, note_failure, read_alias, read_cursor

def read():
    asked.append(read_alias())
    with read_cursor() as cursor:
        cursor.execute("SELECT pg_terminate_backend(pg_backend_pid())" if asked == ["replica"] else "SELECT 1")

def page():
    try:
        read()
    except OperationalError as error:
        note_failure(error)

asked = []
answer_read(uuid4(), %s)
print(json.dumps(asked))
"""
"""A read whose session the replica ends; a page has answered the error before anybody else sees it."""

SHARE = """
from accounts.actor import Actor
from accounts.models import User
from accounts.people.profiles import update_profile
from knowledge.people.people_index import change_sharing

ada = Actor.of(User.objects.get(username="ada"))
update_profile(ada, role="Keeper of the lighthouse", preferences="", pinned_facts=[])
change_sharing(ada, sections=%s, in_directory=True, session_ids=[])
print("true")
"""


class Growing:
    """A primary, its replica, a BigMind that uses both, and the clients of two people."""

    def __init__(self, server: TwoRoles, replica: Replica, folder: Path) -> None:
        self.server, self.replica = server, replica
        self.variables = {
            **server.variables,
            "BIGMIND_DATABASE_REPLICA_URL": replica.url,
            "BIGMIND_EMBEDDING_PROVIDER": "hashing",
            "BIGMIND_RATE_LIMIT": "0",
            "BIGMIND_MODE": "team",
            # One, which has looked where the primary is when the replica is held back.
            "BIGMIND_WEB_PROCESSES": "1",
        }
        self.instance = Instance(folder / "home", **self.variables)
        self.variables["BIGMIND_PORT"] = str(self.instance.port)
        self.console = Console(self.instance.home, **self.variables)
        # It notices sooner than after ten seconds that the replica is behind.
        soon = (
            "import sys; from bigmind import cli; from bigmind.database import replicas; replicas.BEHIND_SECONDS = 4.0"
        )
        self.instance.program = [sys.executable, "-c", f"{soon}; cli.main()"]

    def welcome(self) -> None:
        """Let its cache have kept what was written for as long as is asked for, and add two people."""
        cache = self.instance.home / "run" / f"cache-{self.instance.port}.sqlite3"
        FileCache(str(cache), {}).set("written:since", int(time.time()) - 3600, None)
        self.ada, self.bea = (self._client(name) for name in ("ada", "bea"))

    def _client(self, name: str) -> httpx.Client:
        key = self.console.add_person(name)
        base = f"{self.instance.url}/api/v1/"
        return httpx.Client(base_url=base, headers={"Authorization": f"Bearer {key}"}, timeout=60)

    @contextmanager
    def held_back(self) -> Iterator[None]:
        """Let the replica stay where it is."""
        with self.server.as_owner() as primary:
            (place,) = primary.execute("SELECT pg_current_wal_insert_lsn()").fetchone()
        self.replica.wait_for(place)
        _facts(self.bea)
        self.replica.administer("SELECT pg_wal_replay_pause()")
        try:
            yield
        finally:
            self.replica.administer("SELECT pg_wal_replay_resume()")


@pytest.fixture(scope="module")
def growing() -> Iterator[Growing]:
    with replicated() as (server, replica, folder):
        growing = Growing(server, replica, folder)
        try:
            growing.instance.start()
            growing.welcome()
            _store(growing.ada, "Ada has a key.")
            _store(growing.bea, "Bea has a key.")
            yield growing
        finally:
            growing.instance.hurry()


def _store(person: httpx.Client, text: str) -> None:
    stored = person.post("facts/", json={"fact": text, "category": "decision"})
    assert stored.status_code == 201, stored.text


def _facts(person: httpx.Client) -> set[str]:
    rows = person.get("facts/", params={"limit": 50}).raise_for_status().json()["items"]
    return {row["fact"] for row in rows}


def _rewrite(growing: Growing, old: str, new: str) -> None:
    """Change a fact past BigMind, so that nothing tells it who has to see it."""
    with growing.server.as_owner() as primary:
        assert primary.execute("UPDATE knowledge_fact SET fact = %s WHERE fact = %s", [new, old]).rowcount == 1


def test_the_replica_answers_reads_but_not_of_one_whose_write_it_does_not_have(growing: Growing) -> None:
    # On a busy machine the replica may count as too far behind: then the primary answers, and it is tried again.
    answered = (_is_behind_for_bea(growing, color) for color in ("red", "blue", "green", "white", "black"))

    assert any(answered), "the primary answered each time"


def _is_behind_for_bea(growing: Growing, color: str) -> bool:
    """Change a fact of Bea while the replica stands still, and store one of Ada; return whether Bea saw no change."""
    before, after = f"Bea keeps a {color} lantern.", f"Bea has sold a {color} lantern."
    of_ada = f"Ada paints her {color} door."
    _store(growing.bea, before)
    with growing.held_back():
        _rewrite(growing, before, after)
        read = _facts(growing.bea)
        _store(growing.ada, of_ada)
        assert of_ada in _facts(growing.ada)
        assert of_ada in growing.ada.get("search/", params={"query": f"{color} door"}).text
    eventually(lambda: after in _facts(growing.bea))
    return before in read


def test_a_replica_that_stays_behind_is_noticed_and_the_primary_answers(growing: Growing) -> None:
    _store(growing.bea, "Bea rings a bell.")
    with growing.held_back():
        _store(growing.ada, "Ada moves on.")  # Else the primary would stand still as well.
        _rewrite(growing, "Bea rings a bell.", "Bea rings a gong.")

        eventually(lambda: "Bea rings a gong." in _facts(growing.bea))
        eventually(lambda: "behind" in _told(growing).get("trouble", ""))

    eventually(lambda: _told(growing) == {"ok": True})


def test_everybody_reads_what_they_just_wrote_from_a_replica_that_is_always_late(growing: Growing) -> None:
    growing.replica.administer("ALTER SYSTEM SET recovery_min_apply_delay = '300ms'")
    growing.replica.administer("SELECT pg_reload_conf()")
    try:
        with ThreadPoolExecutor(4) as threads:
            missed = list(threads.map(lambda n: _missed(growing, n), range(4)))
    finally:
        growing.replica.administer("ALTER SYSTEM RESET recovery_min_apply_delay")
        growing.replica.administer("SELECT pg_reload_conf()")

    assert missed == [[], [], [], []]


def _missed(growing: Growing, number: int) -> list[str]:
    """Write, read at once, and return what was not there."""
    person = (growing.ada, growing.bea)[number % 2]
    missed = []
    for turn in range(5):
        text = f"Writer {number} counts to {turn}."
        _store(person, text)
        if text not in _facts(person):
            missed.append(text)
    return missed


def test_what_somebody_shares_no_longer_is_in_no_answer_of_others(growing: Growing) -> None:
    _run(growing, SHARE % ["who", "role"])
    eventually(lambda: "Keeper of the lighthouse" in _people(growing.bea))
    with growing.held_back():
        _run(growing, SHARE % [])
        seen = _people(growing.bea)

    assert "Keeper of the lighthouse" not in seen


def _people(person: httpx.Client) -> str:
    """Return what somebody reads of others."""
    return person.get("directory/").raise_for_status().text


def test_row_level_security_holds_on_the_replica_as_on_the_primary(growing: Growing) -> None:
    of_ada, of_bea = _facts(growing.ada), _facts(growing.bea)
    seen = dict[str, list[str]]()

    def answers_all() -> bool:  # As in the first test, it may count as too far behind.
        asked = _run(growing, UNFILTERED)
        seen.update({whom: facts for whom, (_, facts) in asked.items()})
        return {alias for alias, _ in asked.values()} == {"replica"}

    eventually(answers_all)
    assert seen == {"nobody": [], "ada": sorted(of_ada), "bea": sorted(of_bea), "everybody": sorted(of_ada | of_bea)}
    assert of_ada
    assert of_bea
    assert not of_ada & of_bea


@pytest.mark.parametrize("kind", ["read", "page"])
def test_a_read_that_the_replica_breaks_off_is_answered_by_the_primary(growing: Growing, kind: str) -> None:
    _facts(growing.ada)

    # As in the first test, it may count as too far behind.
    eventually(lambda: _run(growing, ENDED % kind) == ["replica", "default"])


def _run(growing: Growing, script: str) -> Any:
    """Run a script in a process of BigMind, and return what it prints."""
    return json.loads(growing.console.script(script).splitlines()[-1])


def test_a_page_shows_what_its_form_just_stored(growing: Growing) -> None:
    link = growing.console.command("sign_in_link", "ada")
    with httpx.Client(base_url=growing.instance.url, follow_redirects=True, timeout=60) as browser:
        _submit(browser, re.search(r"http\S+", link)[0], {})
        with growing.held_back():
            shown = _submit(browser, "/memory/facts/new/", {"fact": "Ada typed this.", "category": "decision"})
            listed = browser.get("/memory/facts/").text

    assert shown.status_code == 200
    assert "Ada typed this." in listed


def _submit(browser: httpx.Client, address: str, fields: dict[str, str]) -> httpx.Response:
    page = browser.get(address)
    token = re.search(r'name="csrfmiddlewaretoken" value="(\w+)"', page.text)[1]
    return browser.post(str(page.url), data={**fields, "csrfmiddlewaretoken": token})


def test_a_replica_that_is_killed_costs_nobody_an_answer(growing: Growing) -> None:
    _facts(growing.bea)

    growing.replica.kill()
    answers = [growing.bea.get("facts/").status_code for _ in range(20)]
    searched = growing.bea.get("search/", params={"query": "lantern"}).status_code
    _store(growing.bea, "Bea writes on.")
    told, examined = _told(growing), growing.console.doctor()["replica"]["status"]
    ready = httpx.get(f"{growing.instance.url}/readyz").status_code
    growing.replica.start()

    assert {*answers, searched, ready} == {200}
    assert told == {"ok": False, "trouble": "does not answer: the primary answers all reads"}
    assert examined == "problem"
    eventually(lambda: _told(growing) == {"ok": True})
    logs = "".join(log.read_text() for log in (growing.instance.home / "logs").glob("*.log"))
    assert "Traceback" not in logs


def _told(growing: Growing) -> dict[str, object]:
    told: dict[str, object] = httpx.get(f"{growing.instance.url}/readyz").json()["checks"]["replica"]
    return told


def test_reads_that_the_replica_answered_are_in_the_usage_log(growing: Growing) -> None:
    def count() -> int:
        with growing.server.as_owner() as primary:
            return int(
                primary.execute("SELECT count(*) FROM accounts_call WHERE operation = 'memory_list_facts'").fetchone()[
                    0
                ]
            )

    before = count()
    _facts(growing.ada)
    eventually(lambda: count() > before)


# Last: it ends the primary.
def test_a_bigmind_on_a_standby_starts_and_reads_and_writes_once_it_is_promoted(growing: Growing) -> None:
    server, replica = growing.server, growing.replica
    folder = growing.instance.home.with_name("standby")
    key = (growing.instance.home / "secret_key").read_text()
    owner = server.owner_url.replace(quote(str(server.data), safe=""), quote(str(replica.data), safe=""))
    variables = {"BIGMIND_DATABASE_URL": replica.url, "BIGMIND_DATABASE_OWNER_URL": owner, "BIGMIND_SECRET_KEY": key}
    console = Console(folder, **variables)
    standby = CopiedInstance(folder, BIGMIND_EMBEDDING_PROVIDER="hashing", **variables).start()
    try:
        person = httpx.Client(base_url=f"{standby.url}/api/v1/", headers=growing.ada.headers, timeout=60)

        migrated = console.run("migrate")
        read, refused = person.get("facts/"), person.post("facts/", json={"fact": "Ada waits.", "category": "decision"})
        server.stop()
        replica.administer("SELECT pg_promote()")
        eventually(lambda: person.post("facts/", json=ASKED).status_code == 201, within=15)

        assert "The database takes no writes: it is a standby" in standby.printed
        assert (read.status_code, refused.status_code) == (200, 503)
        assert (migrated.returncode, "Traceback" in migrated.stderr) == (1, False)
        logs = "".join(log.read_text() for log in (folder / "logs").glob("*.log"))
        assert "Traceback" not in logs, logs
    finally:
        standby.hurry()
