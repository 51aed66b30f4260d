"""A backup holds the whole instance, and restored it is the same instance; or nothing was changed."""

import json
import os
import shutil
import stat
from dataclasses import dataclass
from datetime import timedelta
from io import StringIO
from pathlib import Path

import psycopg
import pytest
from django.core.management import CommandError, call_command
from django.db import DatabaseError, connection
from django.test import override_settings
from django.utils import timezone
from psycopg import sql

from accounts.actor import Actor
from accounts.authentication import authenticate_key
from accounts.models import BackupRun, User
from accounts.services.audit import audit, find_broken_events, head_in, head_of_audit, head_text
from bigmind.backup.making import Backup, backups_in, make_backup
from bigmind.backup.manifest import MANIFEST, read_manifest
from bigmind.backup.restoring import restore_backup, verify_backup
from bigmind.backup.retention import Retention
from bigmind.backup.routine import BackupPlan, back_up_when_due
from bigmind.core.errors import Conflict, Invalid
from bigmind.database.rls import KEY_TABLE
from bigmind.embedded.database import pending_migrations
from bigmind.environment import environment
from curation.decisions.history import find_broken_seals
from curation.models import Review
from knowledge.models import Fact, PassageVector
from knowledge.recall.semantic_search import semantic_search
from knowledge.transfer.program_formats import export_memory
from tests.backup.conftest import TOPICS, database, on_database
from tests.factories import make_user
from tests.knowledge.factories import make_fact

pytestmark = pytest.mark.django_db(transaction=True)

REPLACED = f"bigmind_replaced_{os.getpid()}"
QUESTIONS = [*(f"who checks the {topic}" for topic in TOPICS), *(f"{topic} needs people" for topic in TOPICS)]


def _top_ten(actor: Actor) -> list[list[tuple[str, str, float]]]:
    answers = [semantic_search(actor, query=question, limit=10) for question in QUESTIONS]
    return [[(hit.kind, str(hit.id), round(hit.score, 6)) for hit in answer.items] for answer in answers]


def _exported(actor: Actor) -> str:
    return export_memory(actor).model_copy(update={"exported_at": None}).model_dump_json()


@dataclass(frozen=True)
class Replaced:
    """What a restore did to a database that had changed since the backup, and to its home."""

    backup: Backup
    audit_head: str
    refusal: str
    failure: str
    facts_before: int
    facts: int
    noted: int
    notes: Path
    broken: list[str]
    trace: Path
    secret_key_before: str
    secret_key: str


@pytest.fixture(scope="module")
def replaced(filled_once, django_db_blocker, tmp_path_factory):
    """Restore a backup once, for all that there is to look at afterwards."""
    template, user_id, _ = filled_once
    folder = tmp_path_factory.mktemp("replaced")
    notes, trace, secret_key = folder / "audit_head.json", folder / "trace", environment().home / "secret_key"
    with (
        django_db_blocker.unblock(),
        override_settings(AUDIT_HEAD_FILE=notes),
        database(REPLACED, f'TEMPLATE "{template}"') as name,
        on_database(name),
    ):
        table = f'it\'s "odd" by 100% $counts$\n\\! touch {trace}\n'
        with connection.cursor() as cursor:
            cursor.execute(sql.SQL("CREATE TABLE {} (one int)").format(sql.Identifier(table)))
        audit("invited", role="admin")
        audit_head = head_text(head_of_audit())
        backup = make_backup(folder)
        (backup.folder / "secret_key").write_text("a key that somebody laid there")
        _retell(backup.folder, files={"database.dump": backup.manifest.files["database.dump"].model_dump()})
        torn = shutil.copytree(backup.folder, folder / "torn")
        _retell(torn, rows={**backup.manifest.rows, table: 7})
        audit("invited", role="member")
        make_fact(Actor.of(User.objects.get(pk=user_id)), "Said after the backup.")
        noted, secret_key_before = json.loads(notes.read_text()), secret_key.read_text()

        with pytest.raises(Conflict) as refused:
            restore_backup(backup.folder)
        with pytest.raises(Invalid) as failed:
            restore_backup(torn, replace=True)
        facts_before = Fact.objects.count()
        restore_backup(backup.folder, replace=True)

        return Replaced(
            backup=backup,
            audit_head=audit_head,
            refusal=str(refused.value),
            failure=str(failed.value),
            facts_before=facts_before,
            facts=Fact.objects.count(),
            noted=noted["number"],
            notes=notes,
            broken=list(find_broken_events()),
            trace=trace,
            secret_key_before=secret_key_before,
            secret_key=secret_key.read_text(),
        )


