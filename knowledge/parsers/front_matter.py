"""Front matter: the YAML that stands above the text of a markdown file, as people and editors write it."""

import re
from itertools import pairwise
from typing import Any

from bigmind.core.errors import Invalid
from bigmind.privacy.screening.policy import add_notice
from knowledge.parsers.yaml_nodes import read_yaml

FENCE = "---"
LINES = 200
"""Front matter is shorter: what has its second fence further below begins with a line across the page."""
_FIELD = re.compile(r"[\"']?(?P<name>[A-Za-z_][\w .-]{0,60})[\"']?:(?=\s|$)")


def without_front_matter(text: str, name: str) -> tuple[dict[str, Any], str, int]:
    """Return the front matter of a file, the text below it, and the line that this text begins on.

    A field that is no YAML (`globs: **/*`, `title: Core: split`) is kept as the text that it is, spoils no other, and
    is named with its line in a notice.
    """
    lines = text.split("\n")
    ends = (number for number, line in enumerate(lines[1:LINES], start=1) if line.strip() in (FENCE, "..."))
    end = next(ends, None) if lines[0].strip() == FENCE else None
    if end is None:
        return {}, text, 1
    front = _read(lines[1:end], name)
    return (front, "\n".join(lines[end + 1 :]), end + 2) if isinstance(front, dict) else ({}, text, 1)


def _read(lines: list[str], name: str) -> Any:
    try:
        node = read_yaml("\n".join(lines), name)
    except Invalid:
        return _read_fields(lines, name)
    return node.plain() if node else {}


def _read_fields(lines: list[str], name: str) -> dict[str, Any]:
    """Read each field alone; of two with one name the last counts, as in most readers of YAML."""
    plain = [line.expandtabs(2) for line in lines]
    begins = [number for number, line in enumerate(plain) if _FIELD.match(line)]
    fields: dict[str, Any] = {}
    for begin, end in pairwise([*begins, len(plain)]):
        found = _FIELD.match(plain[begin])
        assert found is not None
        try:
            node = read_yaml("\n".join(plain[begin:end]), name)
            value = node.plain() if node else {}
            fields |= value if isinstance(value, dict) else {}
        except Invalid:
            rest = [plain[begin][found.end() :], *plain[begin + 1 : end]]
            fields[found["name"]] = "\n".join(part.strip() for part in rest).strip().strip("\"'")
            # The first line of the file is the fence.
            add_notice(f"{name}, line {begin + 2}: `{found['name']}` is no YAML and is kept as text.")
    return fields
