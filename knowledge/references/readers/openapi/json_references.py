"""JSON references: an API document in which `$ref` is followed, however deep and however wrong.

Files beside the document are read too. A reference to one is relative to the file that it stands in, and may not leave
the document's repository or folder.
"""

from collections.abc import Iterator
from pathlib import Path
from posixpath import dirname, join, normpath
from typing import Any
from urllib.parse import unquote

from bigmind.core.errors import Invalid
from knowledge.parsers.reading import decode_text, read_bytes
from knowledge.references.readers.documents import read_document
from knowledge.references.readers.openapi.values import mapping, shorten
from knowledge.references.readers.reference_drafts import ReaderProblem

HOPS = 32
MOST_PROBLEMS = 1_000
MOST_FILES = 10_000
POINTER_CHARS = 200
SIBLINGS = ("summary", "description")


class ApiDocument:
    """An OpenAPI document, and what was wrong with it."""

    def __init__(self, raw: dict[str, Any], name: str, *, path: Path | None = None, limit: int = 0) -> None:
        """Take what a document says.

        Args:
            path: Where it lies, for references to files beside it; None for one that came from elsewhere.
            limit: How many bytes all these files may have together.
        """
        self.raw, self.name = raw, name
        self.lists_all = True
        self._problems: dict[tuple[str, str], ReaderProblem] = {}
        self._found: dict[str, dict[str, Any] | None] = {}
        self._root = _root_of(path) if path is not None else None
        self._inside = path.resolve().relative_to(self._root).as_posix() if path and self._root else ""
        self._bytes_left = limit
        self._files: dict[str, Any] = {f"/{self._inside}": raw}

    @property
    def problems(self) -> tuple[ReaderProblem, ...]:
        """What could not be read, each thing once."""
        return tuple(self._problems.values())

    def note(self, where: str, says: str) -> None:
        """Note that something could not be read."""
        if len(self._problems) < MOST_PROBLEMS:
            where, says = shorten(where, POINTER_CHARS), shorten(says, 2 * POINTER_CHARS)
            self._problems.setdefault((where, says), ReaderProblem(where=where, says=says))

    def leave_out(self, where: str, says: str) -> None:
        """Note that a path or operation was left out: which requests there are is not known whole."""
        self.lists_all = False
        self.note(where, says)

    def resolve(self, value: Any, where: str) -> dict[str, Any]:
        """Return an object, or the one its `$ref` leads to; an empty one where that is nowhere."""
        node = mapping(value)
        for _ in range(HOPS):
            if not isinstance(pointer := node.get("$ref"), str):
                return node
            if (target := self.target(pointer, where)) is None:
                return {}
            node = {**target, **{key: node[key] for key in SIBLINGS if key in node}}
        self.note(where, f"A chain of more than {HOPS} references was left out.")
        return {}

    def target(self, pointer: str, where: str) -> dict[str, Any] | None:
        """Return what a pointer such as `#/components/schemas/User` names, or None, which is noted."""
        if pointer not in self._found:
            self._found[pointer] = self._look_up(pointer)
        target = self._found[pointer]
        if target is None:
            self.note(where, f"The reference {shorten(pointer, POINTER_CHARS)} {self._why_not(pointer)}; left out.")
        return target

    def _why_not(self, pointer: str) -> str:
        file = pointer.partition("#")[0]
        if "://" in file:
            return "leads to an address, and nothing is fetched"
        if file and self._root is None:
            return "leads to another file, and this document did not come from a folder"
        read = self._file(self._absolute(file)) if file else None
        return read if isinstance(read, str) else "leads nowhere"

    def _absolute(self, file: str) -> str:
        """Return the path of a file from the root, which what is read beside the document has already."""
        return normpath(join("/", dirname(self._inside), file))

    def _file(self, name: str) -> Any:
        """Return what a file beside the document says, or in words why it is not read."""
        if name not in self._files:
            self._files[name] = self._read_file(name)
        return self._files[name]

    def _read_file(self, name: str) -> Any:
        if self._root is None or "://" in name or len(self._files) > MOST_FILES:
            return "is not followed"
        try:
            content = read_bytes(
                self._root / unquote(name).lstrip("/"), within=self._root, limit=max(self._bytes_left, 0)
            )
            self._bytes_left -= len(content)
            read = read_document(decode_text(content, name, limit=len(content) + self._bytes_left), name)
        except Invalid as refused:
            return f"cannot be read ({refused.message.rstrip('.')})"
        _make_absolute(read, name)
        return read

    def _look_up(self, pointer: str) -> dict[str, Any] | None:
        file, _, pointer = pointer.partition("#")
        if pointer and not pointer.startswith("/"):
            return None
        found: Any = self._file(self._absolute(file)) if file else self.raw
        for part in pointer.split("/")[1:]:
            key = unquote(part).replace("~1", "/").replace("~0", "~")
            if isinstance(found, list) and key.isascii() and key.isdigit() and int(key[:9]) < len(found):
                found = found[int(key[:9])]
            else:
                found = mapping(found).get(key)
        return found if isinstance(found, dict) else None


def name_in(pointer: str) -> str:
    """Return the last part of a pointer: what people call the thing."""
    file, _, fragment = pointer.partition("#")
    last = fragment.strip("/").rpartition("/")[2] or file.rpartition("/")[2].partition(".")[0]
    return unquote(last).replace("~1", "/").replace("~0", "~")


def _root_of(path: Path) -> Path:
    """Return the folder that references of a document may not leave: its repository, or where it lies."""
    folders = list(path.resolve().parents)
    return next((folder for folder in folders if (folder / ".git").exists()), folders[0])


def _make_absolute(value: Any, file: str) -> None:
    """Write each reference of a file as one from the root, so that it means the same wherever it is taken to."""
    for node in _objects_in(value):
        pointer = node.get("$ref")
        if isinstance(pointer, str) and "://" not in pointer.partition("#")[0]:
            name, _, fragment = pointer.partition("#")
            node["$ref"] = f"{normpath(join(dirname(file), name)) if name else file}#{fragment}"


def _objects_in(value: Any) -> Iterator[dict[str, Any]]:
    waiting = [value]
    seen: set[int] = set()
    while waiting:
        one = waiting.pop()
        # Aliases of YAML are one object in several places.
        if not isinstance(one, dict | list) or id(one) in seen:
            continue
        seen.add(id(one))
        if isinstance(one, dict):
            yield one
            waiting += one.values()
        else:
            waiting += one
