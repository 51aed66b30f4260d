"""Programs that keep memories, as they are installed: they read what BigMind writes, and BigMind what they write."""

import json
import subprocess
import sys
from pathlib import Path
from typing import Any

import pytest

from curation.services.foreign_imports import import_bundle
from knowledge.models import Fact, Note
from knowledge.parsers.archives import bundle_of
from knowledge.transfer.program_formats import files_for
from knowledge.transfer.readers.provenance import NAME
from tests.factories import make_actor
from tests.knowledge.importers.passports import fields_of, fill_memory

pytestmark = [pytest.mark.clients, pytest.mark.django_db]

FOLDER = Path(__file__).parent / "memories"
PACKAGES = FOLDER / ".venv"
PROGRAMS = {
    "memory-server": "memory-server",
    "mem0": "mem0",
    "mcp-memory-service": "mcp-memory-service",
    "hermes-okf": "okf",
    "basic-memory": "basic-memory",
}
"""The programs, and the format of each."""
NEW = {"id", "updated_at", "role", "user_id", "import_info", "export_source", "timestamp"}
"""What a program sets itself whenever it takes a memory in."""


# hermes-okf cannot read back what it wrote itself where a text has three dashes.
@pytest.mark.parametrize("program", [program for program in PROGRAMS if program != "hermes-okf"])
def test_a_memory_goes_through_the_program_and_comes_back_with_every_field(program: str, tmp_path: Path) -> None:
    ada, bob = fill_memory(make_actor()), make_actor()
    given = _write(tmp_path / "given", files_for(ada, PROGRAMS[program]))

    report = import_bundle(bob, bundle_of(_run(program, given, tmp_path / "out")), name=PROGRAMS[program])

    before, after = fields_of(ada), fields_of(bob)
    lost = {name: (value, after.get(name)) for name, value in before.items() if after.get(name) != value}
    print(f"{program}: {len(before) - len(lost)} of {len(before)} fields came back; lost: {lost}")
    assert report.refused == []
    assert len(lost) <= len(before) / 100


@pytest.mark.parametrize("program", PROGRAMS)
def test_what_the_program_remembers_returns_to_it(program: str, tmp_path: Path) -> None:
    actor = make_actor()
    first = _run(program, None, tmp_path / "first")

    report = import_bundle(actor, bundle_of(first), name=PROGRAMS[program])
    again = _run(program, _write(tmp_path / "back", files_for(actor, PROGRAMS[program])), tmp_path / "again")

    assert report.refused == []
    assert Fact.objects.of(actor.user).exists() or Note.objects.of(actor.user).exists()
    assert _told(again) == _told(first)


def _write(folder: Path, files: dict[str, bytes]) -> Path:
    for path, content in files.items():
        (folder / path).parent.mkdir(parents=True, exist_ok=True)
        (folder / path).write_bytes(content)
    return folder


def _run(program: str, given: Path | None, out: Path) -> Path:
    out.mkdir()
    python, version = PACKAGES / "bin" / "python", f"python{sys.version_info[0]}.{sys.version_info[1]}"
    environment = {"HOME": str(out.parent), "PATH": "/usr/local/bin:/usr/bin:/bin", "SERVER": str(FOLDER)}
    if program == "basic-memory":
        python = PACKAGES / "newer" / "bin" / "python"
        if not python.exists():
            pytest.skip("basic-memory needs Python 3.12, and `make clients` found none")
    if program == "mcp-memory-service" and not _loads_extensions(python):
        python = Path("/usr/bin") / version
        if not _loads_extensions(python):
            pytest.skip("no Python here lets SQLite load extensions")
        environment["PYTHONPATH"] = str(PACKAGES / "lib" / version / "site-packages")
    command = [str(python), str(FOLDER / "programs.py"), program, str(given or "-"), str(out)]
    done = subprocess.run(command, env=environment, capture_output=True, text=True, timeout=180, check=False)
    assert done.returncode == 0, done.stderr[-2_000:]
    return out


def _loads_extensions(python: Path) -> bool:
    asked = "import sqlite3; sqlite3.Connection.enable_load_extension"
    return (
        python.exists() and not subprocess.run([str(python), "-c", asked], capture_output=True, check=False).returncode
    )


def _told(folder: Path) -> Any:
    """All that the files of a program say, without what it sets itself."""
    files = {path.relative_to(folder).as_posix(): path.read_text() for path in folder.rglob("*") if path.is_file()}
    return {
        path: sorted(json.dumps(_lasting(json.loads(line)), sort_keys=True) for line in text.splitlines())
        if path.endswith(".jsonl")
        else _lasting(json.loads(text))
        if path.endswith(".json")
        else "\n".join(line for line in text.splitlines() if not line.startswith("timestamp:"))
        for path, text in files.items()
        if path not in {NAME, "log.md"}
    }


def _lasting(told: Any) -> Any:
    if isinstance(told, dict):
        kept = {name: _lasting(value) for name, value in told.items() if name not in {*NEW, "export_metadata"}}
        return {name: value for name, value in kept.items() if value not in ({}, None)}
    if isinstance(told, list):
        return sorted((_lasting(one) for one in told), key=str)
    return told
