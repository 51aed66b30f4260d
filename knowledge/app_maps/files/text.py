"""App maps as YAML that people and agents read and edit: the same map gives the same bytes (seed 000)."""

import json
import re
from collections.abc import Iterable, Iterator, Mapping, Sequence
from typing import Any

from knowledge.app_maps.argument_types import (
    AmbiguousChoice,
    AppMap,
    LearntEntity,
    LearntTable,
    LearntWorkflow,
    StoredEntity,
)

# What any reader of YAML, of 1.1 or 1.2, takes for the text it is, in braces too. All else stands in quotes.
_PLAIN = re.compile(r"[^\W\d](?:[\w ./()+&'@%–-]*[\w.)%])?")
_NOT_TEXTS = {"null", "true", "false", "yes", "no", "on", "off", "y", "n"}
_UNPRINTABLE = re.compile("[\x7f-\x9f\u2028\u2029\ufeff\ufffe\uffff]")

INDEX = "_index.yaml"
OF_BUDIBASE = ("", "budibase")
"""Apps that `budibase_url` speaks of: those that its connector reads, and those that no connector does."""
_OUTSIDE = {
    "app_id": "appId",
    "table_id": "tableId",
    "row_id": "rowId",
    "match_field": "matchField",
    "match_value": "matchValue",
}


def scalar(text: str) -> str:
    """Return a text as it stands in YAML: in quotes where it would be taken for something else."""
    return text if _PLAIN.fullmatch(text) and text.lower() not in _NOT_TEXTS else quote(text)


def quote(text: str) -> str:
    """Return a text in double quotes."""
    return _UNPRINTABLE.sub(lambda found: f"\\u{ord(found[0]):04x}", json.dumps(text, ensure_ascii=False))


def flow(value: Any) -> str:
    """Return a value as it stands in one line."""
    if isinstance(value, bool):
        return "true" if value else "false"
    if isinstance(value, int | float):
        return json.dumps(value)
    if isinstance(value, Mapping):
        return "{ " + ", ".join(f"{scalar(name)}: {flow(one)}" for name, one in value.items()) + " }" if value else "{}"
    return scalar(value) if isinstance(value, str) else f"[{', '.join(flow(one) for one in value)}]"


def write_reply(reply: Mapping[str, Any]) -> str:
    """Return where something is, with its schema and workflows, or where it may be: without what is empty."""
    lines: list[str] = []
    if place := reply.get("place"):
        lines += [f"{place['kind']}: {flow(_outside(place))}"]
    if candidates := reply.get("candidates"):
        lines += ["candidates:", *(f"  - {flow(_outside(one))}" for one in candidates)]
    if fields := reply.get("fields"):
        lines += ["fields:", *(f"  {scalar(name)}: {flow(known)}" for name, known in fields.items())]
    if workflows := reply.get("workflows"):
        lines += [
            "workflows:",
            *(f"  {scalar(one['name'])}: {flow(_outside(one, ('name',)))}" for one in workflows),
        ]
    return "\n".join(lines)


def _outside(
    attributes: Mapping[str, Any], without: Sequence[str] = ("kind", "last_seen", "reported_gone_at")
) -> dict[str, Any]:
    """By the names that files have for them."""
    return {_OUTSIDE.get(name, name): value for name, value in attributes.items() if value and name not in without}


def write_map(known: AppMap) -> str:
    """Return the file of one app: app, entities, schemas, workflows."""
    ids = {table.name: table.table_id for table in known.tables}
    sections = [
        ["app:", *_members(1, name=known.name, appId=known.app_id)],
        _section("entities", _entities(known.entities, ids)),
        _section("schemas", (line for table in known.tables for line in _schema(table))),
        _section("workflows", _workflows(known.workflows)),
    ]
    return _text(sections)


def write_index(maps: Sequence[AppMap], choices: Iterable[AmbiguousChoice]) -> str:
    """Return `_index.yaml`: where the map of each app is, its other names, and the names that stand in several."""
    server = _server_of_all(maps)
    days = [known.bootstrapped_at for known in maps if known.bootstrapped_at]
    about = _members(0, bootstrapped=max(days).isoformat() if days else "", budibase_url=server)
    sections = [
        list(about),
        _section("apps", (line for known in maps for line in _index_entry(known, without_server=server))),
        _section("ambiguous", (line for one in choices for line in _choice(one))),
    ]
    return _text(sections)


