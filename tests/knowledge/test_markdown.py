"""Stored markdown becomes HTML that can do no harm."""

import re

import pytest

from bigmind.core.markdown import RENDERED_CHARS, plain_words
from bigmind.web.markdown import render_markdown

HARMLESS = {
    *("p", "br", "hr", "h3", "h4", "h5", "h6", "strong", "em", "s", "code", "pre", "blockquote"),
    *("ul", "ol", "li", "a", "table", "thead", "tbody", "tr", "th", "td"),
}


def test_markdown_reads_as_it_was_meant():
    html = render_markdown("**bold** `code` ~~old~~\n\n- one\n- two\n\n| a | b |\n|---|---|\n| 1 | 2 |\n")

    for part in ("<strong>bold</strong>", "<code>code</code>", "<s>old</s>", "<li>two</li>", "<td>1</td>"):
        assert part in html


@pytest.mark.parametrize(
    "text",
    [
        "<script>alert(1)</script>",
        "<img src=x onerror=alert(1)>",
        "[x](javascript:alert(1))",
        "[x](data:text/html,<script>alert(1)</script>)",
        "[x](vbscript:msgbox)",
        "![x](https://evil.example/pixel.png)",
        '[x](https://a.example "onmouseover=alert(1)")',
        "<https://a.example/'onclick=alert(1)>",
        "```<script>\nalert(1)\n```",
        "&lt;script&gt;alert(1)&lt;/script&gt;",
        "<svg/onload=alert(1)>",
        "<style>body{display:none}</style>",
        '"><iframe src="https://evil.example"></iframe>',
    ],
)
def test_nothing_that_runs_or_loads_survives(text):
    html = render_markdown(text)

    tags = re.findall(r"<([a-z0-9]+)([^>]*)>", html)
    assert {name for name, _ in tags} <= HARMLESS
    assert not any(re.search(r"\son\w+=|src=|style=", attributes.replace('title="on', "")) for _, attributes in tags)
    assert not re.search(r'href="(?!https?://|mailto:)', html)


def test_links_vouch_for_nothing():
    html = render_markdown("[x](https://a.example)")

    assert html == '<p><a href="https://a.example" rel="nofollow noopener">x</a></p>\n'


def test_headings_stand_below_those_of_the_page_without_gaps():
    html = render_markdown("## A\n\n#### B\n\n# C\n\n### D\n")

    assert re.findall(r"<(h\d)>(\w)", html) == [("h3", "A"), ("h4", "B"), ("h3", "C"), ("h4", "D")]
    assert "<h2>A</h2>" in render_markdown("# A", 2)


def test_a_long_text_is_rendered_up_to_the_cap_and_shown_as_it_is_beyond():
    text = "**bold**\n" * 2_000

    html = render_markdown(text)

    assert html.count("<strong>") <= RENDERED_CHARS // 9
    assert html.count("bold") == 2_000
    assert '<pre tabindex="0">**bold**' in html


@pytest.mark.parametrize(
    ("text", "plain"),
    [
        ("# Why\n\nIt was **slow**: it _took_ 12 `min`.", "Why It was slow: it took 12 `min`."),
        ("- one\n- [two](https://example.com)\n\n3. three", "• one • two 3. three"),
        ("```sh\nls -la\n```", "`ls -la`"),
        ("| a | b |\n|---|---|\n| 1 | 2 |", "a b 1 2"),
        ("#\n\n| | b |\n|---|---|\n| | 2 |", "b 2"),
        (
            "<b>x</b> & `__init__.py`, __name__, snake_case, *.py",
            "<b>x</b> & `__init__.py`, __name__, snake_case, *.py",
        ),
    ],
)
def test_a_text_that_is_only_quoted_has_no_marks(text: str, plain: str) -> None:
    assert plain_words(text) == plain
