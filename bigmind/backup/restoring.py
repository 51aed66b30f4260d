"""Restoring a backup: verified first, then loaded in one transaction, which succeeds completely or not at all."""

import os
import re
import subprocess
import tempfile
from collections.abc import Iterable, Iterator
from pathlib import Path
from typing import IO

from django.conf import settings
from django.core.management import call_command
from django.db import connection, connections
from django.db.migrations.loader import MigrationLoader
from psycopg import sql

from accounts.services.audit import forget_outside
from bigmind.core.errors import Conflict, Invalid
from bigmind.database.rls import EVERYBODY, KEY_TABLE, SETTING, key_statements, token_of
from bigmind.database.roles import grant_to_application, require_owner
from bigmind.embedded.database import hang_up, pending_migrations, vector_advice, vector_version
from bigmind.environment import environment
from bigmind.privacy.scrub.notes import FILE as NOTES
from bigmind.privacy.scrub.notes import ScrubNote, keep_notes, needles_of_note, note_of, read_notes, secret_keys
from bigmind.privacy.scrub.scrubbing import scrub_again
from curation.models import Scrub

from .making import Backup, last_line
from .manifest import DUMP, SECRET_KEY, Manifest, check_files, read_manifest, write_private
from .programs import run, server_version

# Objects of extensions stay: only an administrator of the server may install one. Sequences come last: most have gone
# with the table whose column they number.
EMPTY = """
DO $empty$
DECLARE one record;
BEGIN
    FOR one IN
        SELECT format('%I.%I', n.nspname, c.relname) AS name, c.relkind AS kind
        FROM pg_class c JOIN pg_namespace n ON n.oid = c.relnamespace
        WHERE n.nspname = 'public' AND c.relkind IN ('r', 'p', 'v', 'm', 'S', 'f')
            AND NOT EXISTS (SELECT FROM pg_depend d WHERE d.objid = c.oid AND d.deptype = 'e')
        ORDER BY c.relkind = 'S'
    LOOP
        EXECUTE format('DROP %s IF EXISTS %s CASCADE', CASE one.kind
            WHEN 'v' THEN 'VIEW' WHEN 'm' THEN 'MATERIALIZED VIEW' WHEN 'S' THEN 'SEQUENCE'
            WHEN 'f' THEN 'FOREIGN TABLE' ELSE 'TABLE' END, one.name);
    END LOOP;
    FOR one IN
        SELECT p.oid::regprocedure AS name FROM pg_proc p JOIN pg_namespace n ON n.oid = p.pronamespace
        WHERE n.nspname = 'public' AND NOT EXISTS (SELECT FROM pg_depend d WHERE d.objid = p.oid AND d.deptype = 'e')
    LOOP
        EXECUTE format('DROP ROUTINE IF EXISTS %s CASCADE', one.name);
    END LOOP;
END
$empty$;
"""
COUNTS = sql.SQL("""
    IF (SELECT count(*) FROM public.{table}) <> {rows} THEN
        RAISE EXCEPTION 'The table % does not have the % rows that were backed up.', {name}, {rows};
    END IF;""")
USED = """
SELECT count(*), string_agg(DISTINCT coalesce(host(client_addr), 'this machine'), ', ') FROM pg_stat_activity
WHERE datname = current_database() AND application_name = 'bigmind' AND pid <> ALL(%s)
"""
RESTRICTED = b"\\restrict "
"""The first line of pg_restore's script, without which psql could run meta-commands in a dump, which reach a shell."""
LEFT_OUT = re.compile(r"^\d+; \d+ \d+ (EXTENSION|COMMENT - EXTENSION|SCHEMA|COMMENT - SCHEMA|ACL|DEFAULT ACL) ")
# Newer programs set parameters that older servers do not know.
NEWER_SETTINGS = {b"SET transaction_timeout = 0;\n": 17}


def verify_backup(folder: Path) -> Backup:
    """Return a backup after checking every byte of it. Nothing is changed.

    Raises:
        Invalid: it is not whole, or not what was written.
    """
    manifest = read_manifest(folder)
    check_files(folder, manifest)
    _contents(folder)
    return Backup(folder, manifest)


