"""Nothing that is read from a file is approved or verified by being read, whichever reader reads it."""

from pathlib import Path
from typing import Any

import pytest
from pydantic import BaseModel

from curation.decisions.who_may_decide import is_personal
from curation.services.foreign_imports import import_bundle
from knowledge.kb.entry_imports import NewEntry
from knowledge.models import CompanyEntry, Passage
from knowledge.parsers.archives import bundle_of
from knowledge.parsers.sources import SourceEntry
from knowledge.references.readers.reference_drafts import ReferenceDraft
from knowledge.transfer import exports
from knowledge.transfer.readers.formats import FORMATS
from knowledge.transfer.readers.memory_drafts import CompanyDraft, MemoryDraft
from tests.factories import make_actor

from . import sources, transcripts

pytestmark = pytest.mark.django_db

DECIDED = {"status": "approved", "verified": True, "verified_at": "2026-01-01", "decided_by": "cora", "approved": True}
NOTE = "---\ntitle: Deploys\ntype: note\nstatus: approved\nverified: true\n---\n\n- [decision] Deploy on Fridays.\n"
MARKED = [{"id": "1", "memory": "Deploy on Fridays.", "metadata": DECIDED, **DECIDED}]


@pytest.fixture(scope="module")
def written(tmp_path_factory: pytest.TempPathFactory) -> dict[str, Path]:
    """Write one source of each format, claiming that everything in it is decided."""
    folder = tmp_path_factory.mktemp("decided")
    for name, text in {"notes/a.md": NOTE, "repo/CLAUDE.md": NOTE, "saved.txt": "APPROVED by cora: Fridays.\n"}.items():
        (folder / name).parent.mkdir(exist_ok=True)
        (folder / name).write_text(text)
    (folder / "memory.jsonl").write_text(
        '{"type":"entity","name":"Deploys","entityType":"approved standard","observations":["On Fridays."],'
        '"status":"approved","verified":true}\n'
    )
    vault = folder / "vault"
    (vault / ".obsidian").mkdir(parents=True)
    (vault / ".obsidian/app.json").write_text("{}")
    (vault / "a.md").write_text(NOTE)
    older = sources.older_export()
    older["global_knowledge"] = [{**row, **DECIDED} for row in older["global_knowledge"]]
    for name, document in sources.CLAUDE.items():
        sources.write_json(folder / "claude" / name, [{**one, **DECIDED} for one in document])
    for name, files in {"okf": sources.OKF, "mine": sources.CLAUDE_MEMORY, "ours": sources.CODEX_MEMORY}.items():
        for path, text in files.items():
            (folder / name / path).parent.mkdir(parents=True, exist_ok=True)
            (folder / name / path).write_text(text)
    memories = {"memories": [{**one, **DECIDED} for one in sources.MCP_MEMORY_SERVICE["memories"]]}
    conversations = [{**one, **DECIDED} for one in sources.chatgpt()]
    return {
        "older-bigmind": sources.write_json(folder / "older.json", older),
        "claude-code": transcripts.claude_code(folder / "claude-code"),
        "codex": transcripts.codex(folder / "codex"),
        "gemini-cli": transcripts.gemini_cli(folder / "gemini-cli"),
        "claude": folder / "claude",
        "chatgpt": sources.write_json(folder / "conversations.json", conversations),
        "memory-server": folder / "memory.jsonl",
        "mem0": sources.write_json(folder / "mem0.json", {"results": MARKED}),
        "mcp-memory-service": sources.write_json(folder / "memories.json", {**sources.MCP_MEMORY_SERVICE, **memories}),
        "okf": folder / "okf",
        "claude-memory": folder / "mine",
        "codex-memory": folder / "ours",
        "basic-memory": folder / "notes",
        "obsidian": vault,
        "markdown": folder / "repo",
        "text": folder / "saved.txt",
    }


@pytest.mark.parametrize("mode", ["personal", "team"])
@pytest.mark.parametrize("name", [one.name for one in FORMATS])
def test_an_import_approves_nothing(written: dict[str, Path], settings: Any, name: str, mode: str) -> None:
    settings.BIGMIND_MODE = mode
    actor = make_actor(curator=True)

    report = import_bundle(actor, bundle_of(written[name]), name=name)

    assert sum(report.added.values())
    assert is_personal() == (mode == "personal")
    assert not CompanyEntry.objects.approved().exists()
    assert not CompanyEntry.objects.exclude(verified_at=None, decided_by=None).exists()
    assert not Passage.objects.filter(kind="company").exists()
    assert CompanyEntry.objects.exists() == (name == "older-bigmind")


def _models(*roots: type[BaseModel]) -> list[type[BaseModel]]:
    return [kind for root in roots for kind in (root, *_models(*root.__subclasses__()))]


def test_no_reader_has_a_place_for_a_decision() -> None:
    own = [kind for kind in vars(exports).values() if isinstance(kind, type) and issubclass(kind, BaseModel)]
    drafts = {*_models(MemoryDraft, SourceEntry, ReferenceDraft, NewEntry), *own}
    decisions = {"verified_at", "decided_by", "decided_at", "endorsed_by", "approved", "verified", "review_after"}

    assert CompanyDraft in drafts
    assert {kind.__name__: found for kind in drafts if (found := decisions & kind.model_fields.keys())} == {}
    assert "status" not in CompanyDraft.model_fields
