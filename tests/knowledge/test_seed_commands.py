"""From a lessons-learned file to the knowledge base: parsed, edited by people, imported, parsed and imported again."""

import json
import resource
import time
from io import StringIO
from pathlib import Path

import pytest
from django.core.management import CommandError, call_command
from django.core.management.base import OutputWrapper

from bigmind.management.base import ProgressBar
from knowledge.kb.entries import add_entry, update_entry
from knowledge.kb.entry_reading import search_entries
from knowledge.models import Entry
from tests.factories import make_actor

pytestmark = pytest.mark.django_db

LESSONS = Path(__file__).parent / "parsers" / "LESSONS-LEARNED.md"
STORIES, FACTS = 32, 222
ROWS = """\
source: notes.md
entries:
- key: story
  content: The story of the depot.
  entry_type: summary
- key: story/doors
  content: Doors are locked at six.
  tags: [doors]
  parent: story
  confidence: 0.8
- key: story/keys
  content: Keys hang beside the door.
  parent: story
"""


def _run(*words: str) -> str:
    output = StringIO()
    call_command(*words, stdout=output, stderr=output)
    return output.getvalue()


def _seed(file: Path, *options: str) -> dict:
    document = json.loads(_run("kb_seed", str(file), "--json", *options))
    (report,) = document["sources"]
    return report


@pytest.fixture
def rows(tmp_path: Path) -> Path:
    """A small file of entries, and somebody to own them."""
    make_actor(admin=True)
    file = tmp_path / "notes.yaml"
    file.write_text(ROWS)
    return file


def test_a_file_of_lessons_becomes_yaml_then_entries_and_twice_is_once(tmp_path):
    admin, file = make_actor(admin=True), tmp_path / "lessons.yaml"
    _run("kb_parse", str(LESSONS), "--output", str(file))

    first, again = _seed(file), _seed(file)

    assert (len(first["added"]), first["unchanged"], first["refused"]) == (STORIES + FACTS, 0, [])
    assert (again["added"], again["changed"], again["removed"], again["unchanged"]) == ([], [], {}, STORIES + FACTS)
    assert Entry.objects.count() == STORIES + FACTS
    assert Entry.objects.exclude(parent=None).count() == FACTS
    assert set(Entry.objects.values_list("created_by", flat=True)) == {admin.user.pk}
    assert search_entries(admin, query="deploy rollback", limit=5).items


def test_parsing_again_keeps_what_people_edited(tmp_path):
    file = tmp_path / "lessons.yaml"
    _run("kb_parse", str(LESSONS), "--output", str(file))
    file.write_text(file.read_text().replace("confidence: 1.0", "confidence: 0.4", 1))
    edited = file.read_text()

    report = _run("kb_parse", str(LESSONS), "--output", str(file))

    assert "0 added" in report
    assert file.read_text() == edited


def test_a_folder_of_templates_becomes_one_file(tmp_path):
    folder = tmp_path / "_templates"
    (folder / "ops").mkdir(parents=True)
    (folder / "PROOF-TEMPLATE.md").write_text("# Proof\n")
    (folder / "ops" / "RUNBOOK.md").write_text("# Runbook\n")
    (folder / "BROKEN.md").write_bytes(b"\xff\xff")

    with pytest.raises(CommandError, match=r"BROKEN\.md, line 1: is not UTF-8"):
        _run("kb_parse", str(folder), "--kind", "template", "--output", str(tmp_path / "templates.yaml"))
    make_actor(admin=True)
    report = _seed(tmp_path / "templates.yaml")

    assert report["added"] == ["PROOF-TEMPLATE.md/proof-template", "ops/RUNBOOK.md/runbook"]
    assert set(Entry.objects.values_list("entry_type", flat=True)) == {"template"}


def test_importing_again_reports_what_is_added_changed_removed_and_unchanged(rows):
    _seed(rows)
    edited = ROWS.replace("locked at six", "locked at seven").split("- key: story/keys")[0]
    rows.write_text(f"{edited}- key: story/lights\n  content: Lights go out by themselves.\n  parent: story\n")

    report = _seed(rows)

    assert (report["added"], report["changed"], list(report["removed"]), report["unchanged"]) == (
        ["story/lights"],
        ["story/doors"],
        ["story/keys"],
        1,
    )
    assert set(Entry.objects.values_list("content", flat=True)) == {
        "The story of the depot.",
        "Doors are locked at seven.",
        "Keys hang beside the door.",
        "Lights go out by themselves.",
    }


