"""T1 and T2 again, through PgBouncer in the mode `transaction`: everything is answered as without a pool."""

import json
import os
import re
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path
from threading import Event, Thread
from typing import Any
from urllib.parse import urlsplit, urlunsplit

import httpx
import pytest
from django.conf import settings as the_settings
from django.db import connection
from django.test import Client
from pytest_django.plugin import DjangoDbBlocker

from accounts.models import SCOPES, Role, User
from bigmind.core.operations import Effect
from bigmind.embedded.cluster import APPLICATION, Cluster
from bigmind.operations import CATALOGUE
from bigmind.transports.rest.routes import ROOT, path_parameters
from knowledge.models import UnansweredQuestion
from tests.embedded.instance import Instance, command, eventually
from tests.factories import make_actor, make_key, make_user
from tests.growing.server import two_roles
from tests.pool import Pool
from tests.serving import Served, serving
from tests.torture.scale import CASES
from tests.transports.fuzzing import fuzz
from tests.transports.isolation import (
    ADDRESSED,
    ATTEMPTS,
    ROWS,
    SECRET,
    Arguments,
    Owned,
    approve_company_knowledge,
    ids_in_addresses,
    own_everything,
    share_entries,
    stored_by,
)
from tests.transports.mcp_wire import Wire
from tests.transports.routes import ANYONE, MEMBERS, OWNER, RULES, routes

pytestmark = pytest.mark.torture

STRANGERS = {"another member": Role.MEMBER, "a curator": Role.CURATOR, "an admin": Role.ADMIN}
# A proposal is made to be read and decided about: by curators.
CURATORS_SEE = {
    *ROWS["proposals: reading, commenting"],
    *ROWS["proposals: the queue, deciding"],
}
# What anyone found of the code that an entry rests on stands at the entry.
REPORTS = ROWS["company knowledge: reporting a check of the code it rests on"]
BY_ADDRESS = [name for row in ADDRESSED for name in ROWS[row]]
SHOW = (
    *("memory_get_context", "memory_list_sessions", "memory_get_session_detail", "memory_list_facts", "knowledge_get"),
    *("memory_list_hypotheses", "memory_search_chunks", "memory_semantic_search", "memory_recall", "memory_export"),
)
NOT_THIS_WAY = 405
TOKEN = "x" * 32


@dataclass(frozen=True)
class World:
    """What one person owns and what everybody shares, committed, and a BigMind that serves it through a pool."""

    served: Served
    owner: User
    owned: Owned

    def stored(self) -> list[tuple[Any, ...]]:
        """Return what the owner has."""
        return stored_by(self.owner, self.owned, common=False)

    def program(self, user: User | None) -> httpx.Client:
        """Return a program of somebody, whose key may do everything."""
        headers = {"Authorization": f"Bearer {make_key(user, scopes=SCOPES).text}"} if user else {}
        return httpx.Client(base_url=self.served.url, headers=headers, timeout=60)

    def browser(self, user: User | None) -> httpx.Client:
        """Return a browser, in which somebody is signed in."""
        signed_in, cookies = Client(), {the_settings.CSRF_COOKIE_NAME: TOKEN}
        if user:
            signed_in.force_login(user)
            cookies |= {name: morsel.value for name, morsel in signed_in.cookies.items()}
        return httpx.Client(base_url=self.served.url, cookies=cookies, headers={"X-CSRFToken": TOKEN}, timeout=60)


@pytest.fixture(scope="module")
def behind_a_pool(
    django_db_setup: None, django_db_blocker: DjangoDbBlocker, tmp_path_factory: pytest.TempPathFactory
) -> Iterator[Served]:
    """Yield a web process that comes to the database of the tests through a pool, as the application alone."""
    folder, home = tmp_path_factory.mktemp("pool"), Path(os.environ["BIGMIND_HOME"])
    with django_db_blocker.unblock():
        owner_url, application_url = (_at_the_test_database(url) for url in _urls(home))
        roles = {"BIGMIND_DATABASE_URL": application_url, "BIGMIND_DATABASE_OWNER_URL": owner_url}
        assert command(home, "migrate", **roles).returncode == 0
        with Pool(folder, application_url) as pool:
            told = {"BIGMIND_MODE": "team", "BIGMIND_RATE_LIMIT": "0", "BIGMIND_EMBEDDING_PROVIDER": "hashing"}
            with serving(folder / "log.txt", BIGMIND_DATABASE_URL=pool.url, **told) as (served, _):
                yield served
        eventually(_is_left_alone)


