"""Moving in from other programs: what becomes of their exports, and that twice is once."""

import json
import zipfile
from datetime import UTC, datetime
from io import StringIO
from pathlib import Path
from typing import Any

import pytest
from django.core.management import CommandError, call_command
from pydantic import BaseModel

from accounts.models import Agent
from accounts.people.profiles import get_profile
from curation.decisions.forgetting import forget_source
from curation.decisions.who_may_decide import is_personal
from curation.services.foreign_imports import import_bundle, import_reading
from knowledge.kb.entry_imports import NewEntry
from knowledge.memory.facts import deprecate_fact
from knowledge.models import Chunk, CompanyEntry, Fact, Hypothesis, Note, Passage, Session
from knowledge.parsers.archives import bundle_of
from knowledge.parsers.sources import SourceEntry
from knowledge.references.readers.reference_drafts import ReferenceDraft
from knowledge.transfer import exports
from knowledge.transfer.import_receipts import MovedIn
from knowledge.transfer.program_formats import export_memory
from knowledge.transfer.readers.formats import FORMATS, format_of, read
from knowledge.transfer.readers.memory_drafts import CompanyDraft, MemoryDraft
from tests.factories import make_actor

from . import sources, transcripts

pytestmark = pytest.mark.django_db


def bring_in(actor, path: Path, name: str = "auto", *, dry_run: bool = False, **more) -> MovedIn:
    """Import what a path leads to."""
    bundle = bundle_of(path)
    format = format_of(bundle, name)
    return import_reading(actor, read(bundle, format, **more), format, source=bundle.name, dry_run=dry_run)


def _facts(actor) -> set[str]:
    return set(Fact.objects.of(actor.user).values_list("fact", flat=True))


def _write_all(folder: Path) -> dict[str, Path]:
    basic, rules = folder / "notes" / "design", folder / "repo"
    basic.mkdir(parents=True)
    rules.mkdir()
    (basic / "auth.md").write_text(sources.BASIC_NOTE)
    (rules / "CLAUDE.md").write_text(sources.CLAUDE_MD)
    (folder / "memory.jsonl").write_text(sources.MEMORY_SERVER)
    (folder / "saved.txt").write_text("Prefers tea.\n2. Lives in Lisbon.\n\n3. [2025-01-24]. Has two cats.\n")
    for name, document in sources.CLAUDE.items():
        sources.write_json(folder / "claude" / name, document)
    return {
        "mem0": sources.write_json(folder / "mem0.json", sources.MEM0),
        "memory-server": folder / "memory.jsonl",
        "basic-memory": folder / "notes",
        "markdown": rules,
        "text": folder / "saved.txt",
        "chatgpt": sources.write_json(folder / "conversations.json", sources.chatgpt()),
        "claude": folder / "claude",
        "older-bigmind": sources.write_json(folder / "older.json", sources.older_export()),
    }


@pytest.mark.parametrize(
    "name", ["mem0", "memory-server", "basic-memory", "markdown", "text", "chatgpt", "claude", "older-bigmind"]
)
def test_each_format_is_known_by_its_files_and_importing_twice_adds_nothing(tmp_path, name):
    actor, path = make_actor(), _write_all(tmp_path)[name]

    rehearsed = bring_in(actor, path, dry_run=True)
    before = Fact.objects.count() + Session.objects.count() + Note.objects.count() + Agent.objects.count()
    first = bring_in(actor, path)
    second = bring_in(actor, path)

    assert (rehearsed.format, before, rehearsed.agent) == (name, 0, None)
    assert rehearsed.added == first.added
    assert sum(first.added.values()) > 0
    assert first.refused == second.refused == []
    assert not any(second.added.values())
    assert sum(second.unchanged.values()) == sum(first.added.values()) + sum(first.unchanged.values())


def test_memories_of_mem0_become_facts_with_their_dates_and_relations(tmp_path, actor):
    bring_in(actor, sources.write_json(tmp_path / "export.json", sources.MEM0["results"]))
    bring_in(actor, sources.write_json(tmp_path / "all.json", sources.MEM0))

    seat = Fact.objects.get(fact="Prefers window seats")
    assert _facts(actor) == {"Prefers window seats", "Works as a nurse", "ada lives in lisbon"}
    assert seat.created_at == datetime(2025, 5, 4, 18, 22, 33, 123456, tzinfo=UTC)
    assert (seat.category, Fact.objects.get(fact="Works as a nurse").category) == ("preference", "identity")


def test_a_graph_of_the_memory_server_becomes_a_fact_for_each_observation_and_relation(tmp_path, actor):
    (tmp_path / "memory.json").write_text(sources.MEMORY_SERVER)

    bring_in(actor, tmp_path / "memory.json")

    assert _facts(actor) == {
        "Depot (project): Uses PostgreSQL 18",
        "Depot (project): Deploys on Fridays",
        "Ada (person) is known.",
        "Ada works on Depot.",
    }


