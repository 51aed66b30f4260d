"""Archives, folders and single files to import, as one bundle of files, with the limits that stop zip bombs.

No member is unpacked to disk, no link is followed, and no name leads anywhere: names are only looked up in the bundle.
"""

import io
import os
import re
import stat
import zipfile
from collections.abc import Iterator
from contextlib import AbstractContextManager, closing, contextmanager
from dataclasses import dataclass, field
from pathlib import Path, PurePosixPath
from typing import IO, Protocol

from bigmind.core.errors import Invalid
from bigmind.text.hygiene import echo
from knowledge.parsers.reading import decode_lines
from knowledge.parsers.sources import LEFT_ALONE

MEMBERS = 10_000
FILE_BYTES = 512 * 1024 * 1024
TOTAL_BYTES = 1024 * 1024 * 1024
TEXT_BYTES = 4 * 1024 * 1024
RATIO = 200
"""How many times its packed size a member may unpack to; chats reach about ten."""
UNSUSPICIOUS_BYTES = 1024 * 1024
DEPTH = 32
LOG = "-wal"
DRIVE = re.compile("[A-Za-z]:")
READ_THOUGH_HIDDEN = (".claude", ".obsidian")
READ = (
    *(".json", ".jsonl", ".md", ".markdown", ".mdx", ".canvas", ".base", ".txt", ".yaml", ".yml"),
    *(".db", ".sqlite", ".sqlite3", LOG),
)
"""Endings of what importers read. Pictures and recordings in an archive are neither counted nor unpacked."""


class Bundle(Protocol):
    """Files by their names, with forward slashes."""

    name: str

    def names(self) -> list[str]:
        """Return the names of the files, in order."""

    def open(self, name: str) -> AbstractContextManager[IO[bytes]]:
        """Open one of them for reading, bounded."""

    @property
    def others(self) -> int:
        """How many files there are beside those, such as pictures."""


def bundle_of(path: Path) -> Bundle:
    """Return what a path leads to.

    Raises:
        Invalid: it is a link, neither file nor folder, or an archive that is refused.
    """
    if path.is_symlink():
        raise Invalid(f"{path.name} is a link.", hint="Give the path of the file or folder itself.")
    if path.is_dir():
        return Folder(path)
    if not path.is_file():
        raise Invalid(f"{path.name}: there is no such file or folder.", hint="Check the path.")
    return Archive(path.open("rb"), path.name) if zipfile.is_zipfile(path) else Single(path.name, path=path)


def bundle_from(file: IO[bytes], name: str) -> Bundle:
    """Return what an upload holds.

    Raises:
        Invalid: it is an archive that is refused.
    """
    is_archive = zipfile.is_zipfile(file)
    file.seek(0)
    return Archive(file, name) if is_archive else Single(PurePosixPath(name).name or "upload", file=file)


def text_in(bundle: Bundle, name: str, *, limit: int = TEXT_BYTES) -> str:
    """Return the whole text of a file, up to a limit, with line breaks as `\\n`.

    Raises:
        Invalid: it is longer, or in no encoding that is read.
    """
    with bundle.open(name) as file:
        raw = file.read(limit + 1)
    if len(raw) > limit:
        raise Invalid(f"{name} is larger than {limit:,} bytes.", hint="Split it.")
    return decode_lines(raw, name)


@dataclass
class FilesInMemory:
    """Files that were sent as texts."""

    name: str
    files: dict[str, bytes] = field(default_factory=dict)
    others: int = 0

    def names(self) -> list[str]:
        """Return the names of the files, in order."""
        return sorted(self.files)

    @contextmanager
    def open(self, name: str) -> Iterator[IO[bytes]]:
        """Open one of them."""
        yield io.BytesIO(self.files[name])


class Single:
    """One file, on disk or uploaded."""

    def __init__(self, name: str, *, path: Path | None = None, file: IO[bytes] | None = None) -> None:
        self.name = name
        self._path, self._file = path, file

    def names(self) -> list[str]:
        """Return its name, and that of the log which SQLite keeps beside a database."""
        has_log = self._path is not None and self._log.is_file() and not self._log.is_symlink()
        return [self.name, f"{self.name}{LOG}"] if has_log else [self.name]

    @contextmanager
    def open(self, name: str) -> Iterator[IO[bytes]]:
        """Open it from its beginning."""
        if self._file is not None:
            self._file.seek(0)
            yield self._file
            return
        assert self._path is not None
        with _plain_file(self._path if name == self.name else self._log) as file:
            yield file

    @property
    def others(self) -> int:
        """None."""
        return 0

    @property
    def _log(self) -> Path:
        return Path(f"{self._path}{LOG}")


