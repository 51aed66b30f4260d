"""basic-memory: a folder of markdown notes with front matter, observations and relations."""

import re
from collections.abc import Iterable, Iterator, Mapping
from typing import Any

from knowledge.parsers.archives import Bundle

from .concepts import any_concept, concept, concept_rows
from .items import Item
from .memory_drafts import DraftRow, FactDraft, Row, moment_of
from .words import category_of, headline

OBSERVATION = re.compile(r"^\s*[-*]\s+\[(?P<category>[^\[\]()|]{2,60})\](?!\()\s+(?P<text>\S.*)$")
CONTEXT_CHARS = 500
TAG = re.compile(r"(?:^|\s)#[\w/-]+")


def looks_like(bundle: Bundle) -> bool:
    """Whether a note carries the front matter that basic-memory writes."""
    return any_concept(bundle, lambda front: "\npermalink:" in front)


def rows(bundle: Bundle) -> Iterator[Row]:
    """Yield a note for each file, to the byte, and a fact for each observation in it.

    Relations stay in the note, where they are found by the names of both sides.
    """
    return concept_rows(bundle, _observations)


def files(items: Iterable[Item]) -> Iterator[tuple[str, str, Item | None]]:
    """Yield a note for each item."""
    for item in items:
        path = f"{item.folder}/{item.file_name}".lstrip("/")
        front = {
            "title": f"{item.title} ({item.file_name[-6:]})",
            "type": item.kind,
            "permalink": path,
            "tags": item.tags,
            "created": item.created_at,
            "modified": item.fields.get("updated_at"),
        }
        yield f"{path}.md", concept(item, {name: value for name, value in front.items() if value}), item


def _observations(name: str, front: Mapping[str, Any], body: str, first_line: int) -> Iterator[Row]:
    title = headline(str(front.get("title") or name.rpartition("/")[2].rpartition(".")[0]), otherwise="note")
    created_at = moment_of(front.get("created"))
    for number, line in enumerate(body.split("\n"), start=first_line):
        if found := OBSERVATION.match(line):
            yield _observation(f"{name}, line {number}", title, found, {"created_at": created_at, "file": name})


def _observation(place: str, title: str, found: re.Match[str], fields: Mapping[str, Any]) -> Row:
    text, context = _without_context(found["text"])
    plain = TAG.sub("", text).strip() or text.strip()
    fact = f"{title}: {plain}{context}"
    category = category_of(plain, found["category"], otherwise="codebase")
    return DraftRow(place, FactDraft, {"fact": fact, "category": category, **fields})


def _without_context(text: str) -> tuple[str, str]:
    """Divide `said (where)` into what is said and ` (where)`; the second part is empty where nothing is in brackets."""
    stripped = text.rstrip()
    begins = stripped.rfind("(", -CONTEXT_CHARS - 2)
    inside = stripped[begins + 1 : -1]
    if not stripped.endswith(")") or begins < 1 or not stripped[begins - 1].isspace() or ")" in inside or not inside:
        return text, ""
    return stripped[:begins].rstrip(), f" ({inside})"