def _server_of_all(maps: Sequence[AppMap]) -> str:
    """The one address that all apps of Budibase have; empty where they differ: then each says its own."""
    servers = {known.server for known in maps if known.connector in OF_BUDIBASE}
    return servers.pop() if len(servers) == 1 else ""


def file_names(names: Sequence[str], taken: Iterable[str] = ("_index",)) -> dict[str, str]:
    """Return a name of a file for each of these names: letters and digits, each once."""
    used, chosen = {one.casefold() for one in taken}, {}
    for name in names:
        stem = "-".join(re.findall(r"[^\W_]+", name.casefold()))[:80] or "map"
        number, candidate = 1, stem
        while candidate.casefold() in used:
            number += 1
            candidate = f"{stem}-{number}"
        used.add(candidate.casefold())
        chosen[name] = candidate
    return chosen


def _index_entry(known: AppMap, *, without_server: str) -> Iterator[str]:
    yield f"  {scalar(known.name)}:"
    yield from _members(2, file=f"{known.file}.yaml", appId=known.app_id)
    if known.aliases:
        yield f"    aliases: {flow(known.aliases)}"
    is_said = known.server == without_server and known.connector in OF_BUDIBASE
    yield from _members(2, connector=known.connector, server="" if is_said else known.server)


def _choice(choice: AmbiguousChoice) -> Iterator[str]:
    yield f"  {scalar(choice.name)}:"
    yield f"    found_in: {flow(choice.found_in)}"
    yield from _members(2, default=choice.default)


def _entities(entities: Sequence[LearntEntity], ids: Mapping[str, str]) -> Iterator[str]:
    taken: set[str] = set()
    for entity in entities:
        key = _free_key(entity.name, entity.table, taken)
        yield f"  {scalar(key)}:"
        yield from _members(2, name=entity.name if key != entity.name else "")
        yield from _members(2, table=entity.table, tableId=ids.get(entity.table, ""))
        found_by = {"rowId": entity.row_id, "matchField": entity.match_field, "matchValue": entity.match_value}
        yield from _members(2, **found_by)
        if isinstance(entity, StoredEntity) and entity.last_seen:
            yield f"    _lastSeen: {entity.last_seen.isoformat()}"


def _schema(table: LearntTable) -> Iterator[str]:
    yield f"  {scalar(table.name)}:"
    yield from _members(2, tableId=table.table_id)
    if table.fields:
        yield "    fields:"
        yield from (f"      {scalar(name)}: {flow(known)}" for name, known in table.fields.items())


def _workflows(workflows: Iterable[LearntWorkflow]) -> Iterator[str]:
    taken: set[str] = set()
    for workflow in workflows:
        key = _free_key(workflow.name, workflow.table, taken)
        yield f"  {scalar(key)}:"
        yield from _members(2, name=workflow.name if key != workflow.name else "")
        texts = {"trigger": workflow.trigger, "steps": workflow.steps}
        yield from (f"    {name}: {quote(text)}" for name, text in texts.items() if text)
        yield from _members(2, field=workflow.field, table=workflow.table)


def _free_key(name: str, table: str, taken: set[str]) -> str:
    """A file has each name once; what has the same name in another table keeps its own beside it."""
    key, number = name, 1
    while key in taken:
        key = f"{name} ({table})" if number == 1 else f"{name} ({table}, {number})"
        number += 1
    taken.add(key)
    return key


def _members(indent: int, **texts: str) -> Iterator[str]:
    """One line for each text that says something."""
    return (f"{'  ' * indent}{name}: {scalar(text)}" for name, text in texts.items() if text)


def _section(name: str, lines: Iterable[str]) -> list[str]:
    listed = list(lines)
    return [f"{name}:", *listed] if listed else []


def _text(sections: Iterable[list[str]]) -> str:
    return "\n\n".join("\n".join(lines) for lines in sections if lines) + "\n"
