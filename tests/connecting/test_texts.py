"""Texts of every shape: an entry goes in and out again, and whatever else they say stays."""

import json
from typing import Any

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from accounts.connecting import instruction_files, json_text, toml_text
from accounts.connecting.json_tree import read_tree
from accounts.connecting.malformed import MalformedFile
from accounts.connecting.server_entries import NAME, Setting, codex, cursor, vscode_asking
from tests.connecting.homes import DOOR

JSON = st.recursive(
    st.none() | st.booleans() | st.integers(-(10**6), 10**6) | st.text(max_size=12),
    lambda inside: st.lists(inside, max_size=3) | st.dictionaries(st.text(max_size=8), inside, max_size=3),
    max_leaves=12,
)
SERVERS = st.dictionaries(st.text(max_size=8).filter(lambda name: name != NAME), JSON, max_size=3)
DOCUMENTS = st.dictionaries(st.text(max_size=8).filter(lambda name: name not in {"mcpServers", "inputs"}), JSON)
SETTINGS = [*cursor(DOOR), vscode_asking(DOOR)[1]]


# For its first document Hypothesis reads all modules that are imported, which it then takes for a slow strategy.
@settings(suppress_health_check=[HealthCheck.too_slow])
@given(
    document=DOCUMENTS,
    servers=st.none() | SERVERS,
    indent=st.sampled_from([None, 0, 1, 2, 4, "\t"]),
    newline=st.sampled_from(["\n", "\r\n"]),
    mark=st.sampled_from(["", "\ufeff"]),
)
@pytest.mark.parametrize("setting", SETTINGS, ids=lambda setting: setting.within)
def test_json_of_every_shape_keeps_what_it_says(
    setting: Setting, document: dict[str, Any], servers: dict[str, Any] | None, indent: Any, newline: str, mark: str
) -> None:
    said = document if servers is None else document | {"mcpServers": servers}
    text = mark + json.dumps(said, indent=indent, ensure_ascii=False).replace("\n", newline)

    connected = json_text.with_setting(text, setting)

    assert json_text.with_setting(connected, setting) == connected
    assert json_text.read_setting(connected, setting) == setting.value
    assert json.loads(json_text.without_setting(connected, setting, before=text).removeprefix("\ufeff")) == said


@pytest.mark.parametrize(
    "text",
    [
        '{ "a": 1, /* last */ }',
        '{\n // one\n "mcpServers": {\n  "a": {}, // first\n  "b": [1, 2,], /* second */ // and more\n }, "c": 1\n}',
        '{"mcpServers": // where\n{ }}',
        "// all of it\n{\n}\n// the end",
        '{\n  "mcpServers": {\n    "a": "// no comment, /* really */" }\n}',
    ],
)
def test_comments_stay_where_they_are(text: str) -> None:
    (setting,) = cursor(DOOR)

    connected = json_text.with_setting(text, setting)
    undone = json_text.without_setting(connected, setting, before=text)

    comments = ("last", "one", "first", "second", "more", "where", "all of", "the end", "no comment")
    assert [word in connected for word in comments] == [word in text for word in comments]
    assert read_tree(undone).value == read_tree(text).value


def test_of_two_entries_with_one_name_the_one_that_counts_is_changed() -> None:
    text = '{"mcpServers": {"bigmind": {"url": "first"}, "bigmind": {"url": "second"}}}'
    (setting,) = cursor(DOOR)

    assert '{"url": "first"}' in json_text.with_setting(text, setting)
    assert "second" not in json_text.with_setting(text, setting)


@pytest.mark.parametrize(
    "text",
    [
        "",
        "a = 1",
        "\n\n# only words\n",
        "[mcp_servers]\n\n[mcp_servers.a]\nx = 1\n[b]\ny = 2\n[mcp_servers.c]\nz = 3\n",
        'mcp_servers.a.command = "dotted"\n',
        "[[list]]\na = 1\n\n[[list]]\na = 2\r\n",
    ],
)
def test_toml_is_as_it_was_when_the_table_has_gone(text: str) -> None:
    (setting,) = codex(DOOR)

    connected = toml_text.with_setting(text, setting)

    assert connected.startswith(text)
    assert toml_text.with_setting(connected, setting) == connected
    assert toml_text.without_setting(connected, setting).rstrip() == text.rstrip()


def test_what_is_said_about_the_next_table_stays() -> None:
    text = '[mcp_servers.bigmind]\nurl = "old"\n\n# about the screen\n[tui]\na = 1\n'
    (setting,) = codex(DOOR)

    assert toml_text.without_setting(text, setting).lstrip() == "# about the screen\n[tui]\na = 1\n"
    assert "\n# about the screen\n[tui]" in toml_text.with_setting(text, setting)


def test_a_table_that_stands_in_a_text_is_not_taken_for_ours() -> None:
    text = 'a = """\n[mcp_servers.bigmind]\nurl = "in a text"\n"""\n'
    (setting,) = codex(DOOR)

    connected = toml_text.with_setting(text, setting)

    assert connected.startswith(text)
    with pytest.raises(MalformedFile, match="safely"):
        toml_text.without_setting(connected, setting)


@given(text=st.text(st.characters(exclude_categories=["Cs"], exclude_characters="\r<"), max_size=60))
def test_rules_come_and_go(text: str) -> None:
    written = instruction_files.with_rules(text)

    assert instruction_files.with_rules(written) == written
    assert instruction_files.without_rules(written).strip() == text.strip()
    assert instruction_files.rules_in_file() in written