def test_a_note_of_basic_memory_stays_whole_and_its_observations_become_facts(tmp_path):
    actor, path = make_actor(), _write_all(tmp_path)["basic-memory"]

    bring_in(actor, path)

    note = Note.objects.get(user=actor.user)
    assert (note.domain, note.key) == ("design", "Authentication Design")
    assert "- implements [[API Security Requirements]]" in note.content
    assert note.content == sources.BASIC_NOTE
    assert note.created_at == datetime(2025, 3, 1, 10, tzinfo=UTC)
    assert dict(Fact.objects.of(actor.user).values_list("fact", "category")) == {
        "Authentication Design: Using JWT tokens (agreed in March)": "decision",
        "Authentication Design: Tokens expire after 15 minutes": "constraint",
    }


def test_rules_of_instruction_files_become_facts_of_their_folder(tmp_path, actor):
    sources.write_json(tmp_path / "depot" / "x.json", {})
    (tmp_path / "depot" / "CLAUDE.md").write_text(sources.CLAUDE_MD)
    (tmp_path / "depot" / "topics.md").write_text("# Topics\n\nAll of them.\n")

    bring_in(actor, tmp_path)

    assert {"Prefers short functions.", "Never commit to main."} <= _facts(actor)
    assert set(Fact.objects.of(actor.user).values_list("project", flat=True)) == {"depot"}
    assert Note.objects.get(user=actor.user).key == "topics"


def test_of_a_chat_the_ends_are_kept_and_what_was_saved_as_memory(tmp_path, actor):
    bring_in(actor, _write_all(tmp_path)["chatgpt"])

    packing = Session.objects.get(one_liner="Packing for Lisbon")
    long = Session.objects.get(one_liner="")
    assert packing.started_at.year == 2025
    assert [chunk.content for chunk in long.chunks.order_by("seq")] == ["Line 0", "Line 1", "Line 8", "Line 9"]
    assert not Chunk.objects.filter(content="A lost answer.").exists()
    assert _facts(actor) == {"User is flying to Lisbon in January."}


def test_a_chat_that_went_on_keeps_its_session_and_gains_what_is_new(tmp_path):
    actor, told = make_actor(), sources.CLAUDE["conversations.json"]
    path = sources.write_json(tmp_path / "conversations.json", told)
    bring_in(actor, path)
    more = {"sender": "human", "content": [{"type": "text", "text": "Agreed."}], "created_at": "2025-02-02T09:00:00Z"}
    sources.write_json(path, [{**told[0], "chat_messages": [*told[0]["chat_messages"], more]}])

    again = bring_in(actor, path)

    assert (again.added["sessions"], again.added["chunks"]) == (0, 1)
    assert [chunk.content for chunk in Session.objects.get().chunks.order_by("seq")][-1] == "Agreed."


def test_the_archive_of_claude_brings_conversations_memories_and_projects(tmp_path, actor):
    with zipfile.ZipFile(tmp_path / "data.zip", "w", zipfile.ZIP_DEFLATED) as archive:
        for name, document in sources.CLAUDE.items():
            archive.writestr(name, json.dumps(document))

    bring_in(actor, tmp_path / "data.zip")

    session = Session.objects.get()
    assert session.one_liner == "Naming the depot"
    assert [chunk.content for chunk in session.chunks.order_by("seq")] == ["Name the depot.", "Call it Harbour."]
    assert {"Leads the depot team", "Prefers Python"} == _facts(actor)
    assert set(Note.objects.values_list("domain", "key")) == {
        ("claude", "what Claude remembers"),
        ("claude", "project p1"),
        ("claude Depot", "description"),
        ("claude Depot", "instructions"),
        ("claude Depot", "plan.md"),
    }


def test_an_older_bigmind_moves_in_whole_and_its_database_is_its_export(tmp_path, actor):
    export = sources.write_json(tmp_path / "export.json", sources.older_export())
    database = sources.write_database(tmp_path / "memory.db")

    first = bring_in(actor, export)
    second = bring_in(actor, database)

    session, belief = Session.objects.get(), Hypothesis.objects.get()
    gone = Fact.objects.get(fact="Uses Python 3.11.")
    kept = Fact.objects.get(fact="Prefers FastMCP.")
    entry = CompanyEntry.objects.get()
    assert get_profile(actor).pinned_facts == ["Uses uv", "On macOS"]
    assert (session.one_liner, session.topics, session.importance) == ("BigMind born", ["bigmind", "founding"], 9)
    assert (session.summary.key_facts, session.chunks.get().flag_reason) == (["It has a name"], "decision")
    assert kept.source_session == session
    assert kept.created_at == datetime(2026, 3, 30, 9, 15, tzinfo=UTC)
    assert (gone.is_current, gone.deprecation_reason) == (False, "Moved to 3.12.")
    assert (belief.status, belief.resolution) == ("refuted", "It did not.")
    assert (entry.title, entry.origin, entry.proposed_by) == ("One entry point", "imported", actor.user)
    assert first.added["facts"] == 2
    assert not any(second.added.values())
    assert second.refused == []


