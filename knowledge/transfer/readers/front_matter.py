"""Front matter, written; and the notes that a text of markdown becomes."""

import re
from collections.abc import Iterator, Mapping
from typing import Any

import yaml

from knowledge.parsers.front_matter import FENCE
from knowledge.parsers.yaml_nodes import WORDS

from .memory_drafts import DraftRow, NoteDraft, Row
from .words import parts_of

ENDINGS = (".md", ".markdown")
PLAIN = re.compile(r"[A-Za-z](?:[A-Za-z0-9_ ./]|-(?!--)){0,100}(?<! )")
DASHES = re.compile("-(?=--)")
TAKEN_FOR_OTHERS = {*WORDS, "yes", "no", "on", "off", "y", "n"}
"""Words that YAML 1.1 or 1.2 does not read as text."""


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
