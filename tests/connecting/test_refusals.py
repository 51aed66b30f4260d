"""What cannot be changed safely is refused in words, and nothing at all is changed."""

import os
from pathlib import Path

import pytest

from accounts.connecting import changes, files
from accounts.connecting.changes import carry_out
from accounts.connecting.files import FoundFile
from bigmind.core.errors import BigMindError, Conflict, Forbidden, Invalid
from tests.connecting.homes import KEY, Home

IS_ROOT = hasattr(os, "geteuid") and os.geteuid() == 0


@pytest.fixture
def home(tmp_path: Path) -> Home:
    return Home(tmp_path)


@pytest.mark.parametrize(
    ("slug", "place", "text", "line", "reason"),
    [
        ("cursor", ".cursor/mcp.json", '{\n  "mcpServers": {\n    "a": {}\n    "b": {}\n  }\n}', 4, "a comma or “}”"),
        ("cursor", ".cursor/mcp.json", '{\n  "mcpServers": {', 2, "the end of the file"),
        ("cursor", ".cursor/mcp.json", "[]", 1, "an object in braces is expected"),
        ("cursor", ".cursor/mcp.json", '{\n\n  "mcpServers": []\n}', 3, "“mcpServers” must be an object"),
        ("vscode", ".config/Code/User/mcp.json", "{\n  'servers': {}\n}", 2, "a name in double quotes is expected"),
        ("vscode", ".config/Code/User/mcp.json", "{ /* never ends }", 1, "a comment does not end"),
        ("vscode", ".config/Code/User/mcp.json", "[" * 99, 1, "nested more than"),
        ("codex", ".codex/config.toml", 'model = "a"\n[mcp_servers\n', 2, "expected"),
        ("codex", ".codex/config.toml", "a = 1\nmcp_servers = { a = { url = 'x' } }\n", 2, "write it as a table"),
        ("codex", ".codex/AGENTS.md", "# Notes\n<!-- bigmind:begin -->\nlost\n", 2, "one pair of"),
        ("gemini-cli", ".gemini/settings.json", "{}\n{}\n", 2, "more after the end"),
    ],
)
def test_a_malformed_file_is_named_with_its_line(home, slug, place, text, line, reason):
    path = home.write(place, text)
    before = home.files()

    with pytest.raises(Invalid) as refused:
        home.connect(slug)

    assert f"{path}, line {line}: " in str(refused.value)
    assert reason in str(refused.value)
    assert "Nothing was changed" in str(refused.value)
    assert home.files() == before
    assert not home.records.folder.exists()


def test_a_file_that_is_no_text_is_refused(home: Home) -> None:
    path = home.write(".cursor/mcp.json", "")
    path.write_bytes('{\n"a": "ä"}'.encode("latin-1"))

    with pytest.raises(Invalid, match="line 2: the file is not UTF-8"):
        home.connect("cursor")


def test_a_folder_in_its_place_is_refused(home: Home) -> None:
    (home.folder / ".cursor/mcp.json").mkdir(parents=True)

    with pytest.raises(Invalid, match="is not a file"):
        home.connect("cursor")


@pytest.mark.skipif(IS_ROOT, reason="root may write everywhere")
def test_a_place_that_may_not_be_written_is_refused(home: Home) -> None:
    path = home.write(".codex/config.toml", "")
    path.parent.chmod(0o500)

    with pytest.raises(Forbidden, match="may not be written"):
        home.connect("codex")
    path.parent.chmod(0o700)

    assert path.read_text() == ""


def test_a_file_below_a_file_is_refused(home: Home) -> None:
    home.write(".cursor", "I am a file.")

    with pytest.raises(Forbidden, match=r"not a folder|Not a directory"):
        home.connect("cursor")


def test_a_link_is_followed_and_told(home: Home, tmp_path: Path) -> None:
    elsewhere = tmp_path / "dotfiles" / "cursor.json"
    elsewhere.parent.mkdir()
    (elsewhere.parent / ".git").mkdir()
    elsewhere.write_text("{}")
    link = home.folder / ".cursor/mcp.json"
    link.parent.mkdir()
    link.symlink_to(elsewhere)

    (change,) = home.connect("cursor")
    written = elsewhere.read_text()
    home.disconnect("cursor")

    assert change.notes[0] == f"It is a link: what is written is {elsewhere}."
    assert any("do not commit it" in note for note in change.notes)
    assert KEY in written
    assert link.is_symlink()
    assert elsewhere.read_text() == "{}"


def test_a_loop_of_links_is_refused(home: Home) -> None:
    link = home.folder / ".cursor/mcp.json"
    link.parent.mkdir()
    link.symlink_to(link)

    with pytest.raises(BigMindError, match="cannot be"):
        home.connect("cursor")


def test_a_file_that_its_program_changes_meanwhile_is_left_alone(home: Home) -> None:
    path = home.write(".claude.json", '{"numStartups": 1}')
    plan = home.plan("claude-code")
    path.write_text('{"numStartups": 2}')

    with pytest.raises(Conflict, match="changed by another program"):
        carry_out(plan, home.records)

    assert home.files() == {".claude.json": (b'{"numStartups": 2}', 0o644)}
    assert home.folders() == set()
    assert not home.records.folder.exists()


def test_all_files_are_changed_or_none(home: Home, monkeypatch: pytest.MonkeyPatch) -> None:
    home.write(".codex/config.toml", "# mine\n")
    before = home.files()
    plan = home.plan("codex")

    def full(found: FoundFile, content: bytes | None, *, mode: int) -> list[Path]:
        if found.path.name == "AGENTS.md" and content:
            raise Forbidden("AGENTS.md cannot be written: No space left on device.")
        return files.replace_file(found, content, mode=mode)

    monkeypatch.setattr(changes, "replace_file", full)
    with pytest.raises(Forbidden, match="No space left"):
        carry_out(plan, home.records)

    assert home.files() == before
    assert not home.records.folder.exists()


def test_the_difference_shows_no_key_and_nobody_elses_secret(home: Home) -> None:
    others = '{\n  "mcpServers": {\n    "a": {\n      "env": { "TOKEN": "s3cret" }\n    }\n  }\n}\n'
    home.write(".cursor/mcp.json", others)

    (change,) = home.plan("cursor")

    assert '"Authorization": "Bearer bm_KKKKK…"' in change.diff
    assert KEY not in change.diff
    assert "s3cret" not in change.diff


def test_a_plan_writes_nothing(home: Home) -> None:
    changes = home.plan("claude-code")

    assert [change.state for change in changes] == ["created", "created"]
    assert home.files() == {}
    assert not home.records.folder.exists()


def test_the_backup_is_the_file_as_it_was_and_its_owners_alone(home: Home) -> None:
    home.write(".cursor/mcp.json", '{ "mine": 1 }\n')

    (change,) = home.connect("cursor")

    backup = home.records.backup_of(change.found)
    assert backup.read_text() == '{ "mine": 1 }\n'
    assert backup.stat().st_mode & 0o077 == 0


def test_what_was_written_by_hand_can_be_disconnected_too(home: Home) -> None:
    home.write(".cursor/mcp.json", '{"mcpServers": {"bigmind": {"url": "http://old/mcp"}, "a": {}}}')

    home.disconnect("cursor")

    assert home.read(".cursor/mcp.json") == '{"mcpServers": { "a": {}}}'


def test_disconnecting_what_is_not_connected_changes_nothing(home: Home) -> None:
    home.write(".cursor/mcp.json", '{"mcpServers": {}}')
    before = home.files()

    changes = home.disconnect("cursor")

    assert [change.state for change in changes] == ["unchanged"]
    assert home.files() == before
