"""A memory in the formats of other programs: exported for them, and imported again.

What came from a program goes back to it as it was: its files byte for byte, its rows with all they said. Everything
else is written as that program would have written it, with the rest of what is known of it where there is room. The
document of BigMind itself is `knowledge/transfer/exports.py:MemoryDocument`.
"""

import io
import zipfile
from collections.abc import Iterator, Mapping, Sequence
from typing import Annotated, Any, Literal

from django.utils import timezone
from pydantic import BaseModel, Field

from accounts.actor import Actor
from bigmind.core.errors import Invalid
from bigmind.text.days import iso_day

from .exports import ExportedFact, ExportedSession, MemoryDocument, whole_memory
from .readers.formats import WRITTEN, ImportFormat
from .readers.items import FIELDS, Item
from .readers.provenance import NAME, provenance_file
from .vaults import free_path, take_out_files

BIGMIND = "bigmind"
ProgramName = Literal[
    "bigmind", "basic-memory", "claude-memory", "codex-memory", "mcp-memory-service", "mem0", "memory-server", "okf"
]
Program = Annotated[ProgramName, Field(description="Who will read it; bigmind: everything, without loss.")]


def export_memory(actor: Actor, *, program: Program = "bigmind") -> MemoryDocument:
    """Export everything remembered about the user as one JSON document.

    Call this for a backup or to move to another BigMind: memory_import restores the memory without loss. Sharing
    choices and feedback are included, but not imported: they belong to this BigMind. For another program the document
    has the files that it reads, by path, without what was set aside.
    """
    if program == BIGMIND:
        return whole_memory(actor)
    files = {path: content.decode() for path, content in files_for(actor, program).items()}
    return MemoryDocument(exported_at=timezone.now(), program=program, files=files)


def files_for(actor: Actor, program: str) -> dict[str, bytes]:
    """Return the memory of the user as the files of a program, by their paths, with the provenance beside them.

    What was set aside, has ended or expired stays here.

    Raises:
        Invalid: no memory is written for that program.
    """
    format = WRITTEN.get(program)
    if format is None or format.files is None:
        raise Invalid.of("program", f"must be one of {', '.join((BIGMIND, *WRITTEN))}")
    taken: dict[str, int] = {}
    written = dict(take_out_files(actor.user, taken, program=program))
    items = list(_items(actor, format, written))
    places = write_items(format, [item for item, _ in items], written, taken)
    placed = [
        (places.get(number, next(iter(written), "")), item, source) for number, (item, source) in enumerate(items)
    ]
    now = timezone.now().isoformat(timespec="seconds")
    written[NAME] = provenance_file(program, now, str(actor.user), placed).encode()
    return written


def write_items(
    format: ImportFormat, items: Sequence[Item], written: dict[str, bytes], taken: dict[str, int]
) -> dict[int, str]:
    """Write items as files beside those that are there; return which file each item is, by its number."""
    assert format.files
    numbers = {id(item): number for number, item in enumerate(items)}
    places = {}
    for path, content, item in format.files(items):
        if item is None and path in written:
            written[path] = _add_to_list(written[path], content)
            continue
        free = free_path(path, "", taken)
        written[free] = content.encode(errors="replace")
        if item:
            places[numbers[id(item)]] = free
    return places


def _items(actor: Actor, format: ImportFormat, files: Mapping[str, bytes]) -> Iterator[tuple[Item, dict[str, Any]]]:
    """Yield what is to be written, and where each thing came from; what a file that goes back says is in that file."""
    document = whole_memory(actor)
    own = f"{format.name}:"
    if document.profile:
        yield Item("profile", _plain(document.profile, "profile")), {}
    for session in document.sessions:
        if session.set_aside_at is None:
            yield from _of_session(session)
    for fact in document.facts:
        source = str(fact.provenance.get("source", ""))
        # Read out of a file that goes back whole: written beside it, the program would have it twice.
        is_in_file = source.startswith(own) and fact.provenance.get("file") in files
        if fact.deprecated_at is None and not is_in_file:
            row = fact.provenance.get("row", {}) if source.startswith(own) else {}
            yield Item("fact", _fact(fact), row), _source_of(fact)
    for belief in document.hypotheses:
        if belief.set_aside_at is None:
            yield Item("hypothesis", _plain(belief, "hypothesis")), _drop_empty(session=belief.session)
    for note in document.notes:
        source = str(note.provenance.get("source", ""))
        is_over = note.expires_at is not None and note.expires_at <= timezone.now()
        if note.set_aside_at is None and not is_over and not source.startswith(own):
            yield Item("note", _plain(note, "note")), _drop_empty(source=source)


def _of_session(session: ExportedSession) -> Iterator[tuple[Item, dict[str, Any]]]:
    fields = _plain(session, "session") | {"session": str(session.id)}
    fields |= _plain(session.summary, "session") if session.summary else {}
    fields["one_liner"] = session.one_liner or f"Session of {iso_day(session.started_at)}"
    # When it was said is not kept apart from when the session ended.
    fields.pop("created_at", None)
    yield Item("session", fields), _drop_empty(session=session.id)
    for chunk in session.chunks:
        if chunk.set_aside_at is None:
            yield Item("chunk", _plain(chunk, "chunk") | {"session": str(session.id)}), _drop_empty(session=session.id)


def _fact(fact: ExportedFact) -> dict[str, Any]:
    fields = _plain(fact, "fact")
    return fields | ({"session": str(fact.source_session)} if fact.source_session else {})


def _plain(document: BaseModel, kind: str) -> dict[str, Any]:
    """The fields of an item as plain JSON, without those that say what is usual."""
    fields = document.model_dump(mode="json", exclude_defaults=True)
    return {name: fields[name] for name in FIELDS[kind] if name in fields}


def _source_of(fact: ExportedFact) -> dict[str, Any]:
    return _drop_empty(
        source=fact.provenance.get("source"), session=fact.source_session, file=fact.provenance.get("file")
    )


def _drop_empty(**document: Any) -> dict[str, Any]:
    return {name: str(value) for name, value in document.items() if value}


def _add_to_list(kept: bytes, listing: str) -> bytes:
    """Return a listing that came from the program with the lines that are new, so that it finds what was added."""
    text = kept.decode(errors="replace")
    there = {line.strip() for line in text.splitlines()}
    new = [line for line in listing.split("\n") if line.startswith("- [") and line.strip() not in there]
    return "\n".join([text.rstrip(), *new, ""]).encode() if new else kept


def pack_files(files: Mapping[str, bytes]) -> bytes:
    """Return files as a zip archive."""
    packed = io.BytesIO()
    with zipfile.ZipFile(packed, "w", zipfile.ZIP_DEFLATED) as archive:
        for path, content in files.items():
            archive.writestr(path, content)
    return packed.getvalue()
