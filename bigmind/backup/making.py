"""Making a backup: a consistent snapshot of the whole database, while everything keeps running."""

import os
import shutil
import time
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from dataclasses import dataclass
from datetime import UTC, datetime
from pathlib import Path
from typing import Any

import psycopg
from django.conf import settings
from django.db.migrations.recorder import MigrationRecorder
from psycopg import sql

from accounts.models import AuditHead
from accounts.services.audit import head_text
from bigmind import __version__
from bigmind.core.errors import Conflict, Invalid
from bigmind.database.advisory_locks import SessionLock
from bigmind.database.rls import KEY_TABLE
from bigmind.embedded.database import vector_version

from .manifest import DUMP, MANIFEST, SECRET_KEY, FileInBackup, Manifest, describe_file, read_manifest, write_private
from .programs import open_connection, run, server_version
from .retention import KEEP_ALL, Retention

PREFIX, STAMP, PARTIAL = "bigmind-", "%Y%m%dT%H%M%SZ", ".partial"
ABANDONED_SECONDS = 86_400
"""After this long a folder that was not completed is of a process that was killed."""
TABLES = """
SELECT c.relname FROM pg_class c JOIN pg_namespace n ON n.oid = c.relnamespace
WHERE n.nspname = 'public' AND c.relkind IN ('r', 'p') ORDER BY c.relname
"""


@dataclass(frozen=True)
class Backup:
    """One backup: its folder, and what its manifest says."""

    folder: Path
    manifest: Manifest

    @property
    def name(self) -> str:
        """Its name, which says when it was made."""
        return self.folder.name

    @property
    def bytes(self) -> int:
        return sum(file.bytes for file in self.manifest.files.values())


def make_backup(place: Path, *, keep: Retention = KEEP_ALL) -> Backup:
    """Make a backup below a folder, and return it. It appears whole or not at all.

    Args:
        keep: Which of the older backups to keep once the new one is complete.

    Raises:
        Invalid: it cannot be written, or PostgreSQL's programs are missing.
        Conflict: another backup is being made.
    """
    with alone() as database:
        backup = write_backup(database, place)
        remove_outdated(place, keep)
    return backup


def write_backup(database: "psycopg.Connection[Any]", place: Path) -> Backup:
    """Make a backup through a connection that holds the lock, and return it."""
    _prepare(place)
    # Its name has the second: one that was made within it would be overwritten.
    while (folder := place / f"{PREFIX}{datetime.now(UTC):{STAMP}}").exists():
        time.sleep(0.1)
    aside = place / f"{folder.name}{PARTIAL}"
    try:
        aside.mkdir(mode=0o700)
        manifest = _fill(aside, database)
        aside.rename(folder)
        # Before older backups go, the name of the new one has to be on the disk as well.
        _sync(place)
    except OSError as error:
        raise Invalid(f"{place}: {error.strerror or error}.", hint="See to the disk, then try again.") from error
    finally:
        shutil.rmtree(aside, ignore_errors=True)
    return Backup(folder, manifest)


def remove_outdated(place: Path, keep: Retention) -> None:
    """Delete the backups that a retention does not keep, and what killed processes left incomplete.

    Raises:
        Invalid: one cannot be deleted.
    """
    for outdated in keep.find_outdated(backups_in(place), lambda one: time_of_backup(one.name)):
        try:
            shutil.rmtree(outdated.folder)
        except OSError as error:
            raise Invalid(
                f"{outdated.folder} is outdated: {error.strerror or error}.",
                hint="See to its permissions, or delete it.",
            ) from error
    for aside in place.glob(f"{PREFIX}*{PARTIAL}"):
        if time.time() - aside.stat().st_mtime > ABANDONED_SECONDS:
            shutil.rmtree(aside, ignore_errors=True)


def backups_in(place: Path) -> list[Backup]:
    """Return the complete backups in a folder, the newest first. Other files there are ignored."""
    found = [path for path in sorted(place.glob(f"{PREFIX}*"), reverse=True) if _is_whole(path)]
    return [Backup(path, read_manifest(path)) for path in found]


def time_of_backup(name: str) -> datetime:
    """Return the time a backup was made, from its name.

    Raises:
        ValueError: this is not the name of a backup.
    """
    return datetime.strptime(name, f"{PREFIX}{STAMP}").replace(tzinfo=UTC)


def _is_whole(path: Path) -> bool:
    try:
        time_of_backup(path.name)
        read_manifest(path)
    except (ValueError, Invalid):
        return False
    return path.is_dir() and not path.is_symlink()


