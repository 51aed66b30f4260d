"""T16: hostile files are refused in 10 seconds and 256 MB, in words that name the place, and lead nowhere."""

import json
import subprocess
import sys
from contextlib import suppress
from itertools import islice
from pathlib import Path
from typing import Any

import pytest

from bigmind.core.errors import Invalid
from knowledge.parsers.archives import FilesInMemory
from knowledge.transfer.readers.formats import format_of, read
from tests.embedded.instance import ROOT, environment
from tests.wrong_types import spoilt

from . import hostile, sources, transcripts
from .reader import MEMORY

SECONDS = 10
REFUSED = {
    "ratio.zip": "over 200 times its size",
    "outside.zip": "leads out of the archive",
    "absolute.zip": "leads out of the archive",
    "drive.zip": "leads out of the archive",
    "link.zip": "is a link",
    "deep_list.json": "is nested too deep",
    "deep_object.json": "is nested",
    "one_word.json": "longer than 8,388,608 characters",
    "number.json": "element 1: is not valid JSON",
    "no_end.json": "more in it than 20,000 items",
    "many.json": "more in it than 20,000 items",
    "latin.json": "is not UTF-8",
    "not.db": "cannot be read as a database",
    "broken.db": "cannot be read as a database",
    "torn.zip": "nothing of ChatGPT in it",
    "total.zip": "nothing of ChatGPT in it",
    "slow.db": "more than 50,000 rows or 33,554,432 characters",
    "blob.db": "cannot be read as a database",
}


@pytest.fixture(scope="module")
def came(tmp_path_factory) -> dict[str, Any]:
    """Return what came of every case, read in a process that may have no more than 256 MB of memory."""
    folder = tmp_path_factory.mktemp("hostile")
    hostile.build(folder)
    reader = subprocess.run(
        [sys.executable, "-m", "tests.knowledge.importers.reader", str(folder)],
        cwd=ROOT,
        env=environment(tmp_path_factory.mktemp("home")),
        capture_output=True,
        text=True,
        timeout=300,
    )
    assert reader.returncode == 0, reader.stderr[-2_000:]
    return json.loads(reader.stdout)


@pytest.mark.parametrize("case", hostile.CASES)
def test_no_hostile_file_takes_longer_than_it_may(came, case):
    assert came["cases"][case]["seconds"] <= SECONDS


def test_all_of_them_together_stay_below_the_memory_they_may_have(came):
    assert came["peak"] <= MEMORY


@pytest.mark.parametrize(("case", "says"), REFUSED.items())
def test_it_is_refused_with_its_reason_and_its_place(came, case, says):
    told = came["cases"][case]

    assert says in told.get("invalid", str(told))
    assert "invalid" in told
    assert case in told["invalid"] or "There is more" in told["invalid"]


def test_a_row_that_is_hostile_is_refused_and_the_others_come_in(came):
    lines, aliases, tags = (came["cases"][case] for case in ("deep_lines.jsonl", "aliases", "tags"))

    assert lines["count"] == 1
    assert "line 2: is nested too deep" in lines["refused"][0]
    # Aliases and tags of YAML are texts like others, and expand to nothing.
    assert (aliases["count"], aliases["refused"]) == (2, [])
    assert (tags["count"], tags["refused"]) == (1, [])


def test_links_and_pipes_in_a_folder_are_passed_over(came):
    told = came["cases"]["links"]

    assert told["count"] == 2  # The note and its one observation.
    assert not any("launch code" in draft for draft in told["read"])


def test_a_conversation_that_goes_in_circles_ends(came):
    assert came["cases"]["cycle.json"]["count"] == 2


def test_views_of_a_database_are_not_run(came):
    told = came["cases"]["view.db"]

    assert "nothing of an older BigMind in it" in told["invalid"]


def test_every_case_is_judged():
    judged = {*REFUSED, "deep_lines.jsonl", "aliases", "tags", "links", "cycle.json", "view.db"}

    assert judged == {*hostile.CASES}


def test_the_folder_of_a_link_is_not_entered(tmp_path: Path):
    from bigmind.core.errors import Invalid
    from knowledge.parsers.archives import bundle_of

    (tmp_path / "real").mkdir()
    (tmp_path / "link").symlink_to(tmp_path / "real")

    with pytest.raises(Invalid, match="link is a link"):
        bundle_of(tmp_path / "link")


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
