"""The reference memory server of MCP: a graph of entities and relations, one JSON object on each line."""

import json
from collections.abc import Iterable, Iterator, Mapping
from typing import Any

from knowledge.parsers.archives import Bundle

from .items import MARK, TEXTS, Item, item_of, rows_of
from .json_rows import Element, lines_of, start_of
from .memory_drafts import DraftRow, FactDraft, Row, Unread
from .words import category_of

ENDINGS = (".jsonl", ".json")
OURS = "bigmind "
"""What the kinds of our own entities begin with. Their first observation is the text, the others say `name: value`."""


def looks_like(bundle: Bundle) -> bool:
    """Whether a file has an entity or a relation on its first line. The server's older file is called memory.json."""
    return bool(_files(bundle))


def rows(bundle: Bundle) -> Iterator[Row]:
    """Yield our own items as what they were, and a fact for each other observation and relation."""
    own = []
    for name in _files(bundle):
        with bundle.open(name) as file:
            for element in lines_of(file, name):
                place = f"{name}, line {element.line}"
                item = _item(element.value)
                if item:
                    own.append((place, item))
                else:
                    yield from _rows(place, element)
    yield from rows_of(own)


def files(items: Iterable[Item]) -> Iterator[tuple[str, str, Item | None]]:
    """Yield the graph: entities with the observations that are still there, and one for each other item."""
    entities: dict[str, dict[str, Any]] = {}
    relations: list[Mapping[str, Any]] = []
    for item in items:
        if "relationType" in item.row:
            relations.append({"type": "relation", **item.row})
        elif item.row:
            entity = _entity(str(item.row["name"]), item.row.get("entityType"))
            observations = entities.setdefault(entity["name"], entity)["observations"]
            observations += [item.text.removeprefix(f"{_subject(item.row)}: ")] if item.row.get("is_observed") else []
        else:
            fields = [f"{name}: {_value(value)}" for name, value in item.rest.items()]
            entity = _entity(f"{item.kind} {item.file_name}", f"{OURS}{item.kind}")
            entities[entity["name"]] = {**entity, "observations": [item.text, *fields]}
    lines = [json.dumps(one, ensure_ascii=False) for one in (*entities.values(), *relations)]
    yield "memory.jsonl", "\n".join(lines), None


def _entity(name: str, kind: Any) -> dict[str, Any]:
    return {"type": "entity", "name": name, "entityType": kind, "observations": []}


def _value(value: Any) -> str:
    """A value as an observation can hold it: a text as it is, unless it could be taken for something else."""
    if isinstance(value, str):
        try:
            json.loads(value)
        except (ValueError, RecursionError):
            return value
    return json.dumps(value, ensure_ascii=False)


def _item(entity: Any) -> Item | None:
    """The item that one of our own entities is."""
    if not isinstance(entity, Mapping) or not str(entity.get("entityType")).startswith(OURS):
        return None
    kind, observations = str(entity["entityType"]).removeprefix(OURS), entity.get("observations")
    if (
        kind not in TEXTS
        or not isinstance(observations, list)
        or not observations
        or not all(isinstance(one, str) for one in observations)
    ):
        return None
    record: dict[str, Any] = {MARK: kind}
    for line in observations[1:]:
        name, _, value = line.partition(": ")
        try:
            record[name] = json.loads(value)
        except (ValueError, RecursionError):
            record[name] = value
    return item_of({MARK: record}, observations[0])


def _rows(place: str, element: Element) -> Iterator[Row]:
    value = element.value
    if element.error:
        yield Unread(place, f"{element.error}.")
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
    row = {"name": name, "entityType": sort}
    subject = _subject(row)
    if not observations:
        yield _fact(place, f"{subject} is known.", str(sort), row)
    for number, observation in enumerate(observations, start=1):
        where = f"{place}, observation {number}"
        if isinstance(observation, str):
            yield _fact(where, f"{subject}: {observation}", str(sort), {**row, "is_observed": True})
        else:
            yield Unread(where, "is no text.")


def _subject(entity: Mapping[str, Any]) -> str:
    """What the facts about an entity begin with: its name and kind."""
    sort = entity.get("entityType")
    return f"{entity['name']} ({sort})" if isinstance(sort, str) and sort else str(entity["name"])


def _of_relation(place: str, relation: Mapping[str, Any]) -> Row:
    ends = [relation.get(key) for key in ("from", "relationType", "to")]
    if not all(isinstance(end, str) and end for end in ends):
        return Unread(place, "the relation lacks from, relationType or to.")
    subject, verb, target = map(str, ends)
    row = {"from": subject, "to": target, "relationType": verb}
    return _fact(place, f"{subject} {verb.replace('_', ' ')} {target}.", "", row)


def _fact(place: str, text: str, sort: str, row: dict[str, Any]) -> DraftRow:
    category = category_of(text, sort, otherwise="codebase")
    return DraftRow(place, FactDraft, {"fact": text, "category": category, "row": row})


def _files(bundle: Bundle) -> list[str]:
    return [name for name in bundle.names() if name.lower().endswith(ENDINGS) and _is_graph(bundle, name)]


def _is_graph(bundle: Bundle, name: str) -> bool:
    start = start_of(bundle, name).split("\n", 1)[0]
    squeezed = start.replace(" ", "")
    return start.startswith("{") and ('"type":"entity"' in squeezed or '"type":"relation"' in squeezed)
