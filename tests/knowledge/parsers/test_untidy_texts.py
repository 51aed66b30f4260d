"""Texts as people and editors leave them: front matter that is no YAML, other encodings, forms without an answer."""

import pytest

from knowledge.parsers.empty_phrases import says_nothing
from knowledge.parsers.front_matter import without_front_matter
from knowledge.parsers.reading import decode_text
from knowledge.parsers.sources import parse_text


@pytest.mark.parametrize(
    ("front", "fields"),
    [
        ("globs: **/*.{ts,tsx}\nalwaysApply: true", {"globs": "**/*.{ts,tsx}", "alwaysApply": True}),
        ("title: Core: split\ntags: [a, b]", {"title": "Core: split", "tags": ["a", "b"]}),
        ("title: First\ntitle: Second", {"title": "Second"}),
        ("tags:\n\t- one\ntype: note", {"tags": ["one"], "type": "note"}),
        ('title: My "quoted" rule: sub', {"title": 'My "quoted" rule: sub'}),
        ("owner: @ada\nother: *ref", {"owner": "@ada", "other": "*ref"}),
    ],
)
@pytest.mark.parametrize("fence", ["---", "..."])
def test_what_yaml_cannot_read_is_kept_as_text_and_spoils_no_other_field(front, fields, fence):
    found, text, line = without_front_matter(f"---\n{front}\n{fence}\nBody", "note.md")

    assert found == fields
    assert (text, line) == ("Body", front.count("\n") + 4)


@pytest.mark.parametrize("encoding", ["utf-8", "utf-8-sig", "utf-16"])
def test_a_text_is_read_in_the_encodings_of_editors(encoding):
    assert decode_text("Hafen é\r\n".encode(encoding), "note.md") == "Hafen é\n"


@pytest.mark.parametrize(
    "text",
    [
        "**None**: A smooth run; the plan left no open question.",
        "Surprise files: **None** - all files matched the plan",
        "Fast-fail caught: **Nothing** - compilation clean throughout",
        "Files touched: **11** (4 modify, 7 create)",
    ],
)
def test_a_form_that_was_filled_in_with_nothing_says_nothing(text):
    assert says_nothing(text)


@pytest.mark.parametrize(
    "text",
    [
        "**None** - but flush the cache first.",
        "None of the workers took the job.",
        "Surprise: None, except that the index must be rebuilt.",
    ],
)
def test_what_takes_nothing_back_says_something(text):
    assert not says_nothing(text)


def test_a_field_that_is_kept_as_text_is_named_with_its_line():
    text = "---\nowner: Ada\ntitle: Core: split\nglobs: **/*\n---\n- Split the core by nouns.\n"

    assert parse_text(text, "AGENTS.md").notices == (
        "AGENTS.md, line 3: `title` is no YAML and is kept as text.",
        "AGENTS.md, line 4: `globs` is no YAML and is kept as text.",
    )
