"""Bringing many entries in at once, at the speed of COPY."""

from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Annotated, Any

from django.db import transaction
from pydantic import BaseModel, ConfigDict, Field, ValidationError, ValidatorFunctionWrapHandler, WrapValidator

from accounts.actor import Actor
from bigmind.core.copying import copy_new
from bigmind.core.operations import refusal
from bigmind.core.text import digest
from bigmind.core.vocabulary import Confidence, Project, SharedContent
from knowledge.entry_vocabulary import EntryTags, EntryTypeName, Metadata, ParentId, Roles, SourceFile, SourceStory
from knowledge.models import Entry, Kind
from knowledge.search.passages import Indexed, index_new
from knowledge.search.seen_errors import keep_fingerprints


@dataclass
class ImportedEntries:
    """What a bulk import did, row by row where something is worth saying."""

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
    project: Project = ""


@dataclass(frozen=True)
class RefusedEntry:
    """An entry of a bulk import that cannot be accepted: it is left out, and the others are imported."""

    reason: str


def _or_refused(sent: Any, check: ValidatorFunctionWrapHandler) -> Any:
    """Refuse an entry by itself, in the words in which it would be refused alone."""
    try:
        return check(sent)
    except ValidationError as error:
        return RefusedEntry(refusal(error, known=list(NewEntry.model_fields)).message)


# The schema tells callers of a NewEntry alone; what was refused is there for `import_entries` to report.
EntryRow = Annotated[NewEntry, WrapValidator(_or_refused)]


@transaction.atomic
def import_entries(
    actor: Actor,
    *,
    entries: Annotated[list[EntryRow], Field(max_length=1000, description="Up to 1,000 entries.")],
    skip_existing: bool = True,
) -> ImportedEntries:
    """Import many entries at once. Those that are known are skipped, or reported as errors with `skip_existing` false.

    Call this to bring in what was parsed from files. Returns how many were imported and skipped, and the errors by row.
    """
    rows = {row: entry for row, entry in enumerate(entries, start=1) if isinstance(entry, NewEntry)}
    orphans = _orphans(rows)
    digests = {row: digest(new.content) for row, new in rows.items() if row not in orphans}
    first = {fingerprint: row for row, fingerprint in reversed(digests.items())}
    fresh = [Entry(digest=fingerprint, created_by=actor.user, **dict(rows[row])) for fingerprint, row in first.items()]
    stored = copy_new(fresh, unique="digest")
    index_new(Kind.ENTRY, [Indexed(entry.pk, entry.content, entry.project) for entry in stored], owner=None)
    keep_fingerprints(stored)
    imported = {first[entry.digest] for entry in stored}
    known = {row: fingerprint for row, fingerprint in digests.items() if row not in imported}
    wrong = {row: f"Entry {row}: {one.reason}" for row, one in enumerate(entries, 1) if isinstance(one, RefusedEntry)}
    wrong |= orphans | ({} if skip_existing else _said_of_known(known))
    return ImportedEntries(len(imported), len(known) if skip_existing else 0, [wrong[row] for row in sorted(wrong)])


def _orphans(rows: Mapping[int, NewEntry]) -> dict[int, str]:
    """What to say of the rows whose parent is not there."""
    named = {row: new.parent_id for row, new in rows.items() if new.parent_id}
    there = set(Entry.objects.filter(pk__in=named.values()).values_list("pk", flat=True))
    return {
        row: f"Entry {row}: there is no entry {parent} to be its parent."
        for row, parent in named.items()
        if parent not in there
    }


def _said_of_known(known: Mapping[int, str]) -> dict[int, str]:
    ids = dict(Entry.objects.filter(digest__in=known.values()).values_list("digest", "pk"))
    # Without an id when whoever stored it has deleted it again since.
    return {row: f"Entry {row} is known already: {ids.get(known[row], 'deleted since')}." for row in known}
