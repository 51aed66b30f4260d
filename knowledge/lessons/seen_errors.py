"""The errors that entries quote: kept with the entry, and found again by fingerprint."""

from collections.abc import Iterable
from dataclasses import dataclass
from uuid import UUID

from knowledge.lessons.fingerprints import SeenError, errors_in
from knowledge.models import Entry, EntryFingerprint

BATCH = 500


@dataclass(frozen=True)
class Quoted:
    """That an entry quotes an error: the very one, or one with the same headline that was raised elsewhere."""

    entry_id: UUID
    is_same: bool


def keep_fingerprints(entries: Iterable[Entry]) -> None:
    """Note which errors these entries quote now, in place of what was noted before.

    Call this in the transaction that writes the entries.
    """
    written = list(entries)
    EntryFingerprint.objects.filter(entry__in=written).delete()
    rows = [
        EntryFingerprint(entry=entry, fingerprint=fingerprint, has_place=has_place)
        for entry in written
        for fingerprint, has_place in fingerprints_in(entry.content).items()
    ]
    EntryFingerprint.objects.bulk_create(rows, batch_size=BATCH, ignore_conflicts=True)


def entries_quoting(error: SeenError) -> list[Quoted]:
    """Return the entries that quote this error, those with the very same one first."""
    fingerprints = [fingerprint for fingerprint in (error.fingerprint, error.by_headline) if fingerprint]
    found: dict[UUID, bool] = {}
    for row in EntryFingerprint.objects.filter(fingerprint__in=fingerprints):
        # With a headline alone on either side there is nothing that could differ.
        is_same = row.fingerprint == error.fingerprint or not row.has_place
        found[row.entry_id] = found.get(row.entry_id, False) or is_same
    return [Quoted(entry, is_same) for entry, is_same in sorted(found.items(), key=lambda item: not item[1])]


def fingerprints_in(content: str) -> dict[str, bool]:
    """Return the fingerprints of the errors that a text quotes, and whether it quotes where each was raised."""
    found: dict[str, bool] = {}
    for error in errors_in(content):
        has_place = bool(error.frames)
        for fingerprint in (error.fingerprint, error.by_headline):
            if fingerprint:
                found[fingerprint] = found.get(fingerprint, True) and has_place
    return found
