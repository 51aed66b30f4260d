"""PostgreSQL's own client programs, and the database they run against: the running one, or one started for them."""

import os
import re
import shutil
import subprocess
from collections.abc import Iterable, Iterator
from contextlib import contextmanager
from importlib.util import find_spec
from pathlib import Path
from typing import IO, Any

import psycopg

from bigmind.core.errors import Conflict, Invalid, NotFound
from bigmind.database.rls import EVERYBODY, SETTING, token_of
from bigmind.database.roles import knows_keys, owner, require_own_session
from bigmind.embedded.cluster import Cluster
from bigmind.embedded.database import hang_up
from bigmind.embedded.home import CannotStart, lock_home, prepare_home, running_on
from bigmind.embedded.programs import BIN, PACKAGE
from bigmind.environment import environment

# Every owner's rows, without a time limit: the limits of requests must not cut a backup short.
OPTIONS = {
    "statement_timeout": "0",
    "lock_timeout": "30s",
    "idle_in_transaction_session_timeout": "0",
}
_ENVIRONMENT = {
    "dbname": "PGDATABASE",
    "host": "PGHOST",
    "port": "PGPORT",
    "user": "PGUSER",
    "password": "PGPASSWORD",
    "passfile": "PGPASSFILE",
    "sslmode": "PGSSLMODE",
    "sslrootcert": "PGSSLROOTCERT",
    "sslcert": "PGSSLCERT",
    "sslkey": "PGSSLKEY",
}


def open_connection() -> psycopg.Connection[Any]:
    """Open a connection of our own to the database, without the limits that requests have.

    Raises:
        NotOwner: a pool stands before the database.
    """
    require_own_session("back up or restore")
    params = {name: value for name, value in owner().get_connection_params().items() if name in _ENVIRONMENT}
    return psycopg.connect(**params, options=_options(), application_name="bigmind-backup")


def server_version() -> int:
    major, _ = owner().get_database_version()
    return int(major)


def program(name: str) -> str:
    """Return the path of a PostgreSQL program that is at least as new as the server.

    Raises:
        Invalid: there is none.
    """
    required = server_version()
    for path in _candidates(name):
        # pg_dump refuses a server that is newer than itself.
        if _version(path) >= required:
            return path
    raise Invalid(
        f"The database runs PostgreSQL {required}, and no {name} of that version is here.",
        hint=f"Install the package postgresql-client-{required}, so that {name} is on the PATH.",
    )


def run(
    name: str, arguments: Iterable[str], *, stdin: IO[bytes] | int | None = None, stdout: IO[bytes] | int | None = None
) -> "subprocess.Popen[bytes]":
    """Start one of the programs on the database. Its password travels in the environment, never in the arguments."""
    return subprocess.Popen(  # noqa: S603 - our own program and arguments
        [program(name), *arguments],
        env={**os.environ, **client_environment()},
        stdin=stdin if stdin is not None else subprocess.DEVNULL,
        stdout=stdout,
        stderr=subprocess.PIPE,
    )


def client_environment() -> dict[str, str]:
    """Return the environment variables that tell PostgreSQL's programs where the database is."""
    params = owner().get_connection_params()
    reached = {variable: str(params[name]) for name, variable in _ENVIRONMENT.items() if params.get(name)}
    return {**reached, "PGOPTIONS": _options(), "PGAPPNAME": "bigmind-backup", "PGCLIENTENCODING": "UTF8"}


def _options() -> str:
    sees = token_of(EVERYBODY) if knows_keys() else EVERYBODY
    return " ".join(f"-c {name}={value}" for name, value in {**OPTIONS, SETTING: sees}.items())


def _candidates(name: str) -> list[str]:
    found = find_spec(PACKAGE)
    ours = Path(found.origin).parent.parent / BIN / name if found and found.origin else None
    return [str(path) for path in (ours, shutil.which(name)) if path and Path(path).exists()]


def _version(path: str) -> int:
    done = subprocess.run([path, "--version"], capture_output=True, text=True, check=False)  # noqa: S603
    number = re.search(r"\b(\d+)(\.|devel|beta|rc|\s|$)", done.stdout)
    return int(number[1]) if number else 0


@contextmanager
def running_database(*, alone: bool = False) -> Iterator[None]:
    """Keep this instance's database running inside the block.

    Args:
        alone: Refuse while BigMind runs, because its writes meanwhile would be lost; and create a database in a home
        without data.

    Raises:
        Conflict: it runs, and should not.
        NotFound: there is no data in the home.
        Invalid: the embedded database cannot be started.
    """
    own = environment()
    if not own.is_embedded:
        yield
        return
    if running := running_on(own.home):
        if alone:
            raise Conflict(f"BigMind is running ({running.url}).", hint="Stop it first (Ctrl-C), then try again.")
        yield
        return
    if not alone and not Cluster(own.home).folder.exists():
        raise NotFound(f"There is no BigMind in {own.home} yet.", hint="BIGMIND_HOME says where it is.")
    try:
        prepare_home(own.home)
        with lock_home(own.home, own.url):
            cluster = Cluster(own.home)
            cluster.start()
            try:
                yield
            finally:
                hang_up()
                cluster.stop()
    except CannotStart as refusal:
        raise Invalid(str(refusal)) from refusal
