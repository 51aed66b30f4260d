"""basic-memory: a folder of markdown notes with front matter, observations and relations."""

import re
from collections.abc import Iterator
from pathlib import PurePosixPath
from typing import Any

from bigmind.core.errors import Invalid
from knowledge.parsers.yaml_nodes import read_yaml

from .bundles import Bundle, text_in
from .drafts import DraftRow, FactDraft, NoteDraft, Row, moment_of, unread
from .words import category_of, headline, parts_of

ENDINGS = (".md", ".markdown")
FENCE = "---"
OBSERVATION = re.compile(r"^\s*[-*]\s+\[(?P<category>[^\[\]()|]{2,60})\](?!\()\s+(?P<text>\S.*)$")
CONTEXT_CHARS = 500
TAG = re.compile(r"(?:^|\s)#[\w/-]+")
LOOKED_AT = 200


def looks_like(bundle: Bundle) -> bool:
    """Whether a note carries the front matter that basic-memory writes."""
    notes = [name for name in bundle.names() if name.lower().endswith(ENDINGS)]
    return any(_has_permalink(bundle, name) for name in notes[:LOOKED_AT])


def rows(bundle: Bundle) -> Iterator[Row]:
    """Yield a note for each file, word for word, and a fact for each observation in it.

    Relations stay in the note, where they are found by the names of both sides.
    """
    for name in bundle.names():
        if name.lower().endswith(ENDINGS):
            try:
                yield from _rows(name, text_in(bundle, name))
            except Invalid as error:
                yield unread(name, error)


def _rows(name: str, text: str) -> Iterator[Row]:
    front, body, first_line = without_front_matter(text, name)
    path = PurePosixPath(name)
    title = headline(str(front.get("title") or path.stem), otherwise="note")
    moments = {key: moment_of(front.get(key) or front.get(other)) for key, other in DATES}
    domain = headline(path.parent.as_posix() if path.parent.parts else "basic-memory", otherwise="basic-memory")
    yield from notes_of(name, body, {"domain": domain, "key": title, **moments})
    for number, line in enumerate(body.split("\n"), start=first_line):
        if found := OBSERVATION.match(line):
            yield _observation(f"{name}, line {number}", title, found, moments["created_at"])


DATES = (("created_at", "created"), ("updated_at", "modified"))


def notes_of(name: str, text: str, fields: dict[str, Any]) -> Iterator[Row]:
    """Yield the note that a text is, or several where it is longer than one may be."""
    for number, part in enumerate(parts_of(text), start=1):
        if part.strip():
            key = fields["key"] if number == 1 else f"{fields['key']} ({number})"
            yield DraftRow(name, NoteDraft, {**fields, "key": key, "content": part})


def _observation(place: str, title: str, found: re.Match[str], created_at: Any) -> Row:
    text, context = _without_context(found["text"])
    plain = TAG.sub("", text).strip() or text.strip()
    fact = f"{title}: {plain}{context}"
    category = category_of(plain, found["category"], otherwise="codebase")
    return DraftRow(place, FactDraft, {"fact": fact, "category": category, "created_at": created_at})


def _without_context(text: str) -> tuple[str, str]:
    """Divide `said (where)` into what is said and ` (where)`; the second part is empty where nothing is in brackets."""
    said = text.rstrip()
    begins = said.rfind("(", -CONTEXT_CHARS - 2)
    inside = said[begins + 1 : -1]
    if not said.endswith(")") or begins < 1 or not said[begins - 1].isspace() or ")" in inside or not inside:
        return text, ""
    return said[:begins].rstrip(), f" ({inside})"


def without_front_matter(text: str, name: str) -> tuple[dict[str, Any], str, int]:
    """Return a note's front matter, its text, and the line that the text begins on.

    Raises:
        Invalid: the front matter is no plain YAML.
    """
    lines = text.split("\n")
    if lines[0].strip() != FENCE:
        return {}, text, 1
    end = next((number for number, line in enumerate(lines[1:], start=1) if line.strip() == FENCE), None)
    if end is None:
        return {}, text, 1
    node = read_yaml("\n".join(lines[1:end]), name)
    front = node.plain() if node else {}
    return front if isinstance(front, dict) else {}, "\n".join(lines[end + 1 :]), end + 2


def _has_permalink(bundle: Bundle, name: str) -> bool:
    with bundle.open(name) as file:
        head = file.read(4096).decode("utf-8", errors="replace")
    return head.startswith(FENCE) and "\npermalink:" in head.split(f"\n{FENCE}", 1)[0]
