"""Backups where web, workers and scheduler are processes of their own: one makes what is due, and all know."""

import json
import os
from concurrent.futures import ThreadPoolExecutor
from contextlib import suppress
from datetime import datetime, timedelta
from pathlib import Path
from threading import Barrier

import pydantic
import pytest
from django.db import connections
from django.utils import timezone

from accounts.models import BackupRun, User, Worker
from accounts.services.workers import note_worker
from bigmind.backup.making import backups_in
from bigmind.backup.manifest import MANIFEST
from bigmind.backup.restoring import restore_backup
from bigmind.backup.retention import Retention
from bigmind.backup.routine import BackupPlan, back_up_when_due
from bigmind.backup.runs import KEPT, note_run, report_backups
from bigmind.core.errors import Invalid
from bigmind.database.rls import rls_bypass
from bigmind.environment import environment
from bigmind.environment.storage import BackupSettings
from bigmind.privacy.scrub.notes import FILE, read_notes
from bigmind.tasks import back_up, back_up_now
from curation.models import Scrub
from tests.factories import make_user

pytestmark = pytest.mark.django_db(transaction=True)

DAY = timedelta(days=1)


@pytest.fixture
def plan(tmp_path):
    return BackupPlan(tmp_path / "backups", Retention(newest=7))


def set_to(folder="/backups", name="host-1", seen_at=None, **told):
    now = timezone.now()
    return Worker.objects.create(name=name, folder=folder, seen_at=seen_at or now, took_at=now, **told)


def errors():
    return list(BackupRun.objects.exclude(error="").values_list("error", flat=True))


def test_of_many_workers_at_once_exactly_one_makes_what_is_due(filled, plan):
    workers = Barrier(4)

    def work(_):
        workers.wait()
        try:
            return [back_up_when_due(plan, every=DAY) for _ in range(3)]
        finally:
            connections.close_all()

    with ThreadPoolExecutor(4) as pool:
        made = [one for results in pool.map(work, range(4)) for one in results if one]

    assert len(made) == 1
    assert [one.name for one in backups_in(plan.folder)] == [made[0].name]
    assert BackupRun.objects.get().name == made[0].name


def test_the_database_is_the_clock_so_that_a_worker_with_an_empty_disk_makes_no_second_one(filled, plan, tmp_path):
    first = back_up_when_due(plan, every=DAY)
    first.folder.rename(tmp_path / "away")

    assert back_up_when_due(plan, every=DAY) is None
    BackupRun.objects.update(at=timezone.now() - DAY)
    assert back_up_when_due(plan, every=DAY)


def test_a_database_that_cannot_be_reached_for_a_dump_is_a_failed_backup_with_the_next_step(
    transactional_db, plan, monkeypatch
):
    class Away:
        def get_connection_params(self):
            return {"host": "127.0.0.1", "port": 9, "user": "bigmind", "dbname": "bigmind"}

    monkeypatch.setattr("bigmind.backup.programs.owner", Away)

    with pytest.raises(Invalid, match="BIGMIND_DATABASE_OWNER_URL"):
        back_up_when_due(plan, every=DAY)

    [error] = errors()
    assert error.startswith("The database: connection failed")
    assert "doctor" in error


def test_a_folder_that_cannot_be_written_and_a_missing_program_are_failed_backups_and_then_one_is_made(
    filled, tmp_path, monkeypatch
):
    (tmp_path / "file").write_text("")
    plan = BackupPlan(tmp_path / "file", Retention())
    with pytest.raises(Invalid):
        back_up_when_due(plan, every=DAY)
    plan = BackupPlan(tmp_path / "backups", Retention())
    with monkeypatch.context() as without:
        without.setattr("bigmind.backup.programs._candidates", lambda _name: [])
        with pytest.raises(Invalid):
            back_up_when_due(plan, every=DAY)

    assert back_up_when_due(plan, every=DAY)
    assert [("Choose" in error or "postgresql-client" in error) for error in errors()] == [True, True]
    assert not list(plan.folder.glob("*.partial"))


def test_a_text_that_was_removed_at_a_web_process_is_noted_beside_the_backups_of_the_worker(filled, plan, settings):
    settings.BACKUP_DIR = str(plan.folder)
    first = back_up_when_due(plan, every=DAY)
    with rls_bypass():
        scrub = Scrub.objects.create(why="It was a password.", salt="00", check_value="01")

    back_up_when_due(plan, every=DAY)

    for folder in (first.folder, environment().home):
        assert scrub.key in [note.key for note in read_notes(folder / FILE)]
    (environment().home / FILE).unlink()


def test_what_killed_processes_left_is_removed_and_what_is_being_written_is_not(filled, plan):
    for name, age in (("bigmind-20260101T000000Z.partial", 2 * 86_400), ("bigmind-20260102T000000Z.partial", 60)):
        folder = plan.folder / name
        folder.mkdir(parents=True)
        os.utime(folder, (timezone.now().timestamp() - age,) * 2)

    back_up_when_due(plan, every=DAY)

    assert [one.name for one in plan.folder.glob("*.partial")] == ["bigmind-20260102T000000Z.partial"]


