"""The official Python client of the first generation, which many agents still carry, in an environment of its own."""

import json
import subprocess
from pathlib import Path

import pytest

from tests.factories import make_key
from tests.serving import Served
from tests.side_environment import python_with

CONVERSATION = Path(__file__).with_name("old_python_client.py")


@pytest.fixture(scope="session")
def old_python() -> Path:
    """The interpreter of an environment with the old client."""
    return python_with("mcp1")


def test_the_old_client_works_and_its_next_session_knows(served: Served, old_python: Path) -> None:
    key = make_key().text

    done = subprocess.run(
        [old_python, CONVERSATION, served.mcp, key], capture_output=True, text=True, check=False, timeout=60
    )

    assert done.returncode == 0, done.stderr
    seen = json.loads(done.stdout)
    assert seen["protocol"] == "2025-11-25"
    assert seen["tools"][0] == "memory_start_session"
    assert "Prefers tabs over spaces." in seen["context"]
    assert "Chose a database" in seen["context"]
