"""Export of the knowledge base as YAML files for kb_seed, one family of entries after the other.

An imported entry keeps its source and its key there; the others get a source of their own and a digest as key. So an
import of the same files recognizes its entries.
"""

from collections.abc import Iterator
from pathlib import Path
from typing import Any
from uuid import UUID

from bigmind.core.export_section import ExportSection
from bigmind.database.columns import ColumnCopy
from knowledge.kb.entry_imports import OF_THE_STORE
from knowledge.models import Entry
from knowledge.parsers.entries import SourceEntry, slug
from knowledge.parsers.yaml_files import EntryFile, write_entries

OWN_SOURCE = "knowledge-base"
FILE_ENTRIES = 2_000
FILE_CHARS = 1_000_000
"""How much goes into one file: kb_seed takes 4 MiB, and a character may have four bytes."""

_LINKS = {"parent", "created_by"}
COLUMNS = ColumnCopy(
    "the files of `export`",
    Entry,
    {
        **OF_THE_STORE,
        "provenance": "The file says its source, and each entry its key there; importing it makes the rest anew.",
    },
    SourceEntry.model_fields,
)


def export_entries() -> Iterator[EntryFile]:
    """Yield the files of the knowledge base, source by source, each in the order of its keys: it is always the same."""
    entries = Entry.objects.select_related("created_by").in_bulk()
    for source, families in sorted(_families(entries).items()):
        in_order = [sorted(family, key=lambda entry: _key(entry, source)) for family in families]
        yield from _files(source, sorted(in_order, key=lambda family: _key(family[0], source)), entries)


def _families(entries: dict[UUID, Entry]) -> dict[str, list[list[Entry]]]:
    """The entries by their source: each root with all that hangs below it, since a parent must be in the same file."""
    members: dict[UUID, list[Entry]] = {}
    for entry in entries.values():
        members.setdefault(_root(entry, entries), []).append(entry)
    found: dict[str, list[list[Entry]]] = {}
    for root, family in members.items():
        found.setdefault(_source(entries[root]), []).append(family)
    return found


def _root(entry: Entry, entries: dict[UUID, Entry]) -> UUID:
    seen = {entry.pk}
    while entry.parent_id in entries and entry.parent_id not in seen:
        entry = entries[entry.parent_id]
        seen.add(entry.pk)
    return entry.pk


def _source(entry: Entry) -> str:
    return str(entry.provenance.get("source") or OWN_SOURCE)


def _files(source: str, families: list[list[Entry]], entries: dict[UUID, Entry]) -> Iterator[EntryFile]:
    rows: list[SourceEntry] = []
    size = 0
    for family in families:
        family_rows = [_row(entry, source, entries) for entry in family]
        length = sum(len(row.content) for row in family_rows)
        if rows and (len(rows) + len(family_rows) > FILE_ENTRIES or size + length > FILE_CHARS):
            yield EntryFile(tuple(rows), source)
            rows, size = [], 0
        rows += family_rows
        size += length
    if rows:
        yield EntryFile(tuple(rows), source)


def _row(entry: Entry, source: str, entries: dict[UUID, Entry]) -> SourceEntry:
    fields: dict[str, Any] = {
        **{name: getattr(entry, name) for name in COLUMNS.names() if name not in _LINKS},
        "key": _key(entry, source),
        "parent": _key(entries[entry.parent_id], source) if entry.parent_id in entries else "",
        "created_by": entry.created_by.username if entry.created_by else entry.provenance.get("created_by"),
    }
    # It was validated when it was stored; here only its form changes.
    return SourceEntry.model_construct(**fields, origin="")


def _key(entry: Entry, source: str) -> str:
    is_its_own = _source(entry) == source and entry.provenance.get("place")
    return str(entry.provenance["place"]) if is_its_own else entry.digest[:16]


def _write_files(folder: Path) -> int:
    """One YAML file or more for each source, in the form that kb_seed reads."""
    written = 0
    for number, file in enumerate(export_entries(), start=1):
        (folder / f"{number:04}-{slug(file.source) or 'entries'}.yaml").write_text(write_entries(file))
        written += len(file.entries)
    return written


SECTION = ExportSection("entries", "the knowledge base", _write_files, "bigmind kb_seed entries/*.yaml")
