"""References on the command line: generated, checked, with exit codes that a pipeline can trust."""

import json
from io import StringIO
from pathlib import Path

import pytest
from django.core.management import CommandError, call_command

from knowledge.references.readers.registry import GENERATORS
from tests.knowledge.generators.specs import document, large_document

GOOD = {"summary": "List users", "responses": {"200": {"description": "All."}}}


def _run(*words: str) -> str:
    output, remarks = StringIO(), StringIO()
    call_command(*words, stdout=output, stderr=remarks)
    return output.getvalue() or remarks.getvalue()


@pytest.fixture
def spec(tmp_path: Path) -> Path:
    """A small document without errors."""
    file = tmp_path / "openapi.json"
    file.write_text(json.dumps(document({"/users": {"get": GOOD}})))
    return file


def test_references_are_written_as_entries_and_the_same_source_gives_the_same_file(spec, tmp_path):
    out = tmp_path / "api.json"

    told = _run("references_generate", str(spec), "--out", str(out))
    first = out.read_text()
    _run("references_generate", str(spec), "--out", str(out))

    assert told == f"{out}: 1 references.\n"
    written = json.loads(first)
    assert [entry["id"] for entry in written["entries"]] == ["api-get-users"]
    assert written["completeness"] == {"api": "complete"}
    assert out.read_text() == first


def test_only_an_entry_that_changed_has_a_new_date(spec, tmp_path):
    out = tmp_path / "api.json"
    _run("references_generate", str(spec), "--out", str(out))
    entries = [{**entry, "lastUpdated": "2020-01-01T00:00:00Z"} for entry in json.loads(out.read_text())["entries"]]
    out.write_text(json.dumps(entries))
    spec.write_text(json.dumps(document({"/users": {"get": GOOD, "post": GOOD}})))

    _run("references_generate", str(spec), "--out", str(out))

    dates = {entry["id"]: entry["lastUpdated"][:4] for entry in json.loads(out.read_text())["entries"]}
    assert dates["api-post-users"] != "2020"
    # Its list of related endpoints is longer now.
    assert dates["api-get-users"] != "2020"


def test_a_valid_document_passes_and_says_how_much_it_holds(spec):
    report = json.loads(_run("references_generate", "--check", str(spec), "--json"))

    assert report == {"references": 1, "valid": True, "findings": []}


def test_errors_fail_and_warnings_only_when_asked(spec):
    spec.write_text(json.dumps(document({"/users": {"get": {"responses": {"200": {"description": ""}}}}})))

    told = _run("references_generate", "--check", str(spec))
    with pytest.raises(CommandError, match="1 of 1 findings") as strict:
        _run("references_generate", "--check", str(spec), "--strict")

    assert "warning: #/paths/~1users/get: It has neither summary nor description." in told
    assert strict.value.returncode == 1


def test_what_no_generator_recognises_is_refused_with_the_kinds(tmp_path):
    file = tmp_path / "notes.txt"
    file.write_text("hello")

    with pytest.raises(CommandError, match=r"No generator recognises notes\.txt\. Say which with --kind: openapi"):
        _run("references_generate", str(file))


@pytest.mark.parametrize(
    ("address", "refusal"),
    [
        ("http://example.com/openapi.json", "Only https addresses"),
        ("https://127.0.0.1/openapi.json", "private network"),
        ("https://user:secret@example.com/openapi.json", "Only https addresses without a password"),
        ("https://[/openapi.json", "Only https addresses"),
    ],
)
def test_an_address_that_may_not_be_fetched_is_refused(address, refusal):
    with pytest.raises(CommandError, match=refusal):
        _run("references_generate", "--check", address)


@pytest.mark.parametrize("kind", GENERATORS)
def test_every_generator_is_there(kind):
    from django.utils.module_loading import import_string

    assert callable(import_string(GENERATORS[kind].function))


def test_a_document_of_over_five_hundred_operations_is_valid(tmp_path):
    file = tmp_path / "large.json"
    file.write_text(json.dumps(large_document(600, schemas=20)))

    with pytest.raises(CommandError) as caught:
        _run("references_generate", "--check", str(file), "--strict")

    assert "600 of 600 findings must be mended; 600 references were read." in str(caught.value)
