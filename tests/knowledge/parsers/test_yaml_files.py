"""The YAML between sources and the knowledge base: written, edited, read, and never trusted."""

import time
from pathlib import Path

import pytest
from hypothesis import example, given, settings
from hypothesis import strategies as st
from pydantic import ValidationError

from bigmind.core.errors import Invalid
from bigmind.text.hygiene import REFUSED
from knowledge.parsers.entries import SourceEntry, make_entry
from knowledge.parsers.lessons_learned import parse_lessons
from knowledge.parsers.yaml_files import (
    EntryFile,
    parse_entries,
    read_entries,
    refresh,
    write_entries,
    write_entry_file,
)

DOCUMENT = (Path(__file__).parent / "LESSONS-LEARNED.md").read_text(encoding="utf-8")
TEXTS = st.text(min_size=1).filter(lambda text: bool(text.strip()) and not REFUSED.search(text))
TRICKY = [
    "yes",
    "007",
    "1e5",
    "12:30",
    "2026-01-24",
    "null",
    "~",
    "- a",
    "a: b",
    "#x",
    " x",
    "x ",
    "\n\nx\n\n",
    "a\t\nb \n",
]
JSON = st.recursive(
    st.none()
    | st.booleans()
    | st.integers(-(2**63) + 1, 2**63 - 1)
    | st.floats(allow_nan=False, allow_infinity=False)
    | TEXTS,
    lambda inner: st.lists(inner, max_size=3) | st.dictionaries(TEXTS, inner, max_size=3),
    max_leaves=8,
)


@settings(max_examples=150, deadline=None)
@given(content=TEXTS | st.sampled_from(TRICKY), metadata=st.dictionaries(TEXTS, JSON, max_size=4))
@example(content="  indented\nfirst line", metadata={"": None, "yes": "no", "n": 1.0, "e": 1e-7, "s": "1e5"})
@example(content="word " * 60 + "\u2028" + "\ufeff\t" + "\U0001f469\u200d\U0001f692", metadata={})
@example(content="line\r\nbreaks", metadata={"a": "-0", "b": ".5", "c": "0x10", "d": "1_000", "e": "=", "f": "<<"})
def test_whatever_is_written_is_read_back_exactly(content, metadata):
    entry = SourceEntry(key="k", content=content, metadata=metadata, tags=["a", "yes", "1"], confidence=0.25)
    file = EntryFile((entry,), "source.md", "markdown", ("left", "12"))

    read = parse_entries(write_entries(file), "entries.yaml")

    assert read == file


def test_what_people_get_to_edit_is_readable():
    fact = "Route ordering: specific routes come first.\nPlace `/stats` before `/:id`.\n"
    file = EntryFile(
        (make_entry(1, {"key": "STORY-7/routes", "content": fact, "roles": ["dev"], "tags": ["vercel", "api"]}),)
    )

    text = write_entries(file)

    assert "  content: |\n    Route ordering: specific routes come first.\n    Place `/stats`" in text
    assert "  tags: [vercel, api]\n" in text
    assert text.startswith("# Entries for the knowledge base, made from several sources.\n")


def test_a_whole_document_survives_the_way_through_a_file(tmp_path):
    file = EntryFile(tuple(parse_lessons(DOCUMENT, "LESSONS-LEARNED.md")), "LESSONS-LEARNED.md", "lessons")

    write_entry_file(tmp_path / "lessons.yaml", file)

    assert read_entries(tmp_path / "lessons.yaml") == file
    assert write_entries(read_entries(tmp_path / "lessons.yaml")) == write_entries(file)


def test_the_examples_of_the_plan_are_accepted_as_they_stand():
    text = """
- content: "Route ordering in vercel.json: specific routes must come before parameterized routes."
  entry_type: fact
  roles: [dev]
  tags: [vercel, routing, api, pattern]
  source_story: STORY-007
  confidence: 1.0
- content: "57 ACs was too large - split into smaller stories."
  entry_type: summary
  roles: [pm, dev, qa]
  tags: [story-sizing, testing, process]
  source_story: STORY-016
"""

    file = parse_entries(text, "seed.yaml")

    assert [entry.source_story for entry in file.entries] == ["STORY-007", "STORY-016"]
    assert all(entry.key for entry in file.entries)


def test_an_empty_file_has_no_entries():
    assert parse_entries("# nothing yet\n", "seed.yaml").entries == ()


@pytest.mark.parametrize(
    ("text", "refusal"),
    [
        ("- content: a\n- content: b\n  confidence: 2\n", "seed.yaml, line 3, entry 2: confidence must be 1 or less."),
        ("- content: a\n  tag: [x]\n", "seed.yaml, line 2, entry 1: tag is not an argument here"),
        ("- roles: [dev]\n", "seed.yaml, line 1, entry 1: content is required."),
        ("- just text\n", "seed.yaml, line 1, entry 1: entry must be a mapping"),
        ("- content: a\n  key: x\n- content: b\n  key: x\n", "seed.yaml, line 3, entry 2: key “x” stands twice."),
        ("- content: a\n  parent: gone\n", "seed.yaml, line 1, entry 1: parent “gone” is no key in this file."),
        ("- {key: a, content: a, parent: a}\n", "parent leads back to the entry itself"),
        (
            "- {key: a, content: a, parent: b}\n- {key: b, content: b, parent: a}\n",
            "leads back to the entry itself. And 1",
        ),
        ("- content: a\n  content: b\n", "seed.yaml, line 2: has the key “content” twice."),
        ("- content: a\n  confidence: .nan\n", "confidence must be a number"),
        ("- content: 'a\n", "seed.yaml, line 2: is not valid YAML"),
        ("entries: 3\n", "seed.yaml, line 1: has no list of entries."),
        ("- content: a\n---\n- content: b\n", "line 2: is a second document"),
        ('- content: "a\\0b"\n', "entry 1: content has a NUL character"),
        ('- content: a\n  tags: ["a\\u202eb"]\n', "entry 1: tags.0 has a bidirectional control"),
        ('- content: "\\ud800"\n', "seed.yaml"),
        ("- content: a\0\n", "seed.yaml, line 1: the text has a NUL character"),
    ],
)
def test_a_refusal_says_which_file_which_line_and_which_entry(text, refusal):
    with pytest.raises(Invalid) as refused:
        parse_entries(text, "seed.yaml")

    assert refusal in str(refused.value)


