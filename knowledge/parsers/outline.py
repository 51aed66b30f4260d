"""A markdown text as sections under headings, and what stands in each: read from markdown-it's tokens."""

from collections.abc import Iterator
from dataclasses import dataclass, field
from typing import Any

from markdown_it import MarkdownIt
from markdown_it.token import Token
from markdown_it.tree import SyntaxTreeNode

from bigmind.core.errors import Invalid
from bigmind.core.limits import BoundedTokens
from bigmind.text.hygiene import one_line
from knowledge.parsers.front_matter import without_front_matter

LINES = 100_000
TOKENS = 200_000
TOKENS_EACH, TOKENS_OF_ANY = 4, 10_000
"""How many there may be for each character, and for any text: a wide table makes cells of rows that have none."""
NESTING = 64
INLINE_CHARS = 4_000
"""Emphasis in a text of n characters costs n² in the worst case, and no label or heading is longer than this."""

BRACKETS = 200
"""Each that opens a link and does not close it is looked for to the end, so that two thousand of them take a second."""

# HTML is recognised only so that comments can be left out. Inline markup is parsed where someone asks for it.
_MARKDOWN = MarkdownIt("commonmark", {"html": True, "maxNesting": NESTING}).enable("table")


@dataclass(frozen=True, slots=True)
class OutlineSection:
    """A heading and what stands below it, up to the next heading."""

    level: int
    """1 to 6; 0 for what stands before the first heading."""
    title: str
    line: int
    """Of the heading, counted from 1."""
    path: tuple[str, ...] = ()
    """The titles above it, outermost first, and its own."""
    blocks: list[SyntaxTreeNode] = field(default_factory=list)


@dataclass(frozen=True, slots=True)
class Outline:
    """A markdown document: its lines, its front matter, and its sections in order."""

    lines: list[str]
    sections: list[OutlineSection]
    front_matter: dict[str, Any] = field(default_factory=dict)

    @property
    def title(self) -> str:
        """The first heading, or an empty text."""
        return next((section.title for section in self.sections if section.level), "")

    def source(self, first: int, end: int) -> str:
        """Return the lines from one, counted from 1, to before another, as they were written."""
        return "\n".join(self.lines[first - 1 : end - 1]).strip("\n")


def read_outline(text: str, name: str) -> Outline:
    """Return the structure of a markdown text.

    Raises:
        Invalid: it has more pieces than anyone writes, or its front matter is no YAML.
    """
    if text.count("\n") > LINES:
        raise Invalid(f"{name}: has more than {LINES:,} lines.", hint="Split the file.")
    front_matter, body, begins = without_front_matter(text, name)
    tokens = BoundedTokens(min(TOKENS, TOKENS_OF_ANY + TOKENS_EACH * len(text)))
    try:
        # Blocks only: parsing the inline markup of everything costs ten times as much, and most is never asked for.
        # Blank lines in place of the front matter, so that the rest keeps its numbers.
        _MARKDOWN.block.parse("\n" * (begins - 1) + body, _MARKDOWN, {}, tokens)
    except Invalid as error:
        raise Invalid(f"{name}: {error.message}", hint=error.hint) from error
    return Outline(text.split("\n"), list(_sections(SyntaxTreeNode(tokens))), front_matter)


def _sections(tree: SyntaxTreeNode) -> Iterator[OutlineSection]:
    section = OutlineSection(0, "", 1)
    above: list[tuple[int, str]] = []
    for node in tree.children:
        if node.type != "heading":
            section.blocks.append(node)
            continue
        yield section
        level, title = int(node.tag[1]), one_line(text_of(node.children[0]))
        above = [*(one for one in above if one[0] < level), (level, title)]
        section = OutlineSection(level, title, first_line(node), tuple(name for _, name in above))
    yield section


def first_line(node: SyntaxTreeNode) -> int:
    """Return the line a block begins on, counted from 1."""
    return node.map[0] + 1 if node.map else 1


def text_of(node: SyntaxTreeNode) -> str:
    """Return a block as markdown of its own, without the indentation and line breaks of the page it stood on."""
    match node.type:
        case "inline":
            return " ".join(line.strip().removesuffix("\\") for line in node.content.split("\n"))
        case "heading":
            return f"{'#' * int(node.tag[1])} {_join(node)}"
        case "fence" | "code_block":
            fence = node.markup or "```"
            return f"{fence}{node.info}\n{node.content.rstrip(chr(10))}\n{fence}"
        case "bullet_list" | "ordered_list":
            return "\n".join(_bullet(number, item) for number, item in enumerate(node.children, 1))
        case "list_item":
            return _join(node)
        case "blockquote":
            return "\n".join(f"> {line}".rstrip() for line in _join(node).split("\n"))
        case "table":
            return "\n".join(f"| {' | '.join(row)} |" for row in _add_rule(rows_of(node)))
        case "html_block":
            return "" if node.content.lstrip().startswith("<!--") else node.content.strip()
        case "hr":
            return ""
        case _:
            return _join(node)


def _join(node: SyntaxTreeNode) -> str:
    parts = [(child.type, text) for child in node.children if (text := text_of(child))]
    text = ""
    for kind, part in parts:
        between = "\n\n" if text and kind == "paragraph" else "\n" if text else ""
        text += between + part
    return text


def _bullet(number: int, item: SyntaxTreeNode) -> str:
    marker = f"{number}. " if item.info or item.markup in {".", ")"} else "- "
    return marker + text_of(item).replace("\n", "\n" + " " * len(marker))


def rows_of(table: SyntaxTreeNode) -> list[list[str]]:
    """Return the cells of a table, its headings first."""
    return [[_join(cell).strip() for cell in row.children] for part in table.children for row in part.children]


def _add_rule(rows: list[list[str]]) -> list[list[str]]:
    return [*rows[:1], ["---"] * len(rows[0]), *rows[1:]]


def inline_tokens(text: str) -> list[Token]:
    """Return the inline markup of the beginning of a text: code spans, links, emphasis."""
    beginning = text[:INLINE_CHARS]
    if beginning.count("[") > BRACKETS:
        return [Token("text", "", 0, content=beginning)]
    parsed = _MARKDOWN.parseInline(beginning)
    return parsed[0].children or [] if parsed else []


def words_of(text: str) -> str:
    """Return a text without its inline markup, in one line."""
    parts = (" " if token.type in {"softbreak", "hardbreak"} else token.content for token in inline_tokens(text))
    return one_line("".join(parts) + text[INLINE_CHARS:])
