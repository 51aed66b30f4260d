"""Notes of scrubs: kept beside the database and in each backup, so that what is restored is scrubbed again.

A note has no text: lengths, keyed hashes, whose memory it was, when and why.
"""

import hmac
import json
import os
from collections.abc import Iterable, Iterator, Sequence
from contextlib import suppress
from datetime import datetime
from hashlib import sha256
from pathlib import Path
from typing import Any
from uuid import UUID

from django.conf import settings
from pydantic import BaseModel, ConfigDict, TypeAdapter, ValidationError

from accounts.models import User
from bigmind.core.errors import Invalid
from bigmind.database.rls import rls_bypass
from bigmind.environment import environment
from curation.models import Scrub

from .matching import HashedNeedle, read_needles

FILE = "scrubs.json"
FILE_BYTES = 64 * 1024 * 1024
_PURPOSE = b"bigmind.privacy.scrub"


class ScrubNote(BaseModel):
    """What is kept of a scrub outside of the database."""

    model_config = ConfigDict(extra="forbid")

    key: UUID
    at: datetime
    whose: UUID | None = None
    why: str
    salt: str
    check_value: str
    needles: list[dict[str, Any]]


NOTED = ("key", "at", "why", "salt", "check_value", "needles")
"""What a scrub and its note have alike."""
_NOTES = TypeAdapter(list[ScrubNote])


def note_of(scrub: Scrub) -> ScrubNote:
    return ScrubNote(whose=scrub.whose_id, **{name: getattr(scrub, name) for name in NOTED})


def key_of(salt: str, secret: str) -> bytes:
    return hmac.new(secret.encode(), _PURPOSE + bytes.fromhex(salt), sha256).digest()


def check_value_of(key: bytes) -> str:
    """Return what tells this key from others without telling anything about it."""
    return hmac.new(key, b"check", sha256).hexdigest()


def needles_of_note(note: ScrubNote, secrets: Iterable[str]) -> list[HashedNeedle]:
    """Return the needles of a note, with the one of these secret keys that it was made with.

    Raises:
        Invalid: it was made with another secret key.
    """
    for secret in secrets:
        key = key_of(note.salt, secret)
        if hmac.compare_digest(check_value_of(key), note.check_value):
            return read_needles(note.needles, key)
    hint = "Set BIGMIND_SECRET_KEY to the key of that time, or say --without-scrubs and remove the text by hand."
    raise Invalid(f"The note of a text removed on {note.at:%Y-%m-%d} was made with another secret key.", hint=hint)


def secret_keys() -> list[str]:
    """Return the secret keys that a note may have been made with."""
    return [str(settings.SECRET_KEY), *map(str, settings.SECRET_KEY_FALLBACKS)]


def missing_notes() -> list[ScrubNote]:
    """Return the notes of the home that this database knows nothing of: it was restored, and not by `bigmind restore`.

    Raises:
        Invalid: the file is none of notes.
    """
    notes = read_notes(environment().home / FILE)
    if not notes:
        return []
    known = set(Scrub.objects.filter(key__in=[note.key for note in notes]).values_list("key", flat=True))
    people = set(User.objects.filter(pk__in=[note.whose for note in notes if note.whose]).values_list("pk", flat=True))
    return [note for note in notes if note.key not in known and (note.whose is None or note.whose in people)]


@rls_bypass()
def scrubs_error() -> str:
    """Return whether texts that were removed may be in this database; nothing where none is."""
    try:
        missing = len(missing_notes())
    except Invalid as error:
        return f"cannot be checked: {error.message}"
    texts = "a text that was removed" if missing == 1 else f"{missing:,} texts that were removed"
    return f"may hold {texts}: run “bigmind scrub --again”" if missing else ""


def keep_notes(notes: Iterable[ScrubNote]) -> None:
    """Keep notes in the home and in every backup that this process has. The worker does so again for its own."""
    added = {note.key: note for note in notes}
    for folder in _folders():
        kept = read_notes(folder / FILE)
        if added.items() <= {note.key: note for note in kept}.items():
            continue
        with suppress(OSError):  # A folder that is away gets it with the next backup, whose database has the row.
            write_notes(folder, [*(one for one in kept if one.key not in added), *added.values()])


@rls_bypass()
def keep_notes_of_database() -> None:
    """Keep all notes here, too: a text that was removed at a web process was noted there alone.

    Raises:
        Invalid: a file of notes is none.
    """
    keep_notes([note_of(scrub) for scrub in Scrub.objects.all()])


def read_notes(path: Path) -> list[ScrubNote]:
    """Return the notes of a file; none where there is no file.

    Raises:
        Invalid: it is no file of notes.
    """
    if not path.is_file():
        return []
    try:
        if path.stat().st_size > FILE_BYTES:
            raise ValueError("too large")
        return _NOTES.validate_json(path.read_bytes())
    except (ValidationError, ValueError) as error:
        raise Invalid(
            f"{path} is no file of notes of removed texts.", hint="`bigmind scrub --notes` makes one."
        ) from error


def as_json(notes: Sequence[ScrubNote]) -> str:
    """Return notes as their file has them."""
    return json.dumps([note.model_dump(mode="json") for note in notes], indent=2, ensure_ascii=False)


def write_notes(folder: Path, notes: Sequence[ScrubNote]) -> None:
    """Write the file of notes of a folder, for us alone to read; it appears whole."""
    aside = folder / f"{FILE}.{os.getpid()}"
    # Closed to others before anything is in it.
    aside.touch(mode=0o600)
    aside.write_text(as_json(notes), encoding="utf-8")
    aside.replace(folder / FILE)


def _folders() -> Iterator[Path]:
    from bigmind.backup.making import backups_in

    yield environment().home
    if settings.BACKUP_DIR:
        place = Path(settings.BACKUP_DIR)
        yield from (backup.folder for backup in backups_in(place))