def restore_backup(
    folder: Path,
    *,
    replace: bool = False,
    scrubs: Path | None = None,
    without_scrubs: bool = False,
) -> Backup:
    """Replace the contents of the database with a backup, and migrate it to this version.

    Texts that were removed after the backup was made are removed from it again before anyone is served.

    Args:
        replace: Whether to replace a database that is not empty.
        scrubs: A file of notes of removed texts, besides those of the home, the backup and the database.
        without_scrubs: Leave these texts in: for a disaster in which the secret key of the notes is lost.

    Raises:
        Invalid: the backup is not whole, was made by a newer BigMind, or cannot be loaded; nothing was changed.
        Conflict: the database is not empty, or parts of BigMind use it.
        NotOwner: this process does not own the tables.
    """
    require_owner("restore a backup")
    backup = verify_backup(folder)
    _refuse_newer(backup.manifest)
    _require_room(replace=replace)
    kept_key = _secret_key_of(backup)
    keys = [*secret_keys(), *([kept_key.decode().strip()] if kept_key else [])]
    notes = [] if without_scrubs else _scrubs_since(folder, scrubs, keys)
    hang_up()  # The restore would wait for our own idle connection.
    _load(backup)
    if kept_key:
        _restore_secret_key(kept_key)
        # Seals that a migration writes must be valid with the key used from now on.
        settings.SECRET_KEY = environment().signing_key()
    grant_to_application()
    forget_outside()
    if pending_migrations():
        call_command("migrate", interactive=False, verbosity=0)
    scrub_again(notes, keys)
    keep_notes(notes)
    hang_up()
    return backup


def _require_room(*, replace: bool) -> None:
    if vector_version() is None:
        raise Invalid(vector_advice())
    if not replace and (people := _people()):
        raise Conflict(
            f"The database is not empty: it has {people:,} users.",
            hint="Say --replace to put the backup in its place, and make a backup of it first.",
        )
    _refuse_while_used()


def _scrubs_since(folder: Path, given: Path | None, keys: list[str]) -> list[ScrubNote]:
    """Return the notes of removed texts, wherever they are, after checking that each of them can be read."""
    files = [environment().home / NOTES, folder / NOTES, *([given] if given else [])]
    notes = {note.key: note for file in files for note in read_notes(file)}
    if given and not given.is_file():
        raise Invalid(f"There is no file {given}.", hint="`bigmind scrub --notes` makes one.")
    if "curation_scrub" in connection.introspection.table_names():
        notes |= {scrub.key: note_of(scrub) for scrub in Scrub.objects.all()}
    for note in notes.values():
        needles_of_note(note, keys)
    return list(notes.values())


def _refuse_newer(manifest: Manifest) -> None:
    migrations = MigrationLoader(None).disk_migrations
    # A squashed migration lists the ones it replaces, even after their files are gone.
    known = {key for one, migration in migrations.items() for key in [one, *migration.replaces]}
    apps = {app for app, _ in known}
    unknown = [
        f"{app}.{name}"
        for app, names in manifest.migrations.items()
        for name in names
        if (app, name) not in known and app in apps
    ]
    unknown += [app for app in manifest.migrations if app not in apps]
    if unknown:
        raise Invalid(
            f"The backup was made by a newer BigMind ({manifest.bigmind}): this one does not know {unknown[0]}.",
            hint="Restore it with that version or a later one.",
        )


def _refuse_while_used() -> None:
    """Refuse while parts of BigMind, on any machine, hold connections: their writes meanwhile would be lost."""
    with connection.cursor() as cursor:
        open_here = [one.connection for one in connections.all(initialized_only=True) if one.connection]
        cursor.execute(USED, [[one.info.backend_pid for one in open_here]])
        sessions, machines = cursor.fetchone() or (0, "")
    if sessions:
        raise Conflict(
            f"BigMind uses the database: {sessions} connections from {machines}.",
            hint="Stop its web servers, workers and schedulers first, then try again.",
        )


def _people() -> int:
    """How many users the database has; 0 without tables."""
    if "accounts_user" not in connection.introspection.table_names():
        return 0
    with connection.cursor() as cursor:
        cursor.execute("SELECT count(*) FROM accounts_user")
        row = cursor.fetchone()
    return int(row[0]) if row else 0


def _secret_key_of(backup: Backup) -> bytes | None:
    """The secret key in a backup; None unless its manifest lists one."""
    return (backup.folder / SECRET_KEY).read_bytes() if SECRET_KEY in backup.manifest.files else None