def test_a_refusal_names_every_problem():
    with pytest.raises(Invalid) as refused:
        parse_entries("- confidence: 3\n  content: a\n- content: ''\n", "seed.yaml")

    assert [(problem["entry"], problem["line"], problem["field"]) for problem in refused.value.problems] == [
        (1, 1, "confidence"),
        (2, 3, "content"),
    ]


BOMB = "a: &a [x,x,x,x,x,x,x,x,x]\n" + "".join(
    f"{chr(98 + n)}: &{chr(98 + n)} [{','.join(['*' + chr(97 + n)] * 9)}]\n" for n in range(20)
)


@pytest.mark.parametrize(
    "text",
    [
        BOMB,
        "- !!python/object/apply:os.system ['true']\n",
        "- content: !!binary aGk=\n",
        "- &a content\n",
        "- <<: *a\n",
        "[" * 100_000,
        "{a: " * 100_000,
        "- " * 1_000_000,
        "? " * 100_000,
        "a" * (4 * 1024 * 1024 + 1),
        "- content: a\n" * 10_001,
        pytest.param("- a\n" * 1_000_000, marks=pytest.mark.torture),
        pytest.param("- [{}, []]\n" * 300_000, marks=pytest.mark.torture),
        "%YAML 9.9\n---\n- a\n",
        "? [a]\n: b\n",
        "- content: a\n  metadata: {a: " + "[" * 63 + "]" * 63 + "}\n",
        "- content: a\n  metadata: {a: " + "9" * 19 + "}\n",
        "- content: a\n  metadata: {a: '" + "x" * 70_000 + "'}\n",
        "PK\x03\x04" + "\x14\x00",
    ],
)
def test_hostile_yaml_is_refused_in_time(text):
    begun = time.process_time()

    with pytest.raises(Invalid):
        parse_entries(text, "hostile.yaml")

    assert time.process_time() - begun < 10


@pytest.mark.parametrize("text", ["- a\n" * 4_000, "- [{}, []]\n" * 1_000])
def test_more_values_than_are_read_are_refused(text, monkeypatch):
    monkeypatch.setattr("knowledge.parsers.yaml_nodes.NODES", 3_000)

    with pytest.raises(Invalid, match="has more than 3,000 values"):
        parse_entries(text, "hostile.yaml")


def test_an_entry_takes_no_metadata_that_is_not_json():
    with pytest.raises(ValidationError, match="not finite"):
        SourceEntry(content="a", metadata={"a": [float("inf")]})


class TestParsingAgain:
    """A source is parsed again after people edited what came of it."""

    def test_what_nobody_touched_follows_its_source(self):
        before = EntryFile((self.parsed("a", "old"),))

        refreshed = refresh(before, [self.parsed("a", "new"), self.parsed("b", "more")])

        assert [entry.content for entry in refreshed.file.entries] == ["new", "more"]
        assert str(refreshed.changes) == "1 added, 1 changed, 0 removed, 0 unchanged"

    def test_what_somebody_edited_stays_and_is_told_once_when_the_source_moved(self):
        edited = self.parsed("a", "old").model_copy(update={"content": "mine"})

        first = refresh(EntryFile((edited,)), [self.parsed("a", "new")])
        second = refresh(first.file, [self.parsed("a", "new")])

        assert [entry.content for entry in second.file.entries] == ["mine"]
        assert (first.kept, second.kept) == (("a",), ())

    def test_what_somebody_wrote_by_hand_stays(self):
        own = SourceEntry(content="by hand")

        refreshed = refresh(EntryFile((own,)), [self.parsed("a", "new")])

        assert own in refreshed.file.entries

    def test_what_left_the_source_leaves_the_file(self):
        refreshed = refresh(EntryFile((self.parsed("a", "old"),)), [])

        assert [entry.key for entry in refreshed.changes.removed] == ["a"]

    def test_what_somebody_left_out_does_not_come_back(self):
        parsed = [self.parsed("a", "no"), self.parsed("b", "yes", parent="a")]

        refreshed = refresh(EntryFile((), left_out=("a",)), parsed)

        assert [(entry.key, entry.parent) for entry in refreshed.file.entries] == [("b", "")]
        assert parse_entries(write_entries(refreshed.file), "x.yaml") == refreshed.file

    def test_refreshing_twice_changes_nothing(self):
        parsed = parse_lessons(DOCUMENT, "LESSONS-LEARNED.md")
        file = EntryFile(tuple(parsed))

        again = refresh(parse_entries(write_entries(file), "x.yaml"), parsed)

        assert (len(again.changes.unchanged), again.file.entries, again.kept) == (len(parsed), tuple(parsed), ())

    @staticmethod
    def parsed(key: str, content: str, parent: str = "") -> SourceEntry:
        return make_entry(1, {"key": key, "content": content, "parent": parent})
