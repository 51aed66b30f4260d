"""Reads and replaces the files of other programs, atomically."""

import hashlib
import os
import stat
import tempfile
from contextlib import suppress
from dataclasses import dataclass
from pathlib import Path

from bigmind.core.errors import Conflict, Forbidden, Invalid

MOST_BYTES = 16 * 1024 * 1024
PRIVATE = 0o600


@dataclass(frozen=True)
class FoundFile:
    """A file as it was found.

    Attributes:
        path: Where its program looks for it.
        real: Where it is, behind links.
        content: What is in it; None when there is no such file.
        mode: Who may read it; None when there is no such file.
    """

    path: Path
    real: Path
    content: bytes | None
    mode: int | None

    @property
    def text(self) -> str:
        """Its text, with the ends of its lines as they are."""
        return (self.content or b"").decode()

    @property
    def is_linked(self) -> bool:
        """Whether it is not where its program looks. Links above the home do not count."""
        return self.path.is_symlink() or self.path.parent.is_symlink()


def find_file(path: Path) -> FoundFile:
    """Read a file, following links.

    Raises:
        Invalid: it is no file, too large, or not UTF-8.
        Forbidden: it may not be read.
    """
    try:
        real = path.resolve()
        if not real.exists():
            return FoundFile(path, real, None, None)
        if not real.is_file():
            raise Invalid(f"{path} is not a file.", hint="Move it away, then try again.")
        status = real.stat()
        if status.st_size > MOST_BYTES:
            raise Invalid(f"{path} has {status.st_size:,} bytes; at most {MOST_BYTES:,} are read.")
        found = FoundFile(path, real, real.read_bytes(), stat.S_IMODE(status.st_mode))
        found.text  # noqa: B018 - reading it is the check
    except UnicodeDecodeError as error:
        line = (error.object[: error.start].count(b"\n")) + 1
        refusal = f"{path}, line {line}: the file is not UTF-8."
        raise Invalid(refusal, hint="Save it as UTF-8, then try again.") from error
    except (OSError, RuntimeError) as error:  # a loop of links is a RuntimeError to some versions of Python
        raise Forbidden(f"{path} cannot be read: {_reason(error)}.") from error
    return found


def require_writable(found: FoundFile) -> None:
    """Refuse early if the file could not be written later.

    Raises:
        Forbidden: the file, or the folder it would be made in, may not be written.
    """
    folder = next(one for one in found.real.parents if one.exists())
    if not folder.is_dir():
        raise Forbidden(f"{found.path} cannot be written: {folder} is not a folder.")
    if not os.access(folder, os.W_OK | os.X_OK):
        raise Forbidden(f"{found.path} cannot be written: {folder} may not be written by you.")
    if found.content is not None and not os.access(found.real, os.W_OK):
        raise Forbidden(f"{found.path} cannot be written: it is read-only for you.")


def replace_file(found: FoundFile, content: bytes | None, *, mode: int) -> list[Path]:
    """Replace the file that was found with new content, or remove it. Return the folders that had to be created.

    The file is replaced in one step, so that no reader ever sees half of it.

    Raises:
        Conflict: it was changed since it was found.
        Forbidden: it may not be written.
    """
    made: list[Path] = []
    try:
        if content is None:
            _require_unchanged(found)
            found.real.unlink(missing_ok=True)
            return made
        made = make_folders(found.real.parent)
        _exchange(found, content, mode)
    except OSError as error:
        remove_folders(made)
        raise Forbidden(f"{found.path} cannot be written: {_reason(error)}.") from error
    except Conflict:
        remove_folders(made)
        raise
    return made


def make_folders(folder: Path) -> list[Path]:
    """Make a folder and those above it; return those that are new, the innermost first."""
    missing = [one for one in (folder, *folder.parents) if not one.exists()]
    folder.mkdir(parents=True, exist_ok=True)
    return missing


def remove_folders(folders: list[Path]) -> None:
    """Remove folders, the innermost first, as far as they are empty."""
    for folder in folders:
        with suppress(OSError):
            folder.rmdir()


def fingerprint_of(content: bytes | None) -> str:
    """Return what tells whether a file has changed."""
    return hashlib.sha256(content).hexdigest() if content is not None else ""


def _exchange(found: FoundFile, content: bytes, mode: int) -> None:
    # Beside it: only within one file system a file takes the place of another in one step.
    descriptor, name = tempfile.mkstemp(prefix=f".{found.real.name}.", dir=found.real.parent)
    temporary = Path(name)
    try:
        with os.fdopen(descriptor, "wb") as file:
            file.write(content)
            file.flush()
            os.fsync(file.fileno())
        temporary.chmod(mode)
        _keep_owner(found, temporary)
        # As late as possible: clients write these files, too, and no lock keeps them from it.
        _require_unchanged(found)
        temporary.replace(found.real)
    finally:
        temporary.unlink(missing_ok=True)


def _keep_owner(found: FoundFile, temporary: Path) -> None:
    """A file that someone else owns stays theirs when an administrator changes it."""
    if found.content is None or not hasattr(os, "chown"):
        return
    status = found.real.stat()
    with suppress(PermissionError):
        os.chown(temporary, status.st_uid, status.st_gid)


def _require_unchanged(found: FoundFile) -> None:
    content = found.real.read_bytes() if found.real.exists() else None
    if content != found.content:
        raise Conflict(f"{found.path} was changed by another program just now.", hint="Nothing is lost: try again.")


def _reason(error: Exception) -> str:
    return (error.strerror or str(error)) if isinstance(error, OSError) else str(error)
