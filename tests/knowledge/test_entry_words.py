"""What an entry is called in a list: its first line, and how it goes on."""

import pytest

from knowledge.views.entries import HEAD_CHARS, heading_and_body, words_of


@pytest.mark.parametrize(
    ("content", "title", "excerpt"),
    [
        ("Use uv.", "Use uv.", ""),
        ("\n\n# The **build**\n\nIt moved.", "The build", "It moved."),
        ("- Use `uv`\n- never pip", "Use uv", "never pip"),
        ("# Done\n\nIt is fast.\n\n## How\n\n- caches", "Done", "It is fast. · How · caches"),
        ("# Routes\n\n| route | where |\n|---|---|\n| a | b |\n\nThat is all.", "Routes", "That is all."),
        ("See [the guide](https://example.org/a_b).", "See the guide.", ""),
        ("Call `__init__` with *care*", "Call __init__ with *care*", ""),
        ("| only | a table |", "| only | a table |", ""),
        ("---", "---", ""),
    ],
)
def test_the_first_line_is_the_title_and_the_rest_goes_on(content, title, excerpt):
    words = words_of(content)

    assert (words.title, words.excerpt) == (title, excerpt)


def test_a_long_first_line_is_cut_between_words_and_nothing_of_it_is_lost():
    line = " ".join(f"word{number}" for number in range(40))

    words = words_of(line)

    assert len(words.title) <= HEAD_CHARS
    assert f"{words.title.rstrip('…')} {words.excerpt}".startswith(line[:250])


def test_a_word_without_an_end_is_cut_anywhere():
    words = words_of("x" * 70_000)

    assert words.title == "x" * (HEAD_CHARS - 1) + "…"


@pytest.mark.parametrize(
    ("content", "heading", "body"),
    [
        ("# Routes\n\nFirst.", "Routes", "\n\nFirst."),
        ("\n### `Routes` ###\nFirst.", "Routes", "\nFirst."),
        ("Routes\n\n# First", "", "Routes\n\n# First"),
        ("#hashtag first", "", "#hashtag first"),
        ("# **\nFirst.", "", "# **\nFirst."),
    ],
)
def test_a_heading_in_the_first_line_is_split_from_the_body(content, heading, body):
    assert heading_and_body(content) == (heading, body)