def _load(backup: Backup) -> None:
    """Load the dump through psql in one transaction, which commits only after every row was counted."""
    with tempfile.TemporaryDirectory(prefix="bigmind-restore-") as aside:
        chosen = Path(aside) / "contents"
        contents = _contents(backup.folder)
        has_keys = any(f" TABLE public {KEY_TABLE} " in line for line in contents)
        chosen.write_text("\n".join(line for line in contents if not LEFT_OUT.match(line)))
        options = ["--file=-", "--no-owner", "--no-privileges", f"--use-list={chosen}"]
        unpacking = run("pg_restore", [*options, str(backup.folder / DUMP)], stdout=subprocess.PIPE)
        loading = run(
            "psql",
            ["--no-psqlrc", "--quiet", "--set=ON_ERROR_STOP=1"],
            stdin=subprocess.PIPE,
            stdout=subprocess.DEVNULL,
        )
        assert unpacking.stdout is not None
        assert loading.stdin is not None
        try:
            _feed(loading.stdin, unpacking, backup.manifest, has_keys=has_keys)
        except BrokenPipeError:
            # psql has ended; its error is read below.
            unpacking.kill()
        except Invalid:
            # The input of psql ends without COMMIT, so it changes nothing.
            unpacking.kill()
            loading.wait()
            raise
        unpacking.wait()
        errors = loading.stderr.read() if loading.stderr else b""
    if loading.wait():
        raise Invalid(
            f"Nothing was changed: {_reason(errors)}", hint="Stop whatever uses the database, or take another."
        )
    if unpacking.returncode:
        raise Invalid("Nothing was changed: the dump cannot be unpacked.", hint="Take another backup.")


def _feed(into: IO[bytes], unpacking: "subprocess.Popen[bytes]", manifest: Manifest, *, has_keys: bool) -> None:
    """Write the script. COMMIT comes last, and only after the whole dump was unpacked: a torn dump changes nothing."""
    too_new = {line for line, version in NEWER_SETTINGS.items() if server_version() < version}
    hang_up()
    with into:
        into.write(f"BEGIN;\nSET LOCAL client_min_messages = warning;\n{EMPTY}".encode())
        for line in _require_restricted(unpacking.stdout or ()):
            if line not in too_new:
                into.write(line)
        if unpacking.wait() == 0:
            into.write(_count_script(manifest, has_keys=has_keys).encode())


def _require_restricted(script: Iterable[bytes]) -> Iterator[bytes]:
    """Yield the script that pg_restore writes, if psql will treat it as SQL and nothing else."""
    is_restricted = False
    for line in script:
        is_restricted = is_restricted or line.startswith(RESTRICTED)
        if not is_restricted and line.strip() and not line.startswith(b"--"):
            raise Invalid("Nothing was changed: pg_restore is too old to be safe.", hint="Install its latest release.")
        yield line


def _count_script(manifest: Manifest, *, has_keys: bool) -> str:
    """Write the end of the script. Table names from the manifest are quoted: the manifest may not be ours."""
    checks = (
        COUNTS.format(table=sql.Identifier(table), name=sql.Literal(table), rows=sql.Literal(rows))
        for table, rows in manifest.rows.items()
    )
    block = sql.SQL("BEGIN{}\nEND").format(sql.SQL("").join(checks)).as_string()
    # The script of pg_restore has turned it off, and then PostgreSQL refuses to count a table with policies.
    words = ["SET row_security = on", f"SET {SETTING} = '{EVERYBODY}'"]
    if has_keys:
        words[1:] = [*key_statements(), f"SET {SETTING} = '{token_of(EVERYBODY)}'"]
    sees = "".join(f"{word};\n" for word in words)
    return f"\n{sees}{sql.SQL('DO {};').format(sql.Literal(block)).as_string()}\nCOMMIT;\n"


def _contents(folder: Path) -> list[str]:
    """The table of contents of the dump."""
    listing = run("pg_restore", ["--list", str(folder / DUMP)], stdout=subprocess.PIPE)
    output, errors = listing.communicate()
    if listing.returncode:
        hint = "The backup is damaged: take another."
        raise Invalid(f"{folder.name}: {DUMP} cannot be read: {last_line(errors)}", hint=hint)
    return output.decode(errors="replace").splitlines()


def _restore_secret_key(key: bytes) -> None:
    """Restore the instance's own key, unless the environment sets one."""
    home = environment().home
    if environment().secret_key.get_secret_value():
        return
    aside = home / f"{SECRET_KEY}.{os.getpid()}"
    home.mkdir(mode=0o700, parents=True, exist_ok=True)
    write_private(aside, key)
    aside.replace(home / SECRET_KEY)


def _reason(errors: bytes) -> str:
    """The first error of psql; later ones only say that the transaction has ended."""
    lines = list(_errors(errors.decode(errors="replace")))
    return lines[0][:500] if lines else last_line(errors)


def _errors(text: str) -> Iterator[str]:
    for line in text.splitlines():
        if "ERROR:" in line or "FATAL:" in line:
            yield line.split("ERROR:", 1)[-1].split("FATAL:", 1)[-1].strip()
