"""A folder of app maps read: `_index.yaml` and a file for each app, or a folder for each app and a file for each table.

Whatever is refused is named with file and line. Nothing is read that is not in the folder itself.
"""

import re
from collections.abc import Iterator, Mapping
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any, TypeVar

from pydantic import BaseModel, ValidationError

from bigmind.core.errors import Invalid
from bigmind.core.operations import refusal
from knowledge.app_maps.files.text import INDEX
from knowledge.app_maps.vocabulary import (
    APPS,
    AmbiguousChoice,
    AppMap,
    LearntTable,
    LearntWorkflow,
    StoredEntity,
    map_told,
)
from knowledge.parsers.reading import decode_text, read_bytes
from knowledge.parsers.yaml_nodes import YamlNode, read_yaml

FILES = 1_000
FOLDER_BYTES = 32 * 1024 * 1024
_NAME = re.compile(r"[^\W_][\w .()+-]*|_index\.ya?ml")
_DAY = re.compile(r"\d{4}-\d\d-\d\d")
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
    """What a folder of app maps holds. `notes`: what is not wrong, but worth a look."""

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
    if len(parts) > 2 or not all(_NAME.fullmatch(part) and ".." not in part for part in parts):
        raise Invalid(
            f"{path[:100]!r} is not a path in a folder of app maps.",
            hint="Files are NAME.yaml or APP/TABLE.yaml.",
            problems=[
                {"field": "files", "message": f"has {path[:100]!r}, which is no path NAME.yaml or APP/TABLE.yaml"}
            ],
        )


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
        """The members of a mapping; none where there is nothing."""
        if node is None or node.value is None:
            return {}
        if not isinstance(node.value, dict):
            raise self.refusal(node, f"{what} must be a mapping")
        for name in node.value if known is not None else ():
            if name not in (known or ()):
                listed = ", ".join(sorted(known or ()))
                raise self.refusal(
                    node.value[name], f"{what} has “{name[:50]}”, which is not known here. Known: {listed}"
                )
        return node.value

    def text(self, node: YamlNode, what: str) -> str:
        """A scalar as it was written: `007` is an id, and no number."""
        if isinstance(node.value, list | dict):
            raise self.refusal(node, f"{what} must be a text")
        if isinstance(node.value, str):
            return node.value
        return "" if node.value is None else self.lines[node.start.line][node.start.column : node.end.column].strip()

    def texts(self, node: YamlNode | None, what: str) -> list[str]:
        if node is None or node.value is None:
            return []
        if not isinstance(node.value, list):
            raise self.refusal(node, f"{what} must be a list")
        return [self.text(one, what) for one in node.value]

    def model(self, kind: type[Model], node: YamlNode | None, what: str, values: dict[str, Any]) -> Model:
        """Check what is told by the rules of the operations."""
        try:
            return kind.model_validate(values)
        except ValidationError as error:
            problem = refusal(error, kind).problems[0]
            member = str(problem["field"]).split(".")[0]
            outside = next((name for name, inner in _MEMBERS.items() if inner == member), member)
            members = node.value if node and isinstance(node.value, dict) else {}
            place = members.get(outside, node)
            raise self.refusal(place, f"{outside} of {what} {problem['message']}") from error

    def read_texts(self, node: YamlNode, what: str, known: set[str]) -> dict[str, Any]:
        """The texts of a mapping, by the names that the operations have for them."""
        members = self.members(node, what, known)
        return {_MEMBERS.get(name, name): self.text(one, f"{name} of {what}") for name, one in members.items()}


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
        top = index.members(index.top, "the index", {"apps", "ambiguous"})
        maps = [self._read_listed(index, name, node) for name, node in index.members(top.get("apps"), "apps").items()]
        maps += [self._read_unlisted(path) for path in self.files if "/" not in path and path not in self.used]
        folders = dict.fromkeys(path.split("/")[0] for path in self.files if "/" in path and path not in self.used)
        maps += [self._folder(folder, {}) for folder in folders]
        if len(maps) > APPS:
            raise Invalid(f"The folder has {len(maps)} apps; the limit is {APPS}.")
        chosen = index.members(top.get("ambiguous"), "ambiguous")
        return MapFolder(maps, [*(_choice(index, *one) for one in chosen.items()), *self.choices], self.notes)

    def _index_of(self, folder: str) -> _MapFile:
        """The index of a folder; an empty one where there is none."""
        paths = [f"{folder}{name}" for name in (INDEX, "_index.yml")]
        self.used |= {path for path in paths if path in self.files}
        return next((self.files[path] for path in paths if path in self.files), _MapFile(paths[0], [], None))

    def _read_listed(self, index: _MapFile, name: str, node: YamlNode) -> AppMap:
        known = {"file", "folder", "appId", "aliases", "connector"}
        members = index.members(node, f"the app {name}", known)
        values = {
            "name": name,
            "app_id": index.text(members["appId"], "appId") if "appId" in members else "",
            "connector": index.text(members["connector"], "connector") if "connector" in members else "",
            "aliases": index.texts(members.get("aliases"), "aliases"),
        }
        if "folder" in members:
            folder = index.text(members["folder"], "folder")
            check_path(folder)
            return self._folder(folder, values)
        path = index.text(members["file"], "file") if "file" in members else ""
        if path and ("/" in path or not _NAME.fullmatch(path)):
            raise index.refusal(members["file"], f"file of the app {name} must be a file in the folder itself")
        headline = index.model(AppMap, node, f"the app {name}", {**values, "file": re.sub(r"\.ya?ml$", "", path)})
        if path not in self.files:
            self.notes.append(f"{path or name}: the index names it, and it is not there; the app alone is taken over.")
            return headline
        return self._file(path, headline)

    def _read_unlisted(self, path: str) -> AppMap:
        file = self.files[path]
        app = file.members(file.members(file.top, "the file").get("app"), "app")
        if "name" not in app:
            raise file.refusal(file.top, "app has no name, and no index names this file")
        values = {"name": file.text(app["name"], "name of app"), "file": re.sub(r"\.ya?ml$", "", path)}
        return self._file(path, file.model(AppMap, app["name"], "app", values))

    def _file(self, path: str, headline: AppMap) -> AppMap:
        """Read the file of one app: `app`, `entities`, `schemas`, `workflows`."""
        self.used.add(path)
        file = self.files[path]
        top = file.members(file.top, "the file", {"app", "entities", "schemas", "workflows"})
        tables = [_schema(file, name, node) for name, node in file.members(top.get("schemas"), "schemas").items()]
        entities = [_entity(file, name, node) for name, node in file.members(top.get("entities"), "entities").items()]
        values = {"tables": tables, "entities": entities, "workflows": _workflows(file, top.get("workflows"))}
        return _with_app(file, top.get("app"), headline).model_copy(update=values)

    def _folder(self, folder: str, values: dict[str, Any]) -> AppMap:
        """Read the folder of one app: `_index.yaml` with `tables` and `defaults`, and a file for each table."""
        index = self._index_of(f"{folder}/")
        top = index.members(index.top, "the index", {"app", "tables", "defaults", "workflows"})
        known = _with_app(index, top.get("app"), map_told(**{"name": folder, **values}, file=folder))
        listed = index.members(top.get("tables"), "tables")
        paths = {f"{folder}/{_file_of(index, name, node)}": (name, node) for name, node in listed.items()}
        inside = [path for path in self.files if path.startswith(f"{folder}/") and path not in self.used]
        self.used |= set(inside)
        lost = [path for path in paths if path not in self.files]
        self.notes += [f"{path} is not there; of its table the name alone is taken over." for path in lost]
        there = [path for path in dict.fromkeys([*paths, *inside]) if path in self.files]
        read = [_table_file(self.files[path], paths[path][0] if path in paths else "") for path in there]
        self._defaults(index, top.get("defaults"), folder)
        ways = [way for _, _, found in read for way in found]
        return known.model_copy(
            update={
                "tables": [
                    *(table for table, _, _ in read),
                    *(_read_listed_table(index, *paths[path]) for path in lost),
                ],
                "entities": [row for _, rows, _ in read for row in rows],
                "workflows": [*_workflows(index, top.get("workflows")), *ways],
            }
        )

    def _defaults(self, index: _MapFile, node: YamlNode | None, folder: str) -> None:
        values = {name: index.text(one, f"defaults of {name}") for name, one in index.members(node, "defaults").items()}
        for name, table in values.items():
            choice = {"name": name, "found_in": [folder], "default": f"{folder}/{table}"}
            self.choices.append(index.model(AmbiguousChoice, node, f"defaults of {name}", choice))


