"""Exports of references: each collection as drafts, in the form that an import accepts."""

from collections.abc import Iterator
from dataclasses import dataclass
from datetime import datetime
from pathlib import Path

from bigmind.core.export_section import ExportSection
from bigmind.database.columns import ColumnCopy
from knowledge.argument_types import Completeness, ReferenceKind
from knowledge.models import Reference, ReferenceType
from knowledge.references.collections import completeness_of
from knowledge.references.readers.curated import write_entries
from knowledge.references.readers.reference_drafts import CommandForm, EndpointForm, ReferenceDraft

COLUMNS = ColumnCopy(
    "the drafts of exported references",
    Reference,
    {
        "id": "A reference is known by its key.",
        "collection": "It is the file.",
        "origin": "It is the file that the drafts come from, when they are imported.",
        "digest": "It follows from the draft.",
        "signs": "They follow from the text.",
        "generated": "What a person has corrected goes out as the text.",
        "edited_at": "What a person has corrected goes out as the text.",
        "edited_by": "What a person has corrected goes out as the text.",
        "removed_at": "What was removed stays out.",
        "created_at": "It is when it was imported here.",
        "updated_at": "It is `updated` of the draft, and `lastUpdated` in the file; an import of new ones keeps it.",
    },
    {*ReferenceDraft.model_fields, "form"},
)


@dataclass(frozen=True)
class ExportedCollection:
    """What a collection holds now, when each item, by its key, was changed last, and how complete it is."""

    slug: str
    drafts: list[ReferenceDraft]
    changed: dict[str, datetime]
    completeness: dict[ReferenceKind, Completeness]


def export_collections() -> Iterator[ExportedCollection]:
    """Yield every collection that holds something, with what people have corrected in it. Removed items stay out."""
    current = Reference.objects.current().select_related("collection").order_by("collection__slug", "key")
    of_each: dict[str, list[Reference]] = {}
    for reference in current:
        of_each.setdefault(reference.collection.slug, []).append(reference)
    for slug, references in of_each.items():
        changed = {one.key: one.updated_at for one in references}
        states = completeness_of(references)
        yield ExportedCollection(slug, [draft_again(one) for one in references], changed, states)


def draft_again(reference: Reference) -> ReferenceDraft:
    """Return the draft that a reference would be imported from as it is now."""
    form, kind = reference.form, reference.kind
    text = {name: getattr(reference, name) for name in COLUMNS.names() if name in ReferenceDraft.model_fields}
    # A draft must have a text, and a stored reference may have none.
    text["content"] = reference.content or reference.summary or reference.title
    return ReferenceDraft(
        **text,
        command=CommandForm.model_validate(form) if form and kind == ReferenceType.COMMAND else None,
        endpoint=EndpointForm.model_validate(form) if form and kind == ReferenceType.API else None,
    )


def write_files(folder: Path) -> int:
    """Write one file of curated entries for each collection, and return how many entries are in them."""
    written = 0
    for collection in export_collections():
        (folder / f"{collection.slug}.json").write_text(
            write_entries(collection.drafts, collection.changed, collection.completeness)
        )
        written += len(collection.drafts)
    return written


SECTION = ExportSection("references", "documentation", write_files, "bigmind references_import FILE --collection NAME")
