"""Markdown that someone stored, parsed within limits, and as plain words where it is only quoted."""

from collections.abc import Iterator, Sequence
from itertools import pairwise, starmap

from markdown_it import MarkdownIt
from markdown_it.rules_core import StateCore
from markdown_it.token import Token

from bigmind.core.errors import Invalid
from bigmind.core.limits import BoundedTokens

RENDERED_CHARS = 10_000
RENDERED_TOKENS = 8_000
"""A text of 10,000 characters can be a table of 65,000 cells: a second, and a megabyte of HTML."""

# No HTML, and no images: to show one from elsewhere would tell that server who reads this, and when.
PARSER = MarkdownIt("commonmark", {"html": False}).enable(["table", "strikethrough"]).disable("image")


def parse_markdown(text: str) -> Sequence[Token]:
    """Return the tokens of a text.

    Raises:
        Invalid: it has more of them than anyone writes.
    """
    state = StateCore(text, PARSER, {})
    state.tokens = BoundedTokens(RENDERED_TOKENS)
    PARSER.core.process(state)
    return state.tokens


def cut_markdown(text: str) -> tuple[str, str]:
    """Return the part of a text that is rendered, and the rest."""
    if len(text) <= RENDERED_CHARS:
        return text, ""
    end = text.rfind("\n", 0, RENDERED_CHARS) + 1 or RENDERED_CHARS
    return text[:end], text[end:]


def plain_words(text: str) -> str:
    """Return markdown as one line of plain words, without the marks of headings, lists and bold.

    Code stays between backticks. What is not rendered because it is too long stays as it is.
    """
    head, tail = cut_markdown(text)
    try:
        blocks = list(_blocks(parse_markdown(head)))
    except Invalid:
        return text
    return " ".join(" ".join([*blocks, tail]).split())


def _blocks(tokens: Sequence[Token]) -> Iterator[str]:
    """Yield the words of each block; an item of a list begins with its number or a dot."""
    for token in tokens:
        if token.type == "list_item_open":
            yield f"{token.info}{token.markup}" if token.info else "•"
        elif token.type in {"fence", "code_block"}:
            yield from _as_code(token.content)
        elif token.type == "inline":
            yield "".join(starmap(_words_of, pairwise([*(token.children or []), None])))


def _words_of(token: Token, following: Token | None) -> str:
    if token.type == "code_inline":
        return "".join(_as_code(token.content))
    if token.type in {"softbreak", "hardbreak"}:
        return " "
    # One name between double underscores is more often a name of Python than bold: `__init__.py`.
    if token.type == "strong_open" and token.markup == "__" and following and following.content.isidentifier():
        following.content = f"__{following.content}__"
    return token.content


def _as_code(text: str) -> Iterator[str]:
    if words := " ".join(text.replace("`", "'").split()):
        yield f"`{words}`"