def test_a_restored_instance_answers_exports_and_goes_on_as_before(filled, fresh, tmp_path):
    actor, key = filled
    before, exported = _top_ten(actor), _exported(actor)
    last = max(Fact.objects.values_list("pk", flat=True))
    rows = {table: _count(table) for table in ("knowledge_passagevector", "curation_review", "accounts_user")}
    backup = make_backup(tmp_path)

    with on_database(fresh):
        restore_backup(backup.folder)

        again = Actor.of(User.objects.get(pk=actor.user.pk))
        assert list(find_broken_events({"the manifest": head_in(backup.manifest.audit_head)})) == []
        assert {table: _count(table) for table in rows} == rows
        assert _top_ten(again) == before
        assert _exported(again) == exported
        assert authenticate_key(key).user == actor.user
        assert list(find_broken_seals()) == []
        assert Review.objects.exists()
        assert not PassageVector.objects.filter(vector=None).exists()
        assert make_fact(again, "Written after the restore.").pk > last
        with pytest.raises(DatabaseError, match="append-only"):
            Review.objects.update(notes="Never said.")


def test_a_backup_is_private_names_every_table_and_holds_no_key_from_the_environment(unchanged, tmp_path):
    backup = make_backup(tmp_path / "deep" / "place")

    modes = {path.name: stat.S_IMODE(path.stat().st_mode) for path in backup.folder.iterdir()}
    assert stat.S_IMODE(backup.folder.stat().st_mode) == 0o700
    assert set(modes.values()) == {0o600}
    assert set(connection.introspection.table_names()) - {KEY_TABLE} <= set(backup.manifest.rows)
    assert backup.manifest.rows["knowledge_fact"] == len(TOPICS)
    assert "secret_key" in backup.manifest.files  # The tests' home made its own.


def test_a_backup_names_the_last_line_of_the_audit_log(replaced):
    assert read_manifest(replaced.backup.folder).audit_head == replaced.audit_head


def test_a_restore_removes_the_file_that_may_note_a_newer_line(replaced):
    assert replaced.noted == head_in(replaced.backup.manifest.audit_head).number + 1
    assert not replaced.notes.exists()
    assert replaced.broken == []