def test_an_old_backup_that_cannot_be_deleted_does_not_make_the_new_one_again(filled, plan, monkeypatch):
    first = back_up_when_due(plan, every=DAY)
    first.folder.rename(plan.folder / "bigmind-20260101T000000Z")
    BackupRun.objects.update(at=timezone.now() - 2 * DAY)

    def refuse(place, keep):
        raise Invalid("bigmind-20260101T000000Z is outdated: Permission denied.")

    monkeypatch.setattr("bigmind.backup.routine.remove_outdated", refuse)
    with pytest.raises(Invalid):
        back_up_when_due(plan, every=DAY)

    assert back_up_when_due(plan, every=DAY) is None
    assert len(backups_in(plan.folder)) == 2
    assert errors() == ["bigmind-20260101T000000Z is outdated: Permission denied."]


def test_failures_do_not_push_out_when_the_last_backup_was_made():
    note_run(place="/backups", began=0, name="bigmind-20260101T000000Z")
    for _ in range(KEPT + 5):
        note_run(place="/backups", began=0, error=Invalid("The disk is full."))

    assert BackupRun.objects.filter(error="").count() == 1
    assert BackupRun.objects.exclude(error="").count() == KEPT


def test_a_worker_without_a_folder_makes_nothing_in_its_working_directory_and_says_so(settings, tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    settings.BACKUP_DIR = ""

    back_up()
    with suppress(Invalid):
        back_up_now()

    assert not list(tmp_path.iterdir())
    assert ["BIGMIND_BACKUP_DIR to the same on each worker" in error for error in errors()] == [True]


def test_a_relative_path_is_refused_and_the_home_folder_is_put_in():
    with pytest.raises(pydantic.ValidationError, match="write the whole path"):
        BackupSettings(backup_dir="backups")

    assert BackupSettings(backup_dir="~/backups").backup_dir == str(Path.home() / "backups")


def test_backups_stay_by_number_day_week_and_month():
    day = datetime.fromisoformat("2026-11-23T02:00:00+00:00")
    made = [day - timedelta(hours=12 * number) for number in range(400)]

    def kept(**counts: int) -> list[str]:
        gone = Retention(**counts).find_outdated(made, lambda time: time)
        return [f"{time:%m-%d %H}" for time in made if time not in gone]

    assert len(kept()) == len(made)
    assert kept(newest=3) == ["11-23 02", "11-22 14", "11-22 02"]
    assert kept(daily=3) == ["11-23 02", "11-22 14", "11-21 14"]
    assert kept(newest=1, weekly=2, monthly=3) == ["11-23 02", "11-22 14", "10-31 14", "09-30 14"]


def test_a_worker_records_how_it_is_set(settings):
    settings.BACKUP_DIR = ""
    note_worker("host-1", 0)
    settings.BACKUP_DIR = "/backups"

    note_worker("host-1", 0)

    assert Worker.objects.get().folder == "/backups"


def test_nothing_is_wrong_where_nobody_wants_backups_and_that_is_said():
    set_to("")

    assert report_backups() == ("", "nobody makes any by schedule")


def test_web_needs_no_settings_of_backups():
    set_to()

    assert report_backups() == ("", "")


@pytest.mark.parametrize(
    ("here", "workers", "said"),
    [
        ({"DIR": "/backups"}, [], "no worker runs"),
        ({"DIR": "/backups"}, [{"folder": ""}], "nobody makes any"),
        ({"DIR": "/other"}, [{}], "BIGMIND_BACKUP_DIR is not the same here"),
        ({}, [{}, {"folder": ""}], "BIGMIND_BACKUP_DIR is not the same on all workers"),
    ],
)
def test_parts_that_disagree_are_named_by_their_variable(settings, here, workers, said):
    for name, value in here.items():
        setattr(settings, f"BACKUP_{name}", value)
    for number, told in enumerate(workers):
        set_to(**{"folder": "/backups", "name": f"host-{number}", **told})

    assert said in report_backups()[0]
    assert "/backups" not in report_backups()[0]


def test_a_worker_that_is_gone_makes_no_backups(settings):
    settings.BACKUP_DIR = "/backups"
    set_to(seen_at=timezone.now() - timedelta(hours=1))

    assert "no worker runs" in report_backups()[0]


def test_that_none_was_ever_made_is_a_problem_after_a_day():
    set_to()
    user = make_user("ada")
    soon = report_backups()[0]
    User.objects.filter(pk=user.pk).update(created_at=timezone.now() - DAY)

    assert soon == ""
    assert report_backups()[0] == "none was ever made"


def test_a_failure_is_said_at_once_and_a_late_backup_after_two_intervals():
    set_to()
    note_run(place="/backups", began=0, error=Invalid("The disk is full."))
    failed = report_backups()[0]
    note_run(place="/backups", began=0, name="bigmind-20260101T000000Z")
    well = report_backups()[0]
    BackupRun.objects.filter(error="").update(at=timezone.now() - 2.1 * DAY)

    assert (failed, well) == ("the last one failed", "")
    assert "one is due every 24 hours" in report_backups()[0]


def test_a_backup_that_an_older_version_encrypted_is_refused_with_the_next_step(backup):
    manifest = json.loads((backup.folder / MANIFEST).read_text())
    (backup.folder / MANIFEST).write_text(json.dumps({**manifest, "recipients": ["age1a"]}))

    with pytest.raises(Invalid, match="does not open encrypted backups") as refusal:
        restore_backup(backup.folder)

    assert f"that made it ({manifest['bigmind']})" in refusal.value.hint
