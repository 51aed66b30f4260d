"""A folder of app maps read: `_index.yaml` and a file for each app, or a folder for each app and a file for each table.

Errors name file and line. Nothing outside the folder is read.
"""

import re
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any, TypeVar

from pydantic import BaseModel, ValidationError

from bigmind.core.argument_checks import refusal
from bigmind.core.errors import Invalid
from bigmind.text.hygiene import echo, fold_name, mention
from knowledge.app_maps.argument_types import (
    AmbiguousChoice,
    AppMap,
    LearntTable,
    LearntWorkflow,
    StoredEntity,
    read_reported_map,
)
from knowledge.app_maps.files.text import INDEX, OF_BUDIBASE, file_names
from knowledge.parsers.reading import decode_text, read_bytes
from knowledge.parsers.yaml_nodes import YamlNode, read_yaml

FILES = 1_000
FOLDER_BYTES = 32 * 1024 * 1024
WITHIN = "knowledge"
"""Where the folder of a skill keeps its maps."""
_NOT_IN_NAMES = set('\\:*?"<>|')
_DAY = re.compile(r"(\d{4}-\d\d-\d\d)(?:[T ][\d:.]{5,18}(?:Z|[+-]\d\d:?\d\d)?)?")
_NOT_OF_A_SLUG = re.compile("[^a-z0-9]+")
_MEMBERS = {
    "tableId": "table_id",
    "rowId": "row_id",
    "matchField": "match_field",
    "matchValue": "match_value",
    "_lastSeen": "last_seen",
    "appId": "app_id",
}

Model = TypeVar("Model", bound=BaseModel)


@dataclass(frozen=True)
class MapFolder:
    """The contents of a folder of app maps. `notes`: what is not wrong but worth checking."""

    maps: list[AppMap]
    choices: list[AmbiguousChoice]
    notes: list[str] = field(default_factory=list)


def read_map_folder(folder: Path) -> dict[str, bytes]:
    """Return the YAML files of a folder and of the folders in it, by their paths within it.

    Raises:
        Invalid: it is no folder, has too much in it, or leads elsewhere through a link.
    """
    if folder.is_symlink() or not folder.is_dir():
        raise Invalid(f"{folder} is not a folder.", hint="Give the path of the folder with _index.yaml.")
    if not (folder / INDEX).exists() and (folder / WITHIN / INDEX).is_file():
        return read_map_folder(folder / WITHIN)
    files: dict[str, bytes] = {}
    size = 0
    for path in files_in(folder):
        raw = read_bytes(path, within=folder)
        size += len(raw)
        if len(files) >= FILES or size > FOLDER_BYTES:
            raise Invalid(
                f"{folder.name} has too much in it.", hint=f"At most {FILES:,} files, {FOLDER_BYTES:,} bytes."
            )
        files[path.relative_to(folder).as_posix()] = raw
    return files


def parse_maps(files: Mapping[str, bytes]) -> MapFolder:
    """Read app maps from YAML files by their paths, in either layout or both.

    Raises:
        Invalid: a file cannot be read or says something that an app map has no place for; with file and line.
    """
    for path in files:
        check_path(path)
    trees = {path: _tree(raw, path) for path, raw in sorted(files.items())}
    return _Folder(trees).read()


def files_in(folder: Path) -> Iterator[Path]:
    """Yield the YAML files of a folder and of the folders in it.

    Raises:
        Invalid: one of them is a link.
    """
    for path in sorted(folder.iterdir()):
        if path.name.startswith("."):
            continue
        if path.is_symlink():
            raise Invalid(f"{path.name} is a link.", hint="Put the file itself into the folder.")
        if path.is_dir():
            yield from _yaml_in(path)
        elif path.suffix in {".yaml", ".yml"}:
            yield path


def _yaml_in(folder: Path) -> Iterator[Path]:
    for path in sorted(folder.iterdir()):
        if path.suffix in {".yaml", ".yml"}:
            if path.is_symlink():
                raise Invalid(f"{folder.name}/{path.name} is a link.", hint="Put the file itself into the folder.")
            yield path