class Folder:
    """A folder and those below it. Links, hidden folders and what tools keep for themselves are passed over."""

    def __init__(self, path: Path) -> None:
        self.path, self.name = path, path.resolve().name or "folder"
        self.others = 0
        self._files = dict(self._walk(path, DEPTH))
        if len(self._files) > MEMBERS:
            raise Invalid(f"{self.name} has more than {MEMBERS:,} files.", hint="Name a smaller folder.")

    def names(self) -> list[str]:
        """Return the names of the files, by their paths below the folder."""
        return sorted(self._files)

    def open(self, name: str) -> AbstractContextManager[IO[bytes]]:
        """Open one of them."""
        return _plain_file(self._files[name])

    def _walk(self, folder: Path, depth: int) -> Iterator[tuple[str, Path]]:
        with os.scandir(folder) as entries:
            inside = sorted(entries, key=lambda entry: entry.name)
        for entry in inside:
            path = Path(entry.path)
            if entry.is_dir(follow_symlinks=False):
                is_ours = not entry.name.startswith(".") or entry.name in READ_THOUGH_HIDDEN
                if depth and is_ours and entry.name not in LEFT_ALONE:
                    yield from self._walk(path, depth - 1)
            elif entry.is_file(follow_symlinks=False) and entry.name.lower().endswith(READ):
                yield path.relative_to(self.path).as_posix(), path
            elif not entry.name.startswith("."):
                self.others += 1


class Archive:
    """A zip archive, looked through before anything in it is unpacked."""

    def __init__(self, file: IO[bytes], name: str) -> None:
        self.name = name
        self.others = 0
        try:
            self._zip = zipfile.ZipFile(file)
        except (zipfile.BadZipFile, OSError, ValueError, NotImplementedError) as error:
            raise Invalid(
                f"{name} is not a zip archive that can be read: {error}.", hint="Download it again."
            ) from None
        self._members: dict[str, zipfile.ZipInfo] = {}
        # Pictures and recordings count here, which nobody reads: an archive of chats has many.
        if len(self._zip.infolist()) > MEMBERS * 10:
            raise Invalid(f"{name} has more than {MEMBERS * 10:,} files.", hint="Import it in parts.")
        for member in self._zip.infolist():
            self._admit(member)
        if sum(member.file_size for member in self._members.values()) > TOTAL_BYTES:
            raise Invalid(f"{name} would unpack to more than {TOTAL_BYTES:,} bytes.", hint="Import it in parts.")

    def names(self) -> list[str]:
        """Return the names of the members that importers read."""
        return sorted(self._members)

    @contextmanager
    def open(self, name: str) -> Iterator[IO[bytes]]:
        """Open one member. It is unpacked as it is read, and never past its declared size."""
        try:
            with self._zip.open(self._members[name]) as member:
                yield member
        except (zipfile.BadZipFile, NotImplementedError, RuntimeError, EOFError, OSError) as error:
            raise Invalid(f"{self.name}, {name}: cannot be unpacked: {error}.", hint="Download it again.") from None

    def _admit(self, member: zipfile.ZipInfo) -> None:
        path = PurePosixPath(member.filename.replace("\\", "/"))
        if path.is_absolute() or ".." in path.parts or DRIVE.match(member.filename):
            raise Invalid(f"{self.name}: {echo(member.filename)} leads out of the archive.", hint="Do not trust it.")
        if stat.S_ISLNK(member.external_attr >> 16):
            raise Invalid(f"{self.name}: {echo(member.filename)} is a link.", hint="Pack the file itself.")
        if member.is_dir() or "__MACOSX" in path.parts or path.name == ".DS_Store":
            return
        if not path.name.lower().endswith(READ):
            self.others += 1
            return
        self._members[path.as_posix()] = member
        if member.flag_bits & 1:
            raise Invalid(f"{self.name}: {echo(path)} is encrypted.", hint="Unpack it and give the folder.")
        if member.file_size > FILE_BYTES:
            raise Invalid(f"{self.name}: {echo(path)} has more than {FILE_BYTES:,} bytes.", hint="Import it in parts.")
        if member.file_size > UNSUSPICIOUS_BYTES and member.file_size > RATIO * max(member.compress_size, 1):
            raise Invalid(
                f"{self.name}: {echo(path)} would unpack to {member.file_size:,} bytes, over {RATIO} times its size.",
                hint="If it is yours, unpack it and give the folder.",
            )


@contextmanager
def _plain_file(path: Path) -> Iterator[IO[bytes]]:
    """Open a file, never through a link, and without waiting for the other end of a pipe."""
    try:
        descriptor = os.open(path, os.O_RDONLY | getattr(os, "O_NOFOLLOW", 0) | getattr(os, "O_NONBLOCK", 0))
    except OSError as error:
        raise Invalid(f"{path.name}: {error.strerror}.", hint="Give the path of a readable file.") from error
    with closing(io.BufferedReader(io.FileIO(descriptor))) as file:
        status = os.fstat(descriptor)
        if not stat.S_ISREG(status.st_mode):
            raise Invalid(f"{path.name} is not a plain file.", hint="Give the path of a readable file.")
        if status.st_size > FILE_BYTES:
            raise Invalid(f"{path.name} has more than {FILE_BYTES:,} bytes.", hint="Import it in parts.")
        yield file
