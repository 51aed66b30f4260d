"""Changes one entry in the text of a JSON file, and leaves every other character alone."""

import json
import re
from collections.abc import Callable, Sequence
from typing import Any

from .json_tree import BETWEEN, JsonMember, JsonNode, read_tree
from .malformed import MalformedFile, line_of
from .server_entries import Setting

INDENTATION = re.compile(r"^([ \t]+)\S", re.MULTILINE)
STEP = "  "

IsOurs = Callable[[object], bool]
"""Tells whether an item of a list is BigMind's."""


def read_setting(text: str, setting: Setting) -> Any:
    """Return what the file says at the place of a setting, or None.

    Raises:
        Malformed: the file is not JSON.
    """
    if not text.strip("\ufeff \t\r\n"):
        return None
    container = _container(text, read_tree(text), setting)
    entry = _entry_of(container, setting) if container else None
    return entry.node.value if entry else None


def with_setting(text: str, setting: Setting) -> str:
    """Return the text with a setting in it. A text that already has it is returned unchanged.

    Raises:
        Malformed: the file is not JSON, or something else stands where the setting belongs.
    """
    if not text.strip("\ufeff \t\r\n"):
        return _render(_wrap(setting), "", STEP, "\n") + "\n"
    root = read_tree(text)
    if not isinstance(root.value, dict):
        raise MalformedFile(line_of(text, root.start), "an object in braces is expected")
    container = _container(text, root, setting)
    if container is None:
        wrapped = _wrap(setting)[setting.within]
        return _insert_entry(text, root, setting.within, wrapped)
    entry = _entry_of(container, setting)
    if entry is None:
        return _insert_entry(text, container, "" if setting.is_listed else setting.name, setting.value)
    value = setting.over(entry.node.value)
    if entry.node.value == value:
        return text
    rendered = _render(value, _indentation_at(text, entry.start), _step(text), _newline(text))
    return text[: entry.node.start] + rendered + text[entry.node.end :]


def without_setting(text: str, setting: Setting, *, before: str = "") -> str:
    """Return the text without a setting, and without its container if that is empty now and was not there `before`.

    Raises:
        Malformed: the file is not JSON.
    """
    if read_setting(text, setting) is None:
        return text
    container = _container(text, read_tree(text), setting)
    entry = _entry_of(container, setting) if container else None
    assert container is not None
    assert entry is not None
    text = _cut(text, container, entry)
    root = read_tree(text)
    left = _entry_called(root, setting.within)
    if left and not left.node.entries and setting.within not in _names_in(before):
        text = _cut(text, root, left)
    return text


def read_items(text: str, path: Sequence[str], is_ours: IsOurs) -> list[Any]:
    """Return what is ours of the list at a path, in order.

    Raises:
        Malformed: the file is not JSON, or something else stands on the path.
    """
    if not text.strip("\ufeff \t\r\n"):
        return []
    found = _list_at(text, read_tree(text), path)
    return [entry.node.value for entry in found.entries if is_ours(entry.node.value)] if found else []


def with_item(text: str, path: Sequence[str], value: object, is_ours: IsOurs) -> str:
    """Return the text with one item of ours in the list at a path: in the place of the one there is, else at its end.

    Items of others keep their positions, because some clients know what a person has trusted by its position.

    Raises:
        Malformed: the file is not JSON, or something else stands on the path.
    """
    if not text.strip("\ufeff \t\r\n"):
        return _render(_nest(path, [value]), "", STEP, "\n") + "\n"
    root = read_tree(text)
    items = _list_at(text, root, path)
    if items is None:
        container, depth = _deepest(text, root, path)
        return _insert_entry(text, container, path[depth], _nest(path[depth + 1 :], [value]))
    ours = [entry for entry in items.entries if is_ours(entry.node.value)]
    if not ours:
        return _insert_entry(text, items, "", value)
    if len(ours) > 1:
        return with_item(_cut(text, items, ours[-1]), path, value, is_ours)
    (entry,) = ours
    if entry.node.value == value:
        return text
    rendered = _render(value, _indentation_at(text, entry.start), _step(text), _newline(text))
    return text[: entry.start] + rendered + text[entry.end :]


def without_items(text: str, path: Sequence[str], is_ours: IsOurs, *, before: str = "") -> str:
    """Return the text without our items in the list at a path; what is then empty and was not there `before` goes too.

    Raises:
        Malformed: the file is not JSON, or something else stands on the path.
    """
    if not read_items(text, path, is_ours):
        return text
    items = _list_at(text, read_tree(text), path)
    assert items is not None
    for entry in reversed(items.entries):
        if is_ours(entry.node.value):
            text = _cut(text, items, entry)
            items = _list_at(text, read_tree(text), path)
            assert items is not None
    for depth in range(len(path), 0, -1):
        container, reached = _deepest(text, read_tree(text), path[: depth - 1])
        left = _entry_called(container, path[depth - 1])
        if reached == depth - 1 and left and not left.node.entries and not _has_path(before, path[:depth]):
            text = _cut(text, container, left)
    return text


