"""Sections: what an instance can be exported as, one function each. What is new to export is one row here."""

from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path

from curation.services.company_exports import export_company
from knowledge.parsers.entries import slug
from knowledge.parsers.yaml_files import write_entries
from knowledge.services.entry_exports import exported_entries


@dataclass(frozen=True)
class Section:
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
    for number, file in enumerate(exported_entries(), start=1):
        (folder / f"{number:04}-{slug(file.source) or 'entries'}.yaml").write_text(write_entries(file))
        written += len(file.entries)
    return written


def _write_company(folder: Path) -> int:
    document = export_company()
    (folder / "company.json").write_text(document.model_dump_json(indent=2))
    return len(document.entries)


SECTIONS: tuple[Section, ...] = (
    Section("entries", "the knowledge base", _write_entries, "bigmind kb_seed entries/*.yaml"),
    Section("company", "company knowledge with its history", _write_company, "bigmind company_import company.json"),
)
