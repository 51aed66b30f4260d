"""The system user that PostgreSQL runs as: ourselves, or `nobody` when we are root, because PostgreSQL refuses root."""

import os
import pwd
import sys
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from bigmind.embedded.home import CannotStart

STAND_IN_FOR_ROOT = "nobody"


@dataclass(frozen=True)
class Account:
    """A system user, and how a program is started as that user."""

    uid: int
    gid: int

    @property
    def is_stand_in(self) -> bool:
        """Whether programs of this account run as another user than this process."""
        return self.uid != os.geteuid()

    @property
    def launch_options(self) -> dict[str, Any]:
        """What `subprocess` needs to start a program as this user, with nothing of our environment."""
        options: dict[str, Any] = {"cwd": "/", "env": {"PATH": "/usr/bin:/bin", "LC_ALL": "C"}}
        if self.is_stand_in:
            options |= {"user": self.uid, "group": self.gid, "extra_groups": []}
        return options

    @contextmanager
    def let_into(self, folder: Path) -> Iterator[tuple[str, dict[str, Any]]]:
        """Yield the path under which this user reaches `folder`, and the options to start a program that uses it.

        Root's home is closed to others and stays so. We open the folder for the other user and hand over the open
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
        """Give `folder` and all in it to this user, unless it is theirs already."""
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
        CannotStart: we are root where no other user can stand in.
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