def check_path(path: str) -> None:
    """Refuse a path that is none in a folder of app maps.

    Raises:
        Invalid: it leads elsewhere, or too deep.
    """
    parts = path.split("/")
    if len(parts) > 2 or not all(map(_is_name, parts)):
        raise Invalid(
            f"{echo(path)} is not a path in a folder of app maps.",
            hint="Files are NAME.yaml or APP/TABLE.yaml.",
            problems=[{"field": "files", "message": f"has {echo(path)}, which is no path NAME.yaml or APP/TABLE.yaml"}],
        )


def _is_name(part: str) -> bool:
    """Whether this names a file or folder in every system, and leads nowhere else."""
    return part.isprintable() and part[:1] not in {"", "."} and ".." not in part and not _NOT_IN_NAMES & {*part}


def _tree(raw: bytes, path: str) -> "_MapFile":
    text = decode_text(raw, path)
    return _MapFile(path, text.split("\n"), read_yaml(text, path))


@dataclass(frozen=True)
class _MapFile:
    """One YAML file as a tree."""

    path: str
    lines: list[str]
    top: YamlNode | None

    def refusal(self, node: YamlNode | None, why: str) -> Invalid:
        line = node.line if node else 1
        return Invalid(f"{self.path}, line {line}: {why}.", problems=[{"field": "files", "message": why, "line": line}])

    def members(self, node: YamlNode | None, what: str, known: set[str] | None = None) -> dict[str, YamlNode]:
        """The members of a mapping; empty if it is missing."""
        if node is None or node.value is None:
            return {}
        if not isinstance(node.value, dict):
            raise self.refusal(node, f"{what} must be a mapping")
        for name in node.value if known is not None else ():
            if name not in (known or ()):
                listed = ", ".join(sorted(known or ()))
                raise self.refusal(
                    node.value[name], f"{what} has {echo(name)}, which is not known here. Known: {listed}"
                )
        return node.value

    def text(self, node: YamlNode, what: str) -> str:
        """A scalar as it was written: `007` is an id, not a number."""
        if isinstance(node.value, list | dict):
            raise self.refusal(node, f"{what} must be a text")
        if isinstance(node.value, str):
            return node.value
        return "" if node.value is None else self.lines[node.start.line][node.start.column : node.end.column].strip()

    def text_in(self, members: Mapping[str, YamlNode], name: str) -> str:
        """The text that a member is; empty if it is missing."""
        return self.text(members[name], name) if name in members else ""

    def texts(self, node: YamlNode | None, what: str) -> list[str]:
        if node is None or node.value is None:
            return []
        if not isinstance(node.value, list):
            raise self.refusal(node, f"{what} must be a list")
        return [self.text(one, what) for one in node.value]

    def day(self, node: YamlNode, what: str) -> str:
        """A day, out of a moment where there is one."""
        found = _DAY.fullmatch(self.text(node, what))
        if found is None and node.value is not None:
            raise self.refusal(node, f"{what} must be a day such as 2026-02-03")
        return found[1] if found else ""

    def model(self, kind: type[Model], node: YamlNode | None, what: str, values: dict[str, Any]) -> Model:
        """Validate it by the rules of the operations."""
        try:
            return kind.model_validate(values)
        except ValidationError as error:
            problem = refusal(error, kind).problems[0]
            member = str(problem["field"]).split(".")[0]
            outside = next((name for name, inner in _MEMBERS.items() if inner == member), member)
            place = node.members.get(outside, node) if node else None
            raise self.refusal(place, f"{outside} of {what} {problem['message']}") from error

    def read_texts(self, node: YamlNode, what: str, known: set[str]) -> dict[str, Any]:
        """The texts of a mapping, by the names that the operations have for them."""
        members = self.members(node, what, known)
        return {_MEMBERS.get(name, name): self.text(one, f"{name} of {what}") for name, one in members.items()}


