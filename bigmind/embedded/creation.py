"""Makes the data of a new PostgreSQL cluster: initdb, our role with its password, our database with pgvector."""

import os
import secrets
import shutil
import sys
from pathlib import Path

from bigmind.embedded.programs import Programs
from bigmind.embedded.refusal import CannotStart

NAME = "bigmind"
# Only our own role may enter, and only with its password. The superuser cannot log in at all.
ACCESS = f"local all {NAME} scram-sha-256\n"
# pgvector may be installed by a superuser only, so the template has it and every database inherits it.
FIRST_STATEMENTS = (
    "CREATE EXTENSION vector",
    f"CREATE ROLE {NAME} LOGIN CREATEDB PASSWORD '{{password}}'",
    f"CREATE DATABASE {NAME} OWNER {NAME}",
)
# Sorted by code point: the same on every machine, and after every upgrade of its C library.
LOCALE = ("--encoding=UTF8", "--locale-provider=builtin", "--builtin-locale=C.UTF-8")
# What counts as a letter in full text search comes from the system; macOS does not know C.UTF-8.
LETTERS = "C.UTF-8" if sys.platform == "linux" else "en_US.UTF-8"


def create_cluster(programs: Programs, data: Path, password_file: Path, *, durable: bool) -> None:
    """Make the data aside and rename it, so that data that exists is whole."""
    aside = data.with_name(f"{data.name}.new")
    shutil.rmtree(aside, ignore_errors=True)
    aside.mkdir(mode=0o700)
    programs.account.own(aside)
    options = ["--username=postgres", "--auth=reject", "--data-checksums", *LOCALE, f"--locale={LETTERS}"]
    programs.run("initdb", aside, options if durable else [*options, "--no-sync"])
    _write_access(aside / "pg_hba.conf")
    password = _new_password(password_file)
    _administer(programs, aside, *(statement.format(password=password) for statement in FIRST_STATEMENTS))
    aside.rename(data)


def renew_password(programs: Programs, data: Path, password_file: Path) -> None:
    """Give our role a new password, because the file of the old one is lost."""
    _administer(programs, data, f"ALTER ROLE {NAME} PASSWORD '{_new_password(password_file)}'")


def _write_access(path: Path) -> None:
    # The folder belongs to another user and we may be root: never follow a link that they placed there.
    descriptor = os.open(path, os.O_WRONLY | os.O_TRUNC | os.O_NOFOLLOW)
    os.write(descriptor, ACCESS.encode())
    os.close(descriptor)


def _new_password(file: Path) -> str:
    """Make a password and keep it in a file as libpq reads them; durably, because without it the data is closed."""
    password = secrets.token_urlsafe(24)
    aside = file.with_suffix(".new")
    aside.unlink(missing_ok=True)
    aside.touch(mode=0o600)
    with aside.open("w") as output:
        output.write(f"*:*:*:{NAME}:{password}\n")
        output.flush()
        os.fsync(output.fileno())
    aside.rename(file)
    return password


def _administer(programs: Programs, data: Path, *statements: str) -> None:
    """Execute statements as the superuser, without a server: PostgreSQL's single-user mode."""
    script = "".join(f"{statement};\n\n" for statement in statements)
    output = programs.run("postgres", data, ["--single", "-j", "template1"], script)
    # It exits with 0 whatever a statement says.
    errors = [line for line in output.splitlines() if "ERROR:" in line or "FATAL:" in line]
    if errors:
        raise CannotStart(f"The embedded PostgreSQL could not be set up: {errors[0]}")
