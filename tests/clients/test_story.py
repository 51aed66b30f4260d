"""The story of an entry, told by real clients: a mistake, its lesson, the warning before the next one, and its end."""

import re
import subprocess
from collections.abc import Sequence
from concurrent.futures import ThreadPoolExecutor
from contextlib import ExitStack, suppress
from io import StringIO
from pathlib import Path
from typing import Any

import pytest
from django.core.management import CommandError, call_command
from django.test import Client
from django.urls import reverse

from accounts.keys import NewKey
from accounts.models import User
from curation.views.entry_story import StoryStep
from knowledge.models import CompanyEntry
from tests.clients.conftest import new_client
from tests.clients.dialects import Step
from tests.clients.installed import ClaudeCode, Codex, GeminiCli, RealClient
from tests.clients.model import ModelStandIn
from tests.curation.factories import decide_at_latest
from tests.factories import browser_of, make_actor, make_key, make_user
from tests.serving import Served, serving

pytestmark = pytest.mark.clients

PROGRAM = """import sys

LIMIT = 60

with open("begun.txt", "a") as file:
    file.write(sys.argv[1] + " ")
if int(sys.argv[1]) > LIMIT:
    sys.exit("Booked in part: beyond the limit")
"""
BOOKING = "python3 book.py"
LESSON = "`python3 book.py` takes at most 60 hours. It stops in the middle of a longer booking: split it."
PROPOSAL = {
    "category": "pattern",
    "title": "Hours of a booking",
    "content": LESSON,
    "importance": 7,
    "anchors": ["book.py:LIMIT"],
    "triggers": [f"command: {BOOKING}"],
}
STORY = (
    "Proposed",
    "Approved",
    "Level of its triggers set",
    "Fired for the agents of the team",
    "Reported as outdated",
    "Checked against the code",
    "Edited",
    "Sent to your agents",
)


@pytest.mark.django_db(transaction=True)
def test_a_mistake_becomes_a_warning_until_a_commit_makes_it_false_and_one_page_tells_it(
    tmp_path: Path, settings: Any, monkeypatch: pytest.MonkeyPatch
) -> None:
    settings.BIGMIND_MODE = "team"
    cora, first = make_user("cora", role="curator", display_name="Cora"), make_key()
    keys = {kind: make_key() for kind in (ClaudeCode, Codex, GeminiCli)}
    desk = browser_of(cora)
    with ExitStack() as stack:
        served, process = stack.enter_context(serving(tmp_path / "log.txt", BIGMIND_MODE="team"))
        ada = _at_work(ClaudeCode, first, served, stack, tmp_path / "ada")
        others = [_at_work(kind, key, served, stack, tmp_path / kind.name) for kind, key in keys.items()]

        # A mistake is made, and its lesson is proposed with a trigger.
        ada.model.play(ada.runs(f"{BOOKING} 61"), Step("memory_promote_to_global", PROPOSAL))
        ada.ask("Book 61 hours. Note what others should know.")
        assert "beyond the limit" in ada.replies[0]
        entry = CompanyEntry.objects.get()

        # A curator approves it as advice.
        decide_at_latest(make_actor(cora), entry_id=entry.pk, action="approve", notes="It cost us twice.")
        _set_level(desk, entry, "advise", others)

        # The next ones are warned before the act, which goes through when it is done again.
        _work(others, f"{BOOKING} 61", f"{BOOKING} 30")
        for client in others:
            warning, again = client.replies
            assert "takes at most 60 hours" in warning
            assert "approved by" in warning
            assert "do it again: it will go through" in warning
            assert "takes at most" not in again
            assert _begun(client) == "30 ", client.name

        # What asks holds it until the person lets it through: it helped.
        _set_level(desk, entry, "ask", others)
        _work(others, f"{BOOKING} 61")
        for client in others:
            assert "takes at most 60 hours" in client.replies[0]
            assert f"bigmind allow {entry.handle}" in client.replies[0]
            assert _begun(client) == "30 ", client.name
            before = Step(), Step()  # what it did and said until now
            helped = Step("memory_end_session", {"one_liner": "Booked the crane", "used": [entry.handle]})
            client.model.play(*before, client.runs(f"{BOOKING} 31"), helped)
        _ask_all(others, f"Yes, bigmind allow {entry.handle}.", resume=True)
        assert {_begun(client) for client in others} == {"30 31 "}

        # What blocks stops the act each time, with its reason and the way out.
        _set_level(desk, entry, "block", others)
        _work(others, f"{BOOKING} 61", f"{BOOKING} 61")
        for client in others:
            for stopped in client.replies:
                assert "takes at most 60 hours" in stopped
                assert "doing it again will not help" in stopped
                assert _page(entry) in stopped
            assert _begun(client) == "30 31 ", client.name

        # A commit makes it false. The pull request says so, and the edit that it proposes is accepted.
        _commit(ada.folder, PROGRAM.replace("60", "90"))
        monkeypatch.setenv("BIGMIND_API_KEY", make_key(make_user("ci")).text)
        assert f"{entry.handle} becomes false" in _verify(ada.folder, served)
        proposed = CompanyEntry.objects.get(status="pending")
        decide_at_latest(
            make_actor(cora), entry_id=proposed.pk, action="merge", into=entry.pk, content=proposed.content
        )

        # The new words are told, also while BigMind is away.
        _fetch_triggers(others[:1])
        process.terminate()
        process.wait(timeout=60)
        _work(others[:1], f"{BOOKING} 91")
        assert "takes at most 90 hours" in others[0].model.last.results[0]

    # Every step is on one page, in its order, with its evidence.
    steps, shown = _tell_story(cora, entry)
    told = [step.title for step in steps]
    assert [title for title in STORY[:-1] if title not in told] == []
    assert told.index("Approved") < told.index("Fired for the agents of the team") < told.index("Edited")
    assert f"/company/{proposed.pk}/" in [step.address for step in steps]
    for step in steps:
        assert re.search(rf'<li id="{step.key}">.*?<a href="#{step.key}">\s*<time', shown, re.DOTALL)
        assert not step.address or desk.get(step.address).status_code == 200
    of_reader = {step.key: step for step in _tell_story(keys[ClaudeCode].key.user, entry)[0]}
    assert of_reader["fired-advise-for-you"].notes == "At the level “advise”: 2 times; 1 of them shown or blocked."
    assert "fired-advise" not in of_reader  # two others are too few
    assert "it helped in 1." in of_reader["told-to-you"].notes


