"""A path chooses its parser; what is no honest text file is refused, quickly and in plain words."""

import gzip
import os
import time
import zipfile
from contextlib import suppress
from pathlib import Path

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from bigmind.core.errors import Invalid
from bigmind.text.hygiene import REFUSED
from knowledge.parsers.entries import SourceEntry, changes
from knowledge.parsers.reading import replace_text
from knowledge.parsers.sources import PARSERS, ParsedSource, RefusedSource, kind_for, parse, parse_folder, parse_text

MARKDOWN_KINDS = ["lessons", "template", "markdown", "instructions", "adr"]
SNIPPETS = [
    "# A\n",
    "## STORY-1: b\n",
    "### Blockers\n",
    "- x\n",
    "  - y\n",
    "```\n",
    "| a |\n|--|\n",
    "> q\n",
    "---\n",
    "\n",
    "1. z\n",
]


@pytest.mark.parametrize(
    ("path", "text", "kind"),
    [
        ("plans/stories/LESSONS-LEARNED.md", "", "lessons"),
        ("retro.md", "# A\n## Blockers Hit\n## Recommendations\n", "lessons"),
        ("UAT/_templates/PROOF.md", "", "template"),
        ("docs/architecture/ADR-TEMPLATE.md", "", "template"),
        ("CLAUDE.md", "", "instructions"),
        ("packages/web/AGENTS.md", "", "instructions"),
        (".github/copilot-instructions.md", "", "instructions"),
        (".cursorrules", "", "instructions"),
        (".cursor/rules/style.mdc", "", "instructions"),
        ("docs/decisions/0001-x.md", "", "adr"),
        ("notes/x.md", "# 1. X\n## Status\n## Context\n## Decision\n", "adr"),
        ("_implementation/LEARNINGS.yaml", "", "learnings"),
        ("seed-data/lessons-learned.yaml", "", "entries"),
        ("docs/guide.md", "# Guide\n", "markdown"),
    ],
)
def test_name_and_headings_choose_the_parser(path, text, kind):
    assert kind_for(path, text) == kind


def test_whoever_knows_better_names_the_kind(tmp_path):
    path = tmp_path / "CLAUDE.md"
    path.write_text("# Title\n\n- rule\n", encoding="utf-8")

    assert parse(path, "template").entries[0].entry_type == "template"


def test_entries_never_say_where_somebody_keeps_their_files(tmp_path):
    path = tmp_path / "docs" / "CLAUDE.md"
    path.parent.mkdir()
    path.write_text("- rule\n", encoding="utf-8")

    assert parse(path).entries[0].source_file == "CLAUDE.md"
    assert parse(path, within=tmp_path).entries[0].source_file == "docs/CLAUDE.md"


def test_windows_line_breaks_and_a_byte_order_mark_make_no_difference(tmp_path):
    path = tmp_path / "CLAUDE.md"
    path.write_bytes(b"\xef\xbb\xbf# Rules\r\n\r\n- one\r\n- two\r\n")

    assert [entry.content for entry in parse(path).entries] == ["one", "two"]


@pytest.mark.parametrize(
    ("content", "refusal"),
    [
        (b"x" * (4 * 1024 * 1024 + 1), "larger than 4,194,304 bytes"),
        (b"PK\x03\x04rest", "is a zip archive"),
        (gzip.compress(b"0" * 1_000_000), "is a gzip archive"),
        (b"\x89PNG\r\n\x1a\n\0\0", "line 1: is not UTF-8"),
        (b"a\nb\0c", "line 2: the text has a NUL character"),
        (b"a\n\x1b[31mred", "line 2: the text has a control character"),
        ("é".encode("latin-1"), "is not UTF-8"),
        (b"\xed\xa0\x80", "is not UTF-8"),
    ],
)
def test_what_is_no_text_is_refused(tmp_path, content, refusal):
    path = tmp_path / "file.md"
    path.write_bytes(content)

    with pytest.raises(Invalid, match=refusal):
        parse(path)


def test_a_western_text_that_is_not_utf_8_is_read_and_its_line_named(tmp_path):
    path = tmp_path / "CLAUDE.md"
    path.write_bytes("# Rules\n\n- Greet people in Köln with “Grüß Gott”.\n".encode("cp1252"))

    read = parse(path)

    assert "Greet people in Köln with “Grüß Gott”." in read.entries[0].content
    assert read.notices == ("CLAUDE.md, line 3: is not UTF-8 and was read as Windows-1252.",)


def test_links_pipes_folders_and_missing_files_are_refused(tmp_path):
    (tmp_path / "real.md").write_text("# Secret\n", encoding="utf-8")
    (tmp_path / "link.md").symlink_to(tmp_path / "real.md")
    os.mkfifo(tmp_path / "pipe.md")
    (tmp_path / "folder.md").mkdir()

    for name, refusal in {
        "link": "is a link",
        "pipe": "not a plain file",
        "folder": "not a plain file",
        "no": "no such file",
    }.items():
        with pytest.raises(Invalid, match=refusal):
            parse(tmp_path / f"{name}.md")


