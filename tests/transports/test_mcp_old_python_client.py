"""The official Python client of the first generation, which many agents still carry, in an environment of its own."""

import json
import os
import subprocess
import sys
from hashlib import sha256
from pathlib import Path

import pytest

from tests.factories import make_key
from tests.serving import ROOT, Served

REQUIREMENTS = ROOT / "requirements" / "mcp1.txt"
ENVIRONMENT = ROOT / ".make" / "mcp1"
CONVERSATION = Path(__file__).with_name("old_python_client.py")


@pytest.fixture(scope="session")
def old_python() -> Path:
    """The interpreter of an environment with the old client, made once and kept until the requirements change."""
    python, made_from = ENVIRONMENT / "bin" / "python", ENVIRONMENT / "made-from"
    wanted = sha256(REQUIREMENTS.read_bytes()).hexdigest()
    if not made_from.exists() or made_from.read_text() != wanted:
        _run(sys.executable, "-m", "venv", "--clear", str(ENVIRONMENT))
        _run(str(python), "-m", "pip", "install", "--quiet", "--require-hashes", "-r", str(REQUIREMENTS))
        made_from.write_text(wanted)
    return python


def _run(*command: str) -> None:
    """Run a command that needs the package index; without it the test is skipped, but not where it must run."""
    done = subprocess.run(command, capture_output=True, text=True, check=False)
    if done.returncode and os.environ.get("CI"):
        pytest.fail(done.stderr)
    if done.returncode:
        pytest.skip(f"The old client could not be installed: {done.stderr.strip().splitlines()[-1:]}")


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
