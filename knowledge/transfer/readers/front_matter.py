"""Front matter: the YAML that stands above the text of a markdown file, read and written."""

import re
from collections.abc import Iterator, Mapping
from typing import Any

import yaml

from knowledge.parsers.yaml_nodes import WORDS, read_yaml

from .memory_drafts import DraftRow, NoteDraft, Row
from .words import parts_of

ENDINGS = (".md", ".markdown")
FENCE = "---"
PLAIN = re.compile(r"[A-Za-z](?:[A-Za-z0-9_ ./]|-(?!--)){0,100}(?<! )")
DASHES = re.compile("-(?=--)")
TAKEN_FOR_OTHERS = {*WORDS, "yes", "no", "on", "off", "y", "n"}
"""Words that YAML 1.1 or 1.2 does not read as text."""


def without_front_matter(text: str, name: str) -> tuple[dict[str, Any], str, int]:
    """Return a note's front matter, its text, and the line that the text begins on.

    Raises:
        Invalid: the front matter is no plain YAML.
    """
    lines = text.split("\n")
    if lines[0].strip() != FENCE:
        return {}, text, 1
    end = next((number for number, line in enumerate(lines[1:], start=1) if line.strip() == FENCE), None)
    if end is None:
        return {}, text, 1
    node = read_yaml("\n".join(lines[1:end]), name)
    front = node.plain() if node else {}
    return front if isinstance(front, dict) else {}, "\n".join(lines[end + 1 :]), end + 2


def with_front_matter(front: Mapping[str, Any], text: str) -> str:
    """Return a markdown file with front matter of plain values, which any reader of YAML takes as they are."""
    written = yaml.dump(
        front, Dumper=_Dumper, sort_keys=False, allow_unicode=True, default_flow_style=False, width=2**30
    )
    # Some programs take the first three dashes for the end, also within a text.
    plain = DASHES.sub(r"\\x2d", written)
    return f"{FENCE}\n{plain}{FENCE}\n\n{text}\n"


def notes_of(name: str, text: str, fields: dict[str, Any]) -> Iterator[Row]:
    """Yield the note that a text is, or several where it is longer than one may be."""
    for number, part in enumerate(parts_of(text), start=1):
        if part.strip():
            key = fields["key"] if number == 1 else f"{fields['key']} ({number})"
            yield DraftRow(name, NoteDraft, {**fields, "key": key, "content": part})


class _Dumper(yaml.SafeDumper):
    """Quotes each text that some reader of YAML could take for something else, and writes no aliases."""

    def ignore_aliases(self, data: Any) -> bool:
        return True


def _represent_text(dumper: yaml.SafeDumper, text: str) -> yaml.ScalarNode:
    is_plain = PLAIN.fullmatch(text) and text.lower() not in TAKEN_FOR_OTHERS
    return dumper.represent_scalar("tag:yaml.org,2002:str", text, style=None if is_plain else '"')


_Dumper.add_representer(str, _represent_text)
