"""App maps as YAML that people and agents read and edit: the same map gives the same bytes (seed 000)."""

import json
import re
from collections.abc import Iterable, Iterator, Mapping, Sequence
from typing import Any

from knowledge.app_maps.vocabulary import (
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
            *(f"  {scalar(one['name'])}: {flow(_outside(one, ('name', 'fits')))}" for one in workflows),
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
        _section("entities", _entities(known.entities, ids, with_table=True)),
        _section("schemas", (line for table in known.tables for line in _schema(table))),
        _section("workflows", (line for one in known.workflows for line in _workflow(one, with_table=True))),
    ]
    return _text(sections)


def write_index(maps: Iterable[AppMap], choices: Iterable[AmbiguousChoice], *, folders: bool = False) -> str:
    """Return `_index.yaml`: where the map of each app is, its other names, and the names that stand in several."""
    apps = (line for known in maps for line in _index_entry(known, folders=folders))
    return _text([_section("apps", apps), _section("ambiguous", (line for one in choices for line in _choice(one)))])


def write_folder(known: AppMap, defaults: Mapping[str, str]) -> dict[str, str]:
    """Return the files of one app in the layout with a folder for each app and a file for each table."""
    names = file_names([table.name for table in known.tables])
    tables = (line for table in known.tables for line in _table_lines(table, names[table.name]))
    placeless = (line for one in known.workflows if not one.table for line in _workflow(one))
    sections = [
        ["app:", *_members(1, name=known.name, appId=known.app_id)],
        _section("tables", tables),
        _section("defaults", (f"  {scalar(name)}: {scalar(table)}" for name, table in defaults.items())),
        _section("workflows", placeless),
    ]
    files = {f"{names[table.name]}.yaml": _table_file(known, table) for table in known.tables}
    return {INDEX: _text(sections), **files}


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


def _table_file(known: AppMap, table: LearntTable) -> str:
    entities = [entity for entity in known.entities if entity.table == table.name]
    sections = [
        ["table:", *_members(1, name=table.name, tableId=table.table_id)],
        _section("schema", _fields(table, indent=1)),
        _section("entities", _entities(entities, {}, with_table=False)),
        _section("workflows", (x for one in known.workflows if one.table == table.name for x in _workflow(one))),
    ]
    return _text(sections)


def _table_lines(table: LearntTable, file: str) -> Iterator[str]:
    yield f"  {scalar(table.name)}:"
    yield from _members(2, file=f"{file}.yaml", tableId=table.table_id)


def _index_entry(known: AppMap, *, folders: bool) -> Iterator[str]:
    yield f"  {scalar(known.name)}:"
    yield from _members(2, **({"folder": known.file} if folders else {"file": f"{known.file}.yaml"}))
    yield from _members(2, appId=known.app_id)
    if known.aliases:
        yield f"    aliases: {flow(known.aliases)}"
    yield from _members(2, connector=known.connector)


def _choice(choice: AmbiguousChoice) -> Iterator[str]:
    yield f"  {scalar(choice.name)}:"
    yield f"    found_in: {flow(choice.found_in)}"
    yield from _members(2, default=choice.default)


def _entities(entities: Sequence[LearntEntity], ids: Mapping[str, str], *, with_table: bool) -> Iterator[str]:
    taken: set[str] = set()
    for entity in entities:
        # A file has each name once; what has the same name in another table keeps its own beside it.
        key = entity.name if entity.name not in taken else f"{entity.name} ({entity.table})"
        taken |= {entity.name, key}
        yield f"  {scalar(key)}:"
        yield from _members(2, name=entity.name if key != entity.name else "")
        if with_table:
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
        yield from _fields(table, indent=3)


def _fields(table: LearntTable, *, indent: int) -> Iterator[str]:
    for name, known in table.fields.items():
        yield f"{'  ' * indent}{scalar(name)}: {flow(known)}"


def _workflow(workflow: LearntWorkflow, *, with_table: bool = False) -> Iterator[str]:
    yield f"  {scalar(workflow.name)}:"
    texts = {"trigger": workflow.trigger, "steps": workflow.steps}
    yield from (f"    {name}: {quote(text)}" for name, text in texts.items() if text)
    yield from _members(2, field=workflow.field, table=workflow.table if with_table else "")


def _members(indent: int, **texts: str) -> Iterator[str]:
    """One line for each text that says something."""
    return (f"{'  ' * indent}{name}: {scalar(text)}" for name, text in texts.items() if text)


def _section(name: str, lines: Iterable[str]) -> list[str]:
    listed = list(lines)
    return [f"{name}:", *listed] if listed else []


def _text(sections: Iterable[list[str]]) -> str:
    return "\n\n".join("\n".join(lines) for lines in sections if lines) + "\n"
