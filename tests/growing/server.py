"""A PostgreSQL server with the roles that docker-compose.yml makes: the owner of the tables, and the application."""

import shutil
import tempfile
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from urllib.parse import quote

import psycopg
import yaml

from bigmind.database.rls import EVERYBODY, SETTING
from bigmind.embedded.cluster import NAME, Cluster
from bigmind.embedded.home import prepare_home
from bigmind.embedded.processes import end_servers, postmaster_of
from bigmind.embedded.programs import programs_for, server_account
from tests.prepared import copy_prepared_home

ROOT = Path(__file__).parents[2]
COMPOSE = yaml.safe_load((ROOT / "docker-compose.yml").read_text())
PASSWORD = "correct-horse-battery"
APPLICATION = "bigmind_app"


class TwoRoles:
    """One server, and how each of its roles reaches it."""

    def __init__(self, home: Path, *, durable: bool = False) -> None:
        self._cluster = Cluster(home, durable=durable)
        self.owner_url = self._cluster.url
        host = quote(str(self._cluster.socket_folder), safe="")
        self.application_url = f"postgres://{APPLICATION}:{PASSWORD}@{host}/{NAME}"
        self.variables = {
            "BIGMIND_DATABASE_URL": self.application_url,
            "BIGMIND_DATABASE_OWNER_URL": self.owner_url,
        }

    def start(self, *, migrated: bool = False) -> None:
        """Make the data, the second role as docker-compose.yml makes it, and start the server."""
        if migrated:
            copy_prepared_home(self._cluster.home)
        else:
            prepare_home(self._cluster.home)
            self._cluster.start()
            self._cluster.stop()
        programs, folder = programs_for(server_account()), self._cluster.folder
        # The embedded server has this role, with a password that nobody knows.
        made = _second_role().replace("CREATE ROLE", "ALTER ROLE")
        programs.run("postgres", folder, ["--single", "-j", "template1"], f"{made};\n\n")
        self._cluster.start()

    @property
    def data(self) -> Path:
        """The folder of its files."""
        return self._cluster.folder

    def restart(self) -> None:
        """Start it again after a stop."""
        mode = self.data.stat().st_mode
        self.data.chmod(0o700)  # A pool may have been let in, and PostgreSQL starts where nobody else is.
        self._cluster.start()
        self.data.chmod(mode)

    def kill(self) -> None:
        """End it at once, as a crash does."""
        postmaster_of(self.data).kill()
        end_servers(self.data, patience=0.0)

    def stop(self) -> None:
        """Stop the server."""
        self._cluster.stop(patience=3)

    def as_application(self) -> psycopg.Connection:
        """Connect as the application."""
        return psycopg.connect(self.application_url, autocommit=True)

    def as_owner(self) -> psycopg.Connection:
        """Connect as the owner of the tables."""
        owner = psycopg.connect(self.owner_url, autocommit=True)
        see_everybody(owner)
        return owner


def see_everybody(owner: psycopg.Connection) -> None:
    """Let a connection of the owner of the tables see everybody's rows: it may make tokens."""
    owner.execute("SELECT set_config(%s, bigmind_row_token(%s), false)", [SETTING, EVERYBODY])


@contextmanager
def two_roles(*, migrated: bool = False, durable: bool = False) -> Iterator[tuple[TwoRoles, Path]]:
    """Yield a running server of two roles, whose database may be `migrated` already, and a folder for what uses it."""
    folder = Path(tempfile.mkdtemp(prefix="bm-"))
    server = TwoRoles(folder / "database", durable=durable)
    try:
        server.start(migrated=migrated)
        yield server, folder
    finally:
        server.stop()
        shutil.rmtree(folder, ignore_errors=True)


def _second_role() -> str:
    """The statement of docker-compose.yml that makes the role of the application."""
    statements = COMPOSE["configs"]["roles"]["content"].replace("${BIGMIND_DATABASE_PASSWORD}", PASSWORD).split(";")
    return next(statement.strip() for statement in statements if f"CREATE ROLE {APPLICATION} " in statement)
