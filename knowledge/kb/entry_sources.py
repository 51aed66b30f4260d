"""The sources of entries: which a source file created, and what importing it again adds and changes.

An import keeps what it knows of an entry in `provenance`, which nothing else writes: the source, its key there
(`place`), and digests of the source's text, which tell a later edit here from a later edit there.
"""

from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import PurePath, PurePosixPath
from typing import Any, NamedTuple
from uuid import UUID, uuid4

from django.db import transaction
from django.db.models import QuerySet
from django.db.models.functions import Lower
from pydantic import ValidationError
from rapidfuzz import fuzz

from accounts.actor import Actor
from accounts.models import User
from bigmind.core.argument_checks import refusal
from bigmind.core.errors import BigMindError
from bigmind.core.operations import carry_out
from bigmind.text.hygiene import digest
from knowledge.kb.entries import delete_entry, update_entry
from knowledge.kb.entry_imports import COLUMNS, NewEntry, store_new
from knowledge.kb.import_consent import WouldReplace, require_consent
from knowledge.kb.source_identity import (
    FEW,
    HALF,
    MOST,
    earlier_names,
    is_bare_name_of,
    remember_place,
)
from knowledge.models import Entry, EntryType
from knowledge.parsers.entries import SourceEntry, generations, rewordings
from knowledge.parsers.repositories import SourcePlace, read_place

BATCH = 500
REWORDED = 75
"""How alike, of 100, the texts of two entries with one key are if one is the other reworded."""
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
    asks: str = ""
    """Why the import would be refused unless its caller says that so much is to change."""

    def __str__(self) -> str:
        changes = f"{len(self.added)} added, {len(self.changed)} changed, {len(self.removed)} removed from the source"
        more = {"edited here and kept": self.kept, "refused": self.refused}
        return ", ".join(
            [changes, f"{self.unchanged} unchanged", *(f"{len(keys)} {what}" for what, keys in more.items() if keys)]
        )


def entries_from(actor: Actor, source: str) -> dict[str, Entry]:
    """Return the entries imported from a source, by their keys in it: the actor's own; for curators all."""
    return _by_key(_select_imported(actor, provenance__source=source))


def import_source(
    actor: Actor,
    source: SourcePlace | str,
    entries: Sequence[SourceEntry],
    *,
    dry_run: bool = False,
    replaces: bool = False,
    progress: Callable[[int], None] = lambda done: None,
) -> Reimport:
    """Update the knowledge base to a source: the importer owns what is added, and nothing is deleted.

    What a curator restores from an export keeps its id, its dates and its author, if a user of that name exists.

    Args:
        source: Where it is, or a name that no other source has.
        replaces: Whether to change even most of what is there; else that is refused.
        progress: Told how many entries were seen to, as it goes on.

    Raises:
        WouldReplace: most of what the source brought would change, or what another source brought.
    """
    known = _find_known(actor, source, entries)
    entries = _keep_file_names(known.rows, entries)
    trial = _SourceImport(actor, source, known, dry_run=True)
    would, reworded = trial.run(entries), trial.reworded
    foreign = reworded if known.is_guessed else 0
    try:
        require_consent(str(source), changed=reworded, removed=0, there=len(known.rows), foreign=foreign)
    except WouldReplace as refusal_of_most:
        would.asks = str(refusal_of_most)
        if not (dry_run or replaces):
            raise
    if dry_run:
        return would
    if isinstance(source, SourcePlace):
        remember_place(source)
    _adopt(known, str(source))
    return _SourceImport(actor, source, known, dry_run=False).run(entries, progress)


def delete_removed(actor: Actor, source: SourcePlace | str, report: Reimport, *, replaces: bool = False) -> int:
    """Delete what a source no longer has, after someone confirmed the list; return how many.

    What another source has, too, stays, as that one's.

    Raises:
        WouldReplace: it is most of what the source brought.
    """
    there = len(entries_from(actor, str(source)))
    require_consent(str(source), changed=0, removed=len(report.removed), there=there, replaces=replaces, unasked=0)
    deleted = 0
    for entry in Entry.objects.filter(pk__in=report.removed.values()):
        if not _hand_over(entry):
            delete_entry(actor, id=entry.pk)
            deleted += 1
    return deleted


