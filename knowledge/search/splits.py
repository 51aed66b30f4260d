"""Cutting long texts into passages: at structure first, with overlap, so that each piece can be found by itself.

A later piece says little without the title of its text and the heading that it stands under: both are its head.
"""

import re
from collections.abc import Iterator, Sequence

PIECE_CHARS = 900
OVERLAP_CHARS = 150
TITLE_CHARS = 100

_BLOCK = re.compile(r"\n(?=#{1,6}\s)|\n\s*\n")
_HEADING = re.compile(r"^#{1,6}[ \t]+(\S.*)", re.MULTILINE)
_SENTENCE = re.compile(r"(?<=[.!?])\s+|\n")


def pieces_of(text: str) -> Iterator[str]:
    """Yield the passages of a text: the text itself when it is short, else pieces of about 900 characters.

    The built-in model reads 256 tokens, so a longer piece would be found by its beginning only. A text is cut at
    headings and empty lines, then at sentences, then between words; each piece begins with the end of the one before.
    """
    if not text.strip():
        return
    if len(text) <= PIECE_CHARS:
        yield text
        return
    piece = ""
    for part in _parts(text):
        if piece and len(piece) + len(part) + 1 > PIECE_CHARS:
            yield piece
            piece = _tail(piece)
        piece = f"{piece}\n{part}" if piece else part
    if piece.strip():
        yield piece


def heads_of(pieces: Sequence[str]) -> Iterator[str]:
    """Yield for each piece of a text the title and the heading it stands under, where it does not say so itself."""
    title = section = ""
    for number, piece in enumerate(pieces):
        yield "\n".join(line for line in dict.fromkeys([title, section]) if line and line not in piece)
        headings = _HEADING.findall(piece)
        title = title if number else _title(piece)
        section = headings[-1].strip()[:TITLE_CHARS] if headings else section


def _title(text: str) -> str:
    """The first line, if it is a heading, or short and no sentence."""
    first, _, rest = text.strip().partition("\n")
    heading = _HEADING.match(first)
    if heading:
        return heading[1].strip()[:TITLE_CHARS]
    is_title = rest and len(first) <= TITLE_CHARS and not first.rstrip().endswith((".", "!", "?", ":", ",", ";"))
    return first.strip() if is_title else ""


def _parts(text: str) -> Iterator[str]:
    """The blocks of a text; a block that is too long gives its sentences, a sentence its words in runs."""
    for block in _BLOCK.split(text):
        if len(block) <= PIECE_CHARS:
            yield from [block] if block.strip() else []
            continue
        for sentence in _SENTENCE.split(block):
            yield from (
                sentence[start : start + PIECE_CHARS - OVERLAP_CHARS]
                for start in range(0, len(sentence), PIECE_CHARS - OVERLAP_CHARS)
            )


def _tail(piece: str) -> str:
    """The last words of a piece, from a word's beginning."""
    tail = piece[-OVERLAP_CHARS:]
    return tail.partition(" ")[2] or tail
