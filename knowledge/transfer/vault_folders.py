"""Writing a vault to a folder that people work in, without ever overwriting their changes."""

import os
import tempfile
from collections.abc import Iterable, Mapping
from dataclasses import dataclass, field
from pathlib import Path

from accounts.models import User
from bigmind.core.errors import Invalid
from knowledge.parsers.reading import FILE_BYTES
from knowledge.transfer.readers.obsidian import MANIFEST, read_manifest
from knowledge.transfer.readers.provenance import fingerprint
from knowledge.transfer.vaults import VaultFile, manifest_of, take_out

WRITTEN_FILES = ".bigmind-files.json"
"""What says beside the files of other programs what they said when they were written."""


@dataclass
class WrittenVault:
    """What was written into a folder, or would be: the paths of files, and how many are as they were."""

    added: list[str] = field(default_factory=list)
    changed: list[str] = field(default_factory=list)
    kept: list[str] = field(default_factory=list)
    """Files edited both there and here: they stay, and someone should check them."""
    unchanged: int = 0
    newer: int = 0
    """Files edited only there: import them."""


def write_vault(user: User, folder: Path, *, dry_run: bool = False) -> WrittenVault:
    """Write the notes of a user into a folder, as a vault of Obsidian.

    A file that is there is written over only where it says what it said when it was last the same here.

    Raises:
        Invalid: the folder is a link or cannot be written.
    """
    return _write_files(take_out(user), folder, MANIFEST, dry_run=dry_run)


def write_files(files: Mapping[str, bytes], folder: Path, *, dry_run: bool = False) -> WrittenVault:
    """Write files into a folder, by their paths.

    A file that is there is written over only where it still says what an earlier call wrote.

    Raises:
        Invalid: the folder is a link or cannot be written.
    """
    written = _read(folder / WRITTEN_FILES) if not folder.is_symlink() else None
    marks = read_manifest(_plain(written)) if written else {}
    told = [
        VaultFile(path, content, marks.get(path, {}).get("text", ""), note={"text": fingerprint(_plain(content))})
        for path, content in files.items()
    ]
    return _write_files(told, folder, WRITTEN_FILES, dry_run=dry_run)


def _write_files(files: Iterable[VaultFile], folder: Path, manifest: str, *, dry_run: bool) -> WrittenVault:
    written = WrittenVault()
    if folder.is_symlink() or (folder.exists() and not folder.is_dir()):
        raise Invalid(f"{folder.name} is no folder.", hint="Name a folder, new or your vault's.")
    notes = {}
    for file in files:
        path = _path_within(folder, file.path)
        is_same = path is not None and _write(path, file, written, dry_run=dry_run)
        if path is None:
            written.kept.append(file.path)
        # What differs there was last the same before the edit here.
        notes[file.path] = file.note if is_same else {**file.note, "text": file.mark}
    if not dry_run and not (folder / manifest).is_symlink():
        _replace(folder / manifest, manifest_of(notes))
    return written


def _write(path: Path, file: VaultFile, written: WrittenVault, *, dry_run: bool) -> bool:
    """Write one file unless it was edited there, and say whether it then says the same as here."""
    there = _read(path)
    if there == file.content:
        written.unchanged += 1
        return True
    is_there = path.exists() or path.is_symlink()
    if is_there and not file.is_edited:
        written.newer += 1
        return False
    if is_there and (there is None or fingerprint(_plain(there)) != file.mark):
        written.kept.append(file.path)
        return False
    (written.changed if is_there else written.added).append(file.path)
    if not dry_run:
        _replace(path, file.content)
    return True


def _plain(raw: bytes) -> str:
    """A file's text as importers read it."""
    return raw.decode("utf-8-sig", errors="replace").replace("\r\n", "\n").replace("\r", "\n")


def _read(path: Path) -> bytes | None:
    """What is in a file; None where there is none, or nothing that a note may be compared with."""
    if path.is_symlink() or not path.is_file() or path.stat().st_size > FILE_BYTES:
        return None
    return path.read_bytes()


def _path_within(folder: Path, path: str) -> Path | None:
    """Return where a file goes; None where a link on the way leads elsewhere."""
    target = folder.joinpath(*path.split("/"))
    return target if target.parent.resolve().is_relative_to(folder.resolve()) else None


def _replace(path: Path, content: bytes) -> None:
    """Write a file in one step: anyone who reads it meanwhile sees the old text or the new."""
    try:
        path.parent.mkdir(parents=True, exist_ok=True)
        descriptor, temporary = tempfile.mkstemp(dir=path.parent, prefix=".bigmind-")
        try:
            with os.fdopen(descriptor, "wb") as file:
                file.write(content)
            # A private note is its owner's alone; a file that someone shares with a group stays as they set it.
            Path(temporary).chmod(0o600 if not path.exists() else path.stat().st_mode & 0o777)
            Path(temporary).replace(path)
        except BaseException:
            Path(temporary).unlink(missing_ok=True)
            raise
    except OSError as error:
        raise Invalid(f"{path.name}: {error.strerror}.", hint="Name a folder that can be written.") from error
