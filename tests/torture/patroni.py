"""Two database servers under Patroni, with the files of packaging/patroni, HAProxy before them, all on one machine."""

import os
import shutil
import subprocess
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from pathlib import Path
from typing import Any

import httpx
import psutil
import psycopg
import pytest
import yaml

from bigmind.embedded.programs import programs_for, server_account
from tests.embedded.instance import ROOT, eventually, free_port
from tests.growing.server import APPLICATION, PASSWORD
from tests.side_environment import python_with

FILES = ROOT / "packaging" / "patroni"
OWNER = "bigmind"
HAPROXY = shutil.which("haproxy", path=f"{os.environ['PATH']}:/usr/sbin")
# PostgreSQL refuses to be root. In a namespace of its own it is nobody, with the files that root may open.
AS_NOBODY = ("unshare", "--user", "--map-user=65534", "--map-group=65534") if os.geteuid() == 0 else ()
READY_WITHIN = 120.0


class Node:
    """One server: Patroni, its PostgreSQL, and its voice in who leads."""

    def __init__(self, name: str, folder: Path, python: Path) -> None:
        self.name, self.folder, self._python = name, folder / name, python
        self.port, self.health, self.voice = free_port(), free_port(), f"127.0.0.1:{free_port()}"
        self._process: subprocess.Popen[bytes] | None = None

    def write(self, others: list[str]) -> None:
        """Write the file of packaging/patroni with this server's name and places; they agree among themselves."""
        told = yaml.safe_load((FILES / "patroni.yml").read_text())
        told["name"] = self.name
        told["restapi"] = dict.fromkeys(("listen", "connect_address"), f"127.0.0.1:{self.health}")
        del told["etcd3"]
        told["raft"] = {"data_dir": str(self.folder / "raft"), "self_addr": self.voice, "partner_addrs": others}
        server = told["postgresql"]
        server |= dict.fromkeys(("listen", "connect_address"), f"127.0.0.1:{self.port}")
        server["data_dir"], server["bin_dir"] = str(self.folder / "data"), str(programs_for(server_account()).folder)
        server["pg_hba"] = [line.replace("10.0.0.0/24", "127.0.0.1/32") for line in server["pg_hba"]]
        server["parameters"] = {"unix_socket_directories": ""}
        self.folder.mkdir()
        (self.folder / "patroni.yml").write_text(yaml.safe_dump(told))

    def start(self, program: str = "patroni") -> None:
        """Start it and return at once."""
        passwords = {f"PATRONI_{role}_PASSWORD": PASSWORD for role in ("SUPERUSER", "REPLICATION", "REWIND")}
        with (self.folder / "log").open("ab") as log:
            self._process = subprocess.Popen(
                [*AS_NOBODY, str(self._python.with_name(program)), str(self.folder / "patroni.yml")],
                env={"PATH": os.environ["PATH"], "LC_ALL": "C.UTF-8", **passwords},
                cwd=self.folder,
                stdout=log,
                stderr=log,
                start_new_session=True,
            )

    def is_(self, role: str) -> bool:
        """Whether it says that it has this role: `primary`, `replica`, `sync`."""
        with suppress(httpx.HTTPError):
            return httpx.get(f"http://127.0.0.1:{self.health}/{role}", timeout=2).status_code == 200
        return False

    def kill(self) -> None:
        """End all of it with SIGKILL, as if somebody had pulled the plug of the machine."""
        victims = [psutil.Process(self._process.pid)] if self._process and self._process.poll() is None else []
        with suppress(OSError, ValueError, psutil.NoSuchProcess):
            server = psutil.Process(int((self.folder / "data" / "postmaster.pid").read_text().split()[0]))
            victims += [server, *server.children(recursive=True)]
        for victim in victims:
            with suppress(psutil.NoSuchProcess):
                victim.kill()
        if self._process is not None:
            self._process.wait()