def _at_work(kind: type[RealClient], key: NewKey, served: Served, stack: ExitStack, place: Path) -> RealClient:
    """Return somebody's client with hooks, at work in a clone of the repository."""
    client = new_client(kind, stack.enter_context(ModelStandIn()), place)
    _commit(client.folder, PROGRAM)
    client.connect_with_hooks(served.url, key.text)
    return client


def _work(clients: Sequence[RealClient], *lines: str) -> None:
    """Let the agent of each client run commands, all clients at once."""
    for client in clients:
        client.model.play(*map(client.runs, lines))
    _ask_all(clients, "Book the crane.")


def _ask_all(clients: Sequence[RealClient], prompt: str, *, resume: bool = False) -> None:
    with ThreadPoolExecutor() as pool:
        list(pool.map(lambda client: client.ask(prompt, resume=resume), clients))


def _fetch_triggers(clients: Sequence[RealClient]) -> None:
    """Let the hooks have the newest triggers, which they fetch at a start if the machine is quick enough."""
    for client in clients:
        client.fetch_triggers()


def _begun(client: RealClient) -> str:
    return (client.folder / "begun.txt").read_text()


def _page(entry: CompanyEntry, more: str = "") -> str:
    return f"{reverse('company-entry', args=[entry.pk])}{more}"


def _set_level(desk: Client, entry: CompanyEntry, level: str, clients: Sequence[RealClient]) -> None:
    entry.refresh_from_db()
    sent = {"level": level, "revision": entry.revision}
    assert desk.post(reverse("company-level", args=[entry.pk]), sent).status_code == 302
    _fetch_triggers(clients)


def _commit(folder: Path, program: str) -> None:
    (folder / "book.py").write_text(program)
    for command in (["add", "book.py"], ["-c", "user.name=a", "-c", "user.email=a@b.c", "commit", "-qm", "Change."]):
        subprocess.run(["git", "-C", str(folder), *command], check=True)


def _verify(folder: Path, served: Served) -> str:
    """Return what the GitHub Action prints about the last commit. Its exit code is 1 where an entry is false."""
    said = StringIO()
    asked = {"base": "HEAD^", "format": "github", "propose": True, "submit": True}
    with suppress(CommandError):
        call_command("verify", server=served.url, folder=folder, stdout=said, **asked)
    return said.getvalue()


def _tell_story(user: User, entry: CompanyEntry) -> tuple[list[StoryStep], str]:
    """Return the steps that somebody reads, the first one first, and the page."""
    page = browser_of(user).get(_page(entry))
    return list(reversed(page.context["steps"])), page.text
