"""Exports in which any one value is of another type than the program writes: what is wrong is left out or refused."""

import json
from contextlib import suppress
from itertools import islice
from pathlib import Path
from typing import Any

import pytest

from bigmind.core.errors import Invalid
from knowledge.parsers.archives import FilesInMemory
from knowledge.transfer.readers.formats import format_of, read
from tests.wrong_types import spoilt

from . import sources, transcripts


def _documents(folder: Path) -> dict[str, Any]:
    return {
        path.relative_to(folder).as_posix(): [json.loads(line) for line in path.read_text().splitlines()]
        for path in folder.rglob("*.jsonl")
    }


def _samples(folder: Path) -> dict[str, dict[str, Any]]:
    return {
        "mem0": {"mem0.json": sources.MEM0},
        "memory-server": {"memory.jsonl": [json.loads(line) for line in sources.MEMORY_SERVER.splitlines()]},
        "chatgpt": {"conversations.json": sources.chatgpt()},
        "claude": sources.CLAUDE,
        "older-bigmind": {"older.json": sources.older_export()},
        "mcp-memory-service": {"memories.json": sources.MCP_MEMORY_SERVICE},
        "claude-code": _documents(transcripts.claude_code(folder / "claude_code")),
        "codex": _documents(transcripts.codex(folder / "codex")),
        "gemini-cli": _documents(transcripts.gemini_cli(folder / "gemini_cli")),
    }


def _write(name: str, document: Any) -> bytes:
    if name.endswith(".jsonl") and isinstance(document, list):
        return "\n".join(json.dumps(line) for line in document).encode()
    return json.dumps(document).encode()


@pytest.mark.parametrize(
    "sample",
    [
        *("mem0", "memory-server", "chatgpt", "claude", "older-bigmind", "mcp-memory-service"),
        *("claude-code", "codex", "gemini-cli"),
    ],
)
@pytest.mark.parametrize("each", [5, pytest.param(1, marks=pytest.mark.torture)])
def test_a_value_of_another_type_stops_nothing_but_what_it_is_in(tmp_path, sample, each):
    documents = _samples(tmp_path)[sample]
    format = format_of(FilesInMemory("sample", {name: _write(name, one) for name, one in documents.items()}))

    for name, document in documents.items():
        for changed in islice(spoilt(document), None, None, each):
            told = {**documents, name: changed}
            files = FilesInMemory("sample", {each: _write(each, one) for each, one in told.items()})
            with suppress(Invalid):
                read(files, format)
