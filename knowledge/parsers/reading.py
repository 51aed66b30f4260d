"""Reading and replacing files that someone else wrote: bounded, never through a link, written as UTF-8."""

import os
import stat
import tempfile
from pathlib import Path

from bigmind.core.errors import Invalid
from bigmind.privacy.screening.policy import add_notice
from bigmind.text.hygiene import REFUSED, check_content

FILE_BYTES = 4 * 1024 * 1024
ARCHIVES = {
    b"PK\x03\x04": "zip",
    b"PK\x05\x06": "zip",
    b"\x1f\x8b": "gzip",
    b"BZh": "bzip2",
    b"\xfd7zXZ\x00": "xz",
    b"7z\xbc\xaf": "7z",
    b"(\xb5/\xfd": "zstd",
    b"Rar!": "rar",
}
MOST_BEYOND_ASCII = 0.25
OTHER_ENCODINGS = {b"\xff\xfe": "utf-16", b"\xfe\xff": "utf-16"}


def read_text(path: Path, *, within: Path | None = None) -> str:
    """Return the text of a file, with line breaks as `\\n` and without a byte order mark.

    Raises:
        Invalid: it is no plain file, too large, an archive, binary, not UTF-8, or outside the folder `within`.
    """
    return decode_text(read_bytes(path, within=within), path.name, as_prose=True)


def read_bytes(path: Path, *, within: Path | None = None, limit: int = FILE_BYTES) -> bytes:
    """Return what is in a file, up to a little more than it may have.

    Raises:
        Invalid: it is no plain file, or outside the folder `within`.
    """
    if within is not None:
        refuse_outside(path, within)
    try:
        # Not through a link, and without waiting for the other end of a pipe.
        descriptor = os.open(path, os.O_RDONLY | getattr(os, "O_NOFOLLOW", 0) | getattr(os, "O_NONBLOCK", 0))
    except OSError as error:
        reason = "is a link" if path.is_symlink() else (error.strerror or "cannot be read").lower()
        raise Invalid(f"{path.name}: {reason}.", hint="Give the path of a readable file.") from error
    if not stat.S_ISREG(os.fstat(descriptor).st_mode):
        os.close(descriptor)
        raise Invalid(f"{path.name} is not a plain file.", hint="Give the path of a readable file.")
    with os.fdopen(descriptor, "rb") as file:
        return file.read(limit + 1)  # One more, by which `decode_text` sees that there is too much.


def refuse_outside(path: Path, folder: Path) -> None:
    """Refuse a path that leads out of a folder, by `..` or through a link on the way.

    Raises:
        Invalid: it does.
    """
    if not path.resolve().is_relative_to(folder.resolve()):
        raise Invalid(f"{path.name} is outside {folder.name}.", hint="Name a file within the folder.")


def decode_text(raw: bytes, name: str, *, limit: int = FILE_BYTES, as_prose: bool = False) -> str:
    """Return the text of some bytes, or say in the name of their file why they are none.

    Args:
        as_prose: Whether a Western encoding is read, too. A file that is written back has to be UTF-8.

    Raises:
        Invalid: they are too many, an archive, binary, or in no encoding that is read.
    """
    if len(raw) > limit:
        raise Invalid(f"{name} is larger than {limit:,} bytes.", hint="Split it.")
    for magic, kind in ARCHIVES.items():
        if raw.startswith(magic):
            raise Invalid(f"{name} is a {kind} archive.", hint="Unpack it and give the files.")
    return _check(decode_lines(raw, name, as_prose=as_prose), name)


def decode_lines(raw: bytes, name: str, *, as_prose: bool = True) -> str:
    """Return some bytes as text, with line breaks as `\\n`: UTF-8, UTF-16, or with a notice Windows-1252.

    Raises:
        Invalid: they are in none of these encodings.
    """
    marked = next((each for mark, each in OTHER_ENCODINGS.items() if raw.startswith(mark)), "utf-8-sig")
    try:
        text = raw.decode(marked)
    except UnicodeDecodeError as error:
        line = raw.count(b"\n", 0, error.start) + 1
        text = _decode_western(raw) if as_prose else ""
        if not text:
            raise Invalid(f"{name}, line {line}: is not UTF-8 or UTF-16.", hint="Save it as UTF-8.") from error
        add_notice(f"{name}, line {line}: is not UTF-8 and was read as Windows-1252.")
    return text.replace("\r\n", "\n").replace("\r", "\n")


def _decode_western(raw: bytes) -> str:
    """Return bytes as Windows-1252, which contains Latin-1; nothing where they do not look like words of it."""
    try:
        text = raw.decode("cp1252")
    except UnicodeDecodeError:
        return ""
    # Of Western texts a few letters in a hundred are beyond ASCII; of pictures and other scripts most bytes are.
    is_western = sum(not letter.isascii() for letter in text) <= MOST_BEYOND_ASCII * len(text)
    return text if is_western and not REFUSED.search(text) else ""


def _check(text: str, name: str) -> str:
    # A page break is how some editors part chapters; it is a blank line to everyone else.
    text = text.replace("\f", "\n")
    try:
        return check_content(text)
    except ValueError as error:
        line = 1 + next(number for number, part in enumerate(text.split("\n")) if _is_refused(part))
        raise Invalid(f"{name}, line {line}: the text {error}.", hint="It looks like a binary file.") from error


def _is_refused(line: str) -> bool:
    try:
        check_content(line)
    except ValueError:
        return True
    return False


def replace_text(path: Path, text: str) -> None:
    """Write a file so that a reader sees the old text or the new, never half of it.

    Raises:
        Invalid: the path is a link.
    """
    if path.is_symlink():
        raise Invalid(f"{path.name} is a link.", hint="Give the path of the file itself.")
    mode = stat.S_IMODE(path.stat().st_mode) if path.exists() else 0o644
    # In the same folder: a file takes another's name in one step only within one file system.
    descriptor, temporary = tempfile.mkstemp(dir=path.parent, prefix=f".{path.name}-")
    try:
        with os.fdopen(descriptor, "w", encoding="utf-8", newline="\n") as file:
            file.write(text)
            file.flush()
            os.fsync(file.fileno())  # Otherwise the name could stand for an empty file after a crash.
        Path(temporary).chmod(mode)
        Path(temporary).replace(path)
    except BaseException:
        Path(temporary).unlink(missing_ok=True)
        raise