def test_of_a_shared_database_one_user_is_taken_and_the_importer_owns_it(tmp_path):
    actor, path = make_actor(), sources.write_database(tmp_path / "memory.db", "ada", "bob")

    with pytest.raises(Exception, match="several users: ada, bob"):
        bring_in(actor, path)
    bring_in(actor, path, whose="bob")

    assert _facts(actor) == {"Prefers FastMCP. (bob)", "Uses Python 3.11. (bob)"}
    assert Session.objects.get().user == actor.user


def test_what_was_set_aside_here_stays_so_when_it_is_imported_again(tmp_path):
    actor, path = make_actor(), _write_all(tmp_path)["text"]
    bring_in(actor, path)
    fact = Fact.objects.get(fact="Prefers tea.")
    deprecate_fact(actor, fact_id=fact.pk, reason="Coffee now.")

    again = bring_in(actor, path)

    assert again.added["facts"] == 0
    assert Fact.objects.filter(fact="Prefers tea.").count() == 1


def test_an_import_is_taken_back_in_one_step_and_nothing_else_goes(tmp_path):
    actor, paths = make_actor(), _write_all(tmp_path)
    bring_in(actor, paths["text"])
    chats = bring_in(actor, paths["chatgpt"])

    forget_source(actor, agent=chats.agent, dry_run=False)

    assert Session.objects.count() == Chunk.objects.count() == 0
    assert _facts(actor) == {"Prefers tea.", "Lives in Lisbon.", "Has two cats."}
    assert set(Passage.objects.values_list("kind", flat=True)) == {"fact"}


def test_a_secret_is_refused_where_the_policy_says_so_and_the_rest_comes_in(tmp_path, settings):
    settings.SECRETS_POLICY = "block"
    actor = make_actor()
    (tmp_path / "saved.txt").write_text("Prefers tea.\nThe key is AKIAIOSFODNN7EXAMPLQ and password: hunter2hunter2\n")

    report = bring_in(actor, tmp_path / "saved.txt")

    assert _facts(actor) == {"Prefers tea."}
    assert len(report.refused) == 1
    assert report.refused[0].startswith("saved.txt, line 2: fact holds what looks like")


@pytest.mark.parametrize("many", [300, pytest.param(10_000, marks=pytest.mark.torture)])
def test_one_bad_row_among_many_is_named_with_its_place(tmp_path, many, actor):
    rows = [{"memory": f"Knows number {number}."} for number in range(many)]
    rows[200] = {"memory": "Half a \ud83d character."}
    path = sources.write_json(tmp_path / "export.json", rows)

    report = bring_in(actor, path)

    assert report.added["facts"] == many - 1
    assert len(report.refused) == 1
    assert report.refused[0].startswith("export.json, memory 201 (line 1): fact has a lone surrogate")


def test_what_bigmind_itself_exported_is_known_too(tmp_path):
    ada, bob = make_actor(), make_actor()
    bring_in(ada, _write_all(tmp_path)["text"])
    (tmp_path / "own.json").write_text(export_memory(ada).model_dump_json())

    first = import_bundle(bob, bundle_of(tmp_path / "own.json"))
    second = import_bundle(bob, bundle_of(tmp_path / "own.json"))

    assert (first.format, first.added["facts"], second.added["facts"]) == ("bigmind", 3, 0)
    assert _facts(ada) == _facts(bob)


def test_the_command_rehearses_reports_and_names_what_it_refused(tmp_path):
    make_actor(admin=True)
    path = tmp_path / "memory.jsonl"
    path.write_text(sources.MEMORY_SERVER + "not json\n")
    output, remarks = StringIO(), StringIO()

    with pytest.raises(CommandError, match="1 refused; the rest was imported"):
        call_command("memory_import_from", "auto", str(path), stdout=output, stderr=remarks)

    assert "facts          4      0" in output.getvalue().replace("  added  here already", "")
    assert "memory.jsonl, line 4: is not valid JSON" in remarks.getvalue()


def test_of_many_refused_rows_the_command_prints_some_and_counts_the_others(tmp_path):
    make_actor(admin=True)
    path = tmp_path / "memory.jsonl"
    path.write_text(sources.MEMORY_SERVER + "not json\n" * 25)
    remarks = StringIO()

    with pytest.raises(CommandError, match="25 refused"):
        call_command("memory_import_from", "auto", str(path), stdout=StringIO(), stderr=remarks)

    assert remarks.getvalue().count("is not valid JSON") == 20
    assert remarks.getvalue().endswith("and 5 more; --json names them.\n")


def test_a_proposal_that_nobody_had_approved_there_is_approved_by_no_import(tmp_path: Path):
    document = sources.older_export()
    document["global_knowledge"][0]["status"] = "pending"
    curator = make_actor(curator=True)

    report = import_bundle(curator, bundle_of(sources.write_json(tmp_path / "older.json", document)))

    assert not CompanyEntry.objects.exists()
    assert any("was not approved yet" in line for line in report.refused)


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
