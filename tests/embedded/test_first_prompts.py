"""The first prompts after a restart: their hooks wait for a third of a second, and nobody asks again."""

import json
import os
import subprocess
import sys
from collections.abc import Iterator
from itertools import count
from pathlib import Path

import httpx
import pytest

from accounts.connecting.hook_files import HookConfig, HookFolder
from accounts.connecting.hooks import PROGRAM_FILE
from tests.embedded.instance import Instance

# Beside other tests the machine is never quiet, and it skipped itself.
pytestmark = [pytest.mark.torture, pytest.mark.alone]

CLIENT = "claude-code"
CONVERSATIONS, RESTARTS = 12, 2
ANSWERED_BY_COLD = 6
"""Processes that load what they need in their first calls answered two."""


class Client:
    """A program for agents whose hooks are installed, in a home of its own."""

    def __init__(self, folder: Path, url: str, key: str) -> None:
        self.home = folder / "person"
        self.home.mkdir()
        self.hooks = HookFolder(folder / "hooks")
        self.hooks.write(HookConfig(CLIENT, url, key, places=["user"]))

    def ask(self, conversation: int) -> str:
        """Send the first prompt of a conversation as the client does; return what its model reads."""
        prompt = "Through what do deploys of the router go?"
        event = {"hook_event_name": "UserPromptSubmit", "session_id": f"s{conversation}", "prompt": prompt}
        command = [sys.executable, "-I", "-S", str(self.hooks.folder / PROGRAM_FILE), CLIENT]
        done = subprocess.run(
            command,
            input=json.dumps({"cwd": str(self.home), **event}),
            env={"HOME": str(self.home), "PATH": os.environ["PATH"]},
            cwd=self.home,
            capture_output=True,
            text=True,
        )
        return str(json.loads(done.stdout).get("hookSpecificOutput", {}).get("additionalContext", ""))


@pytest.fixture
def instance(folder: Path) -> Iterator[Instance]:
    """Yield a BigMind that was stopped, with one fact."""
    instance = Instance.prepare(folder / "home").start()
    headers, fact = {"Authorization": f"Bearer {instance.key}"}, "Deploys of the router go through the blue queue."
    stored = httpx.post(
        f"{instance.url}/api/v1/facts/", json={"category": "decision", "fact": fact}, headers=headers, timeout=60
    )
    assert stored.status_code == 201, stored.text
    instance.stop()
    yield instance
    instance.hurry()


def test_the_first_prompt_of_each_of_twelve_conversations_is_answered_after_a_restart(instance: Instance) -> None:
    client, numbers = Client(instance.home.parent, instance.url, instance.key), count()

    def answered() -> int:
        """Return how many of the next conversations are told in time what is known."""
        return sum("blue queue" in client.ask(next(numbers)) for _ in range(CONVERSATIONS))

    # Other tests share the machine, and hooks do not wait for them: what matters is a restart in a quiet moment.
    was_quiet, most = False, 0
    for _ in range(RESTARTS):
        instance.start()
        first, later = answered(), answered()
        instance.stop()
        was_quiet, most = was_quiet or later == CONVERSATIONS, max(most, first)
        if first == CONVERSATIONS:
            return

    if not was_quiet or most > ANSWERED_BY_COLD:
        pytest.skip(f"The machine is too busy to say more: {most} of the first {CONVERSATIONS} prompts were answered.")
    pytest.fail(f"Of the first {CONVERSATIONS} prompts after a restart {most} were answered, later all.")