def _fill(folder: Path, database: "psycopg.Connection[Any]") -> Manifest:
    """Write the files and the manifest: rows are counted in the same snapshot that is dumped."""
    with database.transaction():
        database.execute("SET TRANSACTION ISOLATION LEVEL REPEATABLE READ READ ONLY")
        # pg_dump reads it, and it is gone when this transaction ends: the files are written within.
        snapshot = _value(database, sql.SQL("SELECT pg_export_snapshot()"))
        manifest = Manifest(
            bigmind=__version__,
            made_at=datetime.now(UTC),
            postgresql=server_version(),
            pgvector=vector_version() or "",
            migrations=_migrations(),
            rows=_rows(database),
            audit_head=_audit_head(database),
            files=_files(folder, snapshot),
        )
    write_private(folder / MANIFEST, manifest.as_text().encode())
    return manifest


def _files(folder: Path, snapshot: str) -> dict[str, FileInBackup]:
    _dump(folder / DUMP, snapshot)
    if key := _own_secret_key():
        write_private(folder / SECRET_KEY, key)
    return {path.name: describe_file(path) for path in sorted(folder.iterdir())}


def _dump(file: Path, snapshot: str) -> None:
    write_private(file, b"")
    # Policies hold for the owner of the tables too, and without the last option pg_dump refuses such tables.
    arguments = ["--format=custom", "--no-owner", "--no-privileges", "--schema=public", "--enable-row-security"]
    # The restored instance derives its keys from its own secret key.
    arguments.append(f"--exclude-table-data=public.{KEY_TABLE}")
    with file.open("wb") as written:
        dump = run("pg_dump", [*arguments, f"--snapshot={snapshot}"], stdout=written)
        try:
            _, errors = dump.communicate()
        except BaseException:
            dump.kill()
            raise
        written.flush()
        os.fsync(written.fileno())
    if dump.returncode:
        raise Invalid(f"pg_dump failed: {last_line(errors)}", hint="`bigmind doctor` looks at the database.")


def _own_secret_key() -> bytes | None:
    """The secret key that this instance generated. One from the environment is kept there, not in backups."""
    from bigmind.environment import environment

    file = environment().home / SECRET_KEY
    is_ours = not environment().secret_key.get_secret_value() and file.exists()
    return settings.SECRET_KEY.encode() if is_ours else None


def _migrations() -> dict[str, list[str]]:
    from django.db import connection

    applied: dict[str, list[str]] = {}
    for app, name in sorted(MigrationRecorder(connection).applied_migrations()):
        applied.setdefault(app, []).append(name)
    return applied


def _rows(database: "psycopg.Connection[Any]") -> dict[str, int]:
    tables = [str(name) for (name,) in database.execute(TABLES).fetchall() if name != KEY_TABLE]
    count = sql.SQL("SELECT count(*) FROM public.{}")
    return {table: int(_value(database, count.format(sql.Identifier(table)))) for table in tables}


def _audit_head(database: "psycopg.Connection[Any]") -> str:
    """The last line of the audit log in the same snapshot; empty if there is none yet."""
    if _value(database, sql.SQL("SELECT to_regclass('public.accounts_audithead')")) is None:
        return ""
    row = database.execute("SELECT number, last, seal FROM public.accounts_audithead").fetchone()
    return head_text(AuditHead(number=row[0], last=row[1], seal=row[2])) if row else ""


def _value(database: "psycopg.Connection[Any]", query: sql.SQL | sql.Composed) -> Any:
    row = database.execute(query).fetchone()
    return row[0] if row else None


@contextmanager
def alone() -> Iterator["psycopg.Connection[Any]"]:
    """Yield a connection that holds the lock of backups: of several workers one makes what is due.

    Raises:
        Conflict: another process holds it.
    """
    with open_connection() as database:
        database.autocommit = True
        if not _value(database, sql.SQL("SELECT pg_try_advisory_lock({}, {})").format(*SessionLock.BACKUP.value)):
            raise Conflict("Another backup is being made.", hint="Wait for it.")
        try:
            yield database
        finally:
            # The server ends a session some time after its connection closes: the next backup should not wait for that.
            with suppress(psycopg.Error):
                database.execute(sql.SQL("SELECT pg_advisory_unlock({}, {})").format(*SessionLock.BACKUP.value))


def _prepare(place: Path) -> None:
    try:
        place.mkdir(mode=0o700, parents=True, exist_ok=True)
    except OSError as error:
        raise Invalid(f"{place}: {error.strerror}.", hint="Choose a folder that you may write to.") from None
    if not os.access(place, os.W_OK | os.X_OK):
        raise Invalid(f"You may not write to {place}.", hint="Choose another folder.")


def _sync(place: Path) -> None:
    descriptor = os.open(place, os.O_RDONLY)
    try:
        os.fsync(descriptor)
    finally:
        os.close(descriptor)


def last_line(output: bytes) -> str:
    """Return the last line of a program's output, which usually has the reason for a failure."""
    lines = output.decode(errors="replace").strip().splitlines()
    return lines[-1][:500] if lines else "it gave no reason."
