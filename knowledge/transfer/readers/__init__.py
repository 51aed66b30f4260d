"""Importers: what people used before BigMind, one small file per format, all telling the same drafts.

Another format is another file with `looks_like` and `rows`, and one row below.
"""

from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from bigmind.core.errors import Invalid

from . import (
    basic_memory,
    chatgpt,
    claude,
    claude_code,
    codex,
    gemini_cli,
    markdown_folders,
    mem0,
    memory_server,
    older_bigmind,
    saved_memories,
)
from .bundles import Bundle
from .drafts import DRAFTS, Reading, Row, read_rows


@dataclass(frozen=True)
class ImportFormat:
    """One format: its name on the command line, what people call it, how it is known, and who reads it.

    `usual_folder` returns where its program keeps its records, for a home folder and the variables of the environment.
    """

    name: str
    title: str
    looks_like: Callable[[Bundle], bool]
    rows: Callable[..., Iterator[Row]]
    usual_folder: Callable[[Path, Mapping[str, str]], Path] | None = None


FORMATS: tuple[ImportFormat, ...] = (
    ImportFormat("older-bigmind", "an older BigMind", older_bigmind.looks_like, older_bigmind.rows),
    ImportFormat(
        "claude-code", "Claude Code", claude_code.looks_like, claude_code.rows, usual_folder=claude_code.usual_folder
    ),
    ImportFormat("codex", "Codex", codex.looks_like, codex.rows, usual_folder=codex.usual_folder),
    ImportFormat(
        "gemini-cli", "Gemini CLI", gemini_cli.looks_like, gemini_cli.rows, usual_folder=gemini_cli.usual_folder
    ),
    ImportFormat("claude", "Claude", claude.looks_like, claude.rows),
    ImportFormat("chatgpt", "ChatGPT", chatgpt.looks_like, chatgpt.rows),
    ImportFormat("memory-server", "the MCP memory server", memory_server.looks_like, memory_server.rows),
    ImportFormat("mem0", "mem0", mem0.looks_like, mem0.rows),
    ImportFormat("basic-memory", "basic-memory", basic_memory.looks_like, basic_memory.rows),
    ImportFormat("markdown", "markdown memory", markdown_folders.looks_like, markdown_folders.rows),
    ImportFormat("text", "saved memories", saved_memories.looks_like, saved_memories.rows),
)
"""In the order in which they are tried: the ones with the plainest signs first."""

AUTO = "auto"
NAMES = (AUTO, *(one.name for one in FORMATS))


def format_of(bundle: Bundle, name: str = AUTO) -> ImportFormat:
    """Return the format that is named, or that the files look like.

    Raises:
        Invalid: there is no such format, or the files look like none.
    """
    if name != AUTO:
        found = next((one for one in FORMATS if one.name == name), None)
        if found is None:
            raise Invalid(f"{name} is no format.", hint=f"Known: {', '.join(NAMES)}.")
        return found
    for one in FORMATS:
        if one.looks_like(bundle):
            return one
    raise Invalid(
        f"{bundle.name} looks like nothing that can be imported.", hint=f"Name the format: {', '.join(NAMES)}."
    )


def read(bundle: Bundle, format: ImportFormat, *, most: int = DRAFTS, **more: Any) -> Reading:
    """Read everything in a bundle, up to a number of items; `more` is what the format alone takes.

    Raises:
        Invalid: it cannot be read at all, there is nothing in it, or too much.
    """
    reading = read_rows(format.rows(bundle, **more), most=most)
    if not (reading.drafts or reading.refused):
        raise Invalid(
            f"{bundle.name}: there is nothing of {format.title} in it.", hint="docs/moving-in.md says what is."
        )
    return reading