def test_a_damaged_backup_is_refused_before_anything_is_touched(unchanged, backup):
    dump = backup.folder / "database.dump"
    raw = bytearray(dump.read_bytes())
    raw[len(raw) // 2] ^= 1
    dump.write_bytes(raw)

    with pytest.raises(Invalid, match=r"database\.dump is not what was written"):
        verify_backup(backup.folder)
    with pytest.raises(Invalid, match=r"database\.dump is not what was written"):
        restore_backup(backup.folder, replace=True)

    assert Fact.objects.count() == len(TOPICS)


def test_a_database_that_is_not_empty_is_replaced_only_when_asked_to(replaced):
    assert "not empty" in replaced.refusal
    assert (replaced.facts_before, replaced.facts) == (len(TOPICS) + 1, len(TOPICS))


def test_nothing_is_restored_while_parts_of_bigmind_use_the_database(unchanged, backup):
    refused = pytest.raises(Conflict, match=r"BigMind uses the database: 1 connections from .*Stop its web servers")
    with psycopg.connect(**connection.get_connection_params()), refused:
        restore_backup(backup.folder, replace=True)

    assert Fact.objects.count() == len(TOPICS)


def test_a_restore_that_fails_half_way_at_a_table_of_any_name_leaves_everything_as_it_was(replaced):
    assert "Nothing was changed: The table it's" in replaced.failure
    assert replaced.facts_before == len(TOPICS) + 1


def test_nothing_in_a_dump_reaches_the_shell(replaced):
    assert not replaced.trace.exists()


def test_a_program_that_would_let_a_dump_reach_the_shell_is_refused(unchanged, backup, monkeypatch):
    monkeypatch.setattr("bigmind.backup.restoring.RESTRICTED", b"what older ones do not say")

    with pytest.raises(Invalid, match="pg_restore is too old"):
        restore_backup(backup.folder, replace=True)

    assert Fact.objects.count() == len(TOPICS)


def test_a_secret_key_that_the_manifest_does_not_name_is_not_taken(replaced):
    assert replaced.secret_key == replaced.secret_key_before


def test_a_backup_of_a_newer_bigmind_is_refused(unchanged, backup):
    _retell(backup.folder, bigmind="99.0", migrations={"knowledge": ["0999_telepathy"]})

    with pytest.raises(Invalid, match=r"newer BigMind \(99\.0\): this one does not know knowledge\.0999_telepathy"):
        restore_backup(backup.folder, replace=True)


def test_only_so_many_are_kept_and_nothing_else_is_touched(unchanged, backup, tmp_path):
    (tmp_path / "bigmind-notes").mkdir()
    old = backup.folder
    for year in (2021, 2022, 2023):
        shutil.copytree(old, tmp_path / f"bigmind-{year}0101T000000Z")
    old.rename(tmp_path / "bigmind-20240101T000000Z")

    newest = make_backup(tmp_path, keep=Retention(newest=2))

    assert [one.folder.name for one in backups_in(tmp_path)] == [newest.folder.name, "bigmind-20240101T000000Z"]
    assert (tmp_path / "bigmind-notes").is_dir()


def test_the_scheduler_makes_one_when_the_newest_is_old_enough(filled, tmp_path):
    every, plan = timedelta(hours=24), BackupPlan(tmp_path, Retention(newest=2))

    first = back_up_when_due(plan, every=every)
    soon = back_up_when_due(plan, every=every)
    first.folder.rename(tmp_path / "bigmind-20260101T000000Z")
    BackupRun.objects.update(at=timezone.now() - every)
    later = back_up_when_due(plan, every=every)

    assert soon is None
    assert [one.folder.name for one in backups_in(tmp_path)] == [later.folder.name, "bigmind-20260101T000000Z"]


@pytest.mark.parametrize("last", ["0067_retire_holdout", pytest.param("0018_rebuilding", marks=pytest.mark.torture)])
def test_a_backup_of_an_older_bigmind_is_brought_up_to_this_one(last, migrated, tmp_path):
    with on_database(migrated):
        # Those up to 0018 are one.
        call_command("migrate", "knowledge", "0001" if last < "0019" else last, verbosity=0)
        user = make_user("ada")
        backup = make_backup(tmp_path)

        restore_backup(backup.folder, replace=True)

        assert backup.manifest.migrations["knowledge"][-1] == last
        assert pending_migrations() == []
        assert User.objects.get() == user


def test_the_commands_make_verify_and_restore_into_a_database_without_people(filled, migrated, tmp_path):
    made = json.loads(_run("backup", str(tmp_path), "--json"))
    looked_at = json.loads(_run("backup", str(tmp_path), "--verify", "--json"))
    with pytest.raises(CommandError, match="not empty"):
        _run("restore", made["path"])
    with on_database(migrated):
        said = _run("restore", made["path"])
        assert Fact.objects.count() == len(TOPICS)

    assert looked_at["path"] == made["path"]
    assert looked_at["verified"]
    assert said.startswith(f"Restored {sum(made['rows'].values()):,} rows")


def _run(*words: str) -> str:
    output = StringIO()
    call_command(*words, stdout=output)
    return output.getvalue()


def _retell(folder: Path, **told) -> None:
    file = folder / MANIFEST
    file.write_text(json.dumps({**json.loads(file.read_text()), **told}))


def _count(table: str) -> int:
    with connection.cursor() as cursor:
        cursor.execute(f"SELECT count(*) FROM {table}")
        return cursor.fetchone()[0]
