"""Rehearsing a restore: restores a backup as on a new machine, checks it, and removes everything again.

It runs in a process of its own, on a home of its own with an embedded PostgreSQL: the running instance is not touched,
and its database server needs no extra permissions.
"""

import os
import shutil
import subprocess
import sys
import time
from collections.abc import Iterator
from contextlib import ExitStack, contextmanager
from datetime import timedelta
from pathlib import Path
from typing import Any

from django.utils import timezone
from pydantic import BaseModel

import bigmind
from accounts.actor import Actor
from accounts.models import BackupRun
from accounts.services.audit import find_broken_events, head_in
from bigmind.core.errors import Conflict, Invalid, NotFound
from bigmind.database.advisory_locks import SessionLock
from bigmind.embedded.home import running_on
from bigmind.embedded.programs import major_version
from bigmind.environment import PREFIX, environment
from curation.decisions.history import find_broken_seals
from knowledge.models import Passage
from knowledge.models.passages import Kind
from knowledge.recall.semantic_search import semantic_search

from .encryption import identity_file as own_identity_file
from .encryption import read_identities
from .making import alone, backups_in
from .manifest import Manifest, read_manifest
from .restoring import restore_backup
from .routine import BackupPlan
from .runs import BackupState, recording

SCRATCH = "rehearsal"
"""The home of a rehearsal, within that of BigMind."""
RETRY = timedelta(days=1)
SEARCHES = 5
WORDS_SEARCHED = 12
ELSEWHERE = (
    *("DATABASE_URL", "DATABASE_OWNER_URL", "REDIS_URL", "READ_ONLY", "OTLP_ENDPOINT", "COMPANY_URL", "COMPANY_KEY"),
    *("BACKUP_DIR", "BACKUP_BUCKET", "WEBHOOK_URL", "WEBHOOK_SECRET", "EMAIL_URL"),
)
"""Settings that lead to shared systems: a rehearsal uses none of them."""


class RehearsalReport(BaseModel):
    """What a rehearsal found: figures, no texts.

    Attributes:
        rows: How many rows there are; the restore counted each table against the manifest.
        audit_broken: Lines of the audit log that are not what was written, or missing.
        history_broken: The same of the history of company knowledge.
        searched: How many facts were searched for by their own words, and `found` how many of them were found.
        restore_seconds: How long a restore takes until BigMind can be started.
    """

    backup: str
    made_at: str
    bigmind: str
    is_encrypted: bool
    tables: int
    rows: int
    audit_lines: int
    audit_broken: int
    history_broken: int
    searched: int
    found: int
    restore_seconds: float

    @property
    def problems(self) -> list[str]:
        """The problems, in words; empty when the backup can be relied on."""
        found = []
        if self.audit_broken:
            found.append(f"{self.audit_broken:,} lines of the audit log are not what was written")
        if self.history_broken:
            found.append(f"{self.history_broken:,} rows of the history of company knowledge are not what was written")
        # A fact may rank below others that say the same: most have to be found.
        if self.found * 2 < self.searched:
            found.append(f"{self.searched - self.found} of {self.searched} searches did not find what is there")
        return found


def rehearse(folder: Path, *, place: str, identity_file: Path | None = None) -> RehearsalReport:
    """Restore a backup into a temporary database, check it, remove it, record the result, and return it.

    Args:
        place: The place that the backup came from.
        identity_file: The identity file for an encrypted one.

    Raises:
        Invalid: it cannot be restored; the message says why.
        Conflict: another rehearsal is under way.
    """
    with recording(BackupRun.Step.REHEARSED, place=place, name=folder.name) as record:
        report = _rehearse(folder, identity_file)
        failed = Invalid(f"{folder.name}: {'; '.join(report.problems)}.") if report.problems else None
        record(name=folder.name, error=failed, report=report.model_dump())
    return report


def rehearse_newest(plan: BackupPlan, *, every: timedelta | None = None) -> RehearsalReport | None:
    """Rehearse the newest backup in the folder; with `every`, only if that is due and it can be opened.

    Of several workers one does it: the clock is what is recorded in the database, and looked at under the lock.

    Raises:
        Invalid: it cannot be restored; that is recorded.
        NotFound: there is no backup in the folder.
        Conflict: another rehearsal is under way.
    """
    identity, place = own_identity_file(), str(plan.folder)
    with ExitStack() as turn:
        with recording(BackupRun.Step.REHEARSED, place=place):
            turn.enter_context(alone(SessionLock.REHEARSAL))
            newest = next(iter(backups_in(plan.folder)), None)
            if newest is None and every is None:
                raise NotFound(f"There is no backup in {place} on this worker.", hint="Make one first.")
        if newest is None or (
            every and not _is_due(every, can_open=bool(identity or not newest.manifest.is_encrypted))
        ):
            return None
        return rehearse(newest.folder, place=place, identity_file=identity)


