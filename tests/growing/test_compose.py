"""docker-compose.yml: well formed, documented, and its services do as processes what they promise as containers."""

import re
from collections.abc import Iterator
from dataclasses import dataclass
from threading import Event, Thread
from time import monotonic, sleep, time
from uuid import uuid4

import httpx
import pytest

from bigmind.environment import PREFIX, Environment
from tests.embedded.instance import eventually
from tests.growing.compose import SECRETS, Service, interpolated, variables_of
from tests.growing.server import COMPOSE, ROOT, TwoRoles, two_roles
from tests.redis_server import RedisServer

PARTS = ("web", "worker", "scheduler")
LIMIT = 100
REVOKED_WITHIN = 1.0


@dataclass
class Company:
    """Two web processes and two workers on one database and one Redis."""

    webs: list[Service]
    others: list[Service]
    server: TwoRoles

    @property
    def key(self) -> str:
        """The first key; the web process that made the first user printed it."""
        return next(web.key for web in self.webs if "bm_" in web.printed)

    @property
    def sign_in_path(self) -> str:
        """The path of the sign-in link that was printed."""
        printed = "".join(web.printed for web in self.webs)
        return re.search(r"/sign-in/[\w-]+/", printed).group()

    def rest(self, web: int, key: str = "") -> httpx.Client:
        """Return a client of one of the web processes."""
        headers = {"Authorization": f"Bearer {key or self.key}"}
        return httpx.Client(base_url=f"{self.webs[web].url}/api/v1/", headers=headers, timeout=20)


@pytest.fixture(scope="module")
def company(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Company]:
    with two_roles(migrated=True) as (server, folder), RedisServer(tmp_path_factory.mktemp("redis")) as redis:
        given = {"BIGMIND_DATABASE_URL": server.application_url, "BIGMIND_REDIS_URL": redis.url}
        given |= {"BIGMIND_EMBEDDING_PROVIDER": "hashing", "BIGMIND_RATE_LIMIT": str(LIMIT)}
        owner = {**given, "BIGMIND_DATABASE_OWNER_URL": server.owner_url, "BIGMIND_BACKUP_DIR": str(folder / "backups")}
        webs = [Service("web", folder / f"web-{n}", **given).launch() for n in (1, 2)]
        others = [Service("worker", folder / f"worker-{n}", **owner).launch() for n in (1, 2)]
        others.append(Service("scheduler", folder / "scheduler", **given).launch())
        try:
            for web in webs:
                web.read_until("Ctrl-C stops it")
            yield Company(webs, others, server)
        finally:
            for service in [*webs, *others]:
                service.hurry()


@pytest.fixture(scope="module")
def browser(company: Company) -> Iterator[httpx.Client]:
    """Somebody who has signed in at the first web process: cookies do not tell ports apart."""
    with httpx.Client(timeout=20, follow_redirects=True) as browser:
        link = company.webs[0].url + company.sign_in_path
        browser.post(link, data={"csrfmiddlewaretoken": _token_on(browser, link)}).raise_for_status()
        yield browser


def test_the_file_is_as_the_compose_specification_has_it() -> None:
    services = COMPOSE["services"]

    assert set(COMPOSE) - {"services", "volumes", "configs"} <= {name for name in COMPOSE if name.startswith("x-")}
    for name, service in services.items():
        assert set(service) <= _KNOWN, name
        assert "image" in service, name
        assert all(value is None or isinstance(value, str) for value in service.get("environment", {}).values()), name
        assert {*service.get("depends_on", [])} <= {*services}, name
        assert all(_mounted(volume) in COMPOSE["volumes"] for volume in service.get("volumes", [])), name
        assert all(config["source"] in COMPOSE["configs"] for config in service.get("configs", [])), name


def test_every_variable_of_the_file_means_something_and_is_documented() -> None:
    documented = (ROOT / "docs" / "settings.md").read_text()
    known = {PREFIX + name.upper() for name in Environment.model_fields}

    for part in PARTS:
        assert set(variables_of(part)) <= known
        assert all(f"`{name}`" in documented for name in variables_of(part))


def test_a_password_that_was_forgotten_is_asked_for() -> None:
    url = COMPOSE["services"]["worker"]["environment"]["BIGMIND_DATABASE_OWNER_URL"]

    with pytest.raises(KeyError, match="see the first lines"):
        interpolated(url, {})


def test_only_the_worker_is_told_the_password_of_the_owner() -> None:
    told = {part for part in PARTS if SECRETS["BIGMIND_DATABASE_OWNER_PASSWORD"] in str(variables_of(part))}

    assert told == {"worker"}


def test_every_web_process_is_ready(company: Company) -> None:
    answers = [httpx.get(f"{web.url}/readyz", timeout=20) for web in company.webs]

    assert [answer.status_code for answer in answers] == [200, 200]
    assert all(part["ok"] for answer in answers for part in answer.json()["checks"].values())


def test_a_worker_makes_the_backup_that_was_asked_for_where_web_cannot_write(company, browser):
    page, folder = company.webs[0].url + "/system/backups/", company.webs[0].home.parent / "backups"
    # Each of the two workers looked at its start whether one was due.
    eventually(lambda: len(list(folder.glob("bigmind-*/manifest.json"))) == 1)
    eventually(lambda: next(folder.glob("bigmind-*")).name in browser.get(page).text)

    browser.post(f"{page}make/", data={"csrfmiddlewaretoken": _token_on(browser, page)}).raise_for_status()

    eventually(lambda: len(list(folder.glob("bigmind-*/manifest.json"))) == 2)
    eventually(lambda: all(made.name in browser.get(page).text for made in folder.glob("bigmind-*")))
    assert httpx.get(f"{company.webs[1].url}/readyz", timeout=20).json()["checks"]["backups"] == {"ok": True}