def _select_imported(actor: Actor, **conditions: Any) -> QuerySet[Entry]:
    own = {} if "curate" in actor.scopes else {"created_by": actor.user}
    return Entry.objects.filter(**own, **conditions)


def _by_key(entries: Iterable[Entry]) -> dict[str, Entry]:
    return {str(entry.provenance.get("place", "")): entry for entry in entries}


@dataclass(frozen=True)
class _Known:
    """What is there of a source: entries by their keys, also those that are stored under another name of it."""

    rows: dict[str, Entry]
    is_guessed: bool = False
    """Whether only the likeness of its entries says that it is the same source."""


def _find_known(actor: Actor, source: SourcePlace | str, entries: Sequence[SourceEntry]) -> _Known:
    """Return what is there of a source: under its name, under an earlier one, or under the bare name of its file."""
    rows = entries_from(actor, str(source))
    if rows or isinstance(source, str):
        return _Known(rows)
    # A summary tells what is below it, so its text changes with each of these.
    texts = {digest(entry.content) for entry in entries if entry.entry_type != EntryType.SUMMARY.value}
    for name in earlier_names(source):
        rows = entries_from(actor, name)
        if rows and _count_shared(rows, texts).share_of_fewer >= HALF:
            return _Known(rows)
    return _find_moved(actor, source, texts) or _Known(_find_unplaced(actor, source, entries, texts))


def _find_moved(actor: Actor, place: SourcePlace, texts: set[str]) -> _Known | None:
    """Return a source that was renamed in its repository, or whose folder was: most of its entries are the same."""
    likely = _select_imported(actor, digest__in=texts).values_list("provenance__source", flat=True)
    for name in sorted({name for name in likely if name}):
        other = read_place(name)
        if not other or (other.repository != place.repository and other.path != place.path):
            continue
        is_folder = "~" in other.repository and "~" in place.repository
        if other.repository != place.repository and not is_folder:
            continue
        rows = entries_from(actor, name)
        alike = _count_shared(rows, texts)
        if alike.shared >= FEW and alike.share_of_more >= MOST:
            is_gone = place.root and other.repository == place.repository and not (place.root / other.path).exists()
            return _Known(rows, is_guessed=not is_gone)
    return None


def _find_unplaced(
    actor: Actor, place: SourcePlace, entries: Sequence[SourceEntry], texts: set[str]
) -> dict[str, Entry]:
    """Return what an earlier version of BigMind stored under the bare name of this file, as far as it is of this file.

    Two files of that name may have been taken for one source, so each row has to show that it is of this one.
    """
    found: dict[str, Entry] = {}
    name = place.bare_name or PurePosixPath(place.path or place.repository).name
    likely = _select_imported(actor, provenance__source__endswith=name)
    for name in sorted({*likely.values_list("provenance__source", flat=True)} - {""}):
        if is_bare_name_of(name, place):
            rows = entries_from(actor, name)
            found |= _rows_of(rows, entries, is_one_file=_count_shared(rows, texts).share_of_rows >= HALF)
    return found


def _rows_of(rows: Mapping[str, Entry], entries: Sequence[SourceEntry], *, is_one_file: bool) -> dict[str, Entry]:
    """Return the rows that are entries of this file: by their text; else by place, if they say nearly the same."""
    by_text = {str(row.provenance.get("text")): (key, row) for key, row in rows.items()}
    found = dict(by_text[text] for entry in entries if (text := digest(entry.content)) in by_text)
    if not is_one_file:
        return found
    parents, new = {row.parent_id for row in found.values()}, {entry.key: entry for entry in entries}
    pairs = {key: key for key in new.keys() & rows.keys()} | _pair_reworded(rows, entries)
    for key, before in pairs.items():
        row = rows[before]
        # A summary tells what is below it, so its text changes with each of these.
        if row.pk in parents or fuzz.ratio(row.content, new[key].content) >= REWORDED:
            found.setdefault(before, row)
    return found