@pytest.mark.parametrize("path", ["../outside.md", "inner/../../outside.md", "linked/outside.md"])
def test_a_path_that_leads_out_of_its_folder_is_refused(tmp_path, path):
    (tmp_path / "outside.md").write_text("# Secret\n", encoding="utf-8")
    (tmp_path / "folder" / "inner").mkdir(parents=True)
    (tmp_path / "folder" / "linked").symlink_to(tmp_path)

    with pytest.raises(Invalid, match="is outside folder"):
        parse(tmp_path / "folder" / path, within=tmp_path / "folder")


def test_a_folder_is_read_file_by_file_and_a_bad_one_does_not_stop_the_rest(tmp_path):
    (tmp_path / "a.md").write_text("# A\n\nText.\n", encoding="utf-8")
    (tmp_path / "b.md").write_bytes(b"\xff\xff\xff")
    (tmp_path / "node_modules").mkdir()
    (tmp_path / "node_modules" / "README.md").write_text("# No\n", encoding="utf-8")
    (tmp_path / ".github").mkdir()
    (tmp_path / ".github" / "copilot-instructions.md").write_text("- Be brief.\n", encoding="utf-8")
    (tmp_path / "loop").symlink_to(tmp_path)
    (tmp_path / "picture.png").write_bytes(b"\x89PNG")
    zipfile.ZipFile(tmp_path / "c.zip", "w").close()

    found = {source.source_file: source for source in parse_folder(tmp_path)}

    assert list(found) == [".github/copilot-instructions.md", "a.md", "b.md"]
    assert isinstance(found["a.md"], ParsedSource)
    assert isinstance(found["b.md"], RefusedSource)
    assert "not UTF-8" in found["b.md"].error.message


def test_a_folder_with_too_many_sources_is_refused(tmp_path, monkeypatch):
    monkeypatch.setattr("knowledge.parsers.sources.FILES", 2)
    for number in range(3):
        (tmp_path / f"{number}.md").write_text("# A\n", encoding="utf-8")

    with pytest.raises(Invalid, match="more than 2 sources"):
        list(parse_folder(tmp_path))


@pytest.mark.parametrize(
    ("kind", "text"),
    [
        ("markdown", "> " * 500_000),
        ("markdown", ("- " * 60 + "x\n") * 20_000),
        ("markdown", "# a\n" * 500_000),
        ("markdown", "|a" * 8_000 + "\n" + "|-" * 8_000 + "\n" + "|b" * 8_000 + "\n"),
        ("markdown", "- " + "![" * 30_000 + "](" * 1_000),
        ("markdown", "<!-- " * 500_000),
        ("markdown", "word " * 800_000),
        ("lessons", "".join(f"{'  ' * (number % 200)}- a\n" for number in range(5_000))),
        ("lessons", "# STORY-1: " + "2026-01-" * 100_000),
        ("lessons", "# STORY-1: a\n\n## Blockers\n\n" + "**b** " * 100_000),
        ("lessons", "---\n" + "a: &a [*a]\n---\n"),
    ],
    ids=lambda text: f"{text[:12]!r}…{len(text)}",
)
def test_hostile_markdown_is_read_or_refused_in_time(kind, text):
    begun = time.process_time()

    with suppress(Invalid):
        parse_text(text, "hostile.md", kind)

    assert time.process_time() - begun < 10


@settings(max_examples=150, deadline=None)
@given(
    text=st.lists(st.sampled_from(SNIPPETS) | st.text(max_size=20), max_size=25).map("".join),
    kind=st.sampled_from(MARKDOWN_KINDS),
)
def test_any_text_becomes_entries_with_keys_and_parents_that_hold(text, kind):
    text = REFUSED.sub("", text)
    try:
        entries = parse_text(text, "any.md", kind).entries
    except Invalid:
        return
    keys = [entry.key for entry in entries]

    assert len(keys) == len(set(keys))
    assert {entry.parent for entry in entries} <= {"", *keys}


def test_changes_are_told_by_key():
    a, b, c = (SourceEntry(key=key, content=key) for key in "abc")
    b2 = SourceEntry(key="b", content="other")

    found = changes([a, b], [b2, a, c])

    assert (found.added, found.changed, found.removed, found.unchanged) == ((c,), (b2,), (), (a,))


def test_replacing_a_file_keeps_its_mode_and_never_follows_a_link(tmp_path):
    path = tmp_path / "LEARNINGS.yaml"
    path.write_text("old", encoding="utf-8")
    path.chmod(0o640)
    (tmp_path / "link.yaml").symlink_to(path)

    replace_text(path, "new")

    assert (path.read_text(encoding="utf-8"), path.stat().st_mode & 0o777) == ("new", 0o640)
    with pytest.raises(Invalid, match="is a link"):
        replace_text(tmp_path / "link.yaml", "other")


def test_each_kind_has_a_parser():
    assert set(MARKDOWN_KINDS) | {"learnings", "entries"} == set(PARSERS)


def test_this_projects_own_decisions_are_read():
    folder = Path(__file__).parents[3] / "docs" / "decisions"

    sources = list(parse_folder(folder))

    assert sources
    assert all(isinstance(source, ParsedSource) and source.entries for source in sources)
