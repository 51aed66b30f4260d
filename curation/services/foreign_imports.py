"""Import from other programs: items become memory, and company knowledge among them becomes proposals."""

from dataclasses import replace
from pathlib import Path
from typing import Any

from django.db import transaction

from accounts.actor import Actor, acts
from bigmind.core.errors import BigMindError
from bigmind.core.operations import carry_out
from bigmind.core.private_row_numbers import number_of
from curation.proposals.proposals import promote_to_global
from knowledge.parsers.archives import Bundle, Folder
from knowledge.transfer.foreign_imports import (
    bring_in_notes,
    company_drafts,
    importer_of,
    move_in,
    place_of_files,
    report_of,
)
from knowledge.transfer.import_receipts import MovedIn
from knowledge.transfer.own_imports import import_document
from knowledge.transfer.readers.formats import AUTO, ImportFormat, format_of, read
from knowledge.transfer.readers.memory_drafts import DRAFTS, CompanyDraft, Reading
from knowledge.transfer.readers.own_documents import is_own_document, read_document

OWN = "bigmind"
OWN_BYTES = 64 * 1024 * 1024


def import_reading(
    actor: Actor,
    reading: Reading,
    format: ImportFormat,
    *,
    source: str,
    folder: Path | None = None,
    removes: bool = False,
    replaces: bool = False,
    dry_run: bool = False,
) -> MovedIn:
    """Import what a reader found: the caller owns the items, and proposes those that were company knowledge.

    Args:
        source: The name of the file, by which a later import of it is recognized.
        folder: Where the files lie, if they are a folder of this machine.
        removes: Whether to set aside the notes of files that the source no longer has.
        replaces: Whether to change even most of what the source brought; else that is refused.
    """
    report = report_of(reading, format, dry_run=dry_run)
    with transaction.atomic():
        lies_at = place_of_files(reading.origin, folder)
        named = str(lies_at or (reading.origin.name if reading.origin else source))
        importer = move_in(actor, reading, format, source=named, report=report)
        with acts(importer):
            bring_in_notes(importer, reading, format, report, folder=folder, removes=removes, replaces=replaces)
            for place, draft in company_drafts(reading):
                _propose(importer, place, draft, report)
        if dry_run:
            report.agent = None
            transaction.set_rollback(True)
    return report


def import_own_document(actor: Actor, document: Any, *, source: str, dry_run: bool = False) -> MovedIn:
    """Import a document of memory_export. One invalid item refuses the whole document."""
    with transaction.atomic():
        importer = importer_of(actor, "BigMind", source)
        with acts(importer):
            report: MovedIn = carry_out(import_document, importer, {"document": document, "dry_run": dry_run})
        if dry_run:
            transaction.set_rollback(True)
        elif importer.agent:
            report.agent = number_of(importer.agent.pk)
    return replace(report, format=OWN)


def import_bundle(
    actor: Actor,
    bundle: Bundle,
    *,
    name: str = AUTO,
    removes: bool = False,
    replaces: bool = False,
    dry_run: bool = False,
    most: int = DRAFTS,
    **more: Any,
) -> MovedIn:
    """Import a bundle of files: an export of BigMind, or of another program. Returns the report.

    Args:
        name: The format; `auto` detects it from the files.
        removes, replaces: As in `import_reading`.
        most: The limit of items.
        more: Options of the format.

    Raises:
        Invalid: the format is unknown, or the files cannot be read.
    """
    if name == OWN or (name == AUTO and is_own_document(bundle)):
        document = read_document(bundle, limit=OWN_BYTES)
        return import_own_document(actor, document, source=bundle.name, dry_run=dry_run)
    format = format_of(bundle, name)
    reading = read(bundle, format, most=most, **more)
    folder = bundle.path if isinstance(bundle, Folder) else None
    return import_reading(
        actor,
        reading,
        format,
        source=bundle.name,
        folder=folder,
        removes=removes,
        replaces=replaces,
        dry_run=dry_run,
    )


def _propose(importer: Actor, place: str, draft: CompanyDraft, report: MovedIn) -> None:
    arguments = {**draft.model_dump(), "origin": "imported", "evidence": f"Imported: {place}."}
    try:
        with transaction.atomic():  # a savepoint: what is refused takes nothing of the others back
            proposal = carry_out(promote_to_global, importer, arguments)
    except BigMindError as error:
        report.refused.append(f"{place}: {error}")
    else:
        report.count("proposals", added=not proposal.duplicate, unchanged=proposal.duplicate)
