"""A PgBouncer of the tests' own, which hands each transaction to whichever session of the server is free."""

import os
import re
import shutil
import subprocess
import time
from contextlib import suppress
from pathlib import Path
from typing import Self
from urllib.parse import parse_qs, unquote, urlsplit

import psycopg
import pytest

from tests.embedded.instance import free_port

SESSIONS = 3
"""So few that transactions of several people meet in one."""
GROWING = Path(__file__).parents[1] / "docs/growing.md"
_DOCUMENTED = re.compile(r"```ini\n# /etc/pgbouncer.*?\[pgbouncer\]\n(?P<lines>.*?)\n```", re.DOTALL)
"""What we tell people to set."""
_CONFIGURATION = """
[databases]
* = host={host} user={user} password={password}
[pgbouncer]
listen_addr = 127.0.0.1
listen_port = {port}
unix_socket_dir =
auth_type = any
default_pool_size = {sessions}
max_client_conn = 200
{documented}
logfile = {folder}/pgbouncer.log
pidfile = {folder}/pgbouncer.pid
"""


class Pool:
    """PgBouncer in the mode `transaction`, with few sessions, before one server."""

    def __init__(self, folder: Path, server_url: str, *, sessions: int = SESSIONS) -> None:
        self.folder = folder
        self.sessions = sessions
        self.port = free_port()
        parts = urlsplit(server_url)
        self.url = f"postgres://{parts.username}@127.0.0.1:{self.port}{parts.path}"
        # The path of a socket's folder is the host.
        host, password = unquote(parts.netloc.rpartition("@")[2]), parts.password or _password_in(parts.query)
        self._server = {"host": host, "user": parts.username or "", "password": password}
        self._process: subprocess.Popen[bytes] | None = None

    def __enter__(self) -> Self:
        self.start()
        return self

    def __exit__(self, *error: object) -> None:
        self.kill()

    def start(self) -> None:
        """Start it, and return when it answers."""
        program = shutil.which("pgbouncer") or shutil.which("pgbouncer", path="/usr/sbin")
        if program is None:
            (pytest.fail if os.environ.get("CI") == "true" else pytest.skip)("PgBouncer is missing: install pgbouncer.")
        told = {**self._server, "port": self.port, "sessions": self.sessions, "folder": self.folder}
        told["documented"] = _DOCUMENTED.search(GROWING.read_text())["lines"]
        configuration = self.folder / "pgbouncer.ini"
        configuration.write_text(_CONFIGURATION.format(**told))
        self._process = subprocess.Popen([program, "--quiet", *self._account(), str(configuration)])
        give_up = time.monotonic() + 10
        while not self._answers():
            assert time.monotonic() < give_up, "PgBouncer did not start."
            time.sleep(0.05)

    def kill(self) -> None:
        """End it at once, with all connections through it."""
        assert self._process is not None
        self._process.kill()
        self._process.wait()

    def _account(self) -> list[str]:
        """It refuses to be root. Who it is then has to come to its own folder and to the socket of the server."""
        if os.geteuid() != 0:
            return []
        for folder in (self.folder, Path(self._server["host"])):
            for path in (folder, *folder.parents[:-2]):
                path.chmod(path.stat().st_mode | 0o011)
        self.folder.chmod(0o777)
        return ["--user", "nobody"]

    def _answers(self) -> bool:
        with suppress(psycopg.OperationalError), psycopg.connect(self.url, connect_timeout=2) as asked:
            return asked.execute("SELECT 1").fetchone() == (1,)
        return False


def _password_in(query: str) -> str:
    """The password of a file as libpq reads them, where an address names one."""
    (file,) = parse_qs(query)["passfile"]
    return Path(file).read_text().strip().rpartition(":")[2]
