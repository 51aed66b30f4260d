"""Backup and restore of the embedded database, as a person does it with two commands."""

import json
from pathlib import Path

import httpx
import pytest

from tests.embedded.conftest import folder  # noqa: F401
from tests.embedded.instance import Instance, command


@pytest.fixture
def homes(folder: Path) -> tuple[Path, Path]:  # noqa: F811
    """Return two homes that do not exist yet."""
    return folder / "old", folder / "new"


def test_what_was_backed_up_while_it_ran_lives_on_in_another_home(homes, tmp_path):
    old, new = homes
    empty = command(old, "backup", str(tmp_path))
    running = Instance.prepare(old, BIGMIND_EMBEDDING_PROVIDER="hashing").start()
    try:
        command(old, "op", "memory_store_fact", "category=preference", "fact=Prefers pytest.")
        made = json.loads(command(old, "backup", str(tmp_path), "--json").stdout)
        refused = command(old, "restore", made["path"], "--replace", "--yes")
    finally:
        running.hurry()

    restored = command(new, "restore", made["path"])
    moved = Instance(new, BIGMIND_EMBEDDING_PROVIDER="hashing").start()
    try:
        bearer = {"Authorization": f"Bearer {running.key}"}
        facts = httpx.get(f"{moved.url}/api/v1/facts/", headers=bearer, timeout=10).json()
    finally:
        moved.hurry()

    assert (empty.returncode, "There is no BigMind in" in empty.stderr) == (1, True)
    assert (refused.returncode, "Stop it first" in refused.stderr) == (1, True)
    assert restored.stdout.startswith("Restored "), restored.stderr
    assert [fact["fact"] for fact in facts["items"]] == ["Prefers pytest."]
    assert (new / "secret_key").read_text() == (old / "secret_key").read_text()
