"""A streaming replica of a test's PostgreSQL, from the programs that come with BigMind."""

import shutil
import subprocess
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from urllib.parse import quote

import psycopg

from bigmind.embedded.cluster import NAME, SOCKET
from bigmind.embedded.processes import end_servers
from bigmind.embedded.programs import programs_for, server_account
from tests.embedded.instance import eventually
from tests.growing.server import APPLICATION, PASSWORD, TwoRoles, two_roles


class Replica:
    """A replica that streams from a server which runs; what it does not name itself is as on the server."""

    def __init__(self, server: TwoRoles, data: Path) -> None:
        self.server, self.data = server, data
        self._programs = programs_for(server_account())
        self.url = f"postgres://{APPLICATION}:{PASSWORD}@{quote(str(data), safe='')}/{NAME}"
        self._process: subprocess.Popen[bytes] | None = None

    def copy(self) -> None:
        """Copy the server and begin as its replica."""
        self.data.mkdir(mode=0o700)
        self._programs.account.own(self.data)
        source = ["--host", str(self.server.data), "--username", NAME]
        self._programs.run(
            "pg_basebackup", self.data, ["--write-recovery-conf", *source, "--checkpoint=fast", "--no-sync"]
        )

    def start(self) -> None:
        """Start it, and return when it answers."""
        # The socket's lock is in the folder that was copied, and a killed server leaves its own.
        (self.data / f"{SOCKET}.lock").unlink(missing_ok=True)
        names = {"unix_socket_directories": str(self.data), "listen_addresses": "", "max_connections": "200"}
        arguments = [word for name, value in names.items() for word in ("-c", f"{name}={value}")]
        self._process = self._programs.launch(self.data, arguments, self.data.with_suffix(".log"))
        eventually(self.answers)

    def answers(self) -> bool:
        """Whether somebody can ask it."""
        try:
            psycopg.connect(self.url, connect_timeout=2).close()
        except psycopg.OperationalError:
            return False
        return True

    def kill(self) -> None:
        """End it at once."""
        end_servers(self.data, patience=0.0)
        if self._process is not None:
            self._process.wait()

    def wait_for(self, place: str) -> None:
        """Return when it has come to a place in the journal of the server."""
        with psycopg.connect(self.url, autocommit=True) as asked:
            eventually(
                lambda: asked.execute("SELECT pg_last_wal_replay_lsn() >= %s::pg_lsn", [place]).fetchone() == (True,)
            )

    def administer(self, statement: str) -> None:
        """Run a statement that only the administrator may."""
        with psycopg.connect(f"host={self.data} user=postgres dbname={NAME}", autocommit=True) as administrator:
            administrator.execute(statement)


@contextmanager
def replicated() -> Iterator[tuple[TwoRoles, Replica, Path]]:
    """Yield a migrated server of two roles, a replica of it, and a folder for what uses them."""
    with two_roles(migrated=True) as (server, folder):
        for path in (folder, server.data.parent):
            path.chmod(0o711)
        _let_replicate(server)
        replica = Replica(server, folder / "replica")
        try:
            replica.copy()
            replica.start()
            yield server, replica, folder
        finally:
            replica.kill()
            shutil.rmtree(replica.data, ignore_errors=True)


def _let_replicate(server: TwoRoles) -> None:
    """Let the owner copy the server, and the administrator in, who pauses and ends what is copied."""
    server.stop()
    with (server.data / "pg_hba.conf").open("a") as access:
        access.write(f"local replication {NAME} trust\nlocal all postgres trust\n")
    programs = programs_for(server_account())
    programs.run("postgres", server.data, ["--single", "-j", "template1"], f"ALTER ROLE {NAME} REPLICATION;\n\n")
    server.restart()