@dataclass(frozen=True)
class _ListedTable:
    """A table as an index names it: by its id, by its file, or by its name alone."""

    node: YamlNode
    name: str
    table_id: str = ""
    path: str = ""

    def is_meant_by(self, name: str, stem: str) -> bool:
        """Whether a file is about this table: by the name in it, else by the name of the file."""
        if name:
            return fold_name(name) == fold_name(self.name)
        slug = _NOT_OF_A_SLUG.sub("-", self.name.lower()).strip("-")
        return stem.casefold() in {self.name.casefold(), slug, file_names([self.name], ())[self.name].casefold()}


class _Folder:
    """Puts the files of a folder together."""

    def __init__(self, files: dict[str, _MapFile]) -> None:
        self.files = files
        self.used: set[str] = set()
        self.notes: list[str] = []
        self.choices: list[AmbiguousChoice] = []

    def read(self) -> MapFolder:
        """Read the index, what it names, and what else is there."""
        index = self._index_of("")
        known = {"bootstrapped", "budibase_url", "apps", "ambiguous", "defaults"}
        top = index.members(index.top, "the index", known)
        about = self._about(index, top)
        listed = index.members(top.get("apps"), "apps").items()
        maps = [self._read_listed(index, name, node, about) for name, node in listed]
        maps += [self._read_unlisted(path) for path in self.files if "/" not in path and path not in self.used]
        folders = dict.fromkeys(path.split("/")[0] for path in self.files if "/" in path and path not in self.used)
        maps += [self._folder(folder, {"name": folder}) for folder in folders]
        if len(maps) > FILES:
            raise Invalid(f"The folder has {len(maps):,} apps; the limit is {FILES:,}.")
        self._read_defaults(index, top.get("defaults"), maps)
        chosen = index.members(top.get("ambiguous"), "ambiguous")
        return MapFolder(maps, [*(_choice(index, *one) for one in chosen.items()), *self.choices], self.notes)

    def _about(self, index: _MapFile, top: Mapping[str, YamlNode]) -> dict[str, Any]:
        """What an index says of all its apps: when they were read, and of which server their ids are."""
        day = index.day(top["bootstrapped"], "bootstrapped") if "bootstrapped" in top else ""
        return {"bootstrapped_at": day or None, "server": index.text_in(top, "budibase_url")}

    def _index_of(self, folder: str) -> _MapFile:
        """The index of a folder; an empty one where there is none."""
        paths = [f"{folder}{name}" for name in (INDEX, "_index.yml")]
        self.used |= {path for path in paths if path in self.files}
        return next((self.files[path] for path in paths if path in self.files), _MapFile(paths[0], [], None))

    def _read_listed(self, index: _MapFile, name: str, node: YamlNode, about: Mapping[str, Any]) -> AppMap:
        known = {"file", "folder", "appId", "aliases", "connector", "server", "tables", "workflows"}
        members = index.members(node, f"the app {mention(name)}", known)
        connector = index.text_in(members, "connector")
        values = {
            "name": name,
            "app_id": index.text_in(members, "appId"),
            "connector": connector,
            "server": index.text_in(members, "server") or (about["server"] if connector in OF_BUDIBASE else ""),
            "bootstrapped_at": about["bootstrapped_at"],
            "aliases": index.texts(members.get("aliases"), "aliases"),
        }
        tables = self._tables_in(index, members.get("tables"))
        ways = _workflows(index, members.get("workflows"))
        if "folder" in members or ("file" not in members and "tables" in members):
            folder = index.text(members["folder"], "folder") if "folder" in members else file_names([name])[name]
            check_path(folder)
            headline = index.model(AppMap, node, f"the app {mention(name)}", {**values, "file": folder})
            found = self._folder(folder, headline.model_dump(), tables)
            return found.model_copy(update={"workflows": [*ways, *found.workflows]})
        path = index.text_in(members, "file")
        if path and ("/" in path or not _is_name(path)):
            raise index.refusal(members["file"], f"file of the app {mention(name)} must be a file in the folder itself")
        headline = index.model(AppMap, node, f"the app {mention(name)}", {**values, "file": _stem(path)})
        if path not in self.files:
            self.notes.append(f"{path or name}: the index names it, and it is not there; the app alone is taken over.")
            return headline
        return self._file(path, headline)

    def _read_unlisted(self, path: str) -> AppMap:
        file = self.files[path]
        app = file.members(file.members(file.top, "the file").get("app"), "app")
        if "name" not in app:
            raise file.refusal(file.top, "app has no name, and no index names this file")
        values = {"name": file.text(app["name"], "name of app"), "file": _stem(path)}
        return self._file(path, file.model(AppMap, app["name"], "app", values))

    def _file(self, path: str, headline: AppMap) -> AppMap:
        """Read the file of one app: `app`, `entities`, `schemas`, `workflows`."""
        self.used.add(path)
        file = self.files[path]
        top = file.members(file.top, "the file", {"app", "entities", "schemas", "workflows"})
        tables = [_schema(file, name, node) for name, node in file.members(top.get("schemas"), "schemas").items()]
        entities = [_entity(file, name, node) for name, node in file.members(top.get("entities"), "entities").items()]
        self._note_same_names(path, entities)
        values = {"tables": tables, "entities": entities, "workflows": _workflows(file, top.get("workflows"))}
        return _with_app(file, top.get("app"), headline).model_copy(update=values)

    def _folder(self, folder: str, values: dict[str, Any], listed: Sequence[_ListedTable] = ()) -> AppMap:
        """Read the folder of one app: a file for each table, in the order in which the index names them.

        It may have an index of its own, as BigMind once wrote it, with `app`, `tables`, `defaults` and `workflows`.
        """
        index = self._index_of(f"{folder}/")
        top = index.members(index.top, "the index", {"app", "tables", "defaults", "workflows"})
        known = _with_app(index, top.get("app"), read_reported_map(**{**values, "file": folder}))
        listed = [*listed, *self._tables_in(index, top.get("tables"), folder)]
        read = {
            path: _table_file(self.files[path], listed, self.notes)
            for path in self.files
            if path.startswith(f"{folder}/") and path not in self.used
        }
        self.used |= read.keys()
        tables = [_join_table(one, [table for table, _, _ in read.values()]) for one in listed]
        self.notes += [
            f"{one.path} is not there; of its table the name alone is taken over."
            for one in listed
            if one.path and one.path not in read
        ]
        for name, node in index.members(top.get("defaults"), "defaults").items():
            self._choose(index, node, name, folder, f"{folder}/{index.text(node, f'defaults of {mention(name)}')}")
        for path, (_, rows, _) in read.items():
            self._note_same_names(path, rows)
        return known.model_copy(
            update={
                "tables": [*tables, *(table for table, _, _ in read.values() if table not in tables)],
                "entities": [row for _, rows, _ in read.values() for row in rows],
                "workflows": [
                    *_workflows(index, top.get("workflows")),
                    *(way for _, _, ways in read.values() for way in ways),
                ],
            }
        )

    def _tables_in(self, index: _MapFile, node: YamlNode | None, folder: str = "") -> list[_ListedTable]:
        """Read the tables that an index names: name → id, names alone, or in the index of a `folder` name → file."""
        if node is not None and isinstance(node.value, list):
            return [_ListedTable(one, index.text(one, "a table")) for one in node.value]
        found = []
        for name, one in index.members(node, "tables").items():
            about = (
                index.members(one, f"the table {mention(name)}", {"file", "tableId"})
                if isinstance(one.value, dict)
                else {}
            )
            file, table_id = index.text_in(about, "file"), index.text_in(about, "tableId")
            if not about:
                text = index.text(one, f"the table {mention(name)}")
                file, table_id = (text, "") if folder and text.endswith((".yaml", ".yml")) else ("", text)
            if file and ("/" in file or not _is_name(file)):
                raise index.refusal(one, f"file of the table {mention(name)} must be a file in the folder itself")
            found.append(_ListedTable(one, name, table_id, f"{folder}/{file}" if file else ""))
        return found

    def _read_defaults(self, index: _MapFile, node: YamlNode | None, maps: Sequence[AppMap]) -> None:
        """Read which app is meant by a name: by name, alias or folder of an app; `crm/Clients` says the table too."""
        files = {fold_name(one): known.file for known in maps for one in (*known.aliases, known.file, known.name)}
        for name, one in index.members(node, "defaults").items():
            place = index.text(one, f"defaults of {mention(name)}")
            app, _, table = place.partition("/")
            file = files.get(fold_name(place)) or files.get(fold_name(app))
            if file is None:
                self.notes.append(
                    f"{index.path}, line {one.line}: {echo(name)} means {mention(place)}, and no app here is that."
                )
            else:
                self._choose(index, one, name, file, file if fold_name(place) in files else f"{file}/{table}")

    def _choose(self, index: _MapFile, node: YamlNode, name: str, file: str, default: str) -> None:
        choice = {"name": name, "found_in": [file], "default": default}
        self.choices.append(index.model(AmbiguousChoice, node, f"defaults of {mention(name)}", choice))

    def _note_same_names(self, path: str, rows: Sequence[StoredEntity]) -> None:
        """Say of names that differ by case or spacing alone that they are one here."""
        names: dict[tuple[str, str], str] = {}
        for row in rows:
            first = names.setdefault((row.table, fold_name(row.name)), row.name)
            if first != row.name:
                self.notes.append(f"{path}: {echo(first)} and {echo(row.name)} are one name here; the second is kept.")