def _file_of(index: _MapFile, name: str, node: YamlNode) -> str:
    path = index.text(node, f"the table {name}") if isinstance(node.value, str) else ""
    if isinstance(node.value, dict):
        members = index.members(node, f"the table {name}", {"file", "tableId"})
        path = index.text(members["file"], "file") if "file" in members else ""
    if not path or "/" in path or not _NAME.fullmatch(path):
        raise index.refusal(node, f"file of the table {name} must be a file in the folder itself")
    return path


def _read_listed_table(index: _MapFile, name: str, node: YamlNode) -> LearntTable:
    members = index.members(node, f"the table {name}") if isinstance(node.value, dict) else {}
    table_id = index.text(members["tableId"], "tableId") if "tableId" in members else ""
    return index.model(LearntTable, node, f"the table {name}", {"name": name, "table_id": table_id})


def _with_app(file: _MapFile, node: YamlNode | None, headline: AppMap) -> AppMap:
    """What the file of an app says of it: it wins over what the index says."""
    if node is None:
        return headline
    own_values = {name: text for name, text in file.read_texts(node, "app", {"name", "appId"}).items() if text}
    given = {name: getattr(headline, name) for name in ("name", "app_id", "aliases", "connector", "file")}
    return file.model(AppMap, node, "app", {**given, **own_values})