def test_people_read_the_same_in_words(rows):
    _seed(rows)
    rows.write_text(ROWS.replace("locked at six", "locked at seven"))

    told = _run("kb_seed", str(rows))

    assert "notes.yaml: 0 added, 1 changed, 0 removed from the source, 2 unchanged." in told
    assert "changed: story/doors" in told


def test_a_dry_run_says_the_same_and_changes_nothing(rows):
    would = _seed(rows, "--dry-run")

    assert would["added"] == ["story", "story/doors", "story/keys"]
    assert not Entry.objects.exists()


def test_what_left_the_source_is_deleted_only_when_asked_for_and_confirmed(rows):
    _seed(rows)
    rows.write_text(ROWS.split("- key: story/keys")[0])

    _seed(rows)
    with pytest.raises(CommandError, match="Say --yes"):
        _run("kb_seed", str(rows), "--remove-missing")
    assert Entry.objects.count() == 3
    _run("kb_seed", str(rows), "--remove-missing", "--yes")

    assert Entry.objects.count() == 2


def test_what_somebody_edited_here_stays_and_is_named_once_when_its_source_changed_too(rows):
    _seed(rows)
    doors = Entry.objects.get(content="Doors are locked at six.")
    update_entry(make_actor(doors.created_by), id=doors.pk, content="Doors are locked at half past six.")
    rows.write_text(ROWS.replace("locked at six", "locked at seven"))

    first, again = _seed(rows), _seed(rows)

    doors.refresh_from_db()
    assert doors.content == "Doors are locked at half past six."
    assert (first["kept"], again["kept"], again["unchanged"]) == (["story/doors"], [], 3)


def test_a_confidence_that_was_raised_here_outlives_a_new_wording_of_the_source(rows):
    _seed(rows)
    doors = Entry.objects.get(content="Doors are locked at six.")
    update_entry(make_actor(doors.created_by), id=doors.pk, confidence=1.0)
    rows.write_text(ROWS.replace("locked at six", "locked at seven"))

    _seed(rows)

    doors.refresh_from_db()
    assert (doors.content, doors.confidence) == ("Doors are locked at seven.", 1.0)


def test_what_somebody_else_added_is_known_and_stays_theirs(rows):
    other = make_actor()
    theirs = add_entry(other, content="Doors are locked at six.", entry_type="fact").entry

    report = _seed(rows)

    theirs.refresh_from_db()
    assert (report["added"], report["unchanged"], theirs.created_by) == (["story", "story/keys"], 1, other.user)


def test_two_files_of_one_source_belong_together(rows):
    head, keys = ROWS.split("- key: story/keys")
    rows.write_text(head)
    more = rows.with_name("more.yaml")
    more.write_text(f"source: notes.md\nentries:\n- key: story/keys{keys.replace('  parent: story', '')}")

    _run("kb_seed", str(rows), str(more))
    report = json.loads(_run("kb_seed", str(rows), str(more), "--json"))["sources"][0]

    assert (report["removed"], report["unchanged"]) == ({}, 3)


def test_whoever_imports_owns_what_a_file_says_others_wrote(rows):
    stranger = make_actor()
    rows.write_text(ROWS.replace("  tags: [doors]", f"  created_by: {stranger.user.pk}\n  id: {stranger.user.pk}"))

    report = _seed(rows)

    assert len(report["added"]) == 3
    assert not Entry.objects.filter(created_by=stranger.user).exists()


def test_one_bad_row_is_reported_with_its_place_and_the_rest_is_imported(tmp_path):
    make_actor(admin=True)
    file = tmp_path / "entries.yaml"
    file.write_text("entries:\n  - content: Fine.\n  - content: Not fine.\n    confidence: 7\n")

    with pytest.raises(CommandError, match=r"entries\.yaml, line 4, entry 2: confidence must be 1 or less\."):
        _run("kb_seed", str(file))

    assert [entry.content for entry in Entry.objects.all()] == ["Fine."]


