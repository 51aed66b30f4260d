"""mcp-memory-service: the JSON document that its export writes and its import reads."""

import hashlib
from collections.abc import Iterable, Iterator, Mapping
from typing import Any

from bigmind import __version__
from knowledge.parsers.archives import Bundle

from .items import Item, item_of, rows_of
from .json_rows import as_json, document_in, listing, start_of
from .memory_drafts import DraftRow, FactDraft, Row, Unread, moment_of
from .words import category_of

TYPES = {"fact": "observation", "note": "reference", "session": "context", "hypothesis": "observation"}
"""What its list of kinds calls ours; it takes none that is not on the list."""


def looks_like(bundle: Bundle) -> bool:
    """Whether a JSON file begins as its export does."""
    return bool(_files(bundle))


def rows(bundle: Bundle) -> Iterator[Row]:
    """Yield our own items as what they were, and a fact for each other memory."""
    own = []
    for name in _files(bundle):
        with bundle.open(name) as file:
            memories = document_in(file, name).get("memories")
        for number, memory in enumerate(listing(memories), start=1):
            place = f"{name}, memory {number}"
            item = _item(memory)
            if item:
                own.append((place, item))
            else:
                yield _fact(place, memory)
    yield from rows_of(own)


def files(items: Iterable[Item]) -> Iterator[tuple[str, str, Item | None]]:
    """Yield the one document."""
    memories: list[dict[str, Any]] = []
    taken: dict[str, str] = {}
    for item in items:
        memory = _memory(item)
        # It keeps one memory for each hash: of two that say the same, the second gets another, made of the last one.
        first = found = memory["content_hash"]
        while found in taken:
            found = taken[first] = _hash(taken[first])
        taken[found] = found
        memory["content_hash"] = found
        memories.append(memory)
    head = {"source_machine": "bigmind", "total_memories": len(memories), "exporter_version": f"bigmind {__version__}"}
    yield "memories.json", as_json({"export_metadata": head, "memories": memories}), None


def _item(record: Any) -> Item | None:
    metadata = record.get("metadata") if isinstance(record, Mapping) else None
    text = record.get("content") if isinstance(metadata, Mapping) else None
    return item_of(metadata, text) if isinstance(metadata, Mapping) and isinstance(text, str) else None


def _fact(place: str, record: Any) -> Row:
    if not isinstance(record, Mapping) or not isinstance(record.get("content"), str):
        return Unread(place, "has no text called content.")
    text, named = record["content"], [str(tag) for tag in listing(record.get("tags"))]
    fields = {
        "fact": text,
        "category": category_of(text, str(record.get("memory_type")), *named, otherwise="codebase"),
        "created_at": moment_of(record.get("created_at")) or moment_of(record.get("created_at_iso")),
        "row": {name: value for name, value in record.items() if name not in {"content", "embedding"}},
    }
    return DraftRow(place, FactDraft, fields)


def _memory(item: Item) -> dict[str, Any]:
    if item.row:
        return {"content_hash": _hash(item.text.strip().lower()), **item.row, "content": item.text}
    made = moment_of(item.created_at)
    changed = moment_of(item.fields.get("updated_at")) or made
    return {
        "content": item.text,
        "content_hash": _hash(item.text.strip().lower()),
        "tags": [*item.tags, "bigmind"],
        "created_at": made.timestamp() if made else 0.0,
        "updated_at": changed.timestamp() if changed else 0.0,
        "memory_type": "decision" if item.fields.get("category") == "decision" else TYPES.get(item.kind, "observation"),
        "metadata": item.marked,
    }


# The service knows a memory again by this hash, of its text in lower case.
def _hash(text: str) -> str:
    return hashlib.sha256(text.encode(errors="replace")).hexdigest()


def _files(bundle: Bundle) -> list[str]:
    return [name for name in bundle.names() if name.lower().endswith(".json") and _is_export(bundle, name)]


def _is_export(bundle: Bundle, name: str) -> bool:
    start = start_of(bundle, name)
    return start.startswith("{") and '"export_metadata"' in start
