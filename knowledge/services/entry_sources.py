"""The sources of entries: which a source file created, and what importing it again adds and changes.

An import keeps what it knows of an entry in `provenance`, which nothing else writes: the source, its key there
(`place`), and digests of the source's text, which tell a later edit here from a later edit there.
"""

from collections import Counter
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import PurePath
from typing import Any
from uuid import UUID, uuid4

from django.db import transaction
from django.db.models import Q, QuerySet
from django.db.models.functions import Lower
from pydantic import ValidationError

from accounts.actor import Actor
from accounts.models import User
from bigmind.core.argument_checks import refusal
from bigmind.core.errors import BigMindError
from bigmind.core.operations import carry_out
from bigmind.core.text import digest
from knowledge.models import Entry, EntryType
from knowledge.parsers.entries import SourceEntry, generations, rewordings
from knowledge.services.entries import delete_entry, update_entry
from knowledge.services.entry_imports import COLUMNS, NewEntry, store_new

BATCH = 500
FEW, MOST = 3, 0.75
"""How many entries, and which share of them, must be the same in a file that was renamed."""
SENT = tuple(name for name in COLUMNS.names() if name in SourceEntry.model_fields and name != "parent")
"""What a source says of an entry and the entry keeps as it is; `parent` is a key there, and an id here."""
_BY_OPERATION = {"content", "roles", "tags", "confidence", "metadata"}
"""What `update_entry` changes, with all that follows from it."""


@dataclass
class Reimport:
    """What importing a source did, or would do, by the keys of its entries."""

    added: list[str] = field(default_factory=list)
    changed: list[str] = field(default_factory=list)
    kept: list[str] = field(default_factory=list)
    """Entries edited both here and in the source: the edit here was kept, and someone should review them."""
    removed: dict[str, UUID] = field(default_factory=dict)
    """What the source no longer says. It stays until someone deletes it."""
    refused: list[str] = field(default_factory=list)
    unchanged: int = 0

    def __str__(self) -> str:
        changes = f"{len(self.added)} added, {len(self.changed)} changed, {len(self.removed)} removed from the source"
        more = {"edited here and kept": self.kept, "refused": self.refused}
        return ", ".join(
            [changes, f"{self.unchanged} unchanged", *(f"{len(keys)} {what}" for what, keys in more.items() if keys)]
        )


def entries_from(actor: Actor, source: str) -> dict[str, Entry]:
    """Return the entries imported from a source, by their keys in it: the actor's own; for curators all."""
    return {
        str(entry.provenance.get("place", "")): entry for entry in _select_imported(actor, provenance__source=source)
    }


def import_source(
    actor: Actor,
    source: str,
    entries: Sequence[SourceEntry],
    *,
    dry_run: bool = False,
    progress: Callable[[int], None] = lambda done: None,
) -> Reimport:
    """Update the knowledge base to a source: the importer owns what is added, and nothing is deleted.

    What a curator restores from an export keeps its id, its dates and its author, if a user of that name exists. A
    source is recognized by its name and its entries, from whichever folder it was read.

    Args:
        progress: Told how many entries were seen to, as it goes on.
    """
    source = _find_known_source(actor, source, entries)
    entries = _keep_file_names(entries_from(actor, source), entries)
    importing = _SourceImport(actor, source, dry_run)
    importing.know_reworded(entries)
    importing.look_up(entries)
    for generation in generations(entries):
        for batch in _batches(generation):
            importing.see_to(batch)
            progress(len(batch))
    gone = importing.before.keys() - {entry.key for entry in entries}
    importing.report.removed = {key: importing.before[key].pk for key in sorted(gone)}
    return importing.report


def delete_removed(actor: Actor, report: Reimport) -> int:
    """Delete what a source no longer has, after someone confirmed the list; return how many."""
    for entry_id in report.removed.values():
        delete_entry(actor, id=entry_id)
    return len(report.removed)


def _select_imported(actor: Actor, **conditions: Any) -> QuerySet[Entry]:
    own = {} if "curate" in actor.scopes else {"created_by": actor.user}
    return Entry.objects.filter(**own, **conditions)


