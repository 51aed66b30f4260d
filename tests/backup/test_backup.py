"""A backup holds the whole instance, and restored it is the same instance; or nothing was changed."""

import json
import shutil
import stat
from datetime import timedelta
from io import StringIO
from pathlib import Path

import psycopg
import pytest
from django.core.management import CommandError, call_command
from django.db import DatabaseError, connection

from accounts.actor import Actor
from accounts.authentication import authenticate_key
from accounts.models import User
from accounts.services.audit import audit, find_broken_events, head_in, head_of_audit, head_text
from bigmind.backup.making import backups_in, make_backup
from bigmind.backup.manifest import MANIFEST, read_manifest
from bigmind.backup.restoring import restore_backup, verify_backup
from bigmind.backup.retention import Retention
from bigmind.backup.routine import BackupPlan, back_up_when_due
from bigmind.core.errors import Conflict, Invalid
from bigmind.core.rls import KEY_TABLE
from bigmind.embedded.database import pending_migrations
from bigmind.environment import environment
from curation.decisions.history import find_broken_seals
from curation.models import Review
from knowledge.models import Fact, PassageVector
from knowledge.services.semantic_search import semantic_search
from knowledge.transfer.passport import export_memory
from tests.backup.conftest import TOPICS, on_database
from tests.factories import make_user
from tests.knowledge.factories import make_fact

pytestmark = pytest.mark.django_db(transaction=True)

QUESTIONS = [*(f"who checks the {topic}" for topic in TOPICS), *(f"{topic} needs people" for topic in TOPICS)]


def _top_ten(actor: Actor) -> list[list[tuple[str, str, float]]]:
    answers = [semantic_search(actor, query=question, limit=10) for question in QUESTIONS]
    return [[(hit.kind, str(hit.id), round(hit.score, 6)) for hit in answer.items] for answer in answers]


def _exported(actor: Actor) -> str:
    return export_memory(actor).model_copy(update={"exported_at": None}).model_dump_json()


def test_a_restored_instance_answers_exports_and_goes_on_as_before(filled, fresh, tmp_path):
    actor, key = filled
    before, exported = _top_ten(actor), _exported(actor)
    last = max(Fact.objects.values_list("pk", flat=True))
    rows = {table: _count(table) for table in ("knowledge_passagevector", "curation_review", "accounts_user")}
    backup = make_backup(tmp_path)

    with on_database(fresh):
        restored = restore_backup(backup.folder)

        again = Actor.of(User.objects.get(pk=actor.user.pk))
        assert restored.manifest.rows == backup.manifest.rows
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


def test_a_backup_is_private_names_every_table_and_holds_no_key_from_the_environment(filled, tmp_path):
    backup = make_backup(tmp_path / "deep" / "place")

    modes = {path.name: stat.S_IMODE(path.stat().st_mode) for path in backup.folder.iterdir()}
    assert stat.S_IMODE(backup.folder.stat().st_mode) == 0o700
    assert set(modes.values()) == {0o600}
    assert set(connection.introspection.table_names()) - {KEY_TABLE} <= set(backup.manifest.rows)
    assert backup.manifest.rows["knowledge_fact"] == len(TOPICS)
    assert "secret_key" in backup.manifest.files  # The tests' home made its own.


def test_a_backup_names_the_last_line_of_the_audit_log(filled, tmp_path):
    audit("invited", role="admin")

    first = make_backup(tmp_path / "first")
    audit("invited", role="member")
    second = make_backup(tmp_path / "second")

    assert read_manifest(second.folder).audit_head == head_text(head_of_audit())
    assert head_in(first.manifest.audit_head).number + 1 == head_in(second.manifest.audit_head).number


def test_a_restore_removes_the_file_that_may_note_a_newer_line(filled, tmp_path, settings):
    settings.AUDIT_HEAD_FILE = tmp_path / "audit_head.json"
    audit("invited", role="admin")
    backup = make_backup(tmp_path / "backups")
    audit("invited", role="member")
    noted = settings.AUDIT_HEAD_FILE.read_text()

    restore_backup(backup.folder, replace=True)

    assert json.loads(noted)["number"] == head_in(backup.manifest.audit_head).number + 1
    assert not settings.AUDIT_HEAD_FILE.exists()
    assert list(find_broken_events()) == []


