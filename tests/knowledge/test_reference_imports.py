"""Importing documentation again and again: what changed is told, what people wrote stays, what is gone is not found."""

from datetime import timedelta

import pytest

from bigmind.core.argument_checks import validate_arguments
from bigmind.core.errors import Invalid
from knowledge.models import Passage, Reference, ReferenceCollection, ReferenceDrift
from knowledge.references.editing import get_api_endpoint, get_command, update_reference
from knowledge.references.imports import import_references
from knowledge.references.search import search_knowledge
from tests.knowledge.factories import make_draft
from tests.lock_waits import meanwhile

pytestmark = pytest.mark.django_db


def run(curator, *drafts, **told):
    return import_references(
        curator, collection="helios", drafts=list(drafts), **{"source": "console", "complete": True, **told}
    )


def counts(report):
    return (report.added, report.changed, report.removed, report.unchanged, report.drifted)


def test_what_was_removed_is_found_by_nothing_and_can_come_back(curator):
    run(curator, make_draft("helios users list"), make_draft("helios users drop"))
    run(curator, make_draft("helios users list"))

    gone = get_command(curator, command="helios users drop")
    hits = search_knowledge(curator, query="helios users drop")
    passages = Passage.objects.filter(kind="reference").count()
    back = run(curator, make_draft("helios users list"), make_draft("helios users drop"))

    assert not gone.found
    assert (hits.items, hits.did_you_mean[:1]) == ([], ["helios users list"])
    assert passages == 1
    assert counts(back) == (1, 0, 0, 1, 0)
    assert get_command(curator, command="helios users drop").found


def test_another_source_of_the_same_collection_is_left_alone(curator):
    run(curator, make_draft("helios users list"))

    report = run(curator, make_draft(kind="guide", key="start", title="Getting started"), source="guides.json")

    assert counts(report) == (1, 0, 0, 0, 0)
    assert get_command(curator, command="helios users list").found


def test_what_is_not_complete_removes_nothing(curator):
    run(curator, make_draft("helios users list"))

    report = run(curator, make_draft("helios users get"), complete=False)

    assert counts(report) == (1, 0, 0, 0, 0)


def test_what_a_person_wrote_is_not_overwritten_and_waits_for_a_decision(curator):
    run(curator, make_draft("helios users list", summary="Lists"))
    mine = Reference.objects.get()
    update_reference(curator, reference_id=mine.pk, summary="Lists all users, newest first")

    unchanged = run(curator, make_draft("helios users list", summary="Lists"))
    first = run(curator, make_draft("helios users list", summary="Lists users"))
    second = run(curator, make_draft("helios users list", summary="Lists many users"))

    drift = ReferenceDrift.objects.get()
    mine.refresh_from_db()
    assert counts(unchanged) == (0, 0, 0, 1, 0)
    assert counts(first) == counts(second) == (0, 0, 0, 0, 1)
    assert mine.summary == "Lists all users, newest first"
    assert (drift.before["summary"], drift.now["summary"]) == ("Lists", "Lists many users")


@pytest.mark.django_db(transaction=True)
@pytest.mark.parametrize(
    ("drafts", "now"), [([make_draft("helios users list", summary="Lists users")], True), ([], False)]
)
def test_what_a_person_edits_while_an_import_runs_waits_for_a_decision(curator, drafts, now):
    run(curator, make_draft("helios users list", summary="Lists"))
    mine = Reference.objects.get()

    report = meanwhile(
        lambda: update_reference(curator, reference_id=mine.pk, summary="Lists all users, newest first"),
        lambda: run(curator, *drafts),
    )

    mine.refresh_from_db()
    drift = ReferenceDrift.objects.get()
    assert counts(report) == (0, 0, 0, 0, 1)
    assert (mine.summary, mine.removed_at) == ("Lists all users, newest first", None)
    assert (drift.before["summary"], bool(drift.now)) == ("Lists", now)
    assert [version.why for version in mine.versions.all()] == ["edit"]


def test_what_a_person_wrote_is_not_removed_either(curator):
    run(curator, make_draft("helios users list"), make_draft("helios users get"))
    mine = Reference.objects.get(key="helios users get")
    update_reference(curator, reference_id=mine.pk, summary="Reads one")

    report = run(curator, make_draft("helios users list"))

    assert counts(report) == (0, 0, 0, 1, 1)
    assert ReferenceDrift.objects.get().now is None
    assert get_command(curator, command="helios users get").found


def test_a_line_that_moved_is_no_change(curator):
    run(curator, make_draft("helios users list", source="console.tsx:12"))

    report = run(curator, make_draft("helios users list", source="console.tsx:40"), version="2.5")

    reference = Reference.objects.get()
    assert counts(report) == (0, 0, 0, 1, 0)
    assert (reference.source, reference.version) == ("console.tsx:40", "2.5")


