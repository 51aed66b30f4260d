"""References are imported by a command: hundreds at once, and the second time nothing changes."""

import json
from io import StringIO
from pathlib import Path

import pytest
from django.core.management import CommandError, call_command

from knowledge.models import Reference
from tests.factories import make_actor
from tests.knowledge.generators.specs import document, large_document

pytestmark = pytest.mark.django_db

COUNTS = ("added", "changed", "removed", "unchanged")


def _import(file: Path, *options: str) -> dict:
    output = StringIO()
    call_command("references_import", str(file), "--collection", "shop", "--json", *options, stdout=output)
    return json.loads(output.getvalue())


def _counts(report: dict) -> tuple[int, ...]:
    return tuple(report[name] for name in COUNTS)


@pytest.fixture
def spec(tmp_path: Path) -> Path:
    """A document with two operations, and somebody to import it."""
    make_actor(admin=True)
    file = tmp_path / "openapi.json"
    file.write_text(json.dumps(document({"/users": {"get": {"summary": "List users"}, "post": {}}})))
    return file


@pytest.mark.parametrize("many", [60, pytest.param(510, marks=pytest.mark.torture)])
def test_all_operations_are_imported_and_the_second_time_nothing_changes(many, tmp_path):
    make_actor(admin=True)
    file = tmp_path / "large.json"
    file.write_text(json.dumps(large_document(many, schemas=20)))

    first, again = _import(file), _import(file)

    assert _counts(first) == (many, 0, 0, 0)
    assert _counts(again) == (0, 0, 0, many)
    assert Reference.objects.count() == many


def test_a_dry_run_says_what_would_happen_and_changes_nothing(spec):
    report = _import(spec, "--dry-run")

    assert _counts(report) == (2, 0, 0, 0)
    assert not Reference.objects.exists()


def test_what_the_source_no_longer_has_is_removed_unless_it_is_to_be_kept(spec):
    _import(spec)
    spec.write_text(json.dumps(document({"/users": {"get": {"summary": "List all users"}}})))

    kept = _import(spec, "--keep-missing", "--dry-run")
    report = _import(spec)

    assert _counts(kept) == (0, 1, 0, 0)
    assert _counts(report) == (0, 1, 1, 0)
    assert report["keys"]["removed"] == ["api-post-users"]


def test_a_source_that_cannot_be_read_whole_removes_nothing(spec):
    _import(spec)
    broken = {"get": {"summary": "List users", "parameters": [{"$ref": "#/gone"}]}}
    spec.write_text(json.dumps(document({"/users": broken})))

    report = _import(spec)

    assert report["removed"] == 0
    assert report["passed_over"][0]["says"] == "The reference #/gone leads nowhere; it was left out."


def test_people_are_told_in_words(spec):
    output = StringIO()

    call_command("references_import", str(spec), "--collection", "shop", stdout=output)

    assert output.getvalue() == "shop, from openapi.json: 2 added, 0 changed, 0 removed, 0 unchanged.\n"


@pytest.mark.parametrize(
    ("text", "collection", "refusal"),
    [
        ('{"openapi": "3.0.0"}', "shop", "holds nothing to make references from"),
        ("{", "shop", "is not valid JSON"),
        ('{"openapi": "3.0.0", "paths": {"/a": {"get": {}}}}', "Shop Ü", "collection"),
    ],
)
def test_what_cannot_be_imported_is_refused(spec, text, collection, refusal):
    spec.write_text(text)

    with pytest.raises(CommandError, match=refusal):
        call_command("references_import", str(spec), "--collection", collection, "--kind", "openapi")

    assert not Reference.objects.exists()
