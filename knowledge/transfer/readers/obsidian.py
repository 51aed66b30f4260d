"""Obsidian: a vault of markdown files, in folders, with properties, links between notes, embeds, tags and block ids.

The files stay whole, to the byte.
"""

import re
import unicodedata
from collections.abc import Iterator, Mapping
from pathlib import PurePosixPath
from typing import Any

from bigmind.core.errors import Invalid
from knowledge.parsers.archives import Bundle, text_in
from knowledge.parsers.front_matter import without_front_matter

from .front_matter import ENDINGS
from .memory_drafts import DraftRow, PageDraft, PageSource, Remark, Row, moment_of, unread
from .words import headline

SETTINGS = ".obsidian/"
MANIFEST = ".bigmind.json"
"""What an earlier BigMind wrote beside the files of a vault that it took out."""
DRAWN = (".canvas", ".base")
"""What Obsidian keeps beside notes and is text as well: boards, and views of notes."""
MARK = "\ufeff"


def looks_like(bundle: Bundle) -> bool:
    """Whether there are a vault's settings, or what an earlier BigMind wrote when it took one out."""
    return any(f"/{SETTINGS}" in f"/{name}" or PurePosixPath(name).name == MANIFEST for name in bundle.names())


def _vault(bundle: Bundle) -> str:
    """Return the name of the vault: its folder in the archive, or the archive's own, however often downloaded."""
    root = _root(bundle)
    return copy_name(root.rstrip("/").rpartition("/")[2] or bundle.name)


def copy_name(file: str) -> str:
    """Return a file's name without its ending, and without what a browser adds to a second copy."""
    plain = re.sub(r" ?\(\d{1,3}\)$", "", file.removesuffix(".zip").removesuffix(".ZIP"))
    return headline(plain, otherwise="vault")


def rows(bundle: Bundle) -> Iterator[Row]:
    """Yield a page for each note, whose text is that of the file, to the byte."""
    yield PageSource(_vault(bundle), is_bare=True, folder=_root(bundle))
    root = _root(bundle)
    names = [name for name in bundle.names() if name.startswith(root) and _is_note(name[len(root) :])]
    # A file name from macOS may have its accents as characters of their own, which nobody types in a link.
    places = {name: unicodedata.normalize("NFC", name[len(root) :]) for name in names}
    empty = 0
    for name, place in places.items():
        try:
            text = text_in(bundle, name)
            if not text.strip():
                empty += 1
                continue
            yield file_row(place, text, bundle, name)
        except Invalid as error:
            yield unread(name, error)
    if empty:
        yield Remark(f"{empty:,} empty notes are left out.")
    if bundle.others:
        yield Remark(f"{bundle.others:,} other files, such as pictures, are no notes and stay where they are.")


def _root(bundle: Bundle) -> str:
    """The folder of the archive that the vault is, with its slash; empty where it is the archive itself."""
    signs = [name for name in bundle.names() if f"/{SETTINGS}" in f"/{name}" or name.endswith(MANIFEST)]
    if signs:
        inside = min(signs, key=lambda name: name.count("/"))
        return inside.partition(SETTINGS)[0] if SETTINGS in inside else inside.removesuffix(MANIFEST)
    tops = {name.partition("/")[0] for name in bundle.names()}
    return f"{tops.pop()}/" if len(tops) == 1 and all("/" in name for name in bundle.names()) else ""


def _is_note(place: str) -> bool:
    path = PurePosixPath(place)
    is_hidden = any(part.startswith(".") for part in path.parts)
    return not is_hidden and place.lower().endswith((*ENDINGS, *DRAWN))


def file_row(place: str, text: str, bundle: Bundle, name: str) -> DraftRow:
    """Return a file as a note of one's own: the text of all of it, to the byte."""
    path = PurePosixPath(place)
    is_markdown = place.lower().endswith(".md")
    fields = {
        "place": place,
        "title": headline(path.stem if is_markdown else path.name, otherwise="note"),
        "folder": path.parent.as_posix() if path.parent.parts else "",
        "content": text,
        "newline": _newline(bundle, name, text),
        **(_dates(_front_matter(text, place)) if is_markdown else {}),
    }
    return DraftRow(place, PageDraft, fields)


def _newline(bundle: Bundle, name: str, text: str) -> str:
    """What ends the lines of a file, where that is not one line feed each; and a mark before its first, if it has one.

    Only what can be put back the same is noted: line ends of one kind.
    """
    with bundle.open(name) as file:
        raw = file.read(len(text.encode()) + text.count("\n") + len(MARK.encode()))
    mark = MARK if raw.startswith(MARK.encode()) else ""
    plain = raw.decode("utf-8-sig", errors="replace")
    end = next((end for end in ("\n", "\r\n", "\r") if text.replace("\n", end) == plain), "\n")
    return mark + (end if end != "\n" else "")


def _front_matter(text: str, place: str) -> dict[str, Any]:
    """The properties of a note; none where they are no plain YAML."""
    try:
        return without_front_matter(text, place)[0]
    except Invalid:
        return {}


def _dates(front: Mapping[str, Any]) -> dict[str, Any]:
    def first(*names: str) -> Any:
        return next((moment for name in names if (moment := moment_of(front.get(name)))), None)

    return {
        "created_at": first("created", "date created", "created_at", "date"),
        "updated_at": first("updated", "modified", "date modified", "last_modified", "updated_at"),
    }
