"""Manifest: the contents of a backup, checked before a restore touches anything."""

import hashlib
import os
from datetime import datetime
from pathlib import Path
from typing import Literal

from pydantic import BaseModel, ConfigDict, ValidationError

from bigmind.core.errors import Invalid

MANIFEST, DUMP, SECRET_KEY = "manifest.json", "database.dump", "secret_key"
MANIFEST_BYTES = 4 * 1024 * 1024


class FileInBackup(BaseModel):
    """One file: its size and its SHA-256."""

    model_config = ConfigDict(extra="forbid")

    bytes: int
    sha256: str


class Manifest(BaseModel):
    """What a backup contains: the BigMind version, the time, the migrations and the rows of each table."""

    model_config = ConfigDict(extra="forbid")

    format: Literal["bigmind-backup"] = "bigmind-backup"
    version: Literal[1] = 1
    bigmind: str
    made_at: datetime
    postgresql: int
    pgvector: str
    migrations: dict[str, list[str]]
    rows: dict[str, int]
    audit_head: str = ""
    """The last line of the audit log, under its seal: `bigmind audit_verify` looks for it."""
    files: dict[str, FileInBackup]
    recipients: list[str] = []
    """Whom an older version encrypted the files to; this one reads only files that are not encrypted."""

    def as_text(self) -> str:
        return self.model_dump_json(indent=2, exclude={"recipients"})


def read_manifest(folder: Path) -> Manifest:
    """Return the manifest of a backup.

    Raises:
        Invalid: there is no backup there, or one that this BigMind cannot read.
    """
    file = folder / MANIFEST
    if not file.is_file():
        raise Invalid(f"{folder} is no backup: it has no {MANIFEST}.", hint="Give the folder bigmind-<date> itself.")
    if file.stat().st_size > MANIFEST_BYTES:
        raise Invalid(f"{file} is larger than {MANIFEST_BYTES:,} bytes.", hint="It is not what `bigmind backup` wrote.")
    try:
        manifest = Manifest.model_validate_json(file.read_bytes())
    except ValidationError as error:
        hint = "Restore it with the version of BigMind that made it, or a newer one."
        raise Invalid(f"{file} cannot be read: {error.errors()[0]['msg']}.", hint=hint) from None
    if manifest.recipients:
        hint = f"Restore it with the version of BigMind that made it ({manifest.bigmind}), and upgrade that."
        raise Invalid(f"{folder.name} is encrypted, and this version does not open encrypted backups.", hint=hint)
    return manifest


def check_files(folder: Path, manifest: Manifest) -> None:
    """Compare every file with the manifest.

    Raises:
        Invalid: one is missing or is not what was written.
    """
    for name, expected in manifest.files.items():
        path = folder / name
        # Anyone may have written the manifest: its names must not lead out of the folder.
        if Path(name).name != name or path.is_symlink() or not path.is_file():
            raise Invalid(f"{folder.name}: {name} is missing.", hint="The backup is not whole: take another.")
        if describe_file(path) != expected:
            hint = "The file was changed or damaged: take another backup."
            raise Invalid(f"{folder.name}: {name} is not what was written.", hint=hint)
    if DUMP not in manifest.files:
        raise Invalid(f"{folder.name}: the manifest names no {DUMP}.", hint="The backup is not whole: take another.")


def describe_file(path: Path) -> FileInBackup:
    with path.open("rb") as file:
        checksum = hashlib.file_digest(file, "sha256").hexdigest()
    return FileInBackup(bytes=path.stat().st_size, sha256=checksum)


def write_private(path: Path, content: bytes) -> None:
    """Write a new file durably, readable only by this user."""
    descriptor = os.open(path, os.O_WRONLY | os.O_CREAT | os.O_EXCL, 0o600)
    with os.fdopen(descriptor, "wb") as file:
        file.write(content)
        file.flush()
        os.fsync(file.fileno())
