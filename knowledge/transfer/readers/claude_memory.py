"""Claude's memory: the folder that Claude Code keeps for itself, that of the memory tool, and CLAUDE.md.

Claude Code keeps a file for each thing it learned in `~/.claude/projects/<folder>/memory`, with a name, a description
and a kind above the text, and `MEMORY.md`, which lists them and is read when a session starts. The memory tool keeps
files of its own choosing in `/memories`.
"""

from collections.abc import Iterable, Iterator, Mapping
from pathlib import PurePosixPath
from typing import Any

from bigmind.text.hygiene import cut
from knowledge.parsers.archives import Bundle

from .concepts import WRITTEN, any_concept, concept, concept_rows
from .items import Item
from .markdown_folders import facts_of_rules, holds_rules
from .memory_drafts import DraftRow, FactDraft, Row
from .words import category_of

INDEX = "MEMORY.md"
KINDS = {"user": "identity", "feedback": "preference", "project": "decision", "reference": "codebase"}
"""What Claude Code calls what it learned, and which of our categories that is."""
TYPES = {"identity": "user", "preference": "feedback", "constraint": "feedback", "codebase": "reference"}
HOOK_CHARS = 150


def looks_like(bundle: Bundle) -> bool:
    """Whether it is such a folder: files with a name, a description and a kind, or one that is called memories."""
    folders = {part for name in bundle.names() for part in PurePosixPath(name).parts[:-1]} | {bundle.name}
    return "memories" in folders or any_concept(bundle, _is_memory)


def rows(bundle: Bundle) -> Iterator[Row]:
    """Yield a note for each file, to the byte, a fact for each description, and one for each rule of CLAUDE.md."""
    return concept_rows(bundle, _facts)


def files(items: Iterable[Item]) -> Iterator[tuple[str, str, Item | None]]:
    """Yield a file for each item, and the list of them that Claude Code reads first."""
    listed = ["# Memory", ""]
    for item in items:
        path = f"{item.kind}_{item.file_name}.md"
        hook = cut(" ".join(item.text.split()), HOOK_CHARS)
        front = {
            "name": item.file_name,
            "description": hook,
            "metadata": {"type": TYPES.get(str(item.fields.get("category")), "project")},
        }
        yield path, concept(item, front), item
        listed.append(f"- [{item.file_name}]({path}): {hook}")
    yield INDEX, "\n".join([*listed, "", WRITTEN, ""]), None


def _facts(name: str, front: Mapping[str, Any], body: str, first_line: int) -> Iterator[Row]:
    if holds_rules(name):
        rules = (row for row in facts_of_rules(name, body) if isinstance(row, DraftRow))
        # What the index says of another file, that file says itself.
        yield from (_in_file(row, name) for row in rules if "](" not in row.fields["fact"])
        return
    description, metadata = front.get("description"), front.get("metadata")
    if isinstance(description, str) and description.strip():
        kind = str((metadata if isinstance(metadata, Mapping) else front).get("type"))
        category = KINDS.get(kind) or category_of(description, otherwise="codebase")
        yield DraftRow(name, FactDraft, {"fact": description, "category": category, "file": name})


def _in_file(row: DraftRow, name: str) -> DraftRow:
    return row._replace(fields={**row.fields, "file": name})


def _is_memory(front: str) -> bool:
    return "\nname:" in front and "\ndescription:" in front and ("\nmetadata:" in front or "\ntype:" in front)