def _stem(path: str) -> str:
    return re.sub(r"\.ya?ml$", "", path)


def _join_table(listed: _ListedTable, read: Sequence[LearntTable]) -> LearntTable:
    """Return the table that an index names as its file has it; what the file does not say is taken from the index."""
    for table in read:
        if (table.table_id and table.table_id == listed.table_id) or fold_name(table.name) == fold_name(listed.name):
            return table
    return LearntTable.model_validate({"name": listed.name, "table_id": listed.table_id})


def _with_app(file: _MapFile, node: YamlNode | None, headline: AppMap) -> AppMap:
    """The details of an app in its own file, which wins over the index."""
    if node is None:
        return headline
    own_values = {name: text for name, text in file.read_texts(node, "app", {"name", "appId"}).items() if text}
    return file.model(AppMap, node, "app", {**headline.model_dump(), **own_values})


def _schema(file: _MapFile, name: str, node: YamlNode) -> LearntTable:
    members = file.members(node, f"the schema of {mention(name)}", {"tableId", "fields"})
    values = {
        "name": name,
        "table_id": file.text_in(members, "tableId"),
        "fields": _fields(file, members.get("fields"), name),
    }
    return file.model(LearntTable, node, f"the schema of {mention(name)}", values)


def _fields(file: _MapFile, node: YamlNode | None, table: str) -> dict[str, Any]:
    return {
        # `Name: string` means the same as `Name: { type: string }`.
        name: {"type": file.text(one, name)} if isinstance(one.value, str) else _read_attributes(file, one, name)
        for name, one in file.members(node, f"fields of {table}").items()
    }