@pytest.fixture
def world(behind_a_pool: Served, transactional_db: None, settings: Any) -> Iterator[World]:
    settings.BIGMIND_MODE = "team"
    owner = make_actor()
    owned = approve_company_knowledge(share_entries(owner, own_everything(owner)))
    yield World(behind_a_pool, owner.user, owned)
    assert "Traceback" not in behind_a_pool.log.read_text()


def test_nobody_reads_or_changes_what_is_somebody_elses_by_any_operation(world: World) -> None:
    with at_work(world) as calls:
        for name in CATALOGUE:
            for stranger, role in STRANGERS.items():
                if name in CURATORS_SEE and role != Role.MEMBER:
                    continue
                UnansweredQuestion.objects.all().delete()  # The next would see what several of them asked in vain.
                before, user = world.stored(), make_user(role=role)
                with world.program(user) as program:
                    answers = [_rest(program, name, sent) for sent in ATTEMPTS[name](world.owned)]
                told = _over_mcp(world, user, name) if role == Role.MEMBER else []

                assert all(answer.status_code < 500 for answer in answers), (name, stranger, answers)
                seen = world.owned.without_echo(" ".join([*(answer.text for answer in answers), *told]))
                assert SECRET not in _without_own(name, seen), (name, stranger)
                assert name.startswith("kb_") or name in REPORTS or world.stored() == before, (name, stranger)

    assert len(calls) > 100
    assert set(calls) == {(200, True)}


def test_a_foreign_id_answers_like_one_that_does_not_exist(world: World) -> None:
    with at_work(world), world.program(make_user()) as program:
        for name in BY_ADDRESS:
            foreign, unknown = (
                [_alike(_rest(program, name, sent), ids) for sent in ATTEMPTS[name](ids)]
                for ids in (world.owned, world.owned.somewhere_else())
            )

            assert foreign == unknown, name


def test_the_owner_is_answered_by_every_operation(world: World) -> None:
    readers_first = sorted(CATALOGUE, key=lambda name: CATALOGUE[name].effect is not Effect.READ)

    with world.program(world.owner) as program:
        answers = {name: [_rest(program, name, sent) for sent in ATTEMPTS[name](world.owned)] for name in readers_first}

    broken = {name: one.text for name, all_of_it in answers.items() for one in all_of_it if one.status_code >= 500}
    assert broken == {}
    assert [name for name in SHOW if not any(SECRET in one.text for one in answers[name])] == []


def test_every_page_is_for_whom_it_is_for(world: World) -> None:
    ids, found, member = ids_in_addresses(world.owned), routes(), make_user()
    with at_work(world), world.browser(world.owner) as owner:
        for name, route in found.items():
            path, before = route.at(ids), world.stored()
            # In new browsers each time: some of these addresses sign out.
            by_nobody, by_member = (_asked(world.browser(user), path) for user in (None, member))

            assert all(answer.status_code < 500 for answer in by_nobody + by_member), name
            assert SECRET not in "".join(answer.text for answer in by_nobody + by_member), name
            if name not in RULES[ANYONE]:
                assert all(answer.headers["Location"].startswith("/sign-in/") for answer in by_nobody), name
            if name not in (*RULES[ANYONE], *RULES[MEMBERS]):
                # What a page lets somebody do is what counts; many only take one of the two methods.
                refused = next(answer.status_code for answer in by_member if answer.status_code != NOT_THIS_WAY)
                assert refused == (404 if name in RULES[OWNER] else 403), name
            assert world.stored() == before, name
            assert owner.get(path).status_code < 500, name

        assert SECRET in owner.get("/memory/facts/").text


def test_a_hook_tells_each_conversation_what_is_its_persons(world: World) -> None:
    with at_work(world), world.program(make_user()) as stranger, world.program(world.owner) as owner:
        for number in range(10):
            by_stranger, by_owner = (_conversation(program, number) for program in (stranger, owner))

            assert SECRET not in by_stranger
            assert SECRET in by_owner


@contextmanager
def at_work(world: World) -> Iterator[list[tuple[int, bool]]]:
    """Let the owner list their facts without end: the sessions of the pool come to others right after them."""
    ended, calls = Event(), list[tuple[int, bool]]()
    program = world.program(world.owner)

    def call() -> None:
        while not ended.is_set():
            answer = program.get(f"{ROOT}facts/")
            calls.append((answer.status_code, SECRET in answer.text))

    threads = [Thread(target=call) for _ in range(2)]
    for thread in threads:
        thread.start()
    try:
        yield calls
    finally:
        ended.set()
        for thread in threads:
            thread.join()
        program.close()


