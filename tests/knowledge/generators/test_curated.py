"""Entries that people keep as JSON are read, checked, and written back as they were."""

import json

import pytest

from bigmind.core.errors import Invalid
from knowledge.references.readers.curated import generate, write_entries
from knowledge.references.readers.registry import Source
from knowledge.references.readers.validation import findings_among, findings_in
from tests.knowledge.generators.specs import document, generated_from

# The example of the seed.
ENTRY = {
    "id": "cmd-gw-users-list",
    "type": "command",
    "title": "List Google Workspace Users",
    "category": "developer-console",
    "subcategory": "google-workspace",
    "content": "Lists all users.\n\n**Syntax:**\n```\nhelios gw users list\n```\n\n**Options:**\n- No options",
    "summary": "List all Google Workspace users",
    "keywords": ["users", "list"],
    "aliases": ["show all users"],
    "examples": [{"description": "List all users", "code": "helios gw users list", "output": "┌──┐"}],
    "relatedIds": ["cmd-gw-users-get"],
    "source": "auto-generated:DeveloperConsole.tsx",
    "lastUpdated": "2025-12-17T00:00:00Z",
}


def _source(entries: object, name: str = "commands.json") -> Source:
    return Source(name, json.dumps(entries).encode())


def _findings(*entries: dict) -> list[str]:
    generated, found = findings_in(_source(list(entries)))
    return [f"{each.severity} {each.where}: {each.says}" for each in (*found, *findings_among(generated.drafts))]


def test_an_entry_of_the_seed_is_read_and_written_back_as_it_was():
    (draft,) = generate(_source([ENTRY])).drafts

    written = json.loads(write_entries([draft], {draft.key: ENTRY["lastUpdated"]}))

    assert written == [ENTRY]
    assert (draft.key, draft.name, draft.related) == (
        "cmd-gw-users-list",
        "helios gw users list",
        ("cmd-gw-users-get",),
    )


@pytest.mark.parametrize(
    ("changes", "name"),
    [
        ({"content": "```\nhelios users get <email> --json\n```"}, "helios users get"),
        ({"content": "Say it.", "examples": [{"code": "$ helios ping --all"}]}, "helios ping"),
        ({"name": "helios x"}, "helios x"),
        ({"type": "api", "content": "Calls `GET /api/v1/users`."}, "GET /api/v1/users"),
        ({"type": "guide"}, ""),
        ({"title": "gw users get <email>", "content": "```\ngw users get john@example.com\n```"}, "gw users get"),
        ({"title": "gw users get <email>", "content": "```\nhelios gw users get j@x.com\n```"}, "helios gw users get"),
        ({"title": "`gw move <id>`", "content": "Moves.", "examples": []}, "gw move"),
        ({"title": "gw reports open", "content": "```\ngw reports open sales\n```"}, "gw reports open"),
        ({"title": "Get a user", "content": "```\n$ gw users get john@example.com --json\n```"}, "gw users get"),
        ({"title": "Send a file", "content": "```\ngw files send ./report.csv 7\n```"}, "gw files send"),
        ({"title": "Read a file", "content": "```\ngw files read report.csv\n```"}, "gw files read"),
        ({"title": "Show one", "content": "```\ngw orders show 4711\n```"}, "gw orders show"),
        ({"type": "api", "title": "GET /api/v1/users", "content": "All."}, "GET /api/v1/users"),
    ],
)
def test_a_command_or_endpoint_is_found_in_its_text_unless_it_is_named(changes, name):
    (draft,) = generate(_source([{**ENTRY, **changes}])).drafts

    assert draft.name == name


def test_references_from_openapi_survive_being_written_and_read():
    drafts = generated_from(
        document({"/users/{id}": {"get": {"tags": ["people"], "deprecated": True}, "put": {}}})
    ).drafts

    read = generate(Source("api.json", write_entries(drafts, {}).encode())).drafts

    assert read == drafts


def test_a_folder_is_read_file_by_file(tmp_path):
    (tmp_path / "commands.json").write_text(json.dumps([ENTRY]))
    (tmp_path / "guides.json").write_text(json.dumps({"entries": [{**ENTRY, "id": "guide-1", "type": "guide"}]}))

    drafts = generate(Source(str(tmp_path))).drafts

    assert [draft.key for draft in drafts] == ["cmd-gw-users-list", "guide-1"]