def _is_due(every: timedelta, *, can_open: bool) -> bool:
    """Whether the last one that went well is old enough. One that failed is tried again the next day."""
    state, now = BackupState.load(), timezone.now()
    done, tried = (state.last(BackupRun.Step.REHEARSED, is_done=is_done) for is_done in (True, False))
    waits = ((done, every), (tried, min(every, RETRY)))
    return can_open and all(run is None or now - run.at >= wait for run, wait in waits)


def look_at_restored(folder: Path, identity_file: Path | None) -> RehearsalReport:
    """Restore a backup into this instance, which was made for a rehearsal, and return the result."""
    began = time.monotonic()
    identities = read_identities(identity_file) if identity_file else None
    manifest = restore_backup(folder, identities=identities).manifest
    restored = time.monotonic() - began
    heads = {"the manifest": head_in(manifest.audit_head)} if manifest.audit_head else {}
    searched = list(_searches())
    return RehearsalReport(
        backup=folder.name,
        made_at=manifest.made_at.isoformat(timespec="seconds"),
        bigmind=manifest.bigmind,
        is_encrypted=manifest.is_encrypted,
        tables=len(manifest.rows),
        rows=sum(manifest.rows.values()),
        audit_lines=manifest.rows.get("accounts_auditevent", 0),
        audit_broken=len(list(find_broken_events(heads))),
        history_broken=len(list(find_broken_seals())),
        searched=len(searched),
        found=sum(searched),
        restore_seconds=round(restored, 1),
    )


def _searches() -> Iterator[bool]:
    """Search for the newest facts by their own words, each as its owner."""
    newest = Passage.objects.filter(kind=Kind.FACT, past=False, ordinal=0).select_related("owner").order_by("-pk")
    for passage in newest[:SEARCHES]:
        assert passage.owner is not None, "every fact has an owner"
        words = " ".join(passage.words.split()[:WORDS_SEARCHED])
        answer = semantic_search(Actor.of(passage.owner), query=words, limit=10)
        yield any(hit.kind == passage.kind and str(hit.id) == passage.source_id for hit in answer.items)


def _rehearse(folder: Path, identity_file: Path | None) -> RehearsalReport:
    manifest = read_manifest(folder)
    if manifest.postgresql > int(major_version()):
        raise Invalid(
            f"The backup is of PostgreSQL {manifest.postgresql}, and this BigMind brings {major_version()}.",
            hint="Rehearse it with `bigmind restore` on a database of that version.",
        )
    _refuse_locked(manifest, identity_file)
    with _scratch_home() as home:
        arguments = [str(folder), "--inside", "--json"]
        arguments += ["--identity", str(identity_file.absolute())] if identity_file else []
        done = subprocess.run(  # noqa: S603 - our own program and arguments
            [sys.executable, "-m", "bigmind", "backup_rehearse", *arguments],
            cwd=Path(bigmind.__file__).parent.parent,
            env=_environment(home),
            capture_output=True,
            text=True,
            check=False,
        )
    if done.returncode:
        words = (done.stderr.strip() or "it gave no reason.").splitlines()[-1]
        raise Invalid(f"{folder.name} cannot be restored: {words.removeprefix('Refused: ')[:250]}")
    return RehearsalReport.model_validate_json(done.stdout)


def _refuse_locked(manifest: Manifest, identity_file: Path | None) -> None:
    if manifest.is_encrypted and identity_file is None:
        hint = "Say --identity FILE, or set BIGMIND_BACKUP_IDENTITY_FILE; without it nobody knows whether it opens."
        raise Invalid("The backup is encrypted.", hint=hint)
    if identity_file:
        read_identities(identity_file)


def _environment(home: Path) -> dict[str, Any]:
    given = {name: value for name, value in os.environ.items() if name.removeprefix(PREFIX) not in ELSEWHERE}
    return {**given, f"{PREFIX}HOME": str(home), "DJANGO_SETTINGS_MODULE": "bigmind.settings"}


@contextmanager
def _scratch_home() -> Iterator[Path]:
    """Yield a home that is removed afterwards, along with anything left by an earlier, killed rehearsal."""
    home = environment().home / SCRATCH
    if running_on(home):
        raise Conflict("Another rehearsal is under way.", hint="Wait for it.")
    shutil.rmtree(home, ignore_errors=True)
    try:
        home.mkdir(mode=0o700, parents=True)
        yield home
    except OSError as error:
        raise Invalid(f"{home}: {error.strerror}.", hint="See to the disk, then try again.") from error
    finally:
        shutil.rmtree(home, ignore_errors=True)
