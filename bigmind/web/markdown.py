"""Markdown that someone stored, made into HTML that can do no harm."""

import re
from collections.abc import Sequence

import nh3
from django.utils.html import format_html
from django.utils.safestring import SafeString, mark_safe
from markdown_it import MarkdownIt
from markdown_it.rules_core import StateCore
from markdown_it.token import Token

from bigmind.core.errors import Invalid
from bigmind.core.limits import BoundedTokens

RENDERED_CHARS = 10_000
RENDERED_TOKENS = 8_000
"""A text of 10,000 characters can be a table of 65,000 cells: a second, and a megabyte of HTML."""
LAST_HEADING = 6

TAGS = {
    *(
        "p",
        "br",
        "hr",
        "h2",
        "h3",
        "h4",
        "h5",
        "h6",
        "strong",
        "em",
        "s",
        "code",
        "pre",
        "blockquote",
        "ul",
        "ol",
        "li",
        "a",
    ),
    *("table", "thead", "tbody", "tr", "th", "td"),
}
ATTRIBUTES = {"a": {"href", "title"}, "ol": {"start"}, "pre": {"tabindex"}, "table": {"tabindex"}}
SCHEMES = {"http", "https", "mailto"}

# No HTML, and no images: to show one from elsewhere would tell that server who reads this, and when.
_PARSER = MarkdownIt("commonmark", {"html": False}).enable(["table", "strikethrough"]).disable("image")


def render_markdown(text: str, first_heading: int = 3) -> SafeString:
    """Render markdown as HTML that is safe to show: no scripts, no images, links that vouch for nothing.

    Its headings begin at the level `first_heading`, below those of the page. Rendering is capped: what lies beyond
    the cap follows as the plain text it is, and so does a text of more pieces than anyone writes.
    """
    head, tail = _cut(text)
    try:
        tokens = _tokens(head)
    except Invalid:
        return format_html('<pre tabindex="0">{}</pre>', text)
    _keep_headings_in_order(tokens, first_heading)
    html = _PARSER.renderer.render(tokens, _PARSER.options, {})
    # A heading of a column that says nothing is no heading.
    html = re.sub(r"<th>\s*</th>", "<td></td>", html)
    # Wide ones scroll, which the keyboard can do only where it can go.
    html = html.replace("<table>", '<table tabindex="0">').replace("<pre>", '<pre tabindex="0">')
    clean = nh3.clean(html, tags=TAGS, attributes=ATTRIBUTES, url_schemes=SCHEMES, link_rel="nofollow noopener")
    safe = mark_safe(clean)  # noqa: S308 - nh3 has just cleaned it
    return format_html('{}<pre tabindex="0">{}</pre>', safe, tail) if tail else safe


def _tokens(text: str) -> Sequence[Token]:
    state = StateCore(text, _PARSER, {})
    state.tokens = BoundedTokens(RENDERED_TOKENS)
    _PARSER.core.process(state)
    return state.tokens


def _cut(text: str) -> tuple[str, str]:
    if len(text) <= RENDERED_CHARS:
        return text, ""
    end = text.rfind("\n", 0, RENDERED_CHARS) + 1 or RENDERED_CHARS
    return text[:end], text[end:]


def _keep_headings_in_order(tokens: Sequence[Token], first: int) -> None:
    """Put the headings below those of the page, without a gap between levels: readers navigate by them."""
    above: list[int] = []
    for token in tokens:
        if token.type == "heading_open":
            level = int(token.tag[1])
            above = [*(one for one in above if one < level), level]
        if token.type in {"heading_open", "heading_close"}:
            token.tag = f"h{min(LAST_HEADING, first - 1 + len(above))}"
