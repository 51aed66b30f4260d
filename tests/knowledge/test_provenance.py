"""Where an entry came from survives updates, exports and another path."""

import json
from importlib import import_module
from io import StringIO
from pathlib import Path

import pytest
from django.core.management import call_command
from django.db import connection

from bigmind.core.errors import Invalid
from bigmind.core.operations import carry_out
from knowledge.context.sessions import start_session
from knowledge.kb.entries import add_entry, delete_entry, update_entry
from knowledge.kb.entry_imports import import_entries
from knowledge.models import Entry, Session
from knowledge.transfer.own_imports import import_memory
from knowledge.transfer.program_formats import export_memory
from tests.factories import make_actor

pytestmark = pytest.mark.django_db

LESSONS = "# Lessons\n\n## Story 1: Doors\n\n### What went well\n\n- Doors are locked at six.\n- Keys hang there.\n"
SEEDS_OWN_CALL = {"validated_at": "2026-01-24", "gate_result": "PASS"}


def run(*words: str) -> str:
    """Run a command and return what it printed."""
    output = StringIO()
    call_command(*words, stdout=output, stderr=output)
    return output.getvalue()


def seed(*files: Path) -> dict:
    """Import files of entries and return the report on their source."""
    (report,) = json.loads(run("kb_seed", *map(str, files), "--json"))["sources"]
    return report


