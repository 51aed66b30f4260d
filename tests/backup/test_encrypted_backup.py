"""Backups encrypted to recipients of age, copied to object storage, restored from there, and rehearsed."""

import json
import os
import shutil
import subprocess
import sys
from datetime import datetime, timedelta
from pathlib import Path

import pytest
from django.core.management import CommandError
from django.db import connection
from pyrage import x25519

from accounts.models import AuditEvent, BackupRun
from accounts.services.audit import audit
from accounts.services.workers import note_worker
from bigmind.backup.bucket import Bucket
from bigmind.backup.making import make_backup
from bigmind.backup.manifest import MANIFEST
from bigmind.backup.retention import Retention
from bigmind.backup.routine import BackupPlan, back_up_when_due
from bigmind.backup.runs import report_backups
from bigmind.core.errors import BigMindError
from bigmind.environment import environment
from curation.decisions.history import find_broken_seals
from knowledge.models import Fact
from tests.backup.conftest import TOPICS, on_database
from tests.backup.object_storage import KEY, SECRET, serve_object_storage
from tests.commands import run

pytestmark = pytest.mark.django_db(transaction=True)
MEGABYTES = 120


def _identity(folder: Path, name: str) -> tuple[Path, str]:
    """Make an identity as age-keygen does; return its file, and its recipient."""
    made = x25519.Identity.generate()
    file = folder / name
    file.write_text(f"# created: 2026-11-23T08:00:00Z\n# public key: {made.to_public()}\n{made}\n")
    return file, str(made.to_public())


def test_an_encrypted_backup_opens_with_an_identity_of_its_recipients_alone(filled, fresh, tmp_path):
    ours, recipient = _identity(tmp_path, "identity.txt")
    _, another = _identity(tmp_path, "another.txt")
    stranger, _ = _identity(tmp_path, "stranger.txt")
    place, folder = str(tmp_path / "backups"), tmp_path / "backups"

    made = json.loads(run("backup", place, "--recipient", another, "--recipient", recipient, "--json"))
    backup = Path(made["path"])
    closed = json.loads(run("backup", place, "--verify", "--json"))
    opened = json.loads(run("backup", place, "--verify", "--identity", str(ours), "--json"))

    assert sorted(file.name for file in backup.iterdir()) == ["database.dump.age", MANIFEST, "secret_key.age"]
    assert all(file.read_bytes().startswith(b"age-encryption.org/v1\n") for file in backup.glob("*.age"))
    assert (environment().home / "secret_key").read_bytes() not in b"".join(
        file.read_bytes() for file in backup.iterdir()
    )
    assert made["recipients"] == [another, recipient]
    assert (closed["opened"], opened["opened"], opened["rows"]["knowledge_fact"]) == (False, True, len(TOPICS))
    with pytest.raises(CommandError, match=r"is encrypted\. Say --identity FILE"):
        run("restore", place, "--replace", "--yes")
    with pytest.raises(CommandError, match=r"cannot be opened: no matching keys found.*identity that belongs"):
        run("restore", place, "--replace", "--yes", "--identity", str(stranger))
    with on_database(fresh):
        said = run("restore", place, "--identity", str(ours))
        assert said.startswith(f"Restored {sum(made['rows'].values()):,} rows")
        assert Fact.objects.count() == len(TOPICS)
        assert list(find_broken_seals()) == []
    if age := shutil.which("age"):
        plain = subprocess.run([age, "-d", "-i", ours, backup / "database.dump.age"], capture_output=True, check=True)
        assert plain.stdout.startswith(b"PGDMP")
    elif os.environ.get("CI") == "true":
        pytest.fail("The program age is missing: install age.")
    _refuse_what_was_cut_off(folder, backup, ours)