def _pair_reworded(before: Mapping[str, Entry], entries: Sequence[SourceEntry]) -> dict[str, str]:
    """Return the keys of entries whose first words changed, and the keys that they had before."""
    keys = {entry.key for entry in entries}
    compared = ("content", "entry_type", "source_story")
    gone = [
        SourceEntry.model_construct(None, key=key, **{name: getattr(one, name) for name in compared})
        for key, one in before.items()
        if key not in keys
    ]
    return rewordings(gone, [entry for entry in entries if entry.key not in before])


class SharedTexts(NamedTuple):
    """How many entries of a source are stored with the same text, of how many there and here."""

    shared: int
    stored: int
    sent: int

    @property
    def share_of_rows(self) -> float:
        return self.shared / max(self.stored, 1)

    @property
    def share_of_fewer(self) -> float:
        return self.shared / max(min(self.stored, self.sent), 1)

    @property
    def share_of_more(self) -> float:
        return self.shared / max(self.stored, self.sent, 1)


def _count_shared(rows: Mapping[str, Entry], texts: set[str]) -> SharedTexts:
    stored = [row for row in rows.values() if row.entry_type != EntryType.SUMMARY]
    return SharedTexts(sum(row.provenance.get("text") in texts for row in stored), len(stored), len(texts))


def _adopt(known: _Known, source: str) -> None:
    """Store what was found under another name under the name of its source."""
    moved = [row for row in known.rows.values() if row.provenance.get("source") != source]
    for row in moved:
        row.provenance = {**row.provenance, "source": source}
    Entry.objects.bulk_update(moved, ["provenance"], batch_size=BATCH)


