"""The walk through seed 003, sentence by sentence, on content of real size: a curated CLI and API in subfolders.

Some three hundred entries as people keep them, with their irregularities: names that only the title or only an example
says, values in examples, folders instead of categories, entries in two shapes of file, notes beside them, and a second
collection whose commands begin with verbs.
"""

import json
from collections.abc import Iterator
from itertools import product
from pathlib import Path

import pytest
from pytest_django.plugin import DjangoDbBlocker

from accounts.actor import Actor
from knowledge.indexing.embedding import embed_pending
from knowledge.references.checks import check_command
from knowledge.references.editing import get_api_endpoint, get_command, list_commands
from knowledge.references.imports import import_references
from knowledge.references.readers.curated import generate
from knowledge.references.readers.registry import Source
from knowledge.references.search import search_knowledge
from tests.factories import make_actor
from tests.knowledge.factories import make_draft
from tests.worlds import keep_world

pytestmark = pytest.mark.django_db

SYSTEMS = {"gw": "Google Workspace", "ms": "Microsoft 365", "hr": "HR"}
THINGS = {
    "users": ("user", "ada@example.com"),
    "groups": ("group", "staff@example.com"),
    "devices": ("device", "8f14e45fceea"),
    "orgunits": ("organizational unit", "/Sales/North"),
    "licenses": ("license", "E3-2024"),
    "calendars": ("calendar", "cal_4711"),
    "drives": ("shared drive", "0ABqk9PVA"),
    "policies": ("policy", "42"),
}
VERBS = {
    "list": "List {} {}s",
    "get": "Show one {} {}",
    "create": "Create a {} {}",
    "update": "Change a {} {}",
    "delete": "Delete a {} {}",
    "export": "Write all {} {}s into a CSV file",
}
METHODS = {"list": "GET", "get": "GET", "create": "POST", "update": "PATCH", "delete": "DELETE"}
TAKES_ONE = {"get", "update", "delete"}


def command_entry(number: int, system: str, things: str, verb: str) -> dict[str, object]:
    """Return the entry of a command, as one of four people would have written it."""
    thing, value = THINGS[things]
    line = f"helios {system} {things} {verb}"
    argument = f" <{thing.split()[-1]}>" if verb in TAKES_ONE else ""
    example = f"{line} {value}" if verb in TAKES_ONE else line
    summary = VERBS[verb].format(SYSTEMS[system], thing)
    style = number % 4
    titles = (summary, f"{system} {things} {verb}{argument}", f"`{line}{argument}`", summary)
    contents = (
        f"{summary}.\n\n**Syntax:**\n```\n{line}{argument}\n```\n\n**Options:**\n- No options available",
        f"{summary}.\n\n**Example:**\n```\n$ {example}\n```",
        f"{summary}. See also `helios {system} {things} list`.",
        f"{summary}, as synced last night.\n\n**Usage:** see the example.",
    )
    return {
        "id": f"cmd-{system}-{things}-{verb}",
        "type": "command",
        "title": titles[style],
        "content": contents[style],
        "summary": summary,
        "keywords": [things, verb, *SYSTEMS[system].lower().split()],
        **({"category": "developer-console", "subcategory": system} if style == 0 else {}),
        **({"examples": [{"description": summary, "code": example, "output": f"│ {value} │"}]} if style != 2 else {}),
        **({"aliases": ["get users", "show all users", "display users"]} if line == "helios gw users list" else {}),
        "source": "auto-generated:DeveloperConsole.tsx",
        "lastUpdated": "2025-12-17T00:00:00Z",
    }


def endpoint_entry(number: int, system: str, things: str, verb: str) -> dict[str, object]:
    """Return the entry of an endpoint: the request stands in the title, in the text, or in both."""
    path = f"/api/v1/{system}/{things}" + ("/{id}" if verb in TAKES_ONE else "")
    request = f"{METHODS[verb]} {path}"
    summary = VERBS[verb].format(SYSTEMS[system], THINGS[things][0])
    return {
        "id": f"api-{system}-{things}-{verb}",
        "type": "api",
        "title": request if number % 2 else summary,
        "content": f"`{request}`\n\n{summary}." if number % 2 == 0 else f"{summary}. Needs the scope `{things}`.",
        "summary": summary,
        "keywords": [things, verb],
    }


