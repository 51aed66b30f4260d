"""What a section states, one piece at a time: its bullets, rows, paragraphs, each with its examples."""

from collections.abc import Iterator
from dataclasses import dataclass, replace
from itertools import zip_longest

from markdown_it.tree import SyntaxTreeNode

from knowledge.parsers.outline import first_line, inline_tokens, rows_of, text_of, words_of

LISTS = {"bullet_list", "ordered_list"}
EXAMPLES = {"fence", "code_block", "blockquote"}
LABEL_WORDS = 6
NOTHING = {"", "none", "n/a", "na", "-", "–", "—", "nothing", "tbd", "todo", "none this time", "nothing to report", "…"}


@dataclass(frozen=True, slots=True)
class Statement:
    """One thing a section says."""

    text: str
    line: int
    context: str = ""
    """The sentence that introduced the list it stands in."""


def statements(blocks: list[SyntaxTreeNode]) -> list[Statement]:
    """Return what some blocks say: a statement per bullet, table row and paragraph.

    A code block belongs to the statement before it, a nested list to its bullet; a bullet that is only a bold label
    passes its name on to each bullet below it. What says “none” says nothing.
    """
    found: list[Statement] = []
    context = ""
    for block, following in zip_longest(blocks, blocks[1:]):
        if block.type in EXAMPLES and found:
            found[-1] = replace(found[-1], text=f"{found[-1].text}\n\n{text_of(block)}")
        elif _introduces(block, following):
            context = text_of(block).rstrip(":").strip()
        else:
            found += (replace(one, context=context) for one in _of_block(block))
            context = ""
    return [one for one in found if not _says_nothing(one.text)]


def _introduces(block: SyntaxTreeNode, following: SyntaxTreeNode | None) -> bool:
    is_followed = following is not None and following.type in LISTS | {"table"}
    return block.type == "paragraph" and is_followed and words_of(text_of(block)).endswith(":")


def _of_block(block: SyntaxTreeNode) -> Iterator[Statement]:
    if block.type in LISTS:
        for item in block.children:
            yield from _of_item(item)
    elif block.type == "table":
        yield from _of_rows(block)
    else:
        yield Statement(text_of(block), first_line(block))


def _of_item(item: SyntaxTreeNode) -> Iterator[Statement]:
    own = item.children[0] if item.children else None
    nested = [child for child in item.children[1:] if child.type in LISTS]
    if own is not None and nested and len(nested) == len(item.children) - 1 and (label := label_of(text_of(own))):
        for child in (child for each in nested for child in each.children):
            yield Statement(f"{label}: {_without_box(text_of(child))}", first_line(child))
    else:
        yield Statement(_without_box(text_of(item)), first_line(item))


def _of_rows(table: SyntaxTreeNode) -> Iterator[Statement]:
    (headings, *rows), (first, *_) = rows_of(table), (first_line(table),)
    for number, row in enumerate(rows, first + 2):
        cells = zip(headings, row, strict=False)
        text = "; ".join(f"{heading}: {cell}" if heading else cell for heading, cell in cells if cell)
        if any(not _says_nothing(cell) for cell in row):
            yield Statement(text, number)


def label_of(text: str) -> str:
    """Return the words of a text that is nothing but one short bold phrase, such as `**Uploads:**`."""
    tokens = [token for token in inline_tokens(text) if token.type != "text" or token.content.strip(" :")]
    is_bold = len(tokens) > 2 and tokens[0].type == "strong_open" and tokens[-1].type == "strong_close"
    is_one = sum(token.type == "strong_open" for token in tokens) == 1
    label = words_of(text).rstrip(": ")
    return label if is_bold and is_one and len(label.split()) <= LABEL_WORDS else ""


def _without_box(text: str) -> str:
    """Leave out the box of a task list: `[x] Run the migration twice.`"""
    return text[4:] if text[:4].lower() in {"[ ] ", "[x] "} else text


def _says_nothing(text: str) -> bool:
    return text.strip(" .*_()").casefold() in NOTHING
