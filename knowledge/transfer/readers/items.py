"""Items: what a person's memory consists of, as every format writes it and reads it back.

An item is a kind and plain JSON fields, those of `memory_export`. A format has a place for the text of an item, for its
dates and names where it knows any, and one for what else an item says (`marked`): metadata or front matter.
Decision 59.
"""

from collections import defaultdict
from collections.abc import Iterable, Iterator, Mapping
from typing import Any, NamedTuple

from bigmind.text.hygiene import digest
from knowledge.parsers.entries import slug

from .memory_drafts import (
    ChunkDraft,
    DraftRow,
    FactDraft,
    HypothesisDraft,
    MemoryDraft,
    NoteDraft,
    ProfileDraft,
    Row,
    SessionDraft,
    Unread,
)
from .words import headline

MARK = "bigmind"
"""The key under which a format says that something is an item of ours."""
OWN = "bigmind:"
"""What the ids of our own sessions begin with."""
NAME_CHARS = 60
TEXTS = {
    "profile": "preferences",
    "session": "summary",
    "chunk": "content",
    "fact": "fact",
    "hypothesis": "hypothesis",
    "note": "content",
}
"""The kinds of items, and the field of each that is its text."""
DRAFTS: dict[str, type[MemoryDraft]] = {
    "profile": ProfileDraft,
    "session": SessionDraft,
    "chunk": ChunkDraft,
    "fact": FactDraft,
    "hypothesis": HypothesisDraft,
    "note": NoteDraft,
}
_NOT_OURS = {"row", "file", "deprecated_at", "deprecation_reason"}
"""What a fact says of its place in another program, and what is never taken out."""
FIELDS: dict[str, tuple[str, ...]] = {
    "profile": tuple(ProfileDraft.model_fields),
    "session": ("session", *(name for name in SessionDraft.model_fields if name not in {"source_id", "chunks"})),
    "chunk": ("session", "seq", *ChunkDraft.model_fields),
    "fact": tuple(name for name in FactDraft.model_fields if name not in _NOT_OURS),
    "hypothesis": tuple(HypothesisDraft.model_fields),
    "note": tuple(NoteDraft.model_fields),
}
"""What is known of an item of each kind."""


class Item(NamedTuple):
    """One thing that is remembered. `row` is what the program that it came from said of it, for that program alone."""

    kind: str
    fields: dict[str, Any]
    row: Mapping[str, Any] = {}

    @property
    def text(self) -> str:
        """What it says; its title where its text is empty."""
        text = str(self.fields.get(TEXTS[self.kind]) or "")
        return text if text.strip() else self.title

    @property
    def rest(self) -> dict[str, Any]:
        """All it says besides its text."""
        name = TEXTS[self.kind]
        has_text = str(self.fields.get(name) or "").strip()
        return {field: value for field, value in self.fields.items() if not has_text or field != name} | (
            {} if has_text else {name: ""}
        )

    @property
    def title(self) -> str:
        """A line that names it."""
        titles = {"profile": "Who I am", "session": self.fields.get("one_liner"), "note": self.fields.get("key")}
        return headline(str(titles.get(self.kind) or self.fields.get(TEXTS[self.kind]) or ""), otherwise=self.kind)

    @property
    def created_at(self) -> str:
        """Since when it is known; empty for a profile."""
        return str(self.fields.get("started_at") or self.fields.get("created_at") or "")

    @property
    def tags(self) -> list[str]:
        """What it can be found by: its category and its project."""
        return [str(tag) for tag in (self.fields.get("category"), self.fields.get("project")) if tag]

    @property
    def marked(self) -> dict[str, Any]:
        """All it says besides its text, under a key of ours: programs overwrite what they know by the same name.

        mem0, for example, sets `role` and `updated_at` itself. Decision 59.
        """
        plain = {name: self.fields[name] for name in ("category", "project") if self.fields.get(name)}
        return {**plain, MARK: {MARK: self.kind, **self.rest}}

    @property
    def file_name(self) -> str:
        """Its title as the name of a file, always the same for the same text."""
        ending = digest(f"{self.text}{self.fields.get('session', '')}{self.fields.get('seq', '')}")[:6]
        return f"{slug(self.title, NAME_CHARS) or self.kind}-{ending}"

    @property
    def folder(self) -> str:
        """Where it belongs among files."""
        if self.kind == "fact":
            return f"facts/{slug(str(self.fields.get('project', '')), NAME_CHARS) or 'general'}"
        if self.kind == "note":
            parts = [slug(part, NAME_CHARS) for part in str(self.fields["domain"]).split("/")]
            return "/".join(["notes", *(part for part in parts if part)])
        folders = {"profile": "", "hypothesis": "hypotheses", "session": "sessions", "chunk": "chunks"}
        return folders[self.kind]


def item_of(record: Mapping[str, Any], text: str) -> Item | None:
    """Return the item that a place of ours and a text say; None where there is none of ours."""
    mark = record.get(MARK)
    kind = mark.get(MARK) if isinstance(mark, Mapping) else None
    if not isinstance(mark, Mapping) or not isinstance(kind, str) or kind not in TEXTS:
        return None
    fields = {name: mark[name] for name in FIELDS[kind] if name in mark}
    return Item(kind, {TEXTS[kind]: text, **fields})


def rows_of(placed: Iterable[tuple[str, Item]]) -> Iterator[Row]:
    """Yield a row for each item, and for a session one with its chunks."""
    sessions: dict[str, tuple[str, dict[str, Any]]] = {}
    chunks: dict[str, list[tuple[str, dict[str, Any]]]] = defaultdict(list)
    for place, item in placed:
        fields = dict(item.fields)
        if item.kind == "chunk":
            chunks[str(fields.pop("session", ""))].append((place, fields))
        elif item.kind == "session":
            sessions[str(fields.pop("session", place))] = (place, fields)
        else:
            if fields.get("session"):
                fields["session"] = f"{OWN}{fields['session']}"
            yield DraftRow(place, DRAFTS[item.kind], fields)
    for id, (place, fields) in sessions.items():
        ordered = sorted((chunk for _, chunk in chunks.pop(id, [])), key=_place_in_session)
        ordered = [{name: value for name, value in chunk.items() if name != "seq"} for chunk in ordered]
        yield DraftRow(place, SessionDraft, {**fields, "source_id": f"{OWN}{id}", "chunks": ordered})
    for lost in chunks.values():
        yield from (Unread(place, "belongs to a session that is not here.") for place, _ in lost)


def _place_in_session(chunk: Mapping[str, Any]) -> int:
    return seq if isinstance(seq := chunk.get("seq"), int) else 0
