"""JSON references: an API document in which `$ref` is followed, however deep and however wrong."""

from typing import Any
from urllib.parse import unquote

from knowledge.references.readers.openapi.values import mapping, shorten
from knowledge.references.readers.reference_drafts import ReaderProblem

HOPS = 32
MOST_PROBLEMS = 1_000
POINTER_CHARS = 200
SIBLINGS = ("summary", "description")


class ApiDocument:
    """An OpenAPI document, and what was wrong with it."""

    def __init__(self, raw: dict[str, Any], name: str) -> None:
        self.raw, self.name = raw, name
        self._problems: dict[tuple[str, str], ReaderProblem] = {}
        self._found: dict[str, dict[str, Any] | None] = {}

    @property
    def problems(self) -> tuple[ReaderProblem, ...]:
        """What could not be read, each thing once."""
        return tuple(self._problems.values())

    def note(self, where: str, says: str) -> None:
        """Note that something could not be read."""
        if len(self._problems) < MOST_PROBLEMS:
            where, says = shorten(where, POINTER_CHARS), shorten(says, 2 * POINTER_CHARS)
            self._problems.setdefault((where, says), ReaderProblem(where=where, says=says))

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
            leads = "leads nowhere" if pointer.startswith("#") else "leads out of the document, which is not followed"
            self.note(where, f"The reference {shorten(pointer, POINTER_CHARS)} {leads}; it was left out.")
        return target

    def _look_up(self, pointer: str) -> dict[str, Any] | None:
        if pointer != "#" and not pointer.startswith("#/"):
            return None
        found: Any = self.raw
        for part in pointer.split("/")[1:]:
            key = unquote(part).replace("~1", "/").replace("~0", "~")
            if isinstance(found, list) and key.isascii() and key.isdigit() and int(key[:9]) < len(found):
                found = found[int(key[:9])]
            else:
                found = mapping(found).get(key)
        return found if isinstance(found, dict) else None


def name_in(pointer: str) -> str:
    """Return the last part of a pointer: what people call the thing."""
    return unquote(pointer.rpartition("/")[2]).replace("~1", "/").replace("~0", "~")
