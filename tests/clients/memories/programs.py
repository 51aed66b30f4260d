"""Runs one program of other people's that keeps memories, so that what it reads and writes is its own doing.

`python programs.py PROGRAM IN OUT`: it takes in the file or folder IN, and writes what it then has to the folder OUT.
`python programs.py PROGRAM - OUT`: it remembers things of its own instead. Needs the virtual environment beside it.
"""

import asyncio
import json
import os
import shutil
import subprocess
import sys
import tempfile
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

LINE = "\nPassing."
OWN = [
    ("Ada prefers window seats", {"category": "travel", "weight": 0.25, "seen": ["a", "b"]}),
    ("The depot decided to deploy on Fridays", {"project": "depot"}),
]


def mem0(given: Path | None, out: Path) -> None:
    """mem0 with a local store; its model is not asked (`infer=False`), and all texts get one vector."""
    os.environ |= {"MEM0_TELEMETRY": "False", "MEM0_DIR": tempfile.mkdtemp()}
    from mem0 import Memory

    key = {"api_key": "none"}
    memory = Memory.from_config(
        {
            "vector_store": {
                "provider": "qdrant",
                "config": {"path": tempfile.mkdtemp(), "embedding_model_dims": 8, "collection_name": "all"},
            },
            "embedder": {"provider": "openai", "config": {**key, "embedding_dims": 8}},
            "llm": {"provider": "openai", "config": key},
        }
    )
    memory.embedding_model.embed = lambda *texts, **more: [0.1] * 8
    if given:
        for told in json.loads((given / "mem0.json").read_text())["results"]:
            dates = {name: told[name] for name in ("created_at",) if told.get(name)}
            memory.add(told["memory"], user_id="ada", infer=False, metadata={**(told.get("metadata") or {}), **dates})
    else:
        for text, metadata in OWN:
            memory.add(text, user_id="ada", infer=False, metadata=metadata)
    (out / "mem0.json").write_text(json.dumps(memory.get_all(filters={"user_id": "ada"}, top_k=1_000)))


def mcp_memory_service(given: Path | None, out: Path) -> None:
    """mcp-memory-service with its own store, import and export; without a model its vectors are hashes."""
    from mcp_memory_service.models.memory import Memory
    from mcp_memory_service.storage.sqlite_vec import SqliteVecMemoryStorage
    from mcp_memory_service.sync.exporter import MemoryExporter
    from mcp_memory_service.sync.importer import MemoryImporter
    from mcp_memory_service.utils.hashing import generate_content_hash

    async def run() -> None:
        storage = SqliteVecMemoryStorage(str(Path(tempfile.mkdtemp()) / "memories.db"))
        await storage.initialize()
        if given:
            done = await MemoryImporter(storage).import_from_json([given / "memories.json"], add_source_tags=False)
            assert done["rejected"] == done["errors"] == 0, done
        else:
            for text, metadata in OWN:
                hash = generate_content_hash(text)
                memory = Memory(text, hash, tags=["mine", "depot"], memory_type="decision", metadata=metadata)
                await storage.store(memory)
        await MemoryExporter(storage).export_to_json(out / "memories.json")

    asyncio.run(run())


def hermes_okf(given: Path | None, out: Path) -> None:
    """hermes-okf: reads each concept of a bundle, and writes it into another."""
    from hermes_okf import OKFBundle

    bundle = OKFBundle(out)
    if given is None:
        for number, (text, metadata) in enumerate(OWN):
            told = {"type": "Note", "title": text, "tags": ["mine"], "generated": {"by": "human:ada"}, **metadata}
            bundle.write_concept(f"notes/{number}", f"# {text}\n\nMore of it.", **told)
        return
    known = {path.relative_to(given).with_suffix("").as_posix() for path in given.rglob("*.md")}
    theirs = OKFBundle(given)
    for name in theirs.list_concepts():
        concept = theirs.read_concept(name)
        assert concept is not None, name
        assert concept.type != "Unknown", name
        bundle.write_concept(name, concept.body, **concept.metadata)
    for path in out.rglob("*.md"):
        if path.relative_to(out).with_suffix("").as_posix() not in known:
            path.unlink()  # Its own first files.