def test_each_run_is_kept_with_what_it_did(curator):
    run(curator, make_draft("helios users list"), version="2.4")

    done = ReferenceCollection.objects.get().imports.get()

    assert (done.source, done.version, done.by, done.added) == ("console", "2.4", curator.user, 1)


def test_the_program_is_read_from_the_items_and_the_beginning_of_paths_is_not_guessed(curator):
    paths = ("GET /api/v1/users", "POST /api/v1/groups")

    run(curator, make_draft("helios users list"), *(make_draft(path, kind="api") for path in paths))

    shelf = ReferenceCollection.objects.get()
    assert (shelf.program, shelf.base_path) == ("helios", "")


def test_a_base_path_that_is_told_later_holds_for_what_is_there(curator):
    run(curator, make_draft("GET /users", kind="api"))

    run(curator, make_draft("GET /users", kind="api"), base_path="/rest/2")

    assert get_api_endpoint(curator, path="/rest/2/users").found
    assert get_api_endpoint(curator, path="/users").found


def test_the_curated_schema_of_the_design_is_accepted(curator):
    entry = {
        "id": "cmd-gw-users-list",
        "type": "command",
        "title": "List Google Workspace Users",
        "category": "developer-console",
        "subcategory": "google-workspace",
        "content": "Lists users.\n\n**Syntax:**\n```\nhelios gw users list [--all]\n```\n",
        "summary": "List all Google Workspace users",
        "keywords": ["users"],
        "examples": [{"description": "List all users", "code": "helios gw users list", "output": "│ Ada │"}],
        "relatedIds": ["cmd-gw-users-get"],
        "source": "auto-generated:DeveloperConsole.tsx",
        "lastUpdated": "2025-12-17T00:00:00Z",
    }

    import_references(curator, **validate_arguments(import_references, {"collection": "helios", "drafts": [entry]}))

    found = get_command(curator, command="gw users list")
    assert found.reference.name == "helios gw users list"
    assert found.reference.related == ["cmd-gw-users-get"]


def test_an_item_that_is_none_is_refused_by_its_place(curator):
    with pytest.raises(Invalid, match=r"drafts\.1\.kind"):
        validate_arguments(
            import_references,
            {
                "collection": "helios",
                "drafts": [
                    {"key": "a", "kind": "guide", "title": "A", "content": "A"},
                    {"key": "b", "kind": "poem", "title": "B", "content": "B"},
                ],
            },
        )


def test_half_a_surrogate_pair_is_taken_out_and_told(curator):
    report = run(curator, make_draft("helios users list", summary="Lists \ud800users.", keywords=["\udfff"]))

    assert get_command(curator, command="helios users list").reference.summary == "Lists users."
    assert any("control characters were taken out" in trouble for trouble in report.troubles)


@pytest.mark.parametrize("key", ["a\0b", "\ud800", "", "x" * 501])
def test_a_key_that_cannot_be_one_is_refused(curator, key):
    with pytest.raises(Invalid, match="has no key of 1 to 500 characters") as refused:
        run(curator, make_draft("helios users list").model_copy(update={"key": key}))

    assert [problem["field"] for problem in refused.value.problems] == ["drafts"]


@pytest.mark.parametrize("inner", [float("inf"), float("nan"), [[[[float("-inf")]]]]])
def test_a_number_that_no_database_takes_is_refused_wherever_it_stands(inner):
    form = {"method": "GET", "path": "/a", "responses": {"200": {"schema": {"default": inner}}}}
    draft = {"key": "a", "kind": "api", "title": "A", "content": "A", "endpoint": form}

    with pytest.raises(
        Invalid, match=r"drafts\.0\.endpoint\.responses\.200\.schema\.default\S* is a number that is not finite"
    ):
        validate_arguments(import_references, {"collection": "helios", "drafts": [draft]})


def test_secrets_and_control_characters_are_taken_out_and_told(curator):
    leaky = "Use token ghp_16C7e42F292c6912E7710c838347Ae178B4a\x1b[0m"

    report = run(curator, make_draft(kind="guide", key="token", title="Tokens", content=leaky))

    content = Reference.objects.get().content
    assert "ghp_" not in content
    assert "\x1b" not in content
    assert len(report.troubles) == 2


def test_what_is_too_long_is_cut_and_told(curator):
    report = run(curator, make_draft(kind="guide", key="long", title="Long", content="A line.\n" * 20_000))

    assert "was cut" in report.troubles[0]
    assert len(Reference.objects.get().content.encode()) <= 64 * 1024


def test_a_review_date_is_not_touched_by_an_import(curator):
    run(curator, make_draft("helios users list"))
    shelf = ReferenceCollection.objects.get()
    shelf.review_after = shelf.created_at.date() + timedelta(days=90)
    shelf.save()

    run(curator, make_draft("helios users list"))

    assert ReferenceCollection.objects.get().review_after == shelf.review_after
