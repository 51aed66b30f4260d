"""Concepts: items as files of markdown, one each, the text below and everything else in the front matter."""

from collections.abc import Callable, Iterator, Mapping
from typing import Any

from bigmind.core.errors import Invalid
from knowledge.parsers.archives import Bundle, text_in
from knowledge.parsers.front_matter import without_front_matter

from .front_matter import ENDINGS, with_front_matter
from .items import MARK, Item, item_of, rows_of
from .memory_drafts import PageSource, Remark, Row, unread
from .obsidian import copy_name, file_row
from .words import headline

WRITTEN = "<!-- Written by BigMind from the files beside it. -->"
"""Marks a file that only lists others: it is made again each time, and nobody's note."""

LOOKED_AT = 200

Told = Callable[[str, Mapping[str, Any], str, int], Iterator[Row]]
"""Yields what a file says besides being a note: of its name, its front matter, its text, and the text's first line."""


def concept(item: Item, front: Mapping[str, Any]) -> str:
    """Return an item as a file. `front` is what the format itself says of it."""
    ours = item.marked[MARK] | ({} if _is_exact(item.text) else {"text": item.text})
    return with_front_matter({**front, MARK: ours}, item.text)


def concept_rows(bundle: Bundle, besides: Told | None = None) -> Iterator[Row]:
    """Yield our own items as what they were, and any other file as a page, with what it says besides."""
    yield PageSource(copy_name(bundle.name), is_bare=True)
    own, empty = [], 0
    for name in _markdown(bundle):
        try:
            text = text_in(bundle, name)
            if not text.strip() or WRITTEN in text[-200:]:
                empty += not text.strip()
                continue
            front, body, line = without_front_matter(text, name)
            item = _item(front, body)
            if item:
                own.append((name, item))
                continue
            row = file_row(name, text, bundle, name)
            yield row._replace(fields={**row.fields, "title": _title(front, row.fields["title"])})
            if besides:
                yield from besides(name, front, body, line)
        except Invalid as error:
            yield unread(name, error)
    yield from rows_of(own)
    if empty:
        yield Remark(f"{empty:,} empty notes are left out.")
    if bundle.others:
        yield Remark(f"{bundle.others:,} other files, such as pictures, are no notes and stay where they are.")


def any_concept(bundle: Bundle, is_sign: Callable[[str], bool]) -> bool:
    """Whether the front matter of one of the first files has a sign."""
    return any(is_sign(_head(bundle, name)) for name in _markdown(bundle)[:LOOKED_AT])


def _markdown(bundle: Bundle) -> list[str]:
    return [name for name in bundle.names() if name.lower().endswith(ENDINGS)]


def _head(bundle: Bundle, name: str) -> str:
    """The front matter of a file, as far as it stands in its first few thousand characters."""
    with bundle.open(name) as file:
        head = file.read(4096).decode("utf-8-sig", errors="replace").replace("\r\n", "\n")
    return head.split("\n---", 1)[0] if head.startswith("---\n") else ""


def _item(front: Mapping[str, Any], body: str) -> Item | None:
    ours = front.get(MARK)
    if not isinstance(ours, Mapping):
        return None
    text = ours.get("text")
    return item_of(front, text if isinstance(text, str) else body.removeprefix("\n").removesuffix("\n"))


def _title(front: Mapping[str, Any], otherwise: str) -> str:
    named = front.get("title") or front.get("name")
    return headline(named if isinstance(named, str) else "", otherwise=otherwise)


def _is_exact(text: str) -> bool:
    """Whether a text comes back from a file of markdown as it is, also where a program trims it."""
    return text == text.strip() and "\r" not in text and WRITTEN not in text
