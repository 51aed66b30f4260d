"""The official TypeScript client, which most editors carry."""

import json
import os
import shutil
import subprocess
from pathlib import Path
from typing import NoReturn

import pytest

from tests.factories import make_key
from tests.serving import Served

FOLDER = Path(__file__).with_name("typescript")


@pytest.fixture(scope="session")
def node() -> str:
    """Node with the client installed; without them the tests are skipped, but not where they must run."""
    node, npm = shutil.which("node"), shutil.which("npm")
    if node is None or npm is None:
        _go_without("Node.js is not installed.")
    if not (FOLDER / "node_modules").exists():
        command = [npm, "ci", "--prefix", str(FOLDER), "--no-audit", "--no-fund"]
        if subprocess.run(command, capture_output=True, check=False).returncode:
            _go_without("The TypeScript client could not be installed.")
    return node


def _go_without(reason: str) -> NoReturn:
    if os.environ.get("CI"):
        pytest.fail(reason)
    pytest.skip(reason)


def test_the_typescript_client_works_and_its_next_session_knows(served: Served, node: str) -> None:
    key = make_key().text

    done = subprocess.run(
        [node, "conversation.mjs", served.mcp, key],
        cwd=FOLDER,
        capture_output=True,
        text=True,
        check=False,
        timeout=60,
    )

    assert done.returncode == 0, done.stderr
    seen = json.loads(done.stdout)
    assert seen["server"]["name"] == "bigmind"
    assert "memory_start_session" in seen["instructions"]
    assert seen["resources"] == ["bigmind://context", "bigmind://instructions"]
    assert seen["refusal"]["isError"]
    assert "category must be one of" in seen["refusal"]["text"]
    assert "Prefers tabs over spaces." in seen["context"]
    assert "Chose a database" in seen["context"]
