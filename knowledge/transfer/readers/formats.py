"""Formats of other programs, one small file each: all read the same drafts, and some write the same items.

Another format is another file with `looks_like`, `rows` and perhaps `files`, and one row below.
"""

from collections.abc import Callable, Iterable, Iterator, Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from bigmind.core.errors import Invalid
from knowledge.parsers.archives import Bundle

from . import (
    basic_memory,
    chatgpt,
    claude,
    claude_code,
    claude_memory,
    codex,
    codex_memory,
    gemini_cli,
    markdown_folders,
    mcp_memory_service,
    mem0,
    memory_server,
    obsidian,
    okf,
    older_bigmind,
    saved_memories,
)
from .items import Item
from .memory_drafts import DRAFTS, Reading, Row, read_rows
from .provenance import read_provenance


@dataclass(frozen=True)
class ImportFormat:
    """One format: its name on the command line, what people call it, how it is known, and who reads it.

    `usual_folder` returns where its program keeps its records, for a home folder and the variables of the environment.
    `files` writes items as files of the format: path, text, and the item that the file is, if it is one. `keeps_own`
    says what of the program's own comes back when it is taken out again.
    """

    name: str
    title: str
    looks_like: Callable[[Bundle], bool]
    rows: Callable[..., Iterator[Row]]
    usual_folder: Callable[[Path, Mapping[str, str]], Path] | None = None
    files: Callable[[Iterable[Item]], Iterator[tuple[str, str, Item | None]]] | None = None
    keeps_own: str = ""


WHOLE = "each file, byte for byte"
FORMATS: tuple[ImportFormat, ...] = (
    ImportFormat("older-bigmind", "an older BigMind", older_bigmind.looks_like, older_bigmind.rows),
    ImportFormat(
        "claude-code", "Claude Code", claude_code.looks_like, claude_code.rows, usual_folder=claude_code.usual_folder
    ),
    ImportFormat("codex", "Codex", codex.looks_like, codex.rows, usual_folder=codex.usual_folder),
    ImportFormat(
        "gemini-cli", "Gemini CLI", gemini_cli.looks_like, gemini_cli.rows, usual_folder=gemini_cli.usual_folder
    ),
    ImportFormat(
        "mcp-memory-service",
        "mcp-memory-service",
        mcp_memory_service.looks_like,
        mcp_memory_service.rows,
        files=mcp_memory_service.files,
        keeps_own="hashes, tags, kinds, dates, metadata, stores",
    ),
    ImportFormat("claude", "Claude", claude.looks_like, claude.rows),
    ImportFormat("chatgpt", "ChatGPT", chatgpt.looks_like, chatgpt.rows),
    ImportFormat(
        "memory-server",
        "the MCP memory server",
        memory_server.looks_like,
        memory_server.rows,
        files=memory_server.files,
        keeps_own="entities with their kinds and observations, relations",
    ),
    ImportFormat(
        "mem0",
        "mem0",
        mem0.looks_like,
        mem0.rows,
        files=mem0.files,
        keeps_own="ids, hashes, owners, categories, dates, metadata, relations",
    ),
    ImportFormat(
        "basic-memory",
        "basic-memory",
        basic_memory.looks_like,
        basic_memory.rows,
        files=basic_memory.files,
        keeps_own=WHOLE,
    ),
    ImportFormat("obsidian", "Obsidian", obsidian.looks_like, obsidian.rows),
    ImportFormat("okf", "OKF", okf.looks_like, okf.rows, files=okf.files, keeps_own=WHOLE),
    ImportFormat(
        "codex-memory",
        "Codex’ memories",
        codex_memory.looks_like,
        codex_memory.rows,
        usual_folder=codex_memory.usual_folder,
        files=codex_memory.files,
        keeps_own=WHOLE,
    ),
    ImportFormat(
        "claude-memory",
        "Claude’s memory folder",
        claude_memory.looks_like,
        claude_memory.rows,
        files=claude_memory.files,
        keeps_own=WHOLE,
    ),
    ImportFormat("markdown", "markdown memory", markdown_folders.looks_like, markdown_folders.rows),
    ImportFormat("text", "saved memories", saved_memories.looks_like, saved_memories.rows),
)
"""In the order in which they are tried: the ones with the plainest signs first."""

WRITTEN: dict[str, ImportFormat] = {one.name: one for one in FORMATS if one.files}
"""The formats that a memory can be written in."""

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
    """Read everything in a bundle, up to a number of items.

    Args:
        more: What the format alone takes.

    Raises:
        Invalid: it cannot be read at all, there is nothing in it, or too much.
    """
    reading = read_rows(format.rows(bundle, **more), most=most)
    read_provenance(bundle, reading)
    # What left all of its pages out says so.
    if not (reading.drafts or reading.refused or (reading.origin and (reading.notices or reading.signer))):
        raise Invalid(
            f"{bundle.name}: there is nothing of {format.title} in it.", hint="docs/moving-in.md says what is."
        )
    return reading
