"""mem0: memories as its API, `get_all` and its exports give them."""

from collections.abc import Iterator, Mapping
from typing import Any

from bigmind.core.errors import Invalid

from .bundles import Bundle
from .drafts import DraftRow, FactDraft, Row, Unread, moment_of
from .json_rows import Element, document_in, elements_of, starts_as
from .words import category_of

LISTS = ("results", "memories", "data")
TEXTS = ("memory", "text", "content", "data")


def looks_like(bundle: Bundle) -> bool:
    """Whether a JSON file is a list of memories, or holds one."""
    return any(_is_of_memories(bundle, name) for name in bundle.names() if name.lower().endswith(".json"))


def rows(bundle: Bundle) -> Iterator[Row]:
    """Yield a fact for each memory. Relations of its graph memory become facts, too."""
    for name in bundle.names():
        if name.lower().endswith(".json"):
            for element in _elements(bundle, name):
                yield _row(f"{name}, memory {element.number} (line {element.line})", element.value)


def _elements(bundle: Bundle, name: str) -> Iterator[Element]:
    with bundle.open(name) as file:
        is_list = starts_as(file).startswith("[")
    with bundle.open(name) as file:
        if is_list:
            yield from elements_of(file, name)
            return
        document = document_in(file, name)
    found = next((document[key] for key in LISTS if isinstance(document.get(key), list)), None)
    if found is None:
        raise Invalid(f"{name}: has no list called results, memories or data.", hint="Export it from mem0 again.")
    relations = document.get("relations") or []
    for number, value in enumerate([*found, *(relations if isinstance(relations, list) else [])], start=1):
        yield Element(number, 1, value)


def _row(place: str, value: Any) -> Row:
    if isinstance(value, str):
        value = {"memory": value}
    if not isinstance(value, Mapping):
        return Unread(place, "is no memory.")
    text = _relation(value) or next((value[key] for key in TEXTS if isinstance(value.get(key), str)), None)
    if text is None:
        return Unread(place, "has no text called memory.")
    told = value.get("metadata")
    metadata = told if isinstance(told, Mapping) else {}
    named = [str(name) for name in _names(value.get("categories")) + _names(metadata.get("category"))]
    fields = {
        "fact": text,
        "category": category_of(text, *named, otherwise="identity"),
        "project": _short(metadata.get("project") or value.get("app_id")),
        "created_at": moment_of(value.get("created_at")),
    }
    return DraftRow(place, FactDraft, fields)


def _relation(value: Mapping[str, Any]) -> str | None:
    ends = (value.get("source"), value.get("relationship"), value.get("target") or value.get("destination"))
    if "memory" in value or not all(isinstance(end, str) and end for end in ends):
        return None
    return " ".join(str(end).replace("_", " ") for end in ends)


def _names(told: Any) -> list[str]:
    return [told] if isinstance(told, str) else [str(one) for one in told] if isinstance(told, list) else []


def _short(told: Any) -> str | None:
    return told if isinstance(told, str) and told else None


def _is_of_memories(bundle: Bundle, name: str) -> bool:
    with bundle.open(name) as file:
        start = starts_as(file)
    has_text = any(f'"{key}"' in start for key in ("memory", "memories", "results"))
    return start[:1] in {"[", "{"} and has_text and '"chat_messages"' not in start and '"mapping"' not in start