def _find_known_source(actor: Actor, source: str, entries: Sequence[SourceEntry]) -> str:
    """Return the earlier name of a source, if its entries show that it is the same one.

    The path depends on the working directory: if one path ends with the other, half the entries must be the same. If
    the file was renamed or moved, most must be: a copy may still exist.
    """
    # A summary tells what stands below it, so it changes with each of these.
    texts = {digest(entry.content) for entry in entries if entry.entry_type != EntryType.SUMMARY.value}
    known = _select_imported(actor, provenance__has_key="source").exclude(entry_type=EntryType.SUMMARY)
    if known.filter(provenance__source=source).exists():
        return source
    same = Q(digest__in=texts) | Q(provenance__source__endswith=PurePath(source).name)
    names = set(known.filter(same).values_list("provenance__source", flat=True))
    shared, sizes = Counter[str](), Counter[str]()
    for one in known.filter(provenance__source__in=names).values_list("provenance", flat=True):
        sizes[one["source"]] += 1
        shared[one["source"]] += one.get("text") in texts
    same_ones = (name for name in names if _is_same_source(name, source, shared[name], sizes[name], len(texts)))
    return max(same_ones, key=lambda name: (shared[name], name), default=source)


def _is_same_source(name: str, other: str, shared: int, size: int, size_now: int) -> bool:
    parts, others = PurePath(name).parts, PurePath(other).parts
    length = min(len(parts), len(others))
    if parts[-length:] == others[-length:]:
        return shared * 2 >= min(size, size_now)
    return shared >= FEW and shared >= max(size, size_now) * MOST


def _keep_file_names(before: Mapping[str, Entry], entries: Sequence[SourceEntry]) -> list[SourceEntry]:
    """Let entries name their file as they did when it was read from another folder."""
    names = {
        entry.source_file: known.source_file
        for entry in entries
        if (known := before.get(entry.key)) and PurePath(known.source_file).name == PurePath(entry.source_file).name
    }
    return [
        entry.model_copy(update={"source_file": names.get(entry.source_file, entry.source_file)}) for entry in entries
    ]