def test_what_is_written_at_one_is_read_at_the_other_and_found_by_meaning(company: Company) -> None:
    with company.rest(0) as here, company.rest(1) as there:
        written = here.post("facts/", json={"fact": "The crane at the quay was oiled.", "category": "decision"})
        read = there.get("facts/")

        def is_found_by_meaning() -> bool:
            found = there.get("search/", params={"query": "crane quay"}).raise_for_status().json()
            return not found["fallback"] and bool(found["items"])

        eventually(is_found_by_meaning)

    assert written.status_code == 201
    assert "crane" in read.text


def test_who_signed_in_at_one_is_signed_in_at_the_other(company: Company, browser: httpx.Client) -> None:
    page = browser.get(f"{company.webs[1].url}/keys/")

    assert page.status_code == 200
    assert page.url.path == "/keys/"


def test_a_key_revoked_at_one_is_refused_at_the_other_within_a_second(company: Company, browser: httpx.Client) -> None:
    key, key_id = _new_key(company, browser)
    with company.rest(1, key) as there:
        assert there.get("facts/").status_code == 200
        page = f"{company.webs[0].url}/keys/{key_id}/revoke/"
        browser.post(page, data={"csrfmiddlewaretoken": _token_on(browser, page)}).raise_for_status()
        revoked = monotonic()
        while there.get("facts/").status_code != 401:
            assert monotonic() - revoked < REVOKED_WITHIN


def test_the_rate_limit_counts_the_calls_at_all_web_processes(company: Company, browser: httpx.Client) -> None:
    key, _ = _new_key(company, browser)
    if time() % 60 > 40:  # The count begins again with each minute.
        sleep(60 - time() % 60)
    with company.rest(0, key) as here, company.rest(1, key) as there:
        answers = [client.get("facts/") for _ in range(LIMIT // 2 + 1) for client in (here, there)]

    assert [answer.status_code for answer in answers] == [200] * LIMIT + [429] * 2
    assert answers[-1].headers["Retry-After"]


def test_a_web_process_that_is_told_to_stop_finishes_what_it_has_begun(company: Company, browser: httpx.Client) -> None:
    """Each write that was carried out was answered, and the other web process never noticed."""
    keys = [_new_key(company, browser)[0] for _ in range(4)]
    leaving = company.webs[1]
    over = Event()
    here, there = _Writers(company, 0, keys[:2], over), _Writers(company, 1, keys[2:], over)
    with here, there:
        eventually(lambda: len(there.answered) >= 6)
        assert leaving.stop() == 0
        ended = len(there.answered)
        sleep(0.5)
        over.set()

    stored = _stored(company)
    assert ended >= 6
    assert there.refused
    assert set(there.unanswered) & stored == set()
    assert {*here.answered, *there.answered} <= stored
    assert (here.refused, here.unanswered, here.failed, there.failed) == ([], [], [], [])


class _Writers:
    """Agents that write to one web process without pause, and what became of each text."""

    def __init__(self, company: Company, web: int, keys: list[str], over: Event) -> None:
        self.answered: list[str] = []
        self.refused: list[str] = []
        self.unanswered: list[str] = []
        self.failed: list[str] = []
        self._over = over
        self._threads = [Thread(target=self._write, args=(company.rest(web, key),)) for key in keys]

    def __enter__(self) -> "_Writers":
        for thread in self._threads:
            thread.start()
        return self

    def __exit__(self, *error: object) -> None:
        self._over.set()
        for thread in self._threads:
            thread.join()

    def _write(self, rest: httpx.Client) -> None:
        with rest:
            for _ in range(LIMIT - 10):
                if self._over.is_set():
                    return
                self._write_one(rest, f"Crate {uuid4()} was weighed.")
                sleep(0.05)

    def _write_one(self, rest: httpx.Client, text: str) -> None:
        try:
            answer = rest.post("facts/", json={"fact": text, "category": "decision"})
        except httpx.ConnectError:
            self.refused.append(text)
        except httpx.TransportError:
            self.unanswered.append(text)
        else:
            if answer.status_code == 201:
                self.answered.append(text)
            else:
                self.failed.append(f"{answer.status_code} {answer.text}")


def _stored(company: Company) -> set[str]:
    with company.server.as_owner() as owner:
        return {text for (text,) in owner.execute("SELECT fact FROM knowledge_fact").fetchall()}


def _new_key(company: Company, browser: httpx.Client) -> tuple[str, str]:
    """Create an API key on the page of the first web process."""
    page = f"{company.webs[0].url}/keys/new/"
    asked = {"label": "tests", "scopes": ["read", "write"], "lifetime": ""}
    made = browser.post(page, data={**asked, "csrfmiddlewaretoken": _token_on(browser, page)})
    return re.search(r"bm_\w+", made.text).group(), re.search(r"/keys/([\w-]+)/new/", str(made.url)).group(1)


def _token_on(browser: httpx.Client, page: str) -> str:
    return re.search(r'name="csrfmiddlewaretoken" value="(\w+)"', browser.get(page).text).group(1)


def _mounted(volume: str) -> str:
    return volume.partition(":")[0]


_KNOWN = {
    "build",
    "image",
    "init",
    "restart",
    "stop_grace_period",
    "depends_on",
    "environment",
    "command",
    "ports",
    "volumes",
    "healthcheck",
    "configs",
}
