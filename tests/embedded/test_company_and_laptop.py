"""A company's BigMind and a laptop's, both as people start them: each goes on when the other is away."""

import json
import shutil
import tempfile
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import httpx
import pytest

from tests.embedded.console import Console
from tests.embedded.instance import CopiedInstance, Instance, eventually, free_port


@dataclass
class Two:
    """The company, the laptop, and the keys of those who work with them."""

    company: Instance
    laptop: Instance
    console: Console
    curator: str
    ada: str

    def at_company(self, method: str, path: str, *, key: str = "", **body: Any) -> Any:
        """Ask the company's BigMind, as its curator unless another key is given."""
        return _ask(self.company, key or self.curator, method, path, body)

    def on_laptop(self, method: str, path: str, **body: Any) -> Any:
        """Ask the laptop's BigMind, as the agent there does."""
        return _ask(self.laptop, self.laptop.key, method, path, body)

    def propose(self, content: str, title: str) -> Any:
        """Let the laptop's agent propose something."""
        return self.on_laptop("POST", "company/", category="standard", title=title, content=content)

    def waiting_at_company(self) -> dict[str, tuple[int, int]]:
        """What waits for a curator there: titles with their numbers and revisions."""
        queue = self.at_company("GET", "company/queue/?limit=50")
        entries = [item["entry"] for item in queue["items"]]
        return {entry["title"]: (entry["id"], entry["revision"]) for entry in entries}

    def decide(self, title: str, action: str, notes: str = "") -> None:
        """Decide as a curator of the company."""
        number, revision = self.waiting_at_company()[title]
        self.at_company("POST", f"company/{number}/decide/", action=action, revision=revision, notes=notes)

    def session(self) -> str:
        """What the laptop's agent gets at the start of a session, which it ends right away."""
        started = self.on_laptop("POST", "sessions/")
        self.on_laptop("POST", f"sessions/{started['session_id']}/end/", one_liner="Done.")
        return str(started["context"]["markdown"])

    def sync(self) -> tuple[int, dict[str, Any]]:
        """Let the laptop ask the company now."""
        done = self.console.run("company_sync", "--json")
        return done.returncode, json.loads(done.stdout)

    def listed(self) -> list[dict[str, Any]]:
        """The instances that the owner of the laptop sees at the company."""
        items: list[dict[str, Any]] = self.at_company("GET", "directory/instances/", key=self.ada)["items"]
        return items


def _variables(instance: Instance) -> dict[str, str]:
    return {name: value for name, value in instance.environment.items() if name.startswith("BIGMIND_")}


def _ask(instance: Instance, key: str, method: str, path: str, body: dict[str, Any]) -> Any:
    headers = {"Authorization": f"Bearer {key}"}
    sent = {"json": body} if method != "GET" else {}
    answer = httpx.request(method, f"{instance.url}/api/v1/{path}", headers=headers, timeout=20, **sent)
    assert answer.status_code < 300, answer.text
    return answer.json()


def _made(console: Console, *arguments: str) -> str:
    return console.command(*arguments).strip().splitlines()[-1]


@pytest.fixture(scope="module")
def two() -> Iterator[Two]:
    """Yield a company with ada and a curator, and ada's laptop, which is connected to it."""
    folder = Path(tempfile.mkdtemp(prefix="bm-"))
    plain = {"BIGMIND_EMBEDDING_PROVIDER": "hashing", "BIGMIND_WEB_PROCESSES": "1"}
    company = CopiedInstance.prepare(folder / "company", BIGMIND_MODE="team", **plain)
    laptop = None
    try:
        company.start()
        console = Console(company.home, **_variables(company))
        _made(console, "user_add", "ada")
        _made(console, "user_add", "cora", "--role", "curator")
        ada = _made(console, "key_create", "ada", "--quiet")
        curator = _made(console, "key_create", "cora", "--scopes", "read,write,curate", "--quiet")
        connected = {"BIGMIND_COMPANY_URL": company.url, "BIGMIND_COMPANY_KEY": ada, "BIGMIND_INSTANCE_NAME": "ada's"}
        laptop = CopiedInstance.prepare(folder / "laptop", free_port(), **plain, **connected)
        laptop.start()
        yield Two(company, laptop, Console(laptop.home, **_variables(laptop)), curator, ada)
    finally:
        for instance in (laptop, company):
            if instance is not None:
                instance.hurry()
        shutil.rmtree(folder, ignore_errors=True)


def test_they_register_propose_decide_and_survive_each_other(two: Two) -> None:
    # The laptop registers by itself, and says how much it holds.
    eventually(lambda: len(two.listed()) == 1, within=90)
    assert (two.listed()[0]["name"], two.listed()[0]["status"]) == ("ada's", "online")

    # What its agent proposes holds there at once, and waits for a curator at the company.
    first = two.propose("Every service answers /healthz.", "Health")
    two.propose("Deploys happen on Fridays.", "Fridays")
    assert first["status"] == "approved"
    assert two.sync()[0] == 0
    assert set(two.waiting_at_company()) == {"Health", "Fridays"}

    # Decisions come back, and the agent hears them once.
    two.decide("Health", "approve")
    two.decide("Fridays", "reject", "Never on Fridays.")
    assert two.sync()[0] == 0
    heard, again = two.session(), two.session()
    host = two.company.url.removeprefix("http://")
    assert f"approved by “cora at {host}" in heard
    assert "Never on Fridays." in heard
    assert "Decided about your proposals" not in again

    # What the company knows is told on the laptop, with its source, once.
    assert again.count("Every service answers /healthz.") == 1
    assert f"(verified, from {host})" in again

    # The company goes away: the laptop goes on, and what is proposed waits.
    assert two.company.stop() == 0
    two.propose("Secrets live in the vault.", "Vault")
    code, away = two.sync()
    assert (code, away["ok"]) == (1, False)
    assert "Every service answers /healthz." in two.session()
    found = two.on_laptop("GET", "company/search/?query=healthz")
    assert found["items"][0]["entry"]["comes_from"] == host

    # It comes back: what waited has arrived once, however often it is sent.
    two.company.start()
    codes = [two.sync()[0] for _ in range(2)]
    assert codes == [0, 0]
    assert list(two.waiting_at_company()) == ["Vault"]

    # What the company takes back is gone from the laptop.
    (entry,) = two.at_company("GET", "company/")["items"]
    read = {"action": "deprecate", "revision": entry["revision"]}
    two.at_company("POST", f"company/{entry['id']}/decide/", **read, notes="Use /livez.")
    assert two.sync()[1]["kept"]["removed"] == 1
    assert "Every service answers /healthz." not in two.session()

    # The key is in none of its logs.
    logs = "".join(log.read_text() for log in (two.laptop.home / "logs").glob("*.log"))
    assert two.ada not in logs + two.laptop.printed

    # The laptop goes away: the company goes on.
    assert two.laptop.stop() == 0
    assert two.at_company("GET", "company/")["total"] == 0
    assert two.listed()[0]["name"] == "ada's"
