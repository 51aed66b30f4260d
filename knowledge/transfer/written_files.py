"""Writing files for another program to a folder that people work in, without ever overwriting their changes."""

import json
import os
import tempfile
from collections.abc import Mapping
from dataclasses import dataclass, field
from pathlib import Path

from bigmind.core.errors import Invalid
from knowledge.parsers.reading import FILE_BYTES
from knowledge.transfer.readers.provenance import fingerprint

MARKS = ".bigmind-files.json"
"""Says beside the files what they said when they were written."""


@dataclass
class WrittenFiles:
    """What was written into a folder, or would be: the paths of files, and how many are as they were."""

    added: list[str] = field(default_factory=list)
    changed: list[str] = field(default_factory=list)
    kept: list[str] = field(default_factory=list)
    """Files edited there: they stay, and someone should check them."""
    unchanged: int = 0


def write_files(files: Mapping[str, bytes], folder: Path, *, dry_run: bool = False) -> WrittenFiles:
    """Write files into a folder, by their paths.

    A file that is there is written over only where it still says what an earlier call wrote.

    Raises:
        Invalid: the folder is a link or cannot be written.
    """
    if folder.is_symlink() or (folder.exists() and not folder.is_dir()):
        raise Invalid(f"{folder.name} is no folder.", hint="Name a folder, new or your program's.")
    written, marks, notes = WrittenFiles(), read_marks(_plain(_read(folder / MARKS) or b"")), {}
    for name, content in files.items():
        path, mark = _path_within(folder, name), marks.get(name, "")
        if path is None:
            written.kept.append(name)
        elif _write(path, name, content, mark, written, dry_run=dry_run):
            mark = fingerprint(_plain(content))
        # What differs there was last the same before the edit there.
        notes[name] = {"text": mark}
    if not dry_run and not (folder / MARKS).is_symlink():
        _replace(folder / MARKS, json.dumps({"version": 1, "notes": notes}, ensure_ascii=False, indent=1).encode())
    return written


def read_marks(text: str) -> dict[str, str]:
    """Return what each file said when it was written, as a digest by its path; empty where BigMind wrote none."""
    try:
        return {str(path): str(row["text"]) for path, row in json.loads(text)["notes"].items()}
    except (ValueError, KeyError, TypeError, AttributeError, RecursionError):
        return {}


def _write(path: Path, name: str, content: bytes, mark: str, written: WrittenFiles, *, dry_run: bool) -> bool:
    """Write one file unless it was edited there, and say whether it then says the same as here."""
    there = _read(path)
    if there == content:
        written.unchanged += 1
        return True
    is_there = path.exists() or path.is_symlink()
    if is_there and (there is None or fingerprint(_plain(there)) != mark):
        written.kept.append(name)
        return False
    (written.changed if is_there else written.added).append(name)
    if not dry_run:
        _replace(path, content)
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