@pytest.fixture
def lessons(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """A folder with a file of lessons, in which somebody stands who owns this instance."""
    make_actor(admin=True)
    folder = tmp_path / "plans"
    folder.mkdir()
    (folder / "LESSONS-LEARNED.md").write_text(LESSONS)
    monkeypatch.chdir(tmp_path)
    return folder / "LESSONS-LEARNED.md"


def parse(source: Path, output: Path) -> Path:
    """Parse a source, as it is named, into a new file."""
    output.unlink(missing_ok=True)
    run("kb_parse", str(source), "--output", str(output))
    return output


def test_metadata_is_merged_and_null_removes(actor):
    entry = add_entry(actor, content="Doors are locked at six.", entry_type="fact", metadata={"a": 1, "b": 2}).entry

    update_entry(actor, id=entry.pk, metadata={**SEEDS_OWN_CALL, "b": None})

    assert Entry.objects.get().metadata == {"a": 1, **SEEDS_OWN_CALL}


def test_metadata_does_not_grow_past_its_limit_piece_by_piece(actor):
    entry = add_entry(actor, content="Doors are locked.", entry_type="fact", metadata={"a": "x" * 40_000}).entry

    with pytest.raises(Invalid, match="limit is 65,536"):
        update_entry(actor, id=entry.pk, metadata={"b": "x" * 40_000})


def test_a_bullet_that_changes_after_its_metadata_was_updated_is_changed_and_not_added(lessons: Path) -> None:
    file = parse(lessons, lessons.with_name("lessons.yaml"))
    seed(file)
    owner = make_actor(curator=True)
    for entry in Entry.objects.all():
        update_entry(owner, id=entry.pk, metadata={**SEEDS_OWN_CALL, "seed": {}, "provenance": {}})
    before = Entry.objects.count()
    # The key of a bullet is made of its words, so it is edited where people edit.
    file.write_text(file.read_text().replace("locked at six", "locked at seven"))

    report = seed(file)

    assert (report["added"], bool(report["changed"]), Entry.objects.count()) == ([], True, before)
    assert not Entry.objects.filter(content__contains="at six").exists()
    assert Entry.objects.filter(content__contains="at seven", metadata__gate_result="PASS").exists()


def test_a_file_is_the_same_source_from_wherever_it_is_named(lessons: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    output = lessons.parent / "lessons.yaml"
    seed(parse(Path("plans/LESSONS-LEARNED.md"), output))
    before = Entry.objects.count()

    reports = [seed(parse(lessons, output))]
    monkeypatch.chdir(lessons.parent)
    reports.append(seed(parse(Path("LESSONS-LEARNED.md"), output)))

    assert [(report["added"], report["changed"], report["removed"]) for report in reports] == [([], [], {})] * 2
    assert Entry.objects.count() == before


REWORDED = LESSONS.replace("Doors are locked at six.", "Doors are now locked at seven.")


def test_a_bullet_that_was_validated_and_then_reworded_in_its_file_stays_one_entry(lessons: Path) -> None:
    output, owner = lessons.with_name("lessons.yaml"), make_actor(curator=True)
    seed(parse(lessons, output))
    before = {entry.pk: entry.content for entry in Entry.objects.all()}
    for entry_id in before:
        update_entry(owner, id=entry_id, confidence=1.0, metadata=SEEDS_OWN_CALL)
    lessons.write_text(REWORDED)

    report = seed(parse(lessons, output))

    assert (report["added"], len(report["changed"]), report["removed"], report["refused"]) == ([], 2, {}, [])
    assert {entry.pk for entry in Entry.objects.all()} == before.keys()
    doors = Entry.objects.get(entry_type="fact", content__startswith="Doors")
    assert (doors.content, doors.metadata["gate_result"]) == ("Doors are now locked at seven.", "PASS")
    assert not Entry.objects.filter(content__contains="at six").exists()
    assert seed(output)["unchanged"] == 3


def test_a_bullet_that_moved_to_another_section_is_the_same_entry(lessons: Path) -> None:
    output = lessons.with_name("lessons.yaml")
    seed(parse(lessons, output))
    before = set(Entry.objects.values_list("pk", flat=True))
    lessons.write_text(LESSONS.replace("- Keys hang there.\n", "\n### Recommendations\n\n- Keys hang there.\n"))

    report = seed(parse(lessons, output))

    assert (report["added"], report["removed"]) == ([], {})
    assert set(Entry.objects.values_list("pk", flat=True)) == before
    assert "recommendation" in Entry.objects.get(content="Keys hang there.").tags


def test_what_a_person_corrected_here_stays_however_the_source_changes(lessons: Path) -> None:
    output, owner = lessons.with_name("lessons.yaml"), make_actor(curator=True)
    seed(parse(lessons, output))
    doors, keys = (Entry.objects.get(content__startswith=words, entry_type="fact") for words in ("Doors", "Keys"))
    update_entry(owner, id=doors.pk, tags=["security"], roles=["qa"], metadata={"section": "Night watch"})
    update_entry(owner, id=keys.pk, content="Keys hang in the office, not at the door.")
    lessons.write_text(REWORDED.replace("Keys hang there.", "Keys hang there, at the door."))

    reports = [seed(parse(lessons, output)) for _ in range(2)]

    doors.refresh_from_db()
    keys.refresh_from_db()
    assert (doors.content, doors.tags, doors.roles) == ("Doors are now locked at seven.", ["security"], ["qa"])
    assert doors.metadata["section"] == "Night watch"
    assert keys.content == "Keys hang in the office, not at the door."
    assert [len(report["kept"]) for report in reports] == [1, 0]
    assert Entry.objects.count() == 3


def test_what_a_person_corrected_in_the_yaml_stays_when_its_bullet_begins_otherwise(lessons: Path) -> None:
    output = lessons.with_name("lessons.yaml")
    file = parse(lessons, output)
    file.write_text(
        file.read_text().replace("content: Doors are locked at six.", "content: Lock the doors at six sharp.")
    )
    lessons.write_text(REWORDED)

    said = run("kb_parse", str(lessons), "--output", str(output))

    assert "your edit was kept" in said
    assert "Lock the doors at six sharp." in output.read_text()
    assert "content: Doors are now locked at seven." not in output.read_text()


def test_a_file_that_was_renamed_is_the_same_source(lessons: Path) -> None:
    lessons.write_text(LESSONS + "- Lights go out by themselves.\n- The gate is oiled in May.\n")
    seed(parse(lessons, lessons.with_name("lessons.yaml")))
    before = set(Entry.objects.values_list("pk", flat=True))
    renamed = lessons.rename(lessons.parent / "docs-lessons-learned.md")
    renamed.write_text(renamed.read_text().replace("oiled in May", "oiled in June"))

    report = seed(parse(renamed, renamed.with_name("other.yaml")))

    assert (report["added"], report["removed"]) == ([], {})
    assert set(Entry.objects.values_list("pk", flat=True)) == before


def test_a_file_with_some_of_the_same_rules_elsewhere_is_another_source(tmp_path: Path, monkeypatch) -> None:
    make_actor(admin=True)
    monkeypatch.chdir(tmp_path)
    for name, tests in (("web", "npm test"), ("api", "pytest")):
        (tmp_path / name).mkdir()
        rules = f"# Rules\n\n- Run `{tests}` before each commit.\n- Write small commits.\n- Keep the changelog.\n"
        (tmp_path / name / "CLAUDE.md").write_text(rules)

    for name in ("web", "api"):
        seed(parse(Path(name) / "CLAUDE.md", tmp_path / f"{name}.yaml"))

    assert Entry.objects.filter(content__contains="npm test").exists()
    assert Entry.objects.filter(content__contains="pytest").exists()


def test_another_file_of_the_same_name_is_another_source(tmp_path: Path) -> None:
    make_actor(admin=True)
    for name, text in (("one", "Doors are locked at six."), ("two", "Lights go out by themselves.")):
        (tmp_path / name).mkdir()
        (tmp_path / name / "notes.yaml").write_text(f"source: {name}/notes.md\nentries:\n- key: a\n  content: {text}\n")

    reports = [seed(tmp_path / name / "notes.yaml") for name in ("one", "two")]

    assert [report["added"] for report in reports] == [["a"], ["a"]]


def test_an_export_is_taken_back_whole(tmp_path: Path) -> None:
    author, _ = make_actor(), make_actor(admin=True)
    parent = add_entry(author, content="The story of the depot.", entry_type="summary", roles=["designer"]).entry
    add_entry(author, content="Doors are locked at six.", entry_type="fact", parent_id=parent.pk, metadata={"a": 1})
    Entry.objects.update(created_at="2025-01-02T03:04:05Z", updated_at="2025-02-03T04:05:06Z")
    whole = list(Entry.objects.order_by("pk").values(*_KEPT))
    run("export", str(tmp_path / "shared"), "--only", "entries")
    for entry in Entry.objects.all():
        delete_entry(author, id=entry.pk)

    report = seed(*(tmp_path / "shared" / "entries").iterdir())

    assert (len(report["added"]), report["refused"]) == (2, [])
    assert list(Entry.objects.order_by("pk").values(*_KEPT)) == whole


def test_somebody_who_is_no_curator_takes_nothing_in_in_the_name_of_others(tmp_path: Path) -> None:
    author, member = make_actor(), make_actor()
    file = tmp_path / "notes.yaml"
    file.write_text(f"entries:\n- content: Doors are locked.\n  created_by: {author.user.username}\n")

    run("kb_seed", str(file), "--user", member.user.username)

    assert Entry.objects.get().created_by == member.user


def test_rows_of_kb_parse_are_imported_with_their_parents() -> None:
    rows = [
        {"key": "story/doors", "content": "Doors are locked at six.", "parent": "story", "origin": "0123456789abcdef"},
        {"key": "story", "content": "The story of the depot.", "entry_type": "summary"},
        {"key": "lost", "content": "Nobody knows where this belongs.", "parent": "nowhere"},
        {"key": "itself", "content": "This hangs below itself.", "parent": "itself"},
    ]

    report = carry_out(import_entries, make_actor(), {"entries": rows})

    assert report.imported == 2
    assert Entry.objects.get(content__startswith="Doors").parent.content == "The story of the depot."
    assert report.errors == [
        "Entry 3: parent: no entry of this import has the key “nowhere”.",
        "Entry 4: parent: hangs below itself.",
    ]


def test_sessions_keep_their_ids_where_nobody_else_has_any(actor):
    start_session(actor, project="pi")
    before = set(Session.objects.values_list("pk", flat=True))
    document = export_memory(actor).model_dump(mode="json")
    for session in document["sessions"]:
        session["proof"] = ""  # As another instance, with another secret, sees it.
    actor.user.delete()

    carry_out(import_memory, make_actor(), {"document": document})

    assert set(Session.objects.values_list("pk", flat=True)) == before


def test_what_was_noted_in_metadata_moves_there_and_back() -> None:
    mark = {"source": "notes.md", "place": "a", "origin": "1", "text": "2", "confidence": 1.0}
    add_entry(make_actor(), content="Doors are locked.", entry_type="fact", metadata={"a": 1, "seed": mark})
    add_entry(make_actor(), content="Keys hang there.", entry_type="fact", metadata={"seed": "apple"})
    (move,) = import_module("knowledge.migrations.0023_move_provenance").Migration.operations

    states = []
    for statement in (move.sql, move.reverse_sql):
        # Alone, because going back to it would take later columns away from the tests that follow.
        with connection.cursor() as cursor:
            cursor.execute(statement)
        states.append(list(Entry.objects.order_by("content").values_list("metadata", "provenance")))

    assert states[0] == [({"a": 1}, mark), ({"seed": "apple"}, {})]
    assert states[1] == [({"a": 1, "seed": mark}, {}), ({"seed": "apple"}, {})]


_KEPT = [field.attname for field in Entry._meta.concrete_fields if field.name not in {"provenance", "similar_to"}]