def _read_attributes(file: _MapFile, node: YamlNode, name: str) -> dict[str, Any]:
    return {
        attribute: _value(file, one, attribute)
        for attribute, one in file.members(node, f"the field {mention(name)}").items()
    }


def _value(file: _MapFile, node: YamlNode, what: str) -> Any:
    if isinstance(node.value, list):
        return file.texts(node, what)
    return node.value if isinstance(node.value, bool | int | float) else file.text(node, what)


def _entity(file: _MapFile, name: str, node: YamlNode, table: str = "") -> StoredEntity:
    known = {"name", "table", "tableId", "rowId", "matchField", "matchValue", "_lastSeen"}
    values = {"name": name, "table": table, **file.read_texts(node, f"the entity {mention(name)}", known)}
    if "last_seen" in values:
        values["last_seen"] = (
            file.day(file.members(node, name)["_lastSeen"], f"_lastSeen of the entity {mention(name)}") or None
        )
    return file.model(StoredEntity, node, f"the entity {mention(name)}", values)


def _workflows(file: _MapFile, node: YamlNode | None, table: str = "") -> list[LearntWorkflow]:
    known = {"name", "trigger", "steps", "field", "table"}
    found = []
    for name, one in file.members(node, "workflows").items():
        members = file.members(one, f"the workflow {mention(name)}", known)
        values: dict[str, Any] = {
            member: file.texts(value, member)
            if member == "steps" and isinstance(value.value, list)
            else file.text(value, member)
            for member, value in members.items()
        }
        found.append(
            file.model(LearntWorkflow, one, f"the workflow {mention(name)}", {"name": name, "table": table, **values})
        )
    return found


