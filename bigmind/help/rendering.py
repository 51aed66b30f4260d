"""A page of the documentation as HTML, with anchors as GitHub makes them, and as sections that can be searched.

The pages come with BigMind, so unlike stored text they may have pictures, and there is no limit to their length.
"""

import re
from collections import Counter
from collections.abc import Callable, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from django.urls import reverse
from django.utils.html import escape
from django.utils.safestring import SafeString, mark_safe
from markdown_it import MarkdownIt
from markdown_it.token import Token

from bigmind.core.load_once import load_once
from bigmind.help.contents import INDEX, HelpPage, pages, pictures, target_of

_COMMENT = re.compile(r"<!--[^<>]*-->\n?")
_NOT_IN_ANCHORS = re.compile(r"[^\w\- ]")
_LABELS = {
    "console": "Terminal",
    "sh": "Terminal",
    "json": "JSON",
    "python": "Python",
    "javascript": "JavaScript",
    "yaml": "YAML",
    "toml": "TOML",
    "markdown": "Markdown",
}


@dataclass
class HelpSection:
    """What stands between two headings; the first section of a page has the title of the page and no anchor."""

    title: str
    anchor: str = ""
    level: int = 1
    texts: list[str] = field(default_factory=list)

    @property
    def text(self) -> str:
        """All of it as one text."""
        return " ".join(self.texts)


@dataclass(frozen=True)
class RenderedPage:
    """A page to show: its title, its HTML without the title, its sections, and the links that lead nowhere."""

    title: str
    html: SafeString
    sections: tuple[HelpSection, ...]
    rows: tuple[HelpSection, ...]
    broken: tuple[str, ...]

    @property
    def contents(self) -> list[HelpSection]:
        return [section for section in self.sections if section.level == 2]

    @property
    def anchors(self) -> set[str]:
        """Every anchor that a link may name."""
        return {section.anchor for section in self.sections if section.anchor}


def anchor_of(heading: str) -> str:
    """Return the anchor that GitHub gives a heading: `What is it for?` is `what-is-it-for`."""
    return _NOT_IN_ANCHORS.sub("", heading.strip().lower()).replace(" ", "-")


@load_once
def render_page(slug: str) -> RenderedPage:
    """Return a page. They come with BigMind and do not change while it runs, so each is rendered once."""
    page = pages()[slug]
    tokens = _PARSER.parse(_COMMENT.sub("", page.file.read_text(encoding="utf-8")))
    sections, rows = _sections(tokens), _rows(tokens)
    broken = _turn_links(page, tokens)
    # A heading is three tokens. The page draws its title itself.
    shown = tokens[3:] if tokens and tokens[0].tag == "h1" else tokens
    html = _PARSER.renderer.render(shown, _PARSER.options, {"tables": 0})
    safe = mark_safe(html)  # noqa: S308 - our own pages, without HTML of their own
    return RenderedPage(sections[0].title, safe, tuple(sections), tuple(rows), tuple(broken))


def title_of(page: HelpPage) -> str:
    """Return what the navigation calls a page: its label there, else its own title."""
    return page.label or _first_heading(page.file)


@load_once
def _first_heading(file: Path) -> str:
    """Return the title of a page. The list of all pages needs their titles alone: to render them takes 0.4 s."""
    with file.open(encoding="utf-8") as lines:
        tokens = _PARSER.parse(next((line for line in lines if line.startswith("# ")), ""))
    return _plain(tokens[1]) if tokens else ""


def address_of(slug: str, anchor: str = "") -> str:
    address = reverse("help") if slug == INDEX else reverse("help-page", args=[slug])
    return f"{address}#{anchor}" if anchor else address