def _rest(program: httpx.Client, name: str, arguments: Arguments) -> httpx.Response:
    operation = CATALOGUE[name]
    in_path = path_parameters(operation)
    path = ROOT + operation.path.format(**{part: arguments[part] for part in in_path})
    others = {part: value for part, value in arguments.items() if part not in in_path}
    if operation.method in {"GET", "DELETE"}:
        return program.request(operation.method, path, params=others)
    return program.request(operation.method, path, json=others)


def _asked(browser: httpx.Client, path: str) -> list[httpx.Response]:
    with browser:
        return [browser.request(method, path) for method in ("POST", "GET")]


def _over_mcp(world: World, user: User, name: str) -> list[str]:
    wire = Wire(world.served, make_key(user, scopes=SCOPES).text, path="/mcp?toolsets=all", timeout=60)
    return [json.dumps(wire.call(name, sent)) for sent in ATTEMPTS[name](world.owned)]


def _conversation(program: httpx.Client, number: int) -> str:
    """Report the start of a conversation and a prompt; return what the model reads."""
    begun = {"session_id": f"{number}", "cwd": "/src/freight", "bigmind": {"repository": SECRET[:4]}}
    events = (
        {"hook_event_name": "SessionStart", "source": "startup"},
        {"hook_event_name": "UserPromptSubmit", "prompt": "What are the preferences?"},
    )
    answers = [program.post("/hooks/claude-code/", json=begun | event) for event in events]
    assert [answer.status_code for answer in answers] == [200, 200]
    return "".join(answer.text for answer in answers)


def _without_own(name: str, seen: str) -> str:
    """Leave out what a stranger has brought along themselves: the document that they imported."""
    return "" if name == "memory_import" else seen


def _alike(answer: httpx.Response, owned: Owned) -> tuple[int, str]:
    """What an answer says, without the ids that were sent, and its own."""
    text = owned.without_echo(answer.text)
    return answer.status_code, re.sub(r"[0-9a-f]{8}(-[0-9a-f-]{27})?|[0-9a-f]{16}|\d+", "", text)


def _urls(home: Path) -> tuple[str, str]:
    """How the owner of the tables, and the application, reach the server of the tests."""
    return (cluster := Cluster(home)).url, cluster.application_url


def _is_left_alone() -> bool:
    """Whether the sessions of the pool have ended: the database could not be dropped."""
    with connection.cursor() as cursor:
        cursor.execute(
            "SELECT count(*) FROM pg_stat_activity WHERE datname = current_database() AND usename = %s", [APPLICATION]
        )
        return cursor.fetchone() == (0,)


def _at_the_test_database(url: str) -> str:
    return urlunsplit(urlsplit(url)._replace(path=f"/{connection.settings_dict['NAME']}"))


@pytest.fixture
def pooled() -> Iterator[tuple[Instance, dict[str, str]]]:
    """Yield a BigMind behind a pool, and the variables by which commands reach its database."""
    with two_roles(migrated=True) as (server, folder):
        (folder / "pool").mkdir()
        with Pool(folder / "pool", server.application_url) as pool:
            variables = {**server.variables, "BIGMIND_DATABASE_URL": pool.url, "BIGMIND_RATE_LIMIT": "0"}
            instance = Instance(folder / "home", **variables)
            try:
                yield instance.start(), variables
            finally:
                instance.hurry()


def test_thousands_of_cases_answer_behind_a_pool_as_without_one(
    pooled: tuple[Instance, dict[str, str]], tmp_path: Path, report: Callable[[str], None]
) -> None:
    bigmind, variables = pooled
    (admin,) = json.loads(command(bigmind.home, "user_list", "--json", **variables).stdout)
    made = command(bigmind.home, "key_create", admin["username"], "--scopes", ",".join(SCOPES), "--quiet", **variables)

    # Random cases differ by what they say, and a pool does not read it: along every limit is enough.
    found = fuzz(bigmind.url, made.stdout.strip(), tmp_path, "--phases", "examples,coverage")

    report(f"{found.cases} cases of {found.operations} operations: {len(found.failures)} answers against the document")
    assert found.operations == len(CATALOGUE)
    assert found.failures == [], found.printed
    assert found.cases >= CASES
