"""The reference memory server of MCP: a graph of entities and relations, one JSON object on each line."""

from collections.abc import Iterator, Mapping
from typing import Any

from .bundles import Bundle
from .drafts import DraftRow, FactDraft, Row, Unread
from .json_rows import Element, lines_of, starts_as
from .words import category_of

ENDINGS = (".jsonl", ".json")


def looks_like(bundle: Bundle) -> bool:
    """Whether a file has an entity or a relation on its first line. The server's older file is called memory.json."""
    return bool(_files(bundle))


def rows(bundle: Bundle) -> Iterator[Row]:
    """Yield a fact for each observation about an entity, and one for each relation between two."""
    for name in _files(bundle):
        with bundle.open(name) as file:
            for element in lines_of(file, name):
                yield from _rows(f"{name}, line {element.line}", element)


def _rows(place: str, element: Element) -> Iterator[Row]:
    value = element.value
    if element.trouble:
        yield Unread(place, f"{element.trouble}.")
    elif not isinstance(value, Mapping):
        yield Unread(place, "is no JSON object.")
    elif value.get("type") == "entity":
        yield from _of_entity(place, value)
    elif value.get("type") == "relation":
        yield _of_relation(place, value)
    else:
        yield Unread(place, "is neither an entity nor a relation.")


def _of_entity(place: str, entity: Mapping[str, Any]) -> Iterator[Row]:
    name, sort = entity.get("name"), entity.get("entityType")
    if not isinstance(name, str) or not name.strip():
        yield Unread(place, "the entity has no name.")
        return
    observations = entity.get("observations")
    if not isinstance(observations, list):
        yield Unread(place, "the entity's observations are no list.")
        return
    kind = f" ({sort})" if isinstance(sort, str) and sort else ""
    if not observations:
        yield _fact(place, f"{name}{kind} is known.", str(sort))
    for number, observation in enumerate(observations, start=1):
        where = f"{place}, observation {number}"
        if isinstance(observation, str):
            yield _fact(where, f"{name}{kind}: {observation}", str(sort))
        else:
            yield Unread(where, "is no text.")


def _of_relation(place: str, relation: Mapping[str, Any]) -> Row:
    ends = [relation.get(key) for key in ("from", "relationType", "to")]
    if not all(isinstance(end, str) and end for end in ends):
        return Unread(place, "the relation lacks from, relationType or to.")
    subject, verb, target = map(str, ends)
    return _fact(place, f"{subject} {verb.replace('_', ' ')} {target}.", "")


def _fact(place: str, text: str, sort: str) -> DraftRow:
    return DraftRow(place, FactDraft, {"fact": text, "category": category_of(text, sort, otherwise="codebase")})


def _files(bundle: Bundle) -> list[str]:
    return [name for name in bundle.names() if name.lower().endswith(ENDINGS) and _is_graph(bundle, name)]


def _is_graph(bundle: Bundle, name: str) -> bool:
    with bundle.open(name) as file:
        start = starts_as(file).split("\n", 1)[0]
    squeezed = start.replace(" ", "")
    return start.startswith("{") and ('"type":"entity"' in squeezed or '"type":"relation"' in squeezed)