def test_a_row_that_hangs_below_a_bad_one_is_imported_and_finds_its_place_when_that_is_mended(rows):
    rows.write_text(ROWS.replace("The story of the depot.", "''"))
    with pytest.raises(CommandError, match="entry 1"):
        _run("kb_seed", str(rows))
    rows.write_text(ROWS)

    report = _seed(rows)

    assert (report["added"], report["changed"]) == (["story"], ["story/doors", "story/keys"])
    assert Entry.objects.exclude(parent=None).count() == 2


def test_a_file_that_cannot_be_read_does_not_keep_the_others_out(rows):
    bad = rows.with_name("bomb.yaml")
    bad.write_text("a: &a [x]\nb: *a\n")

    with pytest.raises(CommandError, match=r"bomb\.yaml, line 1: has an alias or anchor") as refused:
        _run("kb_seed", str(bad), str(rows))

    assert refused.value.returncode == 1
    assert Entry.objects.count() == 3


def test_a_link_to_a_file_elsewhere_is_not_followed(rows):
    link = rows.with_name("link.yaml")
    link.symlink_to(rows)

    with pytest.raises(CommandError, match=r"link\.yaml: is a link"):
        _run("kb_seed", str(link))


@pytest.mark.parametrize(
    "text",
    [
        "a: &a [x,x,x,x,x,x,x,x,x]\n"
        + "".join(f"{chr(98 + n)}: &{chr(98 + n)} [{','.join(['*' + chr(97 + n)] * 9)}]\n" for n in range(20)),
        "- content: !!python/object/apply:os.system ['true']\n",
        "[" * 100_000,
        "- content: a\n  metadata: {a: " + "[" * 63 + "]" * 63 + "}\n",
        "a" * (4 * 1024 * 1024 + 1),
        "- {key: k0, content: c}\n"
        + "".join(f"- {{key: k{n}, content: c{n}, parent: k{n - 1}}}\n" for n in range(1, 999)),
        "- a\n" * 1_000_000,
    ],
    ids=["aliases", "tag", "deep", "deep metadata", "huge", "long line of parents", "many rows"],
)
def test_hostile_files_are_refused_within_ten_seconds_and_256_mb(tmp_path, text):
    make_actor(admin=True)
    file = tmp_path / "hostile.yaml"
    file.write_text(text)
    begun, memory = time.process_time(), resource.getrusage(resource.RUSAGE_SELF).ru_maxrss

    with pytest.raises(CommandError, match=r"hostile\.yaml"):
        _run("kb_seed", str(file))

    assert time.process_time() - begun < 10
    assert resource.getrusage(resource.RUSAGE_SELF).ru_maxrss - memory < 256 * 1024


@pytest.mark.parametrize("rows", [300, pytest.param(10_000, marks=pytest.mark.torture)])
def test_of_many_rows_one_bad_one_is_named_and_the_others_are_there(tmp_path, rows):
    make_actor(admin=True)
    file = tmp_path / "many.yaml"
    written = [f"- content: Lesson number {number} of many.\n" for number in range(rows - 1)]
    bad = rows // 2
    file.write_text("".join([*written[:bad], "- content: ''\n", *written[bad:]]))

    with pytest.raises(CommandError, match=rf"many\.yaml, line {bad + 1}, entry {bad + 1}: content is empty"):
        _run("kb_seed", str(file))

    assert Entry.objects.count() == rows - 1


def test_a_source_without_anything_to_import_is_refused(tmp_path):
    (tmp_path / "notes.md").write_text("")

    with pytest.raises(CommandError, match="nothing to import"):
        _run("kb_parse", str(tmp_path / "notes.md"))


class _Terminal(StringIO):
    def isatty(self) -> bool:
        return True


def test_progress_is_shown_to_people_and_to_nobody_else():
    terminal, pipe = _Terminal(), StringIO()

    for stream in (terminal, pipe):
        bar = ProgressBar(OutputWrapper(stream), "lessons.yaml", 254)
        bar.advance(127)
        bar.clear()

    assert "lessons.yaml [############------------] 127 of 254" in terminal.getvalue()
    assert pipe.getvalue() == ""