def _hand_over(entry: Entry) -> bool:
    """Leave an entry to the next of the other sources that say the same; return whether there is one."""
    others = dict(entry.provenance.get("also") or {})
    if not others:
        return False
    source = next(iter(others))
    entry.provenance = {**entry.provenance, "source": source, "place": others.pop(source), "also": others}
    entry.save(update_fields=["provenance"])
    return True


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

    def __init__(self, actor: Actor, source: SourcePlace | str, known: _Known, *, dry_run: bool) -> None:
        self.actor, self.source, self.dry_run = actor, str(source), dry_run
        # Anyone who may not change what others wrote may not write in their names either.
        self.restores = "curate" in actor.scopes
        self.report = Reimport()
        self.before = dict(known.rows)
        self.reworded = 0
        self.shared: dict[UUID, str] = {}
        """The keys here of entries that another source brought with the same text."""
        self.known: dict[str, UUID | None] = {}
        """Ids by the digest of the content; None for what this import is about to add."""
        self.texts: dict[str, str] = {}

    def run(self, entries: Sequence[SourceEntry], progress: Callable[[int], None] = lambda done: None) -> Reimport:
        """Compare, and unless it is a dry run store, all entries of the source."""
        self.know_reworded(entries)
        self.look_up(entries)
        for generation in generations(entries):
            for batch in _batches(generation):
                self.see_to(batch)
                progress(len(batch))
        if not self.dry_run:
            self._note_shared()
        gone = self.before.keys() - {entry.key for entry in entries}
        self.report.removed = {key: self.before[key].pk for key in sorted(gone)}
        return self.report

    def know_reworded(self, entries: Sequence[SourceEntry]) -> None:
        """Recognize entries that have another key in the source now, because their first words changed."""
        for new, old in _pair_reworded(self.before, entries).items():
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

    def _store(self, new_entries: Mapping[str, SourceEntry], rows: Mapping[str, NewEntry]) -> None:
        keys = {digest(row.content): key for key, row in rows.items()}
        ids, authors = self._ids_kept(new_entries.values()), self._authors(new_entries.values())
        stored = store_new(
            Entry(
                digest=text,
                id=ids.get(new_entries[key].id) or uuid4(),
                created_by=authors.get((new_entries[key].created_by or "").casefold(), self.actor.user),
                **rows[key].columns(),
            )
            for text, key in keys.items()
        )
        for entry in stored:
            source_entry = new_entries[keys[entry.digest]]
            entry.provenance = self._mark(source_entry)
            if self.restores:
                entry.created_at = source_entry.created_at or entry.created_at
                entry.updated_at = source_entry.updated_at or entry.updated_at
        Entry.objects.bulk_update(stored, ["provenance", "created_at", "updated_at"])

    def _ids_kept(self, entries: Iterable[SourceEntry]) -> dict[UUID | None, UUID]:
        ids = {entry.id for entry in entries if entry.id and self.restores}
        taken = set(Entry.objects.filter(pk__in=ids).values_list("pk", flat=True))
        return {one: one for one in ids - taken}

    def _authors(self, entries: Iterable[SourceEntry]) -> dict[str, User]:
        names = {entry.created_by.casefold() for entry in entries if entry.created_by and self.restores}
        return {
            user.username.casefold(): user
            for user in User.objects.alias(lower=Lower("username")).filter(lower__in=names)
        }

    def _is_there(self, entry: SourceEntry) -> bool:
        """Handle an entry that exists already; return whether it did."""
        text = self.texts[entry.key] = digest(entry.content)
        before = self.before.get(entry.key)
        if before and before.provenance.get("also") and before.provenance.get("text") != text:
            # Another source still says what this one said before: that stays, and this is a new entry.
            del self.before[entry.key]
            if not self.dry_run:
                _hand_over(before)
            before = None
        if before:
            self._compare(before, entry)
            return True
        if text in self.known:
            self.report.unchanged += 1
            if there := self.known[text]:
                self.shared[there] = entry.key
            return True
        self.known[text] = None  # The same text further on in the source is not added again.
        return False

    def _note_shared(self) -> None:
        """Note on entries of other sources that this one says the same, so that they outlive those."""
        rows = list(Entry.objects.filter(pk__in=self.shared, provenance__has_key="source"))
        rows = [row for row in rows if row.provenance["source"] != self.source]
        for row in rows:
            others = {**(row.provenance.get("also") or {}), self.source: self.shared[row.pk]}
            row.provenance = {**row.provenance, "also": others}
        Entry.objects.bulk_update(rows, ["provenance"], batch_size=BATCH)

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
        self.reworded += is_reworded
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
                kept = {"parent_id": parent or before.parent_id, "provenance": before.provenance | self._mark(entry)}
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
        provenance = {**author, "source": self.source, "place": entry.key, "origin": entry.fingerprint()}
        metadata = {name: getattr(entry, name) for name in ("roles", "tags", "confidence", "metadata")}
        return {**provenance, **metadata, "text": digest(entry.content)}


def _changes_from(before: Entry, entry: SourceEntry, is_reworded: bool) -> dict[str, Any]:
    """Return what the source says again. What only changed here since, such as tags or a confidence, stays."""
    stored = before.provenance
    changes: dict[str, Any] = {"content": entry.content} if is_reworded else {}
    for name in ("roles", "tags"):
        # Entries that an older version imported lack the source's digests: then the source wins.
        if getattr(before, name) == stored.get(name, getattr(before, name)):
            changes[name] = getattr(entry, name)
    if stored.get("confidence") != entry.confidence:
        changes["confidence"] = entry.confidence
    return changes


def _metadata_changes(before: Entry, entry: SourceEntry) -> dict[str, Any]:
    """Return the metadata that the source says again, null for what it no longer says; what was changed here stays."""
    metadata = before.provenance.get("metadata", {})
    names = metadata.keys() | entry.metadata.keys()
    followed = (name for name in names if name not in metadata or before.metadata.get(name) == metadata[name])
    return {name: entry.metadata.get(name) for name in followed}


def _batches(entries: Sequence[SourceEntry]) -> Iterator[Sequence[SourceEntry]]:
    return (entries[begin : begin + BATCH] for begin in range(0, len(entries), BATCH))


def _ids(digests: Sequence[str]) -> dict[str, UUID]:
    return dict(Entry.objects.filter(digest__in=digests).values_list("digest", "pk"))