class Cluster:
    """The two servers, a third voice that keeps no data, and HAProxy."""

    def __init__(self, folder: Path, python: Path) -> None:
        self.folder = folder
        self.nodes = [Node(name, folder, python) for name in ("one", "two")]
        self._third = Node("third", folder, python)
        self._primary, self._replica = free_port(), free_port()
        self._haproxy: subprocess.Popen[bytes] | None = None

    @property
    def variables(self) -> dict[str, str]:
        """What BigMind is told of it."""
        at = f"127.0.0.1:{self._primary}/bigmind"
        return {
            "BIGMIND_DATABASE_URL": f"postgres://{APPLICATION}:{PASSWORD}@{at}",
            "BIGMIND_DATABASE_OWNER_URL": f"postgres://{OWNER}:{PASSWORD}@{at}",
            "BIGMIND_DATABASE_REPLICA_URL": f"postgres://{APPLICATION}:{PASSWORD}@127.0.0.1:{self._replica}/bigmind",
        }

    def start(self) -> None:
        """Start all of it, and return when one leads, the other has what it has, and the roles are there."""
        voices = [*self.nodes, self._third]
        for node in voices:
            node.write([other.voice for other in voices if other is not node])
        self._third.start("patroni_raft_controller")
        self.nodes[0].start()
        self.nodes[1].start()
        eventually(lambda: any(node.is_("primary") for node in self.nodes), within=READY_WITHIN)
        eventually(lambda: any(node.is_("sync") for node in self.nodes), within=READY_WITHIN)
        self._start_haproxy()
        self._make_roles()

    @property
    def leader(self) -> Node:
        """The server that takes writes."""
        return next(node for node in self.nodes if node.is_("primary"))

    def ask(
        self, statement: str, *, before: str = "", role: str = "postgres", database: str = "bigmind"
    ) -> list[tuple[Any, ...]]:
        """Run a statement at the server that leads, `before` it another one in the same session."""
        address = {"host": "127.0.0.1", "port": self._primary, "user": role, "password": PASSWORD}
        with psycopg.connect(**address, dbname=database, autocommit=True) as asked:
            if before:
                asked.execute(before)
            cursor = asked.execute(statement)
            return cursor.fetchall() if cursor.description else []

    def stop(self) -> None:
        """End everything."""
        if self._haproxy is not None:
            self._haproxy.kill()
            self._haproxy.wait()
        for node in (*self.nodes, self._third):
            node.kill()

    def _start_haproxy(self) -> None:
        text = (FILES / "haproxy.cfg").read_text()
        text = text.replace("127.0.0.1:5000", f"127.0.0.1:{self._primary}")
        text = text.replace("127.0.0.1:5001", f"127.0.0.1:{self._replica}")
        for place, node in zip(("10.0.0.1", "10.0.0.2"), self.nodes, strict=True):
            text = text.replace(f"{place}:5432 check port 8008", f"127.0.0.1:{node.port} check port {node.health}")
        (self.folder / "haproxy.cfg").write_text(text)
        assert HAPROXY is not None
        self._haproxy = subprocess.Popen([HAPROXY, "-db", "-f", str(self.folder / "haproxy.cfg")])
        # Until its first checks are over it takes all servers for well.
        eventually(lambda: all(self._leads() for _ in range(4)))

    def _leads(self) -> bool:
        with suppress(psycopg.Error):
            return self.ask("SELECT NOT pg_is_in_recovery()", database="postgres") == [(True,)]
        return False

    def _make_roles(self) -> None:
        """What docs/growing.md says that an administrator makes once."""
        for role in (OWNER, APPLICATION):
            self.ask(f"CREATE ROLE {role} LOGIN PASSWORD '{PASSWORD}'", database="postgres")
        self.ask(f"CREATE DATABASE bigmind OWNER {OWNER}", database="postgres")
        self.ask("CREATE EXTENSION vector")


@contextmanager
def patroni(folder: Path) -> Iterator[Cluster]:
    """Yield two servers that run, with all that is needed before them."""
    if HAPROXY is None:
        (pytest.fail if os.environ.get("CI") else pytest.skip)("haproxy is missing")
    if AS_NOBODY and subprocess.run([*AS_NOBODY, "true"], check=False).returncode:
        pytest.skip("PostgreSQL refuses to be root, and this machine gives root no namespace. Run it as somebody else.")
    cluster = Cluster(folder, python_with("patroni"))
    try:
        cluster.start()
        yield cluster
    finally:
        cluster.stop()
