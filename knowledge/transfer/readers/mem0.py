"""mem0: memories as its API, `get_all` and its exports give them."""

import hashlib
from collections.abc import Iterable, Iterator, Mapping
from typing import Any
from uuid import NAMESPACE_URL, uuid5

from bigmind.core.errors import Invalid
from knowledge.parsers.archives import Bundle

from .items import Item, item_of, rows_of
from .json_rows import Element, as_json, document_in, elements_of, listing, mapping, start_of
from .memory_drafts import DraftRow, FactDraft, Row, Unread, moment_of
from .provenance import NAME
from .words import category_of

LISTS = ("results", "memories", "data")
TEXTS = ("memory", "text", "content", "data")


def looks_like(bundle: Bundle) -> bool:
    """Whether a JSON file is a list of memories, or holds one."""
    return bool(_files(bundle))


def rows(bundle: Bundle) -> Iterator[Row]:
    """Yield our own items as what they were, and a fact for each other memory and each relation of its graph."""
    own = []
    for name in _files(bundle):
        for element in _elements(bundle, name):
            place = f"{name}, memory {element.number} (line {element.line})"
            item = _item(element.value)
            if item:
                own.append((place, item))
            else:
                yield _row(place, element.value)
    yield from rows_of(own)


def files(items: Iterable[Item]) -> Iterator[tuple[str, str, Item | None]]:
    """Yield the one document, as `get_all` returns it."""
    records = [_memory(item) for item in items]
    document = {
        "results": [memory for memory in records if "memory" in memory],
        "relations": [relation for relation in records if "memory" not in relation],
    }
    yield "mem0.json", as_json({name: rows for name, rows in document.items() if rows or name == "results"}), None


def _memory(item: Item) -> dict[str, Any]:
    if item.row:
        return dict(item.row) if "relationship" in item.row else {**item.row, "memory": item.text}
    ends = item.fields.get("valid_until") or item.fields.get("expires_at")
    memory = {
        "id": str(uuid5(NAMESPACE_URL, f"bigmind {item.kind} {item.text} {item.created_at}")),
        "memory": item.text,
        "hash": hashlib.md5(item.text.encode(errors="replace"), usedforsecurity=False).hexdigest(),
        "metadata": item.marked,
        "created_at": item.created_at or None,
        "updated_at": item.fields.get("updated_at"),
    }
    return memory | ({"expiration_date": str(ends)[:10]} if ends else {})


def _elements(bundle: Bundle, name: str) -> Iterator[Element]:
    is_list = start_of(bundle, name).startswith("[")
    with bundle.open(name) as file:
        if is_list:
            yield from elements_of(file, name)
            return
        document = document_in(file, name)
    found = next((document[key] for key in LISTS if isinstance(document.get(key), list)), None)
    if found is None:
        raise Invalid(f"{name}: has no list called results, memories or data.", hint="Export it from mem0 again.")
    for number, value in enumerate([*found, *listing(document.get("relations"))], start=1):
        yield Element(number, 1, value)


def _item(value: Any) -> Item | None:
    metadata = value.get("metadata") if isinstance(value, Mapping) else None
    text = value.get("memory") if isinstance(metadata, Mapping) else None
    return item_of(metadata, text) if isinstance(metadata, Mapping) and isinstance(text, str) else None


def _row(place: str, value: Any) -> Row:
    if isinstance(value, str):
        value = {"memory": value}
    if not isinstance(value, Mapping):
        return Unread(place, "is no memory.")
    name = next((key for key in TEXTS if isinstance(value.get(key), str)), "")
    text = _relation(value) or value.get(name)
    if text is None:
        return Unread(place, "has no text called memory.")
    metadata = mapping(value.get("metadata"))
    named = [str(name) for name in _names(value.get("categories")) + _names(metadata.get("category"))]
    fields = {
        "fact": text,
        "category": category_of(text, *named, otherwise="identity"),
        "project": _short(metadata.get("project") or value.get("app_id")),
        "created_at": moment_of(value.get("created_at")),
        "row": {key: one for key, one in value.items() if key != name},
    }
    return DraftRow(place, FactDraft, fields)


def _relation(value: Mapping[str, Any]) -> str | None:
    ends = (value.get("source"), value.get("relationship"), value.get("target") or value.get("destination"))
    if "memory" in value or not all(isinstance(end, str) and end for end in ends):
        return None
    return " ".join(str(end).replace("_", " ") for end in ends)


def _names(value: Any) -> list[str]:
    return [value] if isinstance(value, str) else [str(one) for one in listing(value)]


def _short(value: Any) -> str | None:
    return value if isinstance(value, str) and value else None


def _files(bundle: Bundle) -> list[str]:
    names = [name for name in bundle.names() if name.lower().endswith(".json") and not name.endswith(NAME)]
    return [name for name in names if _is_of_memories(bundle, name)]


def _is_of_memories(bundle: Bundle, name: str) -> bool:
    start = start_of(bundle, name)
    has_text = any(f'"{key}"' in start for key in ("memory", "memories", "results"))
    return start[:1] in {"[", "{"} and has_text and '"chat_messages"' not in start and '"mapping"' not in start
