"""Where packs come from: a file, an https address, or a folder such as a checkout of a git repository."""

import math
import os
import stat
import subprocess
from pathlib import Path

import httpx
from django.conf import settings

from bigmind.core.addresses import AddressRefused, fetch
from bigmind.core.errors import Invalid
from bigmind.core.git import remove_old_locks, run_git

from .documents import MOST_BYTES, SUFFIX, VERSION, SignedPack, numbers_of, open_pack, read_pack

SECONDS = 30.0
MOST_FILES = 500
PULL_SECONDS = 60.0
_OPTIONS = ("-c", "core.hooksPath=/dev/null", "-c", "core.fsmonitor=false", "-C")
"""Hooks of a repository are never run; `core.fsmonitor` may name a program as well."""


def read_source(source: str, *, name: str = "", pinned: str = "") -> SignedPack:
    """Read a pack from an https address, a file or a folder; of a folder the newest version that is not above `pinned`.

    Args:
        name: Of a folder, only files of this pack count.

    Raises:
        Invalid: nothing that may be read is there, or it is no pack.
    """
    if is_address(source):
        return read_pack(_fetch(source))
    path = Path(source)
    return _read_folder(path, name, pinned) if _is_folder(path) else read_pack(_read_file(path))


def is_address(source: str) -> bool:
    """Whether a source is an address, and no place on this machine."""
    return "://" in source


def pull(source: str) -> str:
    """Bring a checkout of a git repository up to date, where that is only a step forward; return why it was not.

    A folder that is no checkout itself, or has nothing to pull from, stays as it is.
    """
    folder = Path(source)
    try:
        if is_address(source) or not (folder / ".git").exists():
            return ""
        follows, _ = _git(folder, "rev-parse", "--abbrev-ref", "@{upstream}")
        if not follows:
            return ""
        is_found, repository = _git(folder, "rev-parse", "--git-common-dir")
        if is_found and repository:
            remove_old_locks(folder / repository)
        done, said = _git(folder, "pull", "--ff-only", "--quiet", "--no-recurse-submodules")
    except FileNotFoundError:
        return "git is not installed, so that the folder is not pulled."
    except subprocess.TimeoutExpired:
        return f"git pull took more than {PULL_SECONDS:.0f} s."
    except OSError as error:
        return f"The folder is not pulled: {error.strerror}."
    return "" if done else f"git pull failed: {said[:300]}"


def _git(folder: Path, *arguments: str) -> tuple[bool, str]:
    """Run git; return whether it succeeded, and the last line of what it says."""
    done = run_git(*_OPTIONS, str(folder), *arguments, seconds=PULL_SECONDS)
    return done.returncode == 0, (done.stderr or done.stdout).decode(errors="replace").strip().rpartition("\n")[2]


def _fetch(address: str) -> bytes:
    if not address.startswith("https://"):
        raise Invalid.of("source", "must begin with https://")
    try:
        answer = fetch(address, most_bytes=MOST_BYTES, seconds=SECONDS, **settings.PACK_ADDRESSES)
    except (AddressRefused, ValueError, httpx.InvalidURL) as error:
        raise Invalid.of("source", f"is refused: {str(error).rstrip('.')}") from error
    except httpx.HTTPError as error:
        raise Invalid.of("source", f"does not answer ({type(error).__name__})", hint="Try again later.") from error
    if answer.status in {301, 302, 303, 307, 308}:
        raise Invalid.of("source", "leads to another address, which is not followed", hint="Name that one.")
    if answer.status != 200:
        raise Invalid.of("source", f"answers with the status {answer.status}")
    return answer.body


def _is_folder(path: Path) -> bool:
    """Whether there is a folder. A name that is too long, or in a folder that is closed to us, is none."""
    try:
        return path.is_dir()
    except OSError:
        return False


def _read_file(path: Path) -> bytes:
    """Return what is in a file, if it is one: a link, a device or a pipe is not read."""
    try:
        # O_NONBLOCK: to open a pipe would wait until someone writes to it.
        handle = os.open(path, os.O_RDONLY | os.O_NOFOLLOW | os.O_NONBLOCK)
        with os.fdopen(handle, "rb") as file:
            if not stat.S_ISREG(os.fstat(file.fileno()).st_mode):
                raise Invalid.of("source", "is no plain file")
            return file.read(MOST_BYTES + 1)  # one more than may be: `open_pack` refuses it
    except (OSError, ValueError) as error:
        why = getattr(error, "strerror", None) or "it has no name that a file may have"
        raise Invalid.of("source", f"cannot be read: {why}") from None


def _read_folder(folder: Path, name: str, pinned: str) -> SignedPack:
    """Return the newest version in a folder. Files that are no packs are skipped, unless there is nothing else."""
    try:
        files = [path for path in folder.iterdir() if path.name.endswith(SUFFIX)]
    except OSError as error:
        raise Invalid.of("source", f"cannot be read: {error.strerror}") from None
    highest = numbers_of(pinned) if pinned else None
    found, refused = list[tuple[list[int], str, Path]](), list[Invalid]()
    for path in sorted(files, key=lambda path: _order_of(path, name))[-MOST_FILES:]:
        # One at a time: five hundred of the largest would take all the memory of a machine.
        try:
            told, version = open_pack(_read_file(path)).says
        except Invalid as error:
            refused.append(error)
            continue
        if (not name or told == name) and (not highest or version <= highest):
            found.append((version, told, path))
    names = sorted({told for _, told, _ in found})
    if not name and len(names) > 1:
        named = ", ".join(names)
        raise Invalid.of("source", f"holds several packs ({named})", hint="Name the file of one of them.")
    for _, _, path in sorted(found, reverse=True):
        # Its texts are read only here: of the newest, if its key is trusted. If not, its Conflict ends the search: an
        # older version by a trusted key is not what was asked for.
        try:
            return read_pack(_read_file(path))
        except Invalid as error:
            refused.append(error)
    if refused:
        raise refused[0]
    raise Invalid.of("source", f"holds no file that ends in {SUFFIX}" + (f" of the pack {name}" if name else ""))


def _order_of(path: Path, name: str) -> tuple[bool, list[float], str]:
    """Return by what the files of a folder are ordered: those of the pack last, and of these the newest versions.

    A file whose name has no version may hold any: it counts as the newest.
    """
    versions = VERSION.findall(path.name)
    return path.name.startswith(name), [float(one) for one in versions[-1]] if versions else [math.inf], path.name
