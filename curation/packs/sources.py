"""Where packs come from: a file, an https address, or a folder such as a checkout of a git repository."""

import os
import signal
import stat
import subprocess
from pathlib import Path

import httpx
from django.conf import settings

from bigmind.core.addresses import AddressRefused, fetch
from bigmind.core.errors import BigMindError, Invalid

from .documents import MOST_BYTES, SUFFIX, SignedPack, numbers_of, read_pack

SECONDS = 30.0
MOST_FILES = 500
PULL_SECONDS = 60.0
_GIT = ("git", "-c", "core.hooksPath=/dev/null", "-c", "core.fsmonitor=false", "-C")
"""Hooks of a repository are never run."""


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
        done, said = _git(folder, "pull", "--ff-only", "--quiet", "--no-recurse-submodules")
    except FileNotFoundError:
        return "git is not installed, so that the folder is not pulled."
    except subprocess.TimeoutExpired:
        return f"git pull took more than {PULL_SECONDS:.0f} s."
    except OSError as error:
        return f"The folder is not pulled: {error.strerror}."
    return "" if done else f"git pull failed: {said[:300]}"


def _git(folder: Path, *arguments: str) -> tuple[bool, str]:
    """Run git without password prompts; return whether it succeeded, and the end of its output."""
    process = subprocess.Popen(  # noqa: S603 - git, in a folder that the operator named
        [*_GIT, str(folder), *arguments],
        stdin=subprocess.DEVNULL,
        stdout=subprocess.DEVNULL,
        stderr=subprocess.PIPE,
        env={**os.environ, "GIT_TERMINAL_PROMPT": "0", "LC_ALL": "C"},
        start_new_session=True,
    )
    try:
        said = process.communicate(timeout=PULL_SECONDS)[1].decode(errors="replace").strip()
    except subprocess.TimeoutExpired:
        # Git starts helpers, which would go on without it.
        os.killpg(process.pid, signal.SIGKILL)
        process.communicate()
        raise
    return process.returncode == 0, said.rpartition("\n")[2]


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
        handle = os.open(path, os.O_RDONLY | os.O_NOFOLLOW | os.O_NONBLOCK)
        with os.fdopen(handle, "rb") as file:
            if not stat.S_ISREG(os.fstat(file.fileno()).st_mode):
                raise Invalid.of("source", "is no plain file")
            return file.read(MOST_BYTES + 1)
    except (OSError, ValueError) as error:
        why = getattr(error, "strerror", None) or "it has no name that a file may have"
        raise Invalid.of("source", f"cannot be read: {why}") from None


def _read_folder(folder: Path, name: str, pinned: str) -> SignedPack:
    """Return the newest version in a folder. Files that are no packs are skipped, unless there is nothing else."""
    try:
        files = sorted(path for path in folder.iterdir() if path.name.endswith(SUFFIX))[-MOST_FILES:]
    except OSError as error:
        raise Invalid.of("source", f"cannot be read: {error.strerror}") from None
    highest = numbers_of(pinned) if pinned else None
    newest, names, refused = None, set[str](), list[BigMindError]()
    for path in files:
        # One at a time: five hundred of the largest would take all the memory of a machine.
        try:
            one = read_pack(_read_file(path))
        except Invalid as error:
            refused.append(error)
            continue
        if (not name or one.document.name == name) and (not highest or one.document.numbers <= highest):
            names.add(one.document.name)
            newest = one if newest is None or one.document.numbers > newest.document.numbers else newest
    if not name and len(names) > 1:
        named = ", ".join(sorted(names))
        raise Invalid.of("source", f"holds several packs ({named})", hint="Name the file of one of them.")
    if newest:
        return newest
    if refused:
        raise refused[0]
    raise Invalid.of("source", f"holds no file that ends in {SUFFIX}" + (f" of the pack {name}" if name else ""))
