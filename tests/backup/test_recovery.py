"""Recovery to any moment: the lines of docs/operating.md, run on the PostgreSQL that comes with BigMind."""

import os
import re
import shutil
import subprocess
import tempfile
import time
from collections.abc import Iterator
from pathlib import Path

import pytest

from bigmind.embedded.programs import programs_for, server_account

DOCUMENT = Path(__file__).parents[2] / "docs" / "operating.md"


class Machine:
    """A database server of a company: a folder, the user it runs as, and a shell."""

    def __init__(self, folder: Path) -> None:
        self.folder, self._account = folder, server_account()
        self._bin = programs_for(self._account).folder
        os.chown(folder, self._account.uid, self._account.gid)
        self.names = {name: str(folder / name.lower()) for name in ("PGDATA", "COPY", "JOURNAL")}

    def run(self, script: str) -> str:
        """Run lines as the user of the server."""
        options = {"user": self._account.uid, "group": self._account.gid} if self._account.is_stand_in else {}
        paths = f"{self._bin}:/usr/bin:/bin"
        names = {**self.names, "PATH": paths, "PGHOST": str(self.folder), "PGDATABASE": "postgres", "PGUSER": "root"}
        command = ["bash", "-euc", script]
        done = subprocess.run(command, env=names, cwd=self.folder, capture_output=True, text=True, **options)
        assert done.returncode == 0, done.stderr
        return done.stdout.strip()

    def start(self) -> None:
        """Start the server, and return when it answers."""
        options = f"-c listen_addresses= -c unix_socket_directories={self.folder}"
        self.run(f"pg_ctl -w -l log -o '{options}' start >/dev/null")

    def stop(self) -> None:
        """Stop the server."""
        self.run("pg_ctl -w -m fast stop >/dev/null")

    def ask(self, statement: str) -> str:
        """Run a statement."""
        return self.run(f'psql -AtXqc "{statement}"')

    def wait_until(self, condition: str) -> None:
        """Return when a condition holds."""
        while self.ask(f"SELECT {condition}") != "t":
            time.sleep(0.1)


@pytest.fixture
def machine() -> Iterator[Machine]:
    """Yield a server with nothing in it, that runs."""
    folder = Path(tempfile.mkdtemp(prefix="bm-"))
    machine = Machine(folder)
    machine.run("initdb --auth=trust --username=root >/dev/null && mkdir journal")
    machine.start()
    yield machine
    machine.run("pg_ctl -m immediate stop >/dev/null || true")
    shutil.rmtree(folder)


def _lines(title: str) -> str:
    """The lines of the document below a comment."""
    (found,) = re.findall(rf"```sh\n# {title}\n(.*?)```", DOCUMENT.read_text(), re.DOTALL)
    return found


def test_a_moment_after_the_last_copy_is_brought_back_as_the_document_says(machine: Machine) -> None:
    machine.run(_lines("keep the journal"))
    machine.stop()
    machine.start()
    machine.ask("CREATE TABLE told (words text)")
    machine.run(_lines("copy the server"))
    machine.ask("INSERT INTO told VALUES ('kept')")
    machine.names["MOMENT"] = machine.ask("SELECT clock_timestamp()")
    time.sleep(1)
    machine.ask("DROP TABLE told")
    last = machine.ask("SELECT pg_walfile_name(pg_switch_wal())")
    machine.wait_until(f"last_archived_wal >= '{last}' FROM pg_stat_archiver")
    machine.stop()
    (machine.folder / "pgdata").rename(machine.folder / "lost")

    machine.run(_lines("bring a moment back"))
    machine.start()
    machine.wait_until("NOT pg_is_in_recovery()")

    assert machine.ask("SELECT words FROM told") == "kept"
    machine.ask("INSERT INTO told VALUES ('and it goes on')")