def test_a_damaged_backup_is_refused_before_anything_is_touched(filled, tmp_path):
    backup = make_backup(tmp_path)
    dump = backup.folder / "database.dump"
    raw = bytearray(dump.read_bytes())
    raw[len(raw) // 2] ^= 1
    dump.write_bytes(raw)

    with pytest.raises(Invalid, match=r"database\.dump is not what was written"):
        verify_backup(backup.folder)
    with pytest.raises(Invalid, match=r"database\.dump is not what was written"):
        restore_backup(backup.folder, replace=True)

    assert Fact.objects.count() == len(TOPICS)


def test_a_database_that_is_not_empty_is_replaced_only_when_asked_to(filled, tmp_path):
    actor, _ = filled
    backup = make_backup(tmp_path)
    make_fact(actor, "Said after the backup.")

    with pytest.raises(Conflict, match="not empty"):
        restore_backup(backup.folder)
    there = Fact.objects.count()
    restore_backup(backup.folder, replace=True)

    assert (there, Fact.objects.count()) == (len(TOPICS) + 1, len(TOPICS))


def test_nothing_is_restored_while_parts_of_bigmind_use_the_database(filled, tmp_path):
    backup = make_backup(tmp_path)
    refused = pytest.raises(Conflict, match=r"BigMind uses the database: 1 connections from .*Stop its web servers")
    with psycopg.connect(**connection.get_connection_params()), refused:
        restore_backup(backup.folder, replace=True)

    assert Fact.objects.count() == len(TOPICS)


def test_a_migrated_database_without_people_counts_as_empty(filled, migrated, tmp_path):
    backup = make_backup(tmp_path)

    with on_database(migrated):
        restore_backup(backup.folder)

        assert Fact.objects.count() == len(TOPICS)


def test_a_restore_that_fails_half_way_leaves_everything_as_it_was(filled, tmp_path):
    actor, _ = filled
    backup = make_backup(tmp_path)
    make_fact(actor, "Said after the backup.")
    _retell(backup.folder, rows={**backup.manifest.rows, "knowledge_fact": 99})

    with pytest.raises(Invalid, match="Nothing was changed: The table knowledge_fact does not have the 99 rows"):
        restore_backup(backup.folder, replace=True)

    assert Fact.objects.count() == len(TOPICS) + 1


def test_a_table_is_counted_whatever_it_is_called(filled, tmp_path):
    name = 'it\'s "odd" by 100% $counts$'
    quoted = '"' + name.replace('"', '""') + '"'
    with connection.cursor() as cursor:
        cursor.execute(f"CREATE TABLE {quoted} (one int)")
        backup = make_backup(tmp_path)
        _retell(backup.folder, rows={**backup.manifest.rows, name: 7})

        with pytest.raises(Invalid, match="does not have the 7 rows"):
            restore_backup(backup.folder, replace=True)

    with connection.cursor() as cursor:
        cursor.execute(f"DROP TABLE {quoted}")


def test_nothing_in_a_dump_reaches_the_shell(filled, tmp_path):
    trace = tmp_path / "trace"
    quoted = f'"odd\n\\! touch {trace}\n"'
    with connection.cursor() as cursor:
        cursor.execute(f"CREATE TABLE {quoted} (one int)")
        backup = make_backup(tmp_path)

        try:
            restore_backup(backup.folder, replace=True)
        finally:
            with connection.cursor() as again:
                again.execute(f"DROP TABLE {quoted}")

    assert not trace.exists()


def test_a_program_that_would_let_a_dump_reach_the_shell_is_refused(filled, tmp_path, monkeypatch):
    backup = make_backup(tmp_path)
    monkeypatch.setattr("bigmind.backup.restoring.RESTRICTED", b"what older ones do not say")

    with pytest.raises(Invalid, match="pg_restore is too old"):
        restore_backup(backup.folder, replace=True)

    assert Fact.objects.count() == len(TOPICS)


def test_a_secret_key_that_the_manifest_does_not_name_is_not_taken(filled, tmp_path):
    before = (environment().home / "secret_key").read_text()
    backup = make_backup(tmp_path)
    (backup.folder / "secret_key").write_text("a key that somebody laid there")
    files = {"database.dump": backup.manifest.files["database.dump"].model_dump()}
    _retell(backup.folder, files=files)

    restore_backup(backup.folder, replace=True)

    assert (environment().home / "secret_key").read_text() == before


def test_a_backup_of_a_newer_bigmind_is_refused(filled, tmp_path):
    backup = make_backup(tmp_path)
    _retell(backup.folder, bigmind="99.0", migrations={"knowledge": ["0999_telepathy"]})

    with pytest.raises(Invalid, match=r"newer BigMind \(99\.0\): this one does not know knowledge\.0999_telepathy"):
        restore_backup(backup.folder, replace=True)


def test_only_so_many_are_kept_and_nothing_else_is_touched(filled, tmp_path):
    (tmp_path / "bigmind-notes").mkdir()
    old = make_backup(tmp_path).folder
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
    later = back_up_when_due(plan, every=every)

    assert soon is None
    assert [one.folder.name for one in backups_in(tmp_path)] == [later.folder.name, "bigmind-20260101T000000Z"]


@pytest.mark.parametrize("last", ["0048_triggers", pytest.param("0018_rebuilding", marks=pytest.mark.torture)])
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


def test_the_commands_make_verify_and_restore(filled, fresh, tmp_path):
    made = json.loads(_run("backup", str(tmp_path), "--json"))
    looked_at = json.loads(_run("backup", str(tmp_path), "--verify", "--json"))
    with pytest.raises(CommandError, match="not empty"):
        _run("restore", made["path"])
    with on_database(fresh):
        said = _run("restore", made["path"])

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