def test_folders_below_are_read_as_categories_and_other_files_are_named(tmp_path):
    below = tmp_path / "google" / "users"
    below.mkdir(parents=True)
    (tmp_path / ".git").mkdir()
    (tmp_path / ".git" / "config.json").write_text("[]")
    (tmp_path / "README.md").write_text("# Read me")
    plain = {name: value for name, value in ENTRY.items() if "category" not in name}
    (tmp_path / "commands.json").write_text(json.dumps([{**plain, "id": "top"}]))
    (below / "commands.json").write_text(json.dumps([{**plain, "id": "below"}, {**ENTRY, "id": "said"}, 5]))
    (below / "package.json").write_text('{"name": "no entries"}')

    generated = generate(Source(str(tmp_path)))

    found = {draft.key: (draft.category, draft.subcategory) for draft in generated.drafts}
    assert found == {"top": ("", ""), "below": ("google", "users"), "said": ("developer-console", "google-workspace")}
    assert generated.passed_over == (".git/", "README.md")
    told = {problem.where: problem.says for problem in generated.problems}
    assert set(told) == {"google/users/commands.json, entry 3", "google/users/package.json"}
    assert "holds no list of entries" in told["google/users/package.json"]


def test_what_cannot_be_read_is_named_and_the_rest_is_read():
    wrong = [
        5,
        {**ENTRY, "id": "a", "type": "song"},
        {**ENTRY, "id": "a", "type": ["command"]},
        {**ENTRY, "id": "b", "keywords": "list"},
        {**ENTRY, "id": "c", "x": 1},
    ]

    generated = generate(_source([ENTRY, *wrong, ENTRY]))

    assert [draft.key for draft in generated.drafts] == ["cmd-gw-users-list", "c"]
    told = [f"{problem.where}: {problem.says}" for problem in generated.problems]
    assert told[0] == "commands.json, entry 2: It is no object; left out."
    assert "entry 3: type: Input should be 'command', 'api'" in told[1]
    assert "entry 5: keywords: Input should be a valid list" in told[3]
    assert told[4] == "commands.json, entry 6: Nobody knows the fields x; they were left out."
    assert "The id cmd-gw-users-list is taken" in told[5]


@pytest.mark.parametrize("text", ["5", "{}", '{"entries": 1}', "nonsense"])
def test_a_file_without_entries_is_refused(text):
    with pytest.raises(Invalid, match=r"a\.json"):
        generate(Source("a.json", text.encode()))


def test_a_valid_set_has_no_findings():
    assert _findings(ENTRY, {**ENTRY, "id": "cmd-gw-users-get", "aliases": [], "name": "helios gw users"}) == []


@pytest.mark.parametrize(
    ("changes", "finding"),
    [
        ({"relatedIds": ["gone"]}, "error cmd-1: Related to gone, which does not exist."),
        ({"summary": " "}, "warning cmd-1: It has no summary: search results will say little."),
        ({"name": "helios x"}, "error cmd-1: Neither content nor examples show the command helios x."),
        ({"examples": [{"code": "say 'it"}]}, "warning cmd-1: Example 1 is no command line: no closing quotation."),
        ({"examples": [{"code": " "}]}, "error cmd-1: Example 1 has no code."),
        ({"content": "Nothing.", "examples": []}, "error cmd-1: The command is neither named nor shown in"),
    ],
)
def test_a_finding_says_what_is_wrong_and_where(changes, finding):
    found = _findings({**ENTRY, "id": "cmd-1", "relatedIds": [], **changes})

    assert any(each.startswith(finding) for each in found)


def test_two_entries_for_one_command_or_alias_are_found():
    found = _findings({**ENTRY, "relatedIds": []}, {**ENTRY, "id": "other", "relatedIds": []})

    assert found == [
        "error helios gw users list: helios gw users list is described 2 times.",
        "warning cmd-gw-users-list, other: The alias “show all users” stands for 2 entries.",
    ]


def test_findings_in_an_openapi_document():
    paths = {
        "/a/{id}": {"get": {"operationId": "x", "parameters": [{"name": "no", "in": "path"}], "responses": {}}},
        "/a/{key}": {"get": {"operationId": "x", "summary": "S", "security": [{"none": []}], "responses": {"200": {}}}},
    }
    raw = document(paths)

    _, found = findings_in(_source(raw, "openapi.json"))

    assert {finding.says for finding in found} == {
        "It has no responses.",
        "The path parameter id is not declared.",
        "The path parameter key is not declared.",
        "The path has no place for the parameter no.",
        "It has neither summary nor description.",
        "The security scheme none is not defined.",
        "The operationId x is used 2 times.",
        "GET /a/{} stands 2 times, with other names for its parameters.",
    }
