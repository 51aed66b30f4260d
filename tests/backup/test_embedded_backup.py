"""Backup and restore of the embedded database, as a person does it with two commands."""

import json
from pathlib import Path
from typing import Any

import httpx
import pytest

from tests.embedded.conftest import folder  # noqa: F401
from tests.embedded.console import Console
from tests.embedded.instance import CopiedInstance, Instance

SMALL = {"BIGMIND_EMBEDDING_PROVIDER": "hashing", "BIGMIND_WEB_PROCESSES": "1"}


@pytest.fixture
def homes(folder: Path) -> tuple[Path, Path]:  # noqa: F811
    """Return two homes that do not exist yet."""
    return folder / "old", folder / "new"


def test_what_was_backed_up_while_it_ran_lives_on_in_another_home(homes, tmp_path):
    old, new = homes
    console = Console(old)
    empty = console.run("backup", str(tmp_path))
    running = CopiedInstance.prepare(old, **SMALL).start()
    try:
        _facts(running, "POST", json={"category": "preference", "fact": "Prefers pytest."})
        made = json.loads(console.run("backup", str(tmp_path), "--json").stdout)
        refused = console.run("restore", made["path"], "--replace", "--yes")
    finally:
        running.hurry()

    restored = Console(new).run("restore", made["path"])
    moved = CopiedInstance(new, **SMALL).start()
    try:
        moved.printed += running.printed
        facts = _facts(moved, "GET")
    finally:
        moved.hurry()

    assert (empty.returncode, "There is no BigMind in" in empty.stderr) == (1, True)
    assert (refused.returncode, "Stop it first" in refused.stderr) == (1, True)
    assert restored.stdout.startswith("Restored "), restored.stderr
    assert [fact["fact"] for fact in facts["items"]] == ["Prefers pytest."]
    assert (new / "secret_key").read_text() == (old / "secret_key").read_text()


def _facts(instance: Instance, method: str, **body: Any) -> Any:
    bearer = {"Authorization": f"Bearer {instance.key}"}
    return httpx.request(method, f"{instance.url}/api/v1/facts/", headers=bearer, timeout=20, **body).json()