def _sections(tokens: Sequence[Token]) -> list[HelpSection]:
    """Return the sections, and give each heading its anchor. Rows of tables are found by themselves."""
    sections, seen, in_a_row = [HelpSection("")], Counter[str](), False
    for number, token in enumerate(tokens):
        if token.type in {"tr_open", "tr_close"}:
            in_a_row = token.type == "tr_open"
        if in_a_row:
            continue
        if token.type == "heading_open":
            title = _plain(tokens[number + 1])
            if token.tag == "h1":
                sections[0].title = title
                continue
            anchor = anchor_of(title)
            seen[anchor] += 1
            unique = anchor if seen[anchor] == 1 else f"{anchor}-{seen[anchor] - 1}"
            token.attrSet("id", unique)
            sections.append(HelpSection(title, unique, int(token.tag[1])))
        elif token.type == "inline" and tokens[number - 1].type != "heading_open":
            sections[-1].texts.append(_plain(token))
        elif token.type in {"fence", "code_block"}:
            sections[-1].texts.append(token.content)
    return sections


def _rows(tokens: Sequence[Token]) -> list[HelpSection]:
    """Return the rows of all tables as sections of their own: a setting, a refusal, an argument."""
    rows: list[HelpSection] = []
    in_body = False
    for token in tokens:
        if token.type in {"tbody_open", "tbody_close"}:
            in_body = token.type == "tbody_open"
        elif in_body and token.type == "tr_open":
            rows.append(HelpSection("", f"row-{len(rows) + 1}"))
            token.attrSet("id", rows[-1].anchor)
        elif in_body and token.type == "inline":
            row = rows[-1]
            row.title, row.texts = (row.title, [*row.texts, _plain(token)]) if row.title else (_plain(token), [])
    return rows


def _plain(token: Token) -> str:
    return "".join(
        child.content if child.type in {"text", "code_inline", "image"} else " "
        for child in token.children or []
        if child.type in {"text", "code_inline", "softbreak", "image"}
    ).strip()


def _turn_links(page: HelpPage, tokens: Sequence[Token]) -> list[str]:
    """Turn links between files into links between pages, and return those that lead nowhere."""
    broken = []
    for child in (child for token in tokens for child in token.children or []):
        name = {"link_open": "href", "image": "src"}.get(child.type)
        if name is None:
            continue
        link = str(child.attrs[name])
        address = _address(page, link)
        if address is None:
            broken.append(link)
        else:
            child.attrSet(name, address)
            if link.startswith("http"):
                child.attrSet("rel", "noreferrer")
    return broken


def _address(page: HelpPage, link: str) -> str | None:
    if link.startswith(("http://", "https://", "mailto:", "#")):
        return link
    path, _, anchor = link.partition("#")
    target = target_of(page, path)
    if target in pictures():
        return reverse("help-file", args=[target])
    slug = target.removesuffix(".md")
    return address_of(slug, anchor) if slug in pages() and target.endswith(".md") else None


def _draw_code(_renderer: Any, tokens: Sequence[Token], number: int, _options: Any, _env: Any) -> str:
    token = tokens[number]
    label = escape(_LABELS.get(token.info.strip(), "Text"))
    return (
        f'<figure class="code"><figcaption>{label}</figcaption>'
        f'<pre tabindex="0" role="group" aria-label="{label}"><code>{escape(token.content)}</code></pre></figure>'
    )


def _open_table(_renderer: Any, _tokens: Sequence[Token], _number: int, _options: Any, env: Any) -> str:
    env["tables"] += 1
    return f'<div class="table-region" role="region" tabindex="0" aria-label="Table {env["tables"]}"><table>'


def _close_table(*_: Any) -> str:
    return "</table></div>"


def _parser() -> MarkdownIt:
    parser = MarkdownIt("commonmark", {"html": False}).enable(["table", "strikethrough"])
    rules: dict[str, Callable[..., str]] = {
        "fence": _draw_code,
        "code_block": _draw_code,
        "table_open": _open_table,
        "table_close": _close_table,
    }
    for name, rule in rules.items():
        parser.add_render_rule(name, rule)
    return parser


_PARSER = _parser()