def _schema(file: _MapFile, name: str, node: YamlNode) -> LearntTable:
    members = file.members(node, f"the schema of {name}", {"tableId", "fields"})
    table_id = file.text(members["tableId"], "tableId") if "tableId" in members else ""
    values = {"name": name, "table_id": table_id, "fields": _fields(file, members.get("fields"), name)}
    return file.model(LearntTable, node, f"the schema of {name}", values)


def _fields(file: _MapFile, node: YamlNode | None, table: str) -> dict[str, Any]:
    fields = {}
    for name, one in file.members(node, f"fields of {table}").items():
        # `Name: string` is as good as `Name: { type: string }`.
        known = {"type": file.text(one, name)} if isinstance(one.value, str) else _read_attributes(file, one, name)
        fields[name] = known
    return fields


def _read_attributes(file: _MapFile, node: YamlNode, name: str) -> dict[str, Any]:
    return {
        attribute: _value(file, one, attribute) for attribute, one in file.members(node, f"the field {name}").items()
    }


def _value(file: _MapFile, node: YamlNode, what: str) -> Any:
    if isinstance(node.value, list):
        return file.texts(node, what)
    return node.value if isinstance(node.value, bool | int | float) else file.text(node, what)


def _entity(file: _MapFile, name: str, node: YamlNode, table: str = "") -> StoredEntity:
    known = {"name", "table", "tableId", "rowId", "matchField", "matchValue", "_lastSeen"}
    values = {"name": name, "table": table, **file.read_texts(node, f"the entity {name}", known)}
    seen = values.get("last_seen")
    if seen is not None and not _DAY.fullmatch(seen):
        place = file.members(node, name)["_lastSeen"]
        raise file.refusal(place, f"_lastSeen of the entity {name} must be a day such as 2026-02-03")
    return file.model(StoredEntity, node, f"the entity {name}", values)


def _workflows(file: _MapFile, node: YamlNode | None, table: str = "") -> list[LearntWorkflow]:
    known = {"trigger", "steps", "field", "table"}
    found = []
    for name, one in file.members(node, "workflows").items():
        members = file.members(one, f"the workflow {name}", known)
        values: dict[str, Any] = {
            member: file.texts(value, member)
            if member == "steps" and isinstance(value.value, list)
            else file.text(value, member)
            for member, value in members.items()
        }
        found.append(file.model(LearntWorkflow, one, f"the workflow {name}", {"name": name, "table": table, **values}))
    return found


def _table_file(file: _MapFile, name: str) -> tuple[LearntTable, list[StoredEntity], list[LearntWorkflow]]:
    """Read the file of one table: `table`, `schema`, `entities`, `workflows`."""
    top = file.members(file.top, "the file", {"table", "schema", "entities", "workflows"})
    table_node = top.get("table")
    values: dict[str, Any] = {"name": name or re.sub(r"\.ya?ml$", "", file.path.rpartition("/")[2])}
    if table_node is not None:
        is_name = not isinstance(table_node.value, dict)
        values |= (
            {"name": file.text(table_node, "table")}
            if is_name
            else file.read_texts(table_node, "table", {"name", "tableId"})
        )
    values["fields"] = _fields(file, top.get("schema"), values["name"])
    table = file.model(LearntTable, table_node or file.top, "table", values)
    rows = [_entity(file, key, node, table.name) for key, node in file.members(top.get("entities"), "entities").items()]
    return table, rows, _workflows(file, top.get("workflows"), table.name)


def _choice(index: _MapFile, name: str, node: YamlNode) -> AmbiguousChoice:
    members = index.members(node, f"the name {name}", {"found_in", "default"})
    values = {
        "name": name,
        "found_in": index.texts(members.get("found_in"), "found_in"),
        "default": index.text(members["default"], "default") if "default" in members else "",
    }
    return index.model(AmbiguousChoice, node, f"the name {name}", values)