def _refuse_what_was_cut_off(folder: Path, backup: Path, identity: Path) -> None:
    """What is shorter than it was written is found by its checksum; and should that be made to fit, by age."""
    dump, manifest = backup / "database.dump.age", backup / MANIFEST
    dump.write_bytes(dump.read_bytes()[:-20])
    with pytest.raises(CommandError, match=r"database\.dump\.age is not what was written"):
        run("backup", str(folder), "--verify")
    told = json.loads(manifest.read_text())
    told["files"][dump.name] = json.loads(_described(dump))
    manifest.write_text(json.dumps(told))
    with pytest.raises(CommandError, match="cannot be opened to its end"):
        run("restore", str(backup), "--replace", "--yes", "--identity", str(identity))
    assert Fact.objects.count() == len(TOPICS)


def _described(file: Path) -> str:
    from bigmind.backup.manifest import describe_file

    return describe_file(file).model_dump_json()


def test_a_large_dump_is_encrypted_and_decrypted_in_little_memory(tmp_path):
    file, recipient = _identity(tmp_path, "identity.txt")
    code = f"""
import resource, subprocess
from pathlib import Path
from bigmind.backup.encryption import decrypt, encrypt, read_identities
before = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss
zeros = subprocess.Popen(["head", "-c", "{MEGABYTES}M", "/dev/zero"], stdout=subprocess.PIPE)
with open("large.age", "wb") as written:
    encrypt(zeros.stdout, written, ["{recipient}"])
with open("large", "wb") as plain:
    decrypt(Path("large.age"), plain, read_identities(Path({str(file)!r})))
assert Path("large").stat().st_size == {MEGABYTES} * 1024**2
print(resource.getrusage(resource.RUSAGE_SELF).ru_maxrss - before)
"""
    paths = {**os.environ, "PYTHONPATH": str(Path(__file__).parents[2])}
    done = subprocess.run([sys.executable, "-c", code], cwd=tmp_path, capture_output=True, text=True, env=paths)

    assert int(done.stdout) < 40_000, done.stderr  # KiB


def test_what_is_no_recipient_or_no_identity_is_refused_with_the_next_step(unchanged, tmp_path):
    file, _ = _identity(tmp_path, "identity.txt")
    (tmp_path / "notes.txt").write_text("nothing secret")

    with pytest.raises(CommandError, match=r"No recipient of age: age1qqq.*age-keygen -o"):
        run("backup", str(tmp_path / "backups"), "--recipient", "age1qqq")
    with pytest.raises(CommandError, match="secret identity, which belongs to whoever restores") as told:
        run("backup", str(tmp_path / "backups"), "--recipient", file.read_text().split()[-1])
    with pytest.raises(CommandError, match="holds no identity of age"):
        run("backup", str(tmp_path), "--verify", "--identity", str(tmp_path / "notes.txt"))

    assert "AGE-SECRET-KEY" not in str(told.value)
    assert not (tmp_path / "backups").exists()


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


