"""From a lessons-learned file to the knowledge base: parsed, edited by people, imported, parsed again."""

from io import StringIO
from pathlib import Path

import pytest
from django.core.management import CommandError, call_command

from knowledge.models import Entry
from knowledge.services.entries import search_entries
from tests.factories import make_actor

pytestmark = pytest.mark.django_db

LESSONS = Path(__file__).parent / "parsers" / "LESSONS-LEARNED.md"


def _run(*words: str) -> str:
    output = StringIO()
    call_command(*words, stdout=output, stderr=output)
    return output.getvalue()


def test_a_file_of_lessons_becomes_yaml_then_entries_and_twice_is_once(tmp_path):
    admin, file = make_actor(admin=True), tmp_path / "lessons.yaml"
    _run("kb_parse", str(LESSONS), "--output", str(file))

    first, again = _run("kb_seed", str(file)), _run("kb_seed", str(file))

    added = Entry.objects.count()
    assert added > 200
    assert f"{added} added" in first
    assert "0 added" in again
    assert Entry.objects.exclude(parent=None).exists()
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


def test_a_wrong_file_is_refused_with_the_place_of_the_fault(tmp_path):
    make_actor(admin=True)
    file = tmp_path / "entries.yaml"
    file.write_text("entries:\n  - content: Fine.\n  - content: Not fine.\n    confidence: 7\n")

    with pytest.raises(CommandError, match="entry 2"):
        _run("kb_seed", str(file))
    assert not Entry.objects.exists()


def test_a_source_without_anything_to_import_is_refused(tmp_path):
    (tmp_path / "notes.md").write_text("")

    with pytest.raises(CommandError, match="nothing to import"):
        _run("kb_parse", str(tmp_path / "notes.md"))
