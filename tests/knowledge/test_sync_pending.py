"""LEARNINGS.yaml files that agents wrote while BigMind was out of reach arrive, once, and the files say so."""

import json
from io import StringIO
from pathlib import Path

import pytest
import yaml
from django.core.management import CommandError, call_command

from knowledge.kb.entries import add_entry
from knowledge.models import Entry
from tests.factories import make_actor

pytestmark = pytest.mark.django_db

PENDING = """\
# _implementation/LEARNINGS.yaml
story_id: WRKF-1021   # the node metrics
synced_at:
kb_available: false
pending_sync: true

entries:
  - id: <uuid-from-kb>
    type: summary
    content: "WRKF-1021: Node Execution Metrics..."

  # Said by the reviewer.
  - type: fact
    category: recommendation
    content: "Check for naming conflicts before creating new types."
    parent_id: <summary-uuid>

  - {type: fact, category: reuse, content: "RetryMetrics pattern from `@repo/api-client`"}
author: dev-implement-learnings
"""


def _run(*words: str) -> str:
    output = StringIO()
    call_command("sync_pending", *words, stdout=output, stderr=output)
    return output.getvalue()


def _file(folder: Path, text: str = PENDING, name: str = "LEARNINGS.yaml") -> Path:
    folder.mkdir(parents=True, exist_ok=True)
    (folder / name).write_bytes(text.encode())
    return folder / name


@pytest.fixture(autouse=True)
def admin():
    """Who owns what arrives."""
    return make_actor(admin=True)


def test_what_waits_arrives_with_parents_story_and_owner(tmp_path, admin):
    _file(tmp_path / "plans" / "WRKF-1021" / "_implementation")

    told = _run(str(tmp_path))

    summary = Entry.objects.get(entry_type="summary")
    facts = Entry.objects.filter(entry_type="fact")
    assert "Added 3 from 1 files; 0 known already." in told
    assert {fact.parent_id for fact in facts} == {summary.pk}
    assert {entry.source_story for entry in Entry.objects.all()} == {"WRKF-1021"}
    assert {entry.source_file for entry in facts} == {"plans/WRKF-1021/_implementation/LEARNINGS.yaml"}
    assert {entry.created_by for entry in Entry.objects.all()} == {admin.user}


def test_the_file_is_marked_with_ids_and_everything_else_stays(tmp_path):
    file = _file(tmp_path)

    _run(str(file))

    text = file.read_text()
    ids = {entry.content: str(entry.pk) for entry in Entry.objects.all()}
    loaded = yaml.safe_load(text)
    assert (loaded["kb_available"], loaded["pending_sync"]) == (True, False)
    assert [one["id"] for one in loaded["entries"]] == [ids[one["content"]] for one in loaded["entries"]]
    assert [one.get("parent_id") for one in loaded["entries"]] == [None, *[loaded["entries"][0]["id"]] * 2]
    assert "# _implementation/LEARNINGS.yaml\nstory_id: WRKF-1021   # the node metrics\n" in text
    assert "  # Said by the reviewer.\n" in text
    assert text.endswith("author: dev-implement-learnings\n")
    assert list(tmp_path.iterdir()) == [file]


def test_line_breaks_of_windows_and_a_byte_order_mark_stay(tmp_path):
    file = _file(tmp_path, "\ufeff" + PENDING.replace("\n", "\r\n"))

    _run(str(file))

    raw = file.read_bytes()
    assert raw.startswith(b"\xef\xbb\xbf# _implementation")
    assert raw.count(b"\n") == raw.count(b"\r\n") > PENDING.count("\n")
    assert _run(str(file)) == "Nothing is pending in 1 files.\n"


def test_doing_it_twice_changes_nothing(tmp_path):
    file = _file(tmp_path)
    _run(str(tmp_path))
    marked = file.read_bytes()

    told = _run(str(tmp_path))

    assert told == "Nothing is pending in 1 files.\n"
    assert (file.read_bytes(), Entry.objects.count()) == (marked, 3)


def test_a_sync_that_died_before_it_marked_the_file_adds_nothing_twice(tmp_path):
    file = _file(tmp_path)
    _run(str(file))
    file.write_text(PENDING)

    told = _run(str(file))

    assert "0 added, 3 known already" in told
    assert Entry.objects.count() == 3
    assert "pending_sync: false" in file.read_text()


def test_a_dry_run_says_what_would_come_and_changes_nothing(tmp_path):
    file = _file(tmp_path)
    add_entry(make_actor(), content="Check for naming conflicts before creating new types.", entry_type="fact")

    told = _run(str(tmp_path), "--dry-run")

    assert "Would add 2 from 1 files; 1 known already." in told
    assert (file.read_text(), Entry.objects.count()) == (PENDING, 1)