def _list_at(text: str, root: JsonNode, path: Sequence[str]) -> JsonNode | None:
    container, depth = _deepest(text, root, path[:-1])
    entry = _entry_called(container, path[-1]) if depth == len(path) - 1 else None
    if entry and not isinstance(entry.node.value, list):
        raise MalformedFile(line_of(text, entry.start), f"“{path[-1]}” must be a list in brackets")
    return entry.node if entry else None


def _deepest(text: str, root: JsonNode, path: Sequence[str]) -> tuple[JsonNode, int]:
    """Return the innermost object on a path that is there, and how many names lead to it."""
    node = root
    for depth, name in enumerate(["", *path]):
        entry = _entry_called(node, name) if depth else None
        if depth and entry is None:
            return node, depth - 1
        node = entry.node if entry else node
        if not isinstance(node.value, dict):
            raise MalformedFile(line_of(text, node.start), f"{f'“{name}” must be ' if name else ''}an object in braces")
    return node, len(path)


def _nest(path: Sequence[str], value: object) -> Any:
    for name in reversed(path):
        value = {name: value}
    return value


def _has_path(before: str, path: Sequence[str]) -> bool:
    value: Any = _names_in(before)
    for name in path:
        if not isinstance(value, dict) or name not in value:
            return False
        value = value[name]
    return True


def _names_in(before: str) -> dict[str, Any]:
    try:
        value = read_tree(before).value
    except MalformedFile:
        return {}
    return value if isinstance(value, dict) else {}


def _container(text: str, root: JsonNode, setting: Setting) -> JsonNode | None:
    entry = _entry_called(root, setting.within)
    if entry is None:
        return None
    expected, words = (list, "a list in brackets") if setting.is_listed else (dict, "an object in braces")
    if not isinstance(entry.node.value, expected):
        raise MalformedFile(line_of(text, entry.start), f"“{setting.within}” must be {words}")
    return entry.node


def _entry_called(node: JsonNode, name: str) -> JsonMember | None:
    # Of two members with one name every reader takes the last.
    return next((entry for entry in reversed(node.entries) if entry.name == name), None)


def _entry_of(container: JsonNode, setting: Setting) -> JsonMember | None:
    if not setting.is_listed:
        return _entry_called(container, setting.name)
    ours = (e for e in container.entries if isinstance(e.node.value, dict) and e.node.value.get("id") == setting.name)
    return next(ours, None)


def _wrap(setting: Setting) -> dict[str, Any]:
    return {setting.within: [setting.value] if setting.is_listed else {setting.name: setting.value}}


def _insert_entry(text: str, container: JsonNode, name: str, value: object) -> str:
    """Return the text with one more entry at the end of an object or a list, spaced like its neighbours."""
    newline, step = _newline(text), _step(text)
    opened, closed = container.start + 1, container.end - 1
    outer = _indentation_at(text, container.start)
    inner = _indentation_at(text, container.entries[0].start) if container.entries else outer + step
    prefix = f"{json.dumps(name, ensure_ascii=False)}: " if name else ""
    if container.entries and "\n" not in text[opened:closed]:
        entry, last = f"{prefix}{json.dumps(value, ensure_ascii=False)}", container.entries[-1].end
        return f"{text[:last]}, {entry}{text[last:]}"
    last = container.entries[-1].end if container.entries else opened
    comma = "," if container.entries and not container.ends_with_comma else ""
    # Comments after the last entry are about that one, so ours stands below them.
    told = last + len(text[last:closed].rstrip())
    entry = f"{newline}{inner}{prefix}{_render(value, inner, step, newline)}"
    is_alone = "\n" in text[told:closed]
    tail = text[told:] if is_alone else f"{newline}{outer}{text[closed:]}"
    return f"{text[:last]}{comma}{text[last:told]}{entry}{tail}"


def _cut(text: str, container: JsonNode, entry: JsonMember) -> str:
    """Return the text without an entry, its comma and its line."""
    place, entries = container.entries.index(entry), container.entries
    start = len(text[: entry.start].rstrip(" \t"))
    if text[:start].endswith("\n"):
        start = len(text[:start].removesuffix("\n").removesuffix("\r"))
    has_comma = container.ends_with_comma or place + 1 < len(entries)
    end = _comma_after(text, entry.end) + 1 if has_comma else entry.end
    before, after = text[:start], text[end:]
    if place and not has_comma:
        comma = _comma_after(text, entries[place - 1].end)
        before = text[:comma] + text[comma + 1 : start]
    if not before[container.start + 1 :].strip() and not text[end : container.end - 1].strip():
        return before.rstrip() + after.lstrip()
    return before + after


def _comma_after(text: str, at: int) -> int:
    found = BETWEEN.match(text, at)
    return found.end() if found else at


def _render(value: object, indentation: str, step: str, newline: str) -> str:
    return json.dumps(value, indent=step, ensure_ascii=False).replace("\n", newline + indentation)


def _indentation_at(text: str, offset: int) -> str:
    line = text[text.rfind("\n", 0, offset) + 1 : offset]
    return line[: len(line) - len(line.lstrip(" \t"))]


def _step(text: str) -> str:
    found = INDENTATION.search(text)
    return found[1] if found else STEP


def _newline(text: str) -> str:
    return "\r\n" if "\r\n" in text else "\n"