def test_a_backup_is_copied_to_a_bucket_listed_restored_from_there_and_goes_in_time(
    filled, fresh, tmp_path, settings, capfd
):
    ours, recipient = _identity(tmp_path, "identity.txt")
    settings.BACKUP_DIR, settings.BACKUP_BUCKET = str(tmp_path / "backups"), "s3://backups/a/place"
    settings.BACKUP_RECIPIENTS = (recipient,)
    note_worker("host-1f3c", 0)
    plan = BackupPlan.from_settings()
    every = timedelta(hours=24)
    with serve_object_storage() as storage:
        first = back_up_when_due(plan, every=every)
        listed = json.loads(run("backup", "s3://backups/a/place", "--list", "--json"))["backups"]
        well = report_backups()[0]
        with on_database(fresh):
            said = run("restore", "s3://backups/a/place", "--identity", str(ours))
            restored = Fact.objects.count()
        run("backup", f"s3://backups/a/place/{first.name}", "--verify")
        _make_older_copies(Bucket.at("s3://backups/a/place"), first.folder, tmp_path)
        BackupRun.objects.filter(kind="copied").delete()
        again = back_up_when_due(
            BackupPlan(plan.folder, Retention(newest=1, monthly=2), plan.recipients, plan.bucket), every=every
        )
        left = [one.name for one in Bucket.at(plan.bucket).backups()]

        with pytest.raises(CommandError, match=r"s3://no-such-bucket: there is no such bucket.*AWS_ENDPOINT_URL"):
            run("backup", "s3://no-such-bucket", "--list")
        with pytest.raises(CommandError, match=r"There is no backup in s3://backups/elsewhere"):
            run("restore", "s3://backups/elsewhere", "--replace", "--yes")
        with pytest.raises(CommandError, match="is no address of a bucket"):
            run("backup", "s3://key:secret@backups", "--list")
        storage.refuse_everybody()
        with pytest.raises(CommandError, match=r"the storage does not let us in.*AWS_SECRET_ACCESS_KEY"):
            run("backup", str(tmp_path / "backups"), "--copy-to", plan.bucket)
        refused = report_backups()[0]
    with pytest.raises(BigMindError, match=r"no key for the storage is set|cannot be reached"):
        Bucket.at(plan.bucket).backups()

    assert (len(listed), listed[0]["name"], listed[0]["bytes"] > 10_000) == (1, first.name, True)
    assert (said.startswith("Restored "), restored) == (True, len(TOPICS))
    assert again is None
    assert left == [first.name, "bigmind-20260228T020000Z"]
    assert (well, refused) == ("", "the newest is not in the bucket")
    kept = "".join(f"{run.error}{run.report}{run.place}" for run in BackupRun.objects.all())
    assert not [word for word in (KEY, SECRET) if word in kept + "".join(capfd.readouterr())]
    assert not list(environment().home.glob("fetched-*"))


def _make_older_copies(bucket: Bucket, folder: Path, aside: Path) -> None:
    for name in ("bigmind-20260228T020000Z", "bigmind-20260227T020000Z", "bigmind-20260131T020000Z"):
        bucket.upload(shutil.copytree(folder, aside / name))


@pytest.mark.torture
def test_a_rehearsal_says_that_a_backup_can_be_relied_on(filled, tmp_path, settings):
    settings.BACKUP_DIR = str(tmp_path)
    good = make_backup(tmp_path)

    told = json.loads(run("backup_rehearse", "--json"))

    noted = BackupRun.objects.get(kind="rehearsed")
    assert (told["ok"], told["rows"], told["searched"], told["found"]) == (True, sum(good.manifest.rows.values()), 5, 5)
    assert (told["audit_broken"], told["history_broken"], noted.error) == (0, 0, "")
    assert noted.report["restore_seconds"] == told["restore_seconds"] > 0


def test_a_rehearsal_says_that_a_backup_cannot_be_relied_on(filled, tmp_path, settings):
    actor, _ = filled
    settings.BACKUP_DIR = str(tmp_path)
    audit("signed_in", about=actor.user, by=actor.user)
    audit("signed_in", about=actor.user, by=actor.user)
    with connection.cursor() as cursor:  # Somebody with the database in hand takes a line of the audit log out.
        cursor.execute("ALTER TABLE accounts_auditevent DISABLE TRIGGER USER")
    AuditEvent.objects.order_by("number").first().delete()
    backup = make_backup(tmp_path)

    with pytest.raises(CommandError, match="cannot be relied on: 1 lines of the audit log are not what was written"):
        run("backup_rehearse")
    note_worker("host-1f3c", 0)

    noted = BackupRun.objects.get(kind="rehearsed")
    assert "1 lines of the audit log" in noted.error
    assert (noted.report["rows"], noted.report["found"]) == (sum(backup.manifest.rows.values()), 5)
    assert noted.report["restore_seconds"] > 0
    assert report_backups()[0] == "the last rehearsal of a restore failed"
    assert not (environment().home / "rehearsal").exists()