def test_scripts_read_json(tmp_path):
    _file(tmp_path / "a")
    _file(tmp_path / "b", "story_id: A-2\nkb_available: true\nentries: []\n")

    document = json.loads(_run(str(tmp_path), "--json"))

    told = [(one["file"], one["was_pending"], len(one["added"]), one["is_synced"]) for one in document["files"]]
    assert told == [("a/LEARNINGS.yaml", True, 3, True), ("b/LEARNINGS.yaml", False, 0, True)]


@pytest.mark.parametrize(
    "text",
    [
        "story_id: A-1\nkb_available: no\nentries:\n  - content: a\n",
        "story_id: A-1\npending_sync: yes\nentries:\n- content: a\n",
        'story_id: A-1\nkb_available: "False"\nentries: [{content: a}]\n',
        "pending_sync: true\nentries:\n  - {type: recommendation, content: a}\n",
        "pending_sync: true\nentries:\n  - entry_type: fact\n    id:\n    content: |\n      a\n",
    ],
)
def test_irregular_files_are_understood(tmp_path, text):
    file = _file(tmp_path, text, "learnings.yml")

    _run(str(tmp_path))

    assert [entry.content.strip() for entry in Entry.objects.all()] == ["a"]
    assert yaml.safe_load(file.read_text())["kb_available"] is True


def test_a_fact_hangs_below_the_entry_its_parent_id_names_here_and_below_none_where_that_is_unknown(tmp_path):
    parent = add_entry(make_actor(), content="An older summary.", entry_type="summary").entry
    head = "pending_sync: true\nentries:\n"
    _file(tmp_path / "a", f"{head}  - content: Below it.\n    parent_id: {parent.pk}\n")
    _file(tmp_path / "b", f"{head}  - content: Alone.\n    parent_id: 6a6f1a8e-0000-4000-8000-000000000000\n")

    _run(str(tmp_path))

    assert Entry.objects.get(content="Below it.").parent == parent
    assert Entry.objects.get(content="Alone.").parent is None


def test_a_file_that_waits_with_nothing_in_it_waits_no_more(tmp_path):
    file = _file(tmp_path, "story_id: A-1\nkb_available: false\npending_sync: true\nentries: []\n")

    _run(str(tmp_path))

    assert "pending_sync: false" in file.read_text()


@pytest.mark.parametrize(
    ("text", "refusal"),
    [
        (b"a: &a [x]\npending_sync: *a\n", r"line 1: has an alias or anchor"),
        (b"pending_sync: true\nentries:\n- content: !!python/name:os.system x\n", r"line 3: has a tag"),
        (b"pending_sync: true\nentries: " + b"[" * 5_000, r"line 2: is nested deeper than 64 levels"),
        (b"pending_sync: true\nentries:\n- content: a\n- content: b\xff\n", r"line 4: is not UTF-8"),
        (b"pending_sync: true\nentries:\n- content: a\n- content: ''\n", r"line 4, entry 2: content is empty"),
        (b"#" * (4 * 1024 * 1024 + 1), r"is larger than 4,194,304 bytes"),
        (b"pending_sync: true\nentries: all\n", r"line 2: entries must be a list"),
    ],
)
def test_a_hostile_file_is_refused_with_its_place_and_the_others_are_synced(tmp_path, text, refusal):
    _file(tmp_path / "good")
    (tmp_path / "bad").mkdir()
    (tmp_path / "bad" / "LEARNINGS.yaml").write_bytes(text)

    with pytest.raises(CommandError, match=refusal) as refused:
        _run(str(tmp_path))

    assert refused.value.returncode == 1
    assert str(refused.value).startswith("bad/LEARNINGS.yaml")
    assert Entry.objects.count() == 3
    assert (tmp_path / "bad" / "LEARNINGS.yaml").read_bytes() == text


def test_links_lead_nowhere(tmp_path):
    outside = _file(tmp_path / "outside")
    inside = tmp_path / "inside"
    inside.mkdir()
    (inside / "LEARNINGS.yaml").symlink_to(outside)
    (inside / "linked").symlink_to(outside.parent)

    told = _run(str(inside))

    assert told == "There is no LEARNINGS.yaml here.\n"
    for link in ("LEARNINGS.yaml", "linked"):
        with pytest.raises(CommandError, match="is a link"):
            _run(str(inside / link))
    assert (outside.read_text(), Entry.objects.count()) == (PENDING, 0)


def test_a_path_that_is_not_there_is_a_misuse(tmp_path):
    with pytest.raises(CommandError, match="does not exist") as refused:
        _run(str(tmp_path / "nowhere"))

    assert refused.value.returncode == 2
