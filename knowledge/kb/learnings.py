"""Imports learnings that were written to a file while BigMind was unreachable, and marks the file."""

from dataclasses import dataclass, field
from itertools import chain
from pathlib import Path
from uuid import UUID

from django.utils import timezone

from accounts.actor import Actor
from bigmind.core.errors import BigMindError
from bigmind.core.operations import carry_out
from bigmind.text.hygiene import digest
from knowledge.kb.entries import AddedEntry, add_entry
from knowledge.models import Entry
from knowledge.parsers.entries import SourceEntry, generations
from knowledge.parsers.learnings import Learnings, mark_synced, read_learnings

SENT = ("content", "entry_type", "roles", "tags", "source_story", "confidence", "metadata")


@dataclass
class SyncedFile:
    """The result of one LEARNINGS.yaml."""

    file: str
    was_pending: bool = False
    added: list[str] = field(default_factory=list)
    """Keys of what the knowledge base did not know."""
    known: list[str] = field(default_factory=list)
    """Keys of what it knew, such as from a sync that was interrupted."""
    refused: list[str] = field(default_factory=list)

    @property
    def is_synced(self) -> bool:
        """Whether everything in it was imported."""
        return not self.refused

    def __str__(self) -> str:
        if not self.was_pending:
            return f"{self.file}: nothing waits."
        parts = [f"{len(self.added)} added", f"{len(self.known)} known already"]
        return f"{self.file}: {', '.join([*parts, *([f'{len(self.refused)} refused'] if self.refused else [])])}."


def sync_learnings(
    actor: Actor, path: Path, *, name: str = "", within: Path | None = None, dry_run: bool = False
) -> SyncedFile:
    """Import what is pending in a LEARNINGS.yaml, and note in the file what was imported, with its id.

    It may be interrupted and repeated: what was imported is recognized by its content.

    Raises:
        Invalid: the file cannot be read or marked; with file and line.
    """
    learnings = read_learnings(path, name=name, within=within)
    synced = SyncedFile(name or path.name, learnings.is_pending)
    if not learnings.is_pending:
        return synced
    ids: dict[str, UUID] = {}
    for entry in chain.from_iterable(generations(learnings.entries)):
        try:
            added = (
                _find_known(entry) if dry_run else _add(actor, entry, _parent_of(entry, learnings, ids), synced.file)
            )
        except BigMindError as error:
            synced.refused.append(f"{synced.file}, {entry.key}: {error}")
            continue
        if added:
            ids[entry.key] = added.id
        (synced.known if added and added.duplicate else synced.added).append(entry.key)
    if not dry_run:
        mark_synced(path, {key: str(id) for key, id in ids.items()}, timezone.now(), name=synced.file)
    return synced


def _add(actor: Actor, entry: SourceEntry, parent: UUID | None, file: str) -> AddedEntry:
    sent = {name: getattr(entry, name) for name in SENT}
    above = {"parent_id": parent} if parent else {}
    added: AddedEntry = carry_out(add_entry, actor, {**sent, "source_file": entry.source_file or file, **above})
    return added


def _find_known(entry: SourceEntry) -> AddedEntry | None:
    known = Entry.objects.filter(digest=digest(entry.content)).first()
    return AddedEntry(known, duplicate=True) if known else None


def _parent_of(entry: SourceEntry, learnings: Learnings, ids: dict[str, UUID]) -> UUID | None:
    """The id of an entry's parent. One from another BigMind, or that is gone, is left out."""
    if entry.parent in ids:
        return ids[entry.parent]
    try:
        elsewhere = UUID(learnings.known.get(entry.parent, ""))
    except ValueError:
        return None
    return elsewhere if Entry.objects.filter(pk=elsewhere).exists() else None
