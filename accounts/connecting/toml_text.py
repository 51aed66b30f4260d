"""Changes one table in the text of a TOML file, and leaves every other character alone.

A library that writes TOML moves empty lines and stumbles over tables that are spread through a file. Here a table is
appended, or its lines are replaced or cut, and the result is read again: what else the file says must be the same.
"""

import json
import re
import tomllib
from collections.abc import Iterator
from dataclasses import dataclass
from itertools import takewhile
from typing import Any

from .malformed import MalformedFile, line_of
from .server_entries import TRANSPORT, Setting

PLACE = re.compile(r" ?\(?at (?:line (\d+), column \d+|end of document)\)?$")
HEADER = re.compile(r"^[ \t]*\[[^\n]*$", re.MULTILINE)
SAID = re.compile(r"^[ \t]*([A-Za-z0-9_-]+)[ \t]*=[^\n]*\n?", re.MULTILINE)
TOLD = re.compile(r"[ \t]*(?:#.*)?\r?\n?")


@dataclass(frozen=True)
class TomlTable:
    """A table of the file: its name, from its header up to what is said about the next one."""

    name: tuple[str, ...]
    start: int
    body: int
    end: int


def read_setting(text: str, setting: Setting) -> Any:
    """Return what the file says at the place of a setting, or None.

    Raises:
        Malformed: the file is not TOML.
    """
    container = _read(text).get(setting.within, {})
    return container.get(setting.name) if isinstance(container, dict) else None


def with_setting(text: str, setting: Setting) -> str:
    """Return the text with a setting in it. What says so already is returned as it is.

    Raises:
        Malformed: the file is not TOML, or the setting stands there in a form that cannot be changed safely.
    """
    found = read_setting(text, setting)
    value = setting.over(found)
    if found == value:
        return text
    newline = "\r\n" if "\r\n" in text else "\n"
    lines = newline.join([f"{name} = {_render(one)}" for name, one in setting.value.items()]) + newline
    if found is None:
        gap = "" if not text.strip() else newline if text.endswith("\n") else 2 * newline
        changed = f"{text}{gap}[{setting.within}.{setting.name}]{newline}{lines}"
    else:
        changed = _replace_lines(text, setting, lines)
    return _require_unchanged_rest(text, changed, setting, value)


def without_setting(text: str, setting: Setting, *, before: str = "") -> str:
    """Return the text without a setting. `before` is for formats whose containers are written out.

    Raises:
        Malformed: the file is not TOML, or the setting stands there in a form that cannot be cut out safely.
    """
    if read_setting(text, setting) is None:
        return text
    changed = text
    for section in reversed(list(_sections_of(text, setting))):
        above = changed[: section.start]
        # The empty line above the table goes with it.
        above = re.sub(r"(\r?\n)\r?\n\Z", r"\1", above)
        changed = above + changed[section.end :]
    return _require_unchanged_rest(text, changed, setting, None)


def _replace_lines(text: str, setting: Setting, lines: str) -> str:
    """Replace the lines that say how to reach the server; lines that people added stay."""
    for section in reversed(list(_sections_of(text, setting))):
        body = text[section.body : section.end]
        if section.name == (setting.within, setting.name):
            kept = SAID.sub(lambda said: "" if said[1] in TRANSPORT else said[0], body)
            text = text[: section.body] + lines + kept + text[section.end :]
        elif section.name[2] in TRANSPORT:
            text = text[: section.start] + text[section.end :]
    return text


def _sections_of(text: str, setting: Setting) -> Iterator[TomlTable]:
    headers = [(found, _name_of(found[0])) for found in HEADER.finditer(text)]
    headers = [(found, name) for found, name in headers if name]
    for place, (found, name) in enumerate(headers):
        if name[:2] != (setting.within, setting.name):
            continue
        body = min(found.end() + 1, len(text))
        end = headers[place + 1][0].start() if place + 1 < len(headers) else len(text)
        yield TomlTable(name, found.start(), body, end - _chars_about_next(text[body:end]))


def _chars_about_next(text: str) -> int:
    """Return how many characters at the end are empty lines and comments: they are about the table that follows."""
    lines = text.splitlines(keepends=True) if text.endswith("\n") else []
    return sum(map(len, takewhile(TOLD.fullmatch, reversed(lines))))


def _name_of(header: str) -> tuple[str, ...]:
    """Return the name of a table from the line that opens it, or nothing for a line that only looks like one."""
    try:
        inside: Any = tomllib.loads(header.rstrip("\r"))
    except tomllib.TOMLDecodeError:
        return ()
    names: list[str] = []
    while isinstance(inside, dict) and len(inside) == 1:
        ((name, inside),) = inside.items()
        names.append(name)
    return tuple(names)


def _read(text: str) -> dict[str, Any]:
    try:
        return tomllib.loads(text)
    except tomllib.TOMLDecodeError as error:
        place = PLACE.search(str(error))
        line = int(place[1]) if place and place[1] else line_of(text, len(text.rstrip()))
        reason = PLACE.sub("", str(error))
        raise MalformedFile(line, reason[:1].lower() + reason[1:]) from error


def _render(value: object) -> str:
    if isinstance(value, dict):
        return "{ " + ", ".join(f"{json.dumps(name)} = {_render(one)}" for name, one in value.items()) + " }"
    return json.dumps(value, ensure_ascii=False)


def _require_unchanged_rest(text: str, changed: str, setting: Setting, value: dict[str, Any] | None) -> str:
    """Return the changed text if it says what the old one said, but for our entry: then nothing else was touched."""
    wrong = f"[{setting.within}.{setting.name}] cannot be changed safely in this form: write it as a table"
    old = _read(text)
    try:
        new = tomllib.loads(changed)
    except tomllib.TOMLDecodeError as error:
        raise MalformedFile(_line_about(text, setting), wrong) from error
    ours = new.get(setting.within, {}).pop(setting.name, None)
    old.get(setting.within, {}).pop(setting.name, None)
    if ours != value or _without_empty(old, setting.within) != _without_empty(new, setting.within):
        raise MalformedFile(_line_about(text, setting), wrong)
    return changed


def _line_about(text: str, setting: Setting) -> int:
    return line_of(text, max(text.find(setting.within), 0))


def _without_empty(document: dict[str, Any], name: str) -> dict[str, Any]:
    return {key: value for key, value in document.items() if key != name or value}
