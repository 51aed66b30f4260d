"""Bulk import of entries, at the speed of COPY."""

from collections.abc import Iterable, Mapping
from dataclasses import dataclass, field
from typing import Annotated, Any

from django.db import transaction
from pydantic import BaseModel, ConfigDict, Field, ValidationError, ValidatorFunctionWrapHandler, WrapValidator

from accounts.actor import Actor
from bigmind.core.argument_checks import refusal
from bigmind.core.argument_types import Confidence, Project, SharedContent
from bigmind.database.bulk_copy import copy_new
from bigmind.database.columns import ColumnCopy
from bigmind.text.hygiene import digest, echo
from knowledge.anchors.grammar import Anchors
from knowledge.argument_types import (
    EntryTags,
    EntryTypeName,
    Metadata,
    ParentId,
    Roles,
    SourceFile,
    SourceStory,
    Triggers,
)
from knowledge.lessons.seen_errors import keep_fingerprints
from knowledge.models import Entry, Kind
from knowledge.search.passages import Indexed, index_new


@dataclass
class ImportedEntries:
    """What a bulk import did."""

    imported: int = 0
    skipped: int = 0
    errors: list[str] = field(default_factory=list)


class NewEntry(BaseModel):
    """One entry of a bulk import."""

    model_config = ConfigDict(extra="forbid")

    content: SharedContent
    entry_type: EntryTypeName = "fact"
    roles: Roles = []
    tags: EntryTags = []
    source_file: SourceFile = ""
    source_story: SourceStory = ""
    parent_id: ParentId | None = None
    confidence: Confidence = 1.0
    metadata: Metadata = {}
    triggers: Triggers = []
    anchors: Anchors = []
    project: Project = ""
    key: Annotated[str, Field(max_length=200, description="What others in this import name as `parent`.")] = ""
    parent: Annotated[str, Field(max_length=200, description="The `key` of its summary in this import.")] = ""
    origin: Annotated[str, Field(max_length=64, description="Set by kb_parse; not stored.")] = ""

    def columns(self) -> dict[str, Any]:
        """Return the fields that an entry stores."""
        return self.model_dump(exclude={"key", "parent", "origin"})


OF_THE_STORE = {
    "digest": "It follows from the content.",
    "signs": "They follow from the text.",
    "similar_to": "It is found anew: by meaning, once there is a vector.",
    "trigger_levels": "How far triggers go is decided here.",
    "anchor_checks": "The next check of a repository makes them.",
}
"""Columns of an entry that no document has, because they are made here."""
COLUMNS = ColumnCopy(
    "the rows of kb_import",
    Entry,
    {
        **OF_THE_STORE,
        "id": "A new entry has a new one; kb_seed keeps those of an export.",
        "provenance": "Only kb_seed knows a source by name, and writes it there.",
        "created_by": "It is who imports; kb_seed keeps the authors of an export.",
        "created_at": "It is now; kb_seed keeps that of an export.",
        "updated_at": "It is now; kb_seed keeps that of an export.",
    },
    NewEntry.model_fields,
)


@dataclass(frozen=True)
class RefusedEntry:
    """An entry of a bulk import that cannot be accepted: it is left out, and the others are imported."""

    reason: str


def _or_refused(sent: Any, check: ValidatorFunctionWrapHandler) -> Any:
    """Refuse an entry by itself, in the words in which it would be refused alone."""
    try:
        return check(sent)
    except ValidationError as error:
        return RefusedEntry(refusal(error, NewEntry).message)


# The schema shows callers only a NewEntry; refused rows are there for `import_entries` to report.
EntryRow = Annotated[NewEntry, WrapValidator(_or_refused)]