def text_entry(kind: str, number: int) -> dict[str, object]:
    """Return a guide, a setting or the like: they name commands without being one."""
    things = list(THINGS)[number % len(THINGS)]
    return {
        "id": f"{kind}-{number}",
        "type": kind,
        "title": f"{kind.capitalize()} {number}: {THINGS[things][0]}s in the first week",
        "content": f"# {things}\n\nAn admin runs `helios gw {things} list` first, then looks at what is missing.",
        "summary": f"What to know of {things}, part {number}",
        "keywords": [things, kind],
    }


@pytest.fixture(scope="module")
def folder(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """Return a folder of content: a folder for each system, in it files of two shapes, and notes beside them."""
    content = tmp_path_factory.mktemp("knowledge") / "content"
    number = 0
    for system in SYSTEMS:
        for things in THINGS:
            below = content / system / things
            below.mkdir(parents=True)
            commands = [command_entry(number + place, system, things, verb) for place, verb in enumerate(VERBS)]
            endpoints = [endpoint_entry(number + place, system, things, verb) for place, verb in enumerate(METHODS)]
            number += len(VERBS) + 1
            (below / "commands.json").write_text(json.dumps(commands))
            (below / "api-endpoints.json").write_text(json.dumps({"entries": endpoints}))
    for kind in ("guide", "feature", "troubleshooting", "setting"):
        (content / f"{kind}s.json").write_text(json.dumps([text_entry(kind, place) for place in range(8)]))
    (content / "README.md").write_text("# Content\n\nGenerated files are not edited.")
    (content / ".cache").mkdir()
    return content


@pytest.fixture(scope="module")
def actor(folder: Path, django_db_setup: None, django_db_blocker: DjangoDbBlocker) -> Iterator[Actor]:
    """A curator of a BigMind with that content, and with another product whose commands begin with verbs."""
    with keep_world(django_db_blocker, lambda: _import(folder)) as curator:
        yield curator


def _import(folder: Path) -> Actor:
    curator = make_actor(curator=True)
    made = generate(Source(str(folder)))
    import_references(curator, collection="helios", drafts=list(made.drafts), completeness={"command": "complete"})
    others = [make_draft("list boards"), make_draft("get board"), make_draft("list cards"), make_draft("get card")]
    import_references(curator, collection="kanban", drafts=others)
    embed_pending()
    return curator


def keys(hits) -> list[str]:
    return [hit.reference.key for hit in hits.items]


def test_every_command_and_endpoint_is_found_by_its_name_and_nothing_of_its_example_is_part_of_it(actor) -> None:
    """“Uses exact command from KB”, “cannot make things up”: 144 commands and 120 endpoints, however written."""
    for system, things, verb in product(SYSTEMS, THINGS, VERBS):
        line, value = f"helios {system} {things} {verb}", THINGS[things][1]
        found = get_command(actor, command=f"{line} {value}" if verb in TAKES_ONE else line)

        assert found.found, line
        assert (found.reference.key, found.reference.name) == (f"cmd-{system}-{things}-{verb}", line)
    for system, things, verb in product(SYSTEMS, THINGS, METHODS):
        path = f"/api/v1/{system}/{things}" + ("/17" if verb in TAKES_ONE else "")

        assert get_api_endpoint(actor, path=path, method=METHODS[verb]).reference.key == f"api-{system}-{things}-{verb}"


def test_all_of_the_folder_is_read_or_named(folder: Path) -> None:
    """“Single source of truth”: nothing is passed over silently."""
    made = generate(Source(str(folder)))

    assert len(made.drafts) == len(SYSTEMS) * len(THINGS) * (len(VERBS) + len(METHODS)) + 4 * 8
    assert not made.problems
    assert set(made.passed_over) == {".cache/", "README.md"}
    assert {draft.category for draft in made.drafts if draft.key == "cmd-ms-users-get"} == {"ms"}


def test_the_questions_of_the_seed_find_the_command_and_what_does_not_exist_only_the_closest(actor) -> None:
    """“The AI might ask for get all users when the command is list users”; “did-you-mean suggestions”."""
    for question in ("list all users", "get users", "get all users", "show all users", "display users"):
        assert "cmd-gw-users-list" in keys(search_knowledge(actor, query=question)), question
    for invented in ("helios get-users", "helios users", "helios gw users frobnicate", "helios gw user"):
        hits = search_knowledge(actor, query=invented)

        assert hits.items == []
        assert hits.did_you_mean
        assert all(name.startswith("helios ") for name in hits.did_you_mean)
        assert check_command(actor, command=invented).verdict != "exists"


def test_a_command_is_found_first_by_what_it_does(actor) -> None:
    """“Forgiving search with synonyms”: the verb and what it is done to decide, not a word in another text."""
    for question, key in (
        ("create a Microsoft 365 group", "cmd-ms-groups-create"),
        ("how do I delete a device in Google Workspace?", "cmd-gw-devices-delete"),
        ("change an HR policy", "cmd-hr-policies-update"),
        ("add a calendar in Google Workspace", "cmd-gw-calendars-create"),
        ("remove a Microsoft 365 license", "cmd-ms-licenses-delete"),
        ("write all HR shared drives into a CSV file", "cmd-hr-drives-export"),
        ("show one Google Workspace shared drive", "cmd-gw-drives-get"),
        ("view all Microsoft 365 organizational units", "cmd-ms-orgunits-list"),
    ):
        assert keys(search_knowledge(actor, query=question, type="command"))[0] == key, question
        if "export" not in key:
            assert keys(search_knowledge(actor, query=question, type="api"))[0] == key.replace("cmd", "api"), question


def test_filters_and_limits_hold_and_nothing_is_answered_with_help(actor) -> None:
    """“Filter by type and category”, “max results”; “if search_knowledge returns no results, try list_commands”."""
    guides = search_knowledge(actor, query="users in the first week", type="guide", limit=3)
    hr = search_knowledge(actor, query="list users", category="hr")

    assert len(guides.items) == 3
    assert {hit.reference.kind for hit in guides.items} == {"guide"}
    assert all("hr" in (hit.reference.category, hit.reference.subcategory) for hit in hr.items)
    assert len(search_knowledge(actor, query="create a group").items) == 5

    assert search_knowledge(actor, query="espresso machine descaling").items == []
    listed = list_commands(actor, category="hr", collection="helios")
    assert {item.name.split()[1] for item in listed.items} == {"hr"}

    for query in ("", "   "):
        empty = search_knowledge(actor, query=query)

        assert (empty.items, empty.total) == ([], 0)
        assert "list_commands" in empty.notice


def test_one_collection_changes_no_answer_of_another(actor) -> None:
    """What else is documented here neither hides a command nor moves it."""
    questions = ["list all users", "create a Microsoft 365 group", "helios get-users", "delete a device"]
    before = [keys(search_knowledge(actor, query=question, collection="helios")) for question in questions]
    more = [make_draft(f"{verb} {thing}") for verb, thing in product(("list", "get", "create", "delete"), THINGS)]
    import_references(actor, collection="verbs", drafts=more)
    embed_pending()

    assert [keys(search_knowledge(actor, query=question, collection="helios")) for question in questions] == before
    assert "cmd-gw-users-list" in keys(search_knowledge(actor, query="show all users"))
    assert search_knowledge(actor, query="helios get-users").items == []


def test_new_commands_appear_and_old_ones_go_with_the_next_import(actor, folder: Path) -> None:
    """“Auto-updated: new commands appear automatically.”"""
    drafts = [draft for draft in generate(Source(str(folder))).drafts if draft.key != "cmd-hr-drives-get"]
    report = import_references(actor, collection="helios", drafts=drafts, complete=True)

    assert (report.removed, report.added, report.changed) == (1, 0, 0)
    assert not get_command(actor, command="helios hr drives get").found
