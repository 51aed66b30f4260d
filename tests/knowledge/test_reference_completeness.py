"""What documentation can know: a check says that something does not exist only where all that exists is listed."""

import json
from pathlib import Path

import pytest

from bigmind.core.errors import Invalid
from knowledge.models import ReferenceCollection
from knowledge.references.checks import check_command
from knowledge.references.exports import write_files
from knowledge.references.imports import import_references
from knowledge.references.readers.console.typescript import generate_from_typescript
from knowledge.references.readers.curated import generate
from knowledge.references.readers.registry import Source
from tests.knowledge.factories import make_draft
from tests.knowledge.generators.specs import document, generated_from

pytestmark = pytest.mark.django_db

CONSOLES = Path(__file__).parent / "consoles"


def take(curator, generated, *, collection="docs", source="source"):
    import_references(
        curator,
        collection=collection,
        drafts=list(generated.drafts),
        source=source,
        completeness=generated.completeness,
    )


def verdict(curator, line, **told):
    return check_command(curator, command=line, **told).verdict


def gateway(change=lambda text: text):
    return generate_from_typescript(change((CONSOLES / "depot.ts").read_text()), "depot.ts")


def test_a_console_that_was_read_entirely_says_what_does_not_exist(curator):
    take(curator, gateway())

    checked = {
        line: verdict(curator, line)
        for line in (
            "depot shelves list",
            "depot shelves lst",
            "depot ship",
            "depot stock audit pause",
            "stock count 7",
        )
    }

    assert checked == {
        "depot shelves list": "exists",
        "depot shelves lst": "does_not_exist",
        "depot ship": "does_not_exist",
        "depot stock audit pause": "does_not_exist",
        "stock count 7": "exists",
    }


@pytest.mark.parametrize(
    ("line", "expected"),
    [
        ("$ depot shelves list | depot shelves lst", "does_not_exist"),
        ("depot shelves list && depot stock count 7  # every morning", "exists"),
        ("DEBUG=1 sudo depot shelves list > shelves.txt 2>&1", "exists"),
        ("depot shelves list | less", "cannot_tell"),
        ("depot shelves --list", "cannot_tell"),
    ],
)
def test_a_line_of_the_shell_is_checked_command_by_command(curator, line, expected):
    take(curator, gateway())

    assert verdict(curator, line) == expected


def test_a_console_with_a_part_that_could_not_be_read_cannot_tell(curator):
    take(curator, gateway(lambda text: text.replace("  help: {", "  ...fromElsewhere,\n  help: {")))

    assert verdict(curator, "depot ship") == "cannot_tell"
    assert verdict(curator, "depot shelves list") == "exists"
    assert check_command(curator, command="depot shelfs list").nearest[0] == "depot shelves list"


def test_below_a_command_whose_options_are_not_known_whole_nothing_invented_exists(curator):
    take(curator, gateway())

    assert verdict(curator, "depot shelves list --invented") == "cannot_tell"
    assert verdict(curator, "depot shelves list everything") == "cannot_tell"


def test_an_openapi_document_is_complete_for_its_paths(curator):
    paths = {"/users": {"get": {"responses": {"200": {"description": "All"}}}}}
    take(curator, generated_from(document(paths)))

    assert verdict(curator, "GET /users") == "exists"
    assert verdict(curator, "GET /usres") == "does_not_exist"
    assert verdict(curator, "POST /users") == "unknown_method"


def test_what_people_keep_by_hand_is_unknown_unless_it_says_otherwise(curator):
    entry = {"id": "a", "type": "api", "title": "GET /users", "content": "All."}
    plain = generate(Source("a.json", json.dumps([entry]).encode()))
    declared = generate(
        Source("a.json", json.dumps({"completeness": {"api": "complete"}, "entries": [entry]}).encode())
    )

    take(curator, plain)
    before = [verdict(curator, "GET /users"), verdict(curator, "GET /teams"), verdict(curator, "POST /users")]
    take(curator, declared)
    after = [verdict(curator, "GET /users"), verdict(curator, "GET /teams"), verdict(curator, "POST /users")]

    assert before == ["exists", "cannot_tell", "cannot_tell"]
    assert after == ["exists", "does_not_exist", "unknown_method"]


def test_a_collection_is_as_complete_as_its_least_complete_source(curator):
    take(curator, gateway(), source="depot.ts")
    by_hand = [make_draft("depot extras list")]
    import_references(curator, collection="docs", drafts=by_hand, source="by hand")

    assert verdict(curator, "depot ship") == "cannot_tell"
    assert verdict(curator, "depot shelves lst") == "does_not_exist"


def test_one_collection_does_not_answer_for_another(curator):
    take(curator, gateway(), collection="depot")
    import_references(curator, collection="other", drafts=[make_draft("crate open"), make_draft("crate close")])

    assert verdict(curator, "crate seal") == "cannot_tell"
    assert verdict(curator, "depot ship") == "does_not_exist"
    assert verdict(curator, "frobnicate") == "cannot_tell"
    assert verdict(curator, "frobnicate", collection="depot") == "does_not_exist"


def test_a_source_that_adds_items_without_a_word_is_no_longer_complete(curator):
    take(curator, gateway(), source="depot.ts")
    again = [*gateway().drafts, make_draft("depot extras list")]

    import_references(curator, collection="docs", drafts=list(gateway().drafts), source="depot.ts")
    unchanged = verdict(curator, "depot ship")
    import_references(curator, collection="docs", drafts=again, source="depot.ts")

    assert unchanged == "does_not_exist"
    assert verdict(curator, "depot ship") == "cannot_tell"


def test_an_export_carries_what_is_complete_and_is_taken_back(curator, tmp_path):
    take(curator, gateway(), collection="depot")
    write_files(tmp_path)

    ReferenceCollection.objects.all().delete()
    take(curator, generate(Source(str(tmp_path / "depot.json"))), collection="depot")

    assert verdict(curator, "depot ship") == "does_not_exist"
    assert verdict(curator, "depot shelves lst") == "does_not_exist"


def test_a_completeness_that_cannot_be_read_is_refused():
    with pytest.raises(Invalid, match="completeness"):
        generate(Source("a.json", b'{"completeness": {"command": "rather"}, "entries": []}'))


@pytest.mark.parametrize(
    ("line", "found"),
    [
        ("pack -czf out.tgz", "exists"),
        ("pack -c -z -f out.tgz", "exists"),
        ("pack -cfout.tgz", "exists"),
        ("pack --create --file=out.tgz", "exists"),
        ("pack --add --gzip -f out.tgz -X POST", "exists"),
        ("pack -XPOST -f x", "exists"),
        ("pack -cf", "unknown_option"),
        ("pack -cq", "unknown_option"),
        ("pack --color -c", "exists"),
        ("pack a.txt b.txt", "unexpected_argument"),
    ],
)
def test_options_are_read_as_shells_write_them(curator, line, found):
    options = [
        {"name": "--create", "short": "-c", "others": ["--add"]},
        {"name": "--gzip", "short": "-z"},
        {"name": "--file", "short": "-f", "value": "FILE"},
        {"name": "--request", "short": "-X", "value": "<method>"},
        {"name": "--color", "value": "[WHEN]"},
    ]
    arguments = [{"name": "[file]", "required": False}]
    form = {"name": "pack", "options": options, "arguments": arguments, "completeness": "complete"}
    import_references(curator, collection="pack", drafts=[make_draft("pack", command=form)])

    assert verdict(curator, line) == found