def basic_memory(given: Path | None, out: Path) -> None:
    """basic-memory over MCP: it adds a line to each note and takes it away again, so that it wrote every file."""
    if given:
        shutil.copytree(given, out, dirs_exist_ok=True)
    home = tempfile.mkdtemp()
    chosen = {"HOME": home, "BASIC_MEMORY_HOME": str(out), "BASIC_MEMORY_SEMANTIC_SEARCH_ENABLED": "false"}
    program = Path(sys.executable).parent / "basic-memory"
    with _speak_mcp([str(program), "mcp"], {**os.environ, **chosen}) as process:
        if not given:
            text = "\n".join(f"- [decision] {text} #mine (since May)" for text, _ in OWN)
            note = {"title": "The depot", "directory": "places", "tags": ["mine"]}
            _call(process, 2, "write_note", {**note, "content": f"# The depot\n\n{text}\n- works_with [[Ada]]\n"})
            _wait_until(lambda: any(out.rglob("*.md")))
        notes = sorted(out.rglob("*.md"))
        added, taken = {"operation": "append"}, {"operation": "find_replace", "find_text": LINE}
        steps = ({**added, "content": LINE}, {**taken, "content": ""})
        for step in steps:
            for number, note in enumerate(notes):
                name = note.relative_to(out).with_suffix("").as_posix()
                _call(process, 10 + number, "edit_note", {"identifier": name, **step})
            _wait_until(lambda step=step: all((LINE in note.read_text()) == bool(step["content"]) for note in notes))


def _wait_until(is_so: Callable[[], bool]) -> None:
    """Wait for what the program writes after it has answered."""
    ends = time.monotonic() + 60
    while not is_so():
        assert time.monotonic() < ends
        time.sleep(0.05)


def memory_server(given: Path | None, out: Path) -> None:
    """MCP's memory server, asked over its own protocol; each change makes it write all of its graph."""
    file = out / "memory.jsonl"
    if given:
        file.write_bytes((given / "memory.jsonl").read_bytes())
    server = Path(os.environ["SERVER"]) / "node_modules/@modelcontextprotocol/server-memory/dist/index.js"
    with _speak_mcp(["node", str(server)], {**os.environ, "MEMORY_FILE_PATH": str(file)}) as process:
        entity = {"name": "Passing", "entityType": "test", "observations": ["It passes."]}
        _call(process, 2, "create_entities", {"entities": [entity]})
        _call(process, 3, "delete_entities", {"entityNames": ["Passing"]})
        if not given:
            depot = {"name": "Depot", "entityType": "service", "observations": [text for text, _ in OWN]}
            ada = {"name": "Ada", "entityType": "person", "observations": []}
            _call(process, 4, "create_entities", {"entities": [depot, ada]})
            relation = {"from": "Ada", "to": "Depot", "relationType": "works_on"}
            _call(process, 5, "create_relations", {"relations": [relation]})


@contextmanager
def _speak_mcp(command: list[str], environment: dict[str, str]) -> "Iterator[subprocess.Popen[str]]":
    """Run a program that speaks MCP over its standard input and output."""
    pipe = subprocess.PIPE
    with subprocess.Popen(command, env=environment, stdin=pipe, stdout=pipe, text=True) as process:
        hello = {"protocolVersion": "2025-06-18", "capabilities": {}, "clientInfo": {"name": "test", "version": "1"}}
        _ask(process, 1, "initialize", hello)
        _tell(process, {"method": "notifications/initialized"})
        yield process
        process.terminate()


def _call(process: "subprocess.Popen[str]", number: int, tool: str, arguments: dict[str, Any]) -> None:
    answer = _ask(process, number, "tools/call", {"name": tool, "arguments": arguments})
    assert not answer["result"].get("isError"), answer


def _ask(process: "subprocess.Popen[str]", number: int, method: str, parameters: dict[str, Any]) -> Any:
    _tell(process, {"id": number, "method": method, "params": parameters})
    assert process.stdout
    for line in process.stdout:
        answer = json.loads(line)
        if answer.get("id") == number:
            return answer
    raise EOFError(method)


def _tell(process: "subprocess.Popen[str]", message: dict[str, Any]) -> None:
    assert process.stdin
    process.stdin.write(json.dumps({"jsonrpc": "2.0", **message}) + "\n")
    process.stdin.flush()


PROGRAMS = {
    "mem0": mem0,
    "mcp-memory-service": mcp_memory_service,
    "hermes-okf": hermes_okf,
    "memory-server": memory_server,
    "basic-memory": basic_memory,
}

if __name__ == "__main__":
    name, given, out = sys.argv[1:]
    PROGRAMS[name](None if given == "-" else Path(given), Path(out))
