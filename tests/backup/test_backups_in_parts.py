"""Backups where web, workers and scheduler are processes of their own: one makes what is due, and all know."""

import os
from concurrent.futures import ThreadPoolExecutor
from contextlib import suppress
from datetime import timedelta
from pathlib import Path
from threading import Barrier

import pydantic
import pytest
from django.db import connections
from django.utils import timezone

from accounts.models import BackupRun, User, Worker
from accounts.services.workers import note_worker
from bigmind.backup.making import alone, backups_in
from bigmind.backup.rehearsing import rehearse_newest
from bigmind.backup.retention import Retention
from bigmind.backup.routine import BackupPlan, back_up_when_due
from bigmind.backup.runs import KEPT, note_run, report_backups
from bigmind.core.errors import Conflict, Invalid, NotFound
from bigmind.database.advisory_locks import SessionLock
from bigmind.database.rls import rls_bypass
from bigmind.environment import environment
from bigmind.environment.storage import BackupSettings
from bigmind.privacy.scrub.notes import FILE, read_notes
from bigmind.tasks import back_up, back_up_now, rehearse_now
from curation.models import Scrub
from tests.factories import make_user

pytestmark = pytest.mark.django_db(transaction=True)

DAY = timedelta(days=1)
MADE = BackupRun.Step.MADE


@pytest.fixture
def plan(tmp_path):
    return BackupPlan(tmp_path / "backups", Retention(newest=7))


def set_to(folder="/backups", name="host-1", seen_at=None, **told):
    now = timezone.now()
    return Worker.objects.create(name=name, folder=folder, seen_at=seen_at or now, took_at=now, **told)


def errors():
    return list(BackupRun.objects.exclude(error="").values_list("kind", "error"))


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


def test_of_two_workers_one_rehearses(filled, plan):
    back_up_when_due(plan, every=DAY)

    with alone(SessionLock.REHEARSAL), pytest.raises(Conflict, match="Another rehearsal is under way"):
        rehearse_newest(plan, every=DAY)
    BackupRun.objects.create(kind="rehearsed", place="/x", seconds=1, error="It is torn.")

    assert rehearse_newest(plan, every=DAY) is None, "what failed is tried again the next day"


def test_a_database_that_cannot_be_reached_for_a_dump_is_a_failed_backup_with_the_next_step(
    transactional_db, plan, monkeypatch
):
    class Away:
        def get_connection_params(self):
            return {"host": "127.0.0.1", "port": 9, "user": "bigmind", "dbname": "bigmind"}

    monkeypatch.setattr("bigmind.backup.programs.owner", Away)

    with pytest.raises(Invalid, match="BIGMIND_DATABASE_OWNER_URL"):
        back_up_when_due(plan, every=DAY)

    [(kind, error)] = errors()
    assert kind == MADE
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
    assert [("Choose" in error or "postgresql-client" in error) for _, error in errors()] == [True, True]
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
    assert errors() == [(MADE, "bigmind-20260101T000000Z is outdated: Permission denied.")]


def test_failures_do_not_push_out_when_the_last_backup_was_made():
    note_run(MADE, place="/backups", began=0, name="bigmind-20260101T000000Z")
    for _ in range(KEPT + 5):
        note_run(MADE, place="/backups", began=0, error=Invalid("The disk is full."))

    assert BackupRun.objects.filter(error="").count() == 1
    assert BackupRun.objects.exclude(error="").count() == KEPT


def test_a_worker_without_a_folder_makes_nothing_in_its_working_directory_and_says_so(settings, tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    settings.BACKUP_DIR = ""

    back_up()
    for ask in (back_up_now, rehearse_now):
        with suppress(Invalid):
            ask()

    assert not list(tmp_path.iterdir())
    assert {kind for kind, _ in errors()} == {"made", "rehearsed"}
    assert all("BIGMIND_BACKUP_DIR to the same on each worker" in error for _, error in errors())


def test_a_rehearsal_that_was_asked_for_without_a_backup_is_a_failed_one(plan):
    with pytest.raises(NotFound):
        rehearse_newest(plan)

    assert [kind for kind, _ in errors()] == ["rehearsed"]


@pytest.mark.parametrize("name", ["backup_dir", "backup_identity_file"])
def test_a_relative_path_is_refused_and_the_home_folder_is_put_in(name):
    with pytest.raises(pydantic.ValidationError, match="write the whole path"):
        BackupSettings(**{name: "backups"})

    assert getattr(BackupSettings(**{name: "~/backups"}), name) == str(Path.home() / "backups")


def test_a_worker_records_how_it_is_set(settings):
    settings.BACKUP_DIR = ""
    note_worker("host-1", 0)
    settings.BACKUP_DIR, settings.BACKUP_BUCKET = "/backups", "s3://backups/acme"
    settings.BACKUP_RECIPIENTS = ("age1b", "age1a")

    note_worker("host-1", 0)

    worker = Worker.objects.get()
    assert (worker.folder, worker.bucket, worker.recipients) == ("/backups", "s3://backups/acme", "age1a age1b")


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
        ({"DIR": "/backups", "BUCKET": "s3://b-1"}, [{}], "BIGMIND_BACKUP_BUCKET is not the same here"),
        ({"DIR": "/backups", "RECIPIENTS": ("age1a",)}, [{}], "BIGMIND_BACKUP_RECIPIENTS is not the same here"),
        ({}, [{}, {"folder": ""}], "BIGMIND_BACKUP_DIR is not the same on all workers"),
        ({}, [{}, {"recipients": "age1a"}], "BIGMIND_BACKUP_RECIPIENTS is not the same on all workers"),
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
    note_run(MADE, place="/backups", began=0, error=Invalid("The disk is full."))
    failed = report_backups()[0]
    note_run(MADE, place="/backups", began=0, name="bigmind-20260101T000000Z")
    well = report_backups()[0]
    BackupRun.objects.filter(error="").update(at=timezone.now() - 2.1 * DAY)

    assert (failed, well) == ("the last one failed", "")
    assert "one is due every 24 hours" in report_backups()[0]
