"""Stored markdown, rendered as HTML that can do no harm."""

import re
from collections.abc import Sequence

import nh3
from django.utils.html import format_html
from django.utils.safestring import SafeString, mark_safe
from markdown_it.token import Token

from bigmind.core.errors import Invalid
from bigmind.core.markdown import PARSER, cut_markdown, parse_markdown

LAST_HEADING = 6

TAGS = set(
    "p br hr h2 h3 h4 h5 h6 strong em s code pre blockquote ul ol li a table thead tbody tr th td".split()  # noqa: SIM905
)
ATTRIBUTES = {"a": {"href", "title"}, "ol": {"start"}, "pre": {"tabindex"}, "table": {"tabindex"}}
SCHEMES = {"http", "https", "mailto"}


def render_markdown(text: str, first_heading: int = 3) -> SafeString:
    """Render markdown as HTML that is safe to show: no scripts, no images, links that vouch for nothing.

    Its headings begin at the level `first_heading`, below those of the page. Rendering is capped: what lies beyond
    the cap follows as the plain text it is, and so does a text of more pieces than anyone writes.
    """
    head, tail = cut_markdown(text)
    try:
        tokens = parse_markdown(head)
    except Invalid:
        return format_html('<pre tabindex="0">{}</pre>', text)
    _keep_headings_in_order(tokens, first_heading)
    html = PARSER.renderer.render(tokens, PARSER.options, {})
    # An empty heading of a column is no heading.
    html = re.sub(r"<th>\s*</th>", "<td></td>", html)
    # Wide tables scroll, so the keyboard must be able to focus them.
    html = html.replace("<table>", '<table tabindex="0">').replace("<pre>", '<pre tabindex="0">')
    clean = nh3.clean(html, tags=TAGS, attributes=ATTRIBUTES, url_schemes=SCHEMES, link_rel="nofollow noopener")
    safe = mark_safe(clean)  # noqa: S308 - nh3 has just cleaned it
    return format_html('{}<pre tabindex="0">{}</pre>', safe, tail) if tail else safe


def _keep_headings_in_order(tokens: Sequence[Token], first: int) -> None:
    """Put the headings below those of the page, without a gap between levels: readers navigate by them."""
    above: list[int] = []
    for token in tokens:
        if token.type == "heading_open":
            level = int(token.tag[1])
            above = [*(one for one in above if one < level), level]
        if token.type in {"heading_open", "heading_close"}:
            token.tag = f"h{min(LAST_HEADING, first - 1 + len(above))}"
