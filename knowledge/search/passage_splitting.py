"""Splits: long texts cut into passages, at structure first, with overlap, so that each split is found by itself.

A later split says little without the title of its text and the heading above it: both become its head.
"""

import re
from collections.abc import Iterator, Sequence

SPLIT_CHARS = 900
OVERLAP_CHARS = 150
TITLE_CHARS = 100

_BLOCK = re.compile(r"\n(?=#{1,6}\s)|\n\s*\n")
_HEADING = re.compile(r"^#{1,6}[ \t]+(\S.*)", re.MULTILINE)
_SENTENCE = re.compile(r"(?<=[.!?])\s+|\n")


def split_text(text: str) -> Iterator[str]:
    """Yield the splits of a text: the text itself when it is short, otherwise about 900 characters each.

    The built-in model reads 256 tokens, so a longer split would be found by its beginning only. A text is cut at
    headings and empty lines, then at sentences, then within them; each split begins with the end of the one before, so
    that a sentence about the cut is whole in one of them.
    """
    if not text.strip():
        return
    if len(text) <= SPLIT_CHARS:
        yield text
        return
    split = ""
    for part in _parts(text):
        if split and len(split) + len(part) + 1 > SPLIT_CHARS:
            yield split
            split = _tail(split)
        split = f"{split}\n{part}" if split else part
    if split.strip():
        yield split


def heads_of(splits: Sequence[str]) -> Iterator[str]:
    """Yield for each split of a text its title and the heading above it, except what the split itself contains."""
    title = section = ""
    for number, split in enumerate(splits):
        yield "\n".join(line for line in dict.fromkeys([title, section]) if line and line not in split)
        headings = _HEADING.findall(split)
        title = title if number else _title(split)
        section = headings[-1].strip()[:TITLE_CHARS] if headings else section


def _title(text: str) -> str:
    """Return the first line, if it is a heading, or short and not a sentence."""
    first, _, rest = text.strip().partition("\n")
    heading = _HEADING.match(first)
    if heading:
        return heading[1].strip()[:TITLE_CHARS]
    is_title = rest and len(first) <= TITLE_CHARS and not first.rstrip().endswith((".", "!", "?", ":", ",", ";"))
    return first.strip() if is_title else ""


def _parts(text: str) -> Iterator[str]:
    """Yield the blocks of a text; of a long block its sentences, and of a long sentence pieces of a fixed length."""
    for block in _BLOCK.split(text):
        if len(block) <= SPLIT_CHARS:
            yield from [block] if block.strip() else []
            continue
        for sentence in _SENTENCE.split(block):
            yield from (
                sentence[start : start + SPLIT_CHARS - OVERLAP_CHARS]
                for start in range(0, len(sentence), SPLIT_CHARS - OVERLAP_CHARS)
            )


def _tail(split: str) -> str:
    """Return the last words of a split, from the beginning of a word."""
    tail = split[-OVERLAP_CHARS:]
    return tail.partition(" ")[2] or tail