class _SourceImport:
    """One import under way: what was there before, and what the entries of the source have become."""

    def __init__(self, actor: Actor, source: str, dry_run: bool) -> None:
        self.actor, self.source, self.dry_run = actor, source, dry_run
        # Anyone who may not change what others wrote may not write in their names either.
        self.restores = "curate" in actor.scopes
        self.report = Reimport()
        self.before = entries_from(actor, source)
        self.known: dict[str, UUID | None] = {}
        """Ids by the digest of the content; None for what this import is about to add."""
        self.texts: dict[str, str] = {}

    def know_reworded(self, entries: Sequence[SourceEntry]) -> None:
        """Recognize entries that have another key in the source now, because their first words changed."""
        keys = {entry.key for entry in entries}
        compared = ("content", "entry_type", "source_story")
        gone = [
            SourceEntry.model_construct(None, key=key, **{name: getattr(one, name) for name in compared})
            for key, one in self.before.items()
            if key not in keys
        ]
        for new, old in rewordings(gone, [entry for entry in entries if entry.key not in self.before]).items():
            self.before[new] = self.before.pop(old)

    def look_up(self, entries: Sequence[SourceEntry]) -> None:
        """Find entries by their content, no matter who added them."""
        for batch in _batches(entries):
            self.known |= _ids([digest(entry.content) for entry in batch])

    def see_to(self, batch: Sequence[SourceEntry]) -> None:
        fresh = [entry for entry in batch if not self._is_there(entry)]
        rows = {entry.key: row for entry in fresh if (row := self._row(entry))}
        self.report.added += rows
        if self.dry_run or not rows:
            return
        with transaction.atomic():
            self._store({entry.key: entry for entry in fresh}, rows)
        # So that what hangs below these, in the next generation, finds its parent.
        self.known |= _ids([digest(row.content) for row in rows.values()])

    def _store(self, told: Mapping[str, SourceEntry], rows: Mapping[str, NewEntry]) -> None:
        """Store new entries, and where each came from."""
        keys = {digest(row.content): key for key, row in rows.items()}
        ids, authors = self._ids_kept(told.values()), self._authors(told.values())
        stored = store_new(
            Entry(
                digest=text,
                id=ids.get(told[key].id) or uuid4(),
                created_by=authors.get((told[key].created_by or "").casefold(), self.actor.user),
                **rows[key].columns(),
            )
            for text, key in keys.items()
        )
        for entry in stored:
            source_entry = told[keys[entry.digest]]
            entry.provenance = self._mark(source_entry)
            if self.restores:
                entry.created_at = source_entry.created_at or entry.created_at
                entry.updated_at = source_entry.updated_at or entry.updated_at
        Entry.objects.bulk_update(stored, ["provenance", "created_at", "updated_at"])

    def _ids_kept(self, entries: Iterable[SourceEntry]) -> dict[UUID | None, UUID]:
        told = {entry.id for entry in entries if entry.id and self.restores}
        taken = set(Entry.objects.filter(pk__in=told).values_list("pk", flat=True))
        return {one: one for one in told - taken}

    def _authors(self, entries: Iterable[SourceEntry]) -> dict[str, User]:
        names = {entry.created_by.casefold() for entry in entries if entry.created_by and self.restores}
        return {
            user.username.casefold(): user
            for user in User.objects.alias(lower=Lower("username")).filter(lower__in=names)
        }

    def _is_there(self, entry: SourceEntry) -> bool:
        """Handle an entry that exists already; return whether it did."""
        text = self.texts[entry.key] = digest(entry.content)
        if before := self.before.get(entry.key):
            self._compare(before, entry)
            return True
        if text in self.known:
            self.report.unchanged += 1
            return True
        self.known[text] = None  # The same text further on in the source is not added again.
        return False

    def _parent_of(self, entry: SourceEntry) -> UUID | None:
        if before := self.before.get(entry.parent):
            return before.pk
        return self.known.get(self.texts.get(entry.parent, ""))

    def _compare(self, before: Entry, entry: SourceEntry) -> None:
        mark = before.provenance
        parent = self._parent_of(entry)
        if mark.get("origin") == entry.fingerprint() and (before.parent_id or parent is None):
            self.report.unchanged += 1
            return
        is_reworded = mark.get("text") != digest(entry.content)
        is_edited_here = mark.get("text") != before.digest
        if is_reworded and is_edited_here and before.digest != digest(entry.content):
            self.report.kept.append(entry.key)
            self._change(before, {}, entry, parent)
        elif self._change(before, _changes_from(before, entry, is_reworded), entry, parent):
            self.report.changed.append(entry.key)

    def _change(self, before: Entry, changes: Mapping[str, Any], entry: SourceEntry, parent: UUID | None) -> bool:
        """Write what the source says now, and its state; return whether that was possible."""
        if self.dry_run:
            return True
        placed = {name: getattr(entry, name) for name in SENT if name not in _BY_OPERATION}
        if not entry.project:
            del placed["project"]  # Files written before entries had one say nothing of it.
        try:
            with transaction.atomic():
                metadata = _metadata_changes(before, entry)
                carry_out(update_entry, self.actor, {"id": before.pk, **changes, "metadata": metadata})
                kept = {"parent_id": parent or before.parent_id, "provenance": self._mark(entry)}
                # Where it comes from is among what may have signs: the next sweep looks at it again.
                Entry.objects.filter(pk=before.pk).update(**placed, **kept, signs=None)
        except BigMindError as error:
            self.report.refused.append(f"{self.source}, {entry.key}: {error}")
            return False
        return True

    def _row(self, entry: SourceEntry) -> NewEntry | None:
        sent = {name: getattr(entry, name) for name in SENT}
        try:
            return NewEntry(**sent, parent_id=self._parent_of(entry))
        except ValidationError as error:
            found = refusal(error, NewEntry)
            self.report.refused.append(f"{self.source}, {entry.key}: {found}")
            return None

    def _mark(self, entry: SourceEntry) -> dict[str, Any]:
        author = {"created_by": entry.created_by} if entry.created_by else {}
        told = {**author, "source": self.source, "place": entry.key, "origin": entry.fingerprint()}
        said = {name: getattr(entry, name) for name in ("roles", "tags", "confidence", "metadata")}
        return {**told, **said, "text": digest(entry.content)}


def _changes_from(before: Entry, entry: SourceEntry, is_reworded: bool) -> dict[str, Any]:
    """Return what the source says again. What only changed here since, such as tags or a confidence, stays."""
    said = before.provenance
    changes: dict[str, Any] = {"content": entry.content} if is_reworded else {}
    for name in ("roles", "tags"):
        # Entries that an older version imported lack the source's digests: then the source wins.
        if getattr(before, name) == said.get(name, getattr(before, name)):
            changes[name] = getattr(entry, name)
    if said.get("confidence") != entry.confidence:
        changes["confidence"] = entry.confidence
    return changes


def _metadata_changes(before: Entry, entry: SourceEntry) -> dict[str, Any]:
    """Return the metadata that the source says again, null for what it no longer says; what was changed here stays."""
    said = before.provenance.get("metadata", {})
    names = said.keys() | entry.metadata.keys()
    followed = (name for name in names if name not in said or before.metadata.get(name) == said[name])
    return {name: entry.metadata.get(name) for name in followed}


def _batches(entries: Sequence[SourceEntry]) -> Iterator[Sequence[SourceEntry]]:
    return (entries[begin : begin + BATCH] for begin in range(0, len(entries), BATCH))


def _ids(digests: Sequence[str]) -> dict[str, UUID]:
    return dict(Entry.objects.filter(digest__in=digests).values_list("digest", "pk"))