def _table_file(
    file: _MapFile, listed: Sequence[_ListedTable], notes: list[str]
) -> tuple[LearntTable, list[StoredEntity], list[LearntWorkflow]]:
    """Read the file of one table: `table`, `schema`, `entities`, `workflows`."""
    top = file.members(file.top, "the file", {"table", "schema", "entities", "workflows"})
    node, stem = top.get("table"), _stem(file.path.rpartition("/")[2])
    table_texts = _table_texts(file, node)
    primary, name = table_texts.pop("primaryDisplay", ""), table_texts.get("name", "")
    meant = next((one for one in listed if one.path == file.path or one.is_meant_by(name, stem)), None)
    values: dict[str, Any] = {
        "name": stem,
        **({"name": meant.name, "table_id": meant.table_id} if meant else {}),
        **table_texts,
    }
    fields = _fields(file, _fields_in(top.get("schema")), values["name"])
    others = [one for one, known in fields.items() if known.get("primary") and one != primary]
    if primary and others:
        notes.append(
            f"{file.path}: primaryDisplay is {mention(primary)}, so the rows are called by that, "
            f"and not {mention(others[0])}."
        )
    values["fields"] = _mark_primary(fields, primary)
    table = file.model(LearntTable, node or file.top, "table", values)
    rows = [_entity(file, key, node, table.name) for key, node in file.members(top.get("entities"), "entities").items()]
    return table, rows, _workflows(file, top.get("workflows"), table.name)


def _table_texts(file: _MapFile, node: YamlNode | None) -> dict[str, str]:
    if node is None or not isinstance(node.value, dict):
        return {"name": file.text(node, "table")} if node and node.value is not None else {}
    texts = file.read_texts(node, "table", {"name", "tableId", "primaryDisplay"})
    return {name: text for name, text in texts.items() if text}


def _fields_in(schema: YamlNode | None) -> YamlNode | None:
    """The fields of a schema: those under `fields`; its own members where BigMind wrote them so, as it once did."""
    inner = schema.members.get("fields") if schema else None
    if schema is None or inner is None or len(schema.members) != 1:
        return schema
    is_a_field = "type" in inner.members and not isinstance(inner.members["type"].value, dict)
    return schema if is_a_field else inner


def _mark_primary(fields: dict[str, Any], primary: str) -> dict[str, Any]:
    """Return the fields, of which the one that rows are called by is marked, whether anything else is known or not."""
    if not primary:
        return fields
    bare = {name: {key: one for key, one in known.items() if key != "primary"} for name, known in fields.items()}
    marked = {**bare.get(primary, {}), "primary": True}
    return {**bare, primary: marked} if primary in bare else {primary: marked, **bare}


def _choice(index: _MapFile, name: str, node: YamlNode) -> AmbiguousChoice:
    members = index.members(node, f"the name {mention(name)}", {"found_in", "default"})
    values = {
        "name": name,
        "found_in": index.texts(members.get("found_in"), "found_in"),
        "default": index.text_in(members, "default"),
    }
    return index.model(AmbiguousChoice, node, f"the name {mention(name)}", values)
