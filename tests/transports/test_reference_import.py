"""References are imported by a command: hundreds at once, and the second time nothing changes."""

import json
import subprocess
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
    assert report["passed_over"][0]["says"] == "The reference #/gone leads nowhere; left out."


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


def _openapi(*paths: str, says: str = "Lists") -> str:
    listed = {
        path: {"get": {"summary": f"{says} {path}.", "responses": {"200": {"description": "OK"}}}} for path in paths
    }
    return json.dumps({"openapi": "3.1.0", "info": {"title": "Shop", "version": "1"}, "paths": listed})


def _repository(folder: Path, remote: str, document: str) -> Path:
    folder.mkdir()
    (folder / "openapi.json").write_text(document)
    who = ("-c", "user.name=Ada", "-c", "user.email=ada@example.com")
    for words in (("init", "-q"), ("add", "."), ("commit", "-qm", folder.name), ("remote", "add", "origin", remote)):
        subprocess.run(["git", "-C", str(folder), *who, *words], check=True, capture_output=True)
    return folder / "openapi.json"


def test_documents_of_one_name_in_two_repositories_leave_each_other_alone(tmp_path: Path) -> None:
    make_actor(admin=True)
    shop = _repository(tmp_path / "shop", "git@github.com:acme/shop.git", _openapi("/orders", "/prices"))
    depot = _repository(tmp_path / "depot", "git@github.com:acme/depot.git", _openapi("/doors"))
    _import(shop)

    report = _import(depot)

    assert (report["added"], report["removed"]) == (1, 0)
    assert set(Reference.objects.current().values_list("origin", flat=True)) == {
        "github.com/acme/shop//openapi.json",
        "github.com/acme/depot//openapi.json",
    }


def test_what_another_source_brought_is_not_overwritten_without_a_word(tmp_path: Path) -> None:
    make_actor(admin=True)
    shop = _repository(tmp_path / "shop", "git@github.com:acme/shop.git", _openapi("/orders", "/prices"))
    depot = _repository(tmp_path / "depot", "git@github.com:acme/depot.git", _openapi("/orders", says="Counts"))
    _import(shop)

    with pytest.raises(CommandError, match=r"1 of them were brought by another source\. .* --replace"):
        _import(depot)

    assert "brought by another source" in _import(depot, "--dry-run")["troubles"][0]
    assert not Reference.objects.filter(summary__contains="Counts").exists()
    assert _import(depot, "--replace")["changed"] == 1


def test_a_document_that_lost_most_of_itself_removes_nothing_without_a_word(tmp_path: Path) -> None:
    make_actor(admin=True)
    spec = tmp_path / "openapi.json"
    spec.write_text(_openapi(*(f"/part-{number}" for number in range(9))))
    _import(spec)
    spec.write_text(_openapi("/part-1", "/part-2", "/part-3"))

    with pytest.raises(CommandError, match=r"would change 0 and remove 6 of the 9 there\. None of that was done\."):
        _import(spec)

    assert Reference.objects.current().count() == 9
    assert _import(spec, "--replace")["removed"] == 6


def test_a_document_of_an_earlier_version_is_the_one_in_its_repository(tmp_path: Path) -> None:
    make_actor(admin=True)
    shop = _repository(
        tmp_path / "shop", "git@github.com:acme/shop.git", _openapi("/orders", "/prices", "/doors", "/a")
    )
    _import(shop)
    Reference.objects.update(origin="openapi.json")
    shop.write_text(_openapi("/orders", "/prices", "/doors"))

    report = _import(shop)

    assert (report["added"], report["removed"], report["unchanged"]) == (0, 1, 3)
    assert {one.origin for one in Reference.objects.all()} == {"github.com/acme/shop//openapi.json"}


def test_a_document_whose_repository_has_another_address_is_the_same_source(tmp_path: Path) -> None:
    make_actor(admin=True)
    shop = _repository(tmp_path / "shop", "git@github.com:acme/shop.git", _openapi("/orders", "/prices", "/doors"))
    _import(shop)
    subprocess.run(["git", "-C", str(shop.parent), "remote", "set-url", "origin", "https://git.acme.com/s"], check=True)
    shop.write_text(_openapi("/orders", "/prices"))

    report = _import(shop)

    assert (report["added"], report["removed"], report["unchanged"]) == (0, 1, 2)