@transaction.atomic
def import_entries(
    actor: Actor,
    *,
    entries: Annotated[list[EntryRow], Field(max_length=1000, description="Up to 1,000 entries.")],
    skip_existing: bool = True,
) -> ImportedEntries:
    """Import many entries at once. Existing ones are skipped, or reported as errors if `skip_existing` is false.

    Call this to import parsed files: rows from kb_parse are accepted as they are. Returns how many were imported and
    skipped, and the errors by row.
    """
    rows = {row: entry for row, entry in enumerate(entries, start=1) if isinstance(entry, NewEntry)}
    orphans = _orphans(rows) | _rows_without_parent(rows)
    digests = {row: digest(new.content) for row, new in rows.items() if row not in orphans}
    # Reversed, so that of two rows with one text the first is stored.
    first = {fingerprint: row for row, fingerprint in reversed(digests.items())}
    stored = store_new(
        Entry(digest=fingerprint, created_by=actor.user, **rows[row].columns()) for fingerprint, row in first.items()
    )
    imported = {first[entry.digest]: entry for entry in stored}
    _place_below(imported, rows, digests)
    known = {row: fingerprint for row, fingerprint in digests.items() if row not in imported}
    wrong = {row: f"Entry {row}: {one.reason}" for row, one in enumerate(entries, 1) if isinstance(one, RefusedEntry)}
    wrong |= orphans | ({} if skip_existing else _describe_known(known))
    return ImportedEntries(len(imported), len(known) if skip_existing else 0, [wrong[row] for row in sorted(wrong)])


def store_new(entries: Iterable[Entry]) -> list[Entry]:
    """Store and index the entries whose content is not known yet; return them."""
    stored = copy_new(list(entries), unique="digest")
    # A section called “Examples” says of what in the headings above it alone.
    index_new(
        Kind.ENTRY, [Indexed(entry.pk, entry.content, entry.project, entry.headings) for entry in stored], owner=None
    )
    keep_fingerprints(stored)
    return stored


def _place_below(imported: Mapping[int, Entry], rows: Mapping[int, NewEntry], digests: Mapping[int, str]) -> None:
    """Set the parents that entries of this import name by their keys."""
    by_key = {new.key: digests[row] for row, new in rows.items() if new.key and row in digests}
    ids = dict(Entry.objects.filter(digest__in=by_key.values()).values_list("digest", "pk"))
    children = [entry for row, entry in imported.items() if rows[row].parent in by_key]
    for row, entry in imported.items():
        entry.parent_id = ids.get(by_key.get(rows[row].parent, ""), entry.parent_id)
    Entry.objects.bulk_update(children, ["parent"])


def _rows_without_parent(rows: Mapping[int, NewEntry]) -> dict[int, str]:
    """What to say of the rows that name a parent which is not in this import, or which hangs below them."""
    parents = {new.key: new.parent for new in rows.values() if new.key}
    wrong = {
        row: "hangs below itself"
        if new.parent in parents
        else f"no entry of this import has the key {echo(new.parent)}"
        for row, new in rows.items()
        if new.parent and (new.parent not in parents or _is_above(new.key, new.parent, parents))
    }
    return {row: f"Entry {row}: parent: {reason}." for row, reason in wrong.items()}


def _is_above(key: str, above: str, parents: Mapping[str, str]) -> bool:
    seen: set[str] = set()
    while above and above not in seen:
        if above == key:
            return True
        seen.add(above)
        above = parents.get(above, "")
    return bool(above)  # Its parents form a cycle.


def _orphans(rows: Mapping[int, NewEntry]) -> dict[int, str]:
    """What to say of the rows whose parent is not there."""
    named = {row: new.parent_id for row, new in rows.items() if new.parent_id}
    there = set(Entry.objects.filter(pk__in=named.values()).values_list("pk", flat=True))
    return {
        row: f"Entry {row}: there is no entry {parent} to be its parent."
        for row, parent in named.items()
        if parent not in there
    }


def _describe_known(known: Mapping[int, str]) -> dict[int, str]:
    ids = dict(Entry.objects.filter(digest__in=known.values()).values_list("digest", "pk"))
    # Without an id if its author has deleted it since.
    return {row: f"Entry {row} is known already: {ids.get(known[row], 'deleted since')}." for row in known}
