"""Sections: what an instance can be exported as, one function each. What is new to export is one row here."""

from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path

from curation.services.company_exports import export_company
from knowledge.app_maps.import_export import maps_as_files
from knowledge.parsers.entries import slug
from knowledge.parsers.yaml_files import write_entries
from knowledge.references.exports import export_collections
from knowledge.references.readers.curated import write_entries as write_references
from knowledge.services.entry_exports import export_entries


@dataclass(frozen=True)
class ExportSection:
    """One part of what everybody here shares.

    Attributes:
        write: Writes its files below a folder, and returns how many items are in them.
        taken_back_by: The command that takes them back.
    """

    name: str
    title: str
    write: Callable[[Path], int]
    taken_back_by: str


def _write_entries(folder: Path) -> int:
    """One YAML file or more for each source, in the form that kb_seed reads."""
    written = 0
    for number, file in enumerate(export_entries(), start=1):
        (folder / f"{number:04}-{slug(file.source) or 'entries'}.yaml").write_text(write_entries(file))
        written += len(file.entries)
    return written


def _write_company(folder: Path) -> int:
    document = export_company()
    (folder / "company.json").write_text(document.model_dump_json(indent=2))
    return len(document.entries)


def _write_references(folder: Path) -> int:
    """One file of curated entries for each collection."""
    written = 0
    for collection in export_collections():
        (folder / f"{collection.slug}.json").write_text(
            write_references(collection.drafts, collection.changed, collection.completeness)
        )
        written += len(collection.drafts)
    return written


def _write_apps(folder: Path) -> int:
    """An index, and a YAML file for each app."""
    files = maps_as_files()
    for path, text in files.items():
        (folder / path).write_text(text)
    return max(0, len(files) - 1)


SECTIONS: tuple[ExportSection, ...] = (
    ExportSection("entries", "the knowledge base", _write_entries, "bigmind kb_seed entries/*.yaml"),
    ExportSection(
        "company", "company knowledge with its history", _write_company, "bigmind company_import company.json"
    ),
    ExportSection("references", "documentation", _write_references, "bigmind references_import FILE --collection NAME"),
    ExportSection("apps", "app maps", _write_apps, "bigmind apps_import apps"),
)
