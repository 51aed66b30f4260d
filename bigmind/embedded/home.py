"""BIGMIND_HOME: prepares the folder, and keeps a second BigMind off data that is in use."""

import atexit
import errno
import fcntl
import os
import shutil
import tempfile
from collections.abc import Iterable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path

# A new database takes 45 MB, and its journal up to 1 GB when much is imported at once.
LEAST_FREE_BYTES = 256 * 1024 * 1024
FOLDERS = ("logs", "run", "queue", "queue/in", "queue/processed", "queue/control")
IN_MEMORY = Path("/dev/shm")  # noqa: S108 - files in it get unpredictable names
METRICS_FOLDER = "PROMETHEUS_MULTIPROC_DIR"
ELSEWHERE = "choose another folder with BIGMIND_HOME"
SOURCES = Path(__file__).resolve().parents[2]


class CannotStart(Exception):
    """BigMind cannot start or continue; the message says why and what to change."""


@dataclass(frozen=True)
class Running:
    """The BigMind that is using a home."""

    pid: int
    url: str
    parts: tuple[str, ...] = ()


def start_command(sources: Path = SOURCES) -> str:
    """Return what starts BigMind here: only a clone has a Makefile."""
    return "make run" if (sources / "Makefile").is_file() else "bigmind up"


def prepare_home(home: Path) -> None:
    """Create the folder and its subfolders, closed to other users, and check that BigMind can write there.

    Raises:
        CannotStart: naming the folder and the variable that chooses another.
    """
    try:
        home.mkdir(mode=0o700, parents=True, exist_ok=True)
        if home.stat().st_uid != os.geteuid():
            raise CannotStart(f"{home} belongs to another user. Start BigMind as that user, or {ELSEWHERE}.")
        home.chmod(0o700)
        for folder in FOLDERS:
            (home / folder).mkdir(mode=0o700, exist_ok=True)
        with tempfile.TemporaryFile(dir=home) as trial:
            trial.write(b"BigMind can write here.")
    except OSError as error:
        raise CannotStart(reason_for(error, home)) from None
    if free_bytes(home) < LEAST_FREE_BYTES:
        raise CannotStart(
            f"The disk of {home} has {free_bytes(home) // 2**20} MB left, and BigMind needs "
            f"{LEAST_FREE_BYTES // 2**20} MB. Free some, or {ELSEWHERE}."
        )


def clear_leftovers(home: Path) -> None:
    """Remove what an earlier run left in the file queue, and in the cache and metrics shared by its processes. The
    queue only wakes workers; the work itself is in the database, and messages to dead processes would pile up. A power
    failure may have damaged the cache file.
    """
    for path in (*(home / "queue").rglob("*"), *(home / "run").glob("cache-*")):
        if path.is_file():
            path.unlink()
    for folder in (home / "run").glob("metrics-*"):
        if folder.name != f"metrics-{os.getpid()}":
            _remove_shared(folder)


def share_folder(home: Path) -> None:
    """Create the folder for the files that the processes of this `bigmind up` map: their metrics and pulses. It is in
    memory where the system has such a place. If a full disk has no room for a page of a mapped file, the process ends
    (SIGBUS), and nobody would be served. The library of the metrics looks for its folder when it is imported.
    """
    folder = home / "run" / f"metrics-{os.getpid()}"
    folder.parent.mkdir(mode=0o700, parents=True, exist_ok=True)
    _remove_shared(folder)  # In containers every start has the same process id.
    if os.access(IN_MEMORY, os.W_OK):
        folder.symlink_to(tempfile.mkdtemp(prefix="bigmind-", dir=IN_MEMORY))
    else:
        folder.mkdir(mode=0o700)
    atexit.register(_remove_shared, folder)  # Copies of this process do not run it.
    os.environ[METRICS_FOLDER] = str(folder)


def _remove_shared(folder: Path) -> None:
    """Remove such a folder, or a link and the folder it leads to."""
    if not folder.is_symlink():
        shutil.rmtree(folder, ignore_errors=True)
        return
    if (in_memory := folder.readlink()).parent == IN_MEMORY:
        shutil.rmtree(in_memory, ignore_errors=True)
    folder.unlink(missing_ok=True)


def reason_for(error: OSError, home: Path) -> str:
    """Say in one sentence why BigMind cannot use its home."""
    path = error.filename or home
    match error.errno:
        case errno.EEXIST | errno.ENOTDIR:
            return f"{path} is a file where BigMind needs a folder. Move it away, or {ELSEWHERE}."
        case errno.EACCES | errno.EPERM:
            return f"You may not write to {path}. Change its owner or its permissions, or {ELSEWHERE}."
        case errno.EROFS:
            return f"{path} is on a disk that can only be read; {ELSEWHERE}."
        case errno.ENOSPC | errno.EDQUOT:
            return f"The disk of {path} is full. Free some space, or {ELSEWHERE}."
    return f"BigMind cannot use {path} ({error.strerror}); {ELSEWHERE}."


def free_bytes(home: Path) -> int:
    """Return how many bytes we can still write to the disk of this folder."""
    return shutil.disk_usage(home).free


@contextmanager
def lock_home(home: Path, url: str, parts: Iterable[str] = ()) -> Iterator[None]:
    """Lock the home for this process. The lock ends with the process, however that ends.

    Args:
        home: The folder.
        url: Where this process serves.
        parts: What it runs.

    Raises:
        CannotStart: another BigMind holds it.
    """
    with (home / "lock").open("a+") as file:
        try:
            fcntl.flock(file, fcntl.LOCK_EX | fcntl.LOCK_NB)
        except BlockingIOError:
            other = _read(home) or Running(0, "")
            raise CannotStart(
                f"BigMind is already running on this data (process {other.pid}, {other.url}). "
                f"Stop it first, or {ELSEWHERE}."
            ) from None
        # A copy of this process that outlives it must not keep the lock.
        os.register_at_fork(after_in_child=file.close)
        file.truncate(0)
        file.write("\n".join([str(os.getpid()), url, *parts, ""]))
        file.flush()
        yield


def running_on(home: Path) -> Running | None:
    """Return the BigMind that runs on this home, or None."""
    try:
        with (home / "lock").open() as file:
            fcntl.flock(file, fcntl.LOCK_SH | fcntl.LOCK_NB)
    except BlockingIOError:
        return _read(home)
    except OSError:
        return None
    return None


def _read(home: Path) -> Running | None:
    try:
        pid, url, *parts = (home / "lock").read_text().split()
        return Running(int(pid), url, tuple(parts))
    except (OSError, ValueError):
        return None
