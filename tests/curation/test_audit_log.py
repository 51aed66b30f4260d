"""The audit log: what is done to people and keys is noted, found, taken away, and cannot be changed unseen."""

import ast
import csv
import io
import json
import stat
from collections.abc import Iterator
from contextlib import contextmanager
from datetime import UTC, datetime
from pathlib import Path
from typing import Any

import pytest
from django.core.management import CommandError, call_command
from django.db import IntegrityError, connection, transaction
from django.test import Client
from django.urls import reverse

from accounts.keys import create_key, revoke_key, rotate_key
from accounts.models import AuditEvent, AuditHead
from accounts.people.invitations import invite
from accounts.people.people_administration import deactivate, give_role
from accounts.people.user_deletion import delete_user
from accounts.services.audit import audit, find_broken_events, head_of_audit, head_text
from bigmind.backup.manifest import Manifest
from curation.models import Action, Delivery
from curation.notifications.webhook_messages import queue_audit_head
from curation.services.audit_words import DECISIONS, EVENT_KINDS, EVENTS
from tests.curation.factories import approved_entry
from tests.factories import make_actor, make_user

pytestmark = pytest.mark.django_db
ROOT = Path(__file__).parents[2]


def events() -> list[str]:
    return list(AuditEvent.objects.order_by("number").values_list("event", flat=True))


@contextmanager
def _past_the_trigger() -> Iterator[None]:
    with connection.cursor() as cursor:
        cursor.execute("SET CONSTRAINTS ALL IMMEDIATE")
        cursor.execute("ALTER TABLE accounts_auditevent DISABLE TRIGGER USER")
        yield
        cursor.execute("ALTER TABLE accounts_auditevent ENABLE TRIGGER USER")


@pytest.fixture
def admin(client: Client) -> Client:
    client.force_login(make_user("root", role="admin", display_name="Ruth Root"))
    return client


def test_it_is_asked_once_whether_a_person_is_still_here(django_assert_num_queries: Any) -> None:
    user = make_user()
    audit("signed_in", about=user, by=user)

    # The person, the turn, the last row, the head, the new row and the new head.
    with django_assert_num_queries(6):
        audit("signed_in", about=user, by=user)


def test_what_becomes_of_keys_people_and_invitations_is_noted() -> None:
    admin, user = make_actor(admin=True), make_user()
    new = create_key(user).key

    revoke_key(rotate_key(new).key)
    give_role(admin, user, "curator")
    deactivate(admin, user)
    invite(admin, name="Somebody")

    assert events() == [
        "key_created",
        "key_created",
        "key_rotated",
        "key_revoked",
        "role_given",
        "user_deactivated",
        "invited",
    ]


def test_who_did_it_on_a_page_is_named(admin: Client) -> None:
    user = make_user("ada")

    admin.post(reverse("person-role", args=[user.pk]), {"role": "curator"})

    noted = AuditEvent.objects.get(event="role_given")
    assert (noted.by_name, noted.about_name) == ("Ruth Root", "ada")
    assert noted.details == {"role": "curator", "before": "member"}


def test_a_sign_in_is_noted_with_its_door(client: Client) -> None:
    make_user("ada", password="correct horse battery")

    client.post(reverse("sign-in"), {"username": "ada", "password": "correct horse battery"})

    assert AuditEvent.objects.get(event="signed_in").details == {"door": "password"}


def test_the_log_is_not_changed_and_what_passes_the_trigger_is_found() -> None:
    audit("invited", role="admin")
    audit("invited", role="member")

    with pytest.raises(IntegrityError), transaction.atomic():
        AuditEvent.objects.filter(number=1).update(details={})
    with pytest.raises(IntegrityError), transaction.atomic():
        AuditEvent.objects.filter(number=1).delete()
    call_command("audit_verify")
    with _past_the_trigger():
        AuditEvent.objects.filter(number=1).update(details={})

    assert [broken.number for broken in find_broken_events()] == [1]
    with pytest.raises(CommandError, match="was altered"):
        call_command("audit_verify")


def test_whoever_owns_the_database_but_not_the_key_cannot_make_the_seals_anew() -> None:
    for role in ("admin", "member", "curator"):
        audit("invited", role=role)
    first, second, third = AuditEvent.objects.order_by("number")
    second.details = {"role": "member", "by": "nobody"}
    second.seal = second.hash_after(first.seal)
    third.seal = third.hash_after(second.seal)

    with _past_the_trigger():
        AuditEvent.objects.bulk_update([second, third], ["details", "seal"])

    assert {broken.number for broken in find_broken_events()} == {2, 3}


@pytest.mark.parametrize("table", ["accounts_auditevent", "accounts_erasurereport", "curation_review"])
def test_what_only_grows_is_not_emptied_either(table: str) -> None:
    with pytest.raises(IntegrityError, match="append-only"), transaction.atomic(), connection.cursor() as cursor:
        cursor.execute(f"TRUNCATE {table} CASCADE")


def test_newest_rows_that_were_cut_off_are_missed() -> None:
    _note_three()

    with _past_the_trigger():
        AuditEvent.objects.filter(number__gt=1).delete()

    assert [broken.number for broken in find_broken_events()] == [3]
    with pytest.raises(CommandError, match="was altered"):
        call_command("audit_verify")


def test_what_is_missing_is_said_from_where_to_where() -> None:
    for _ in range(6):
        audit("invited", role="admin")

    with _past_the_trigger():
        AuditEvent.objects.filter(number__in=(2, 3, 5, 6)).delete()

    said = {broken.number: broken.why for broken in find_broken_events()}
    assert "rows 2 to 3 are missing" in said[4]
    assert "rows 5 to 6 are missing: the log ends with row 4" in said[6]


def test_rows_in_another_order_are_found() -> None:
    _note_three()

    with _past_the_trigger():
        for number, becomes in ((2, 9), (3, 2), (9, 3)):
            AuditEvent.objects.filter(number=number).update(number=becomes)

    assert {broken.number for broken in find_broken_events()} == {2, 3}


def test_the_logs_are_quiet_about_the_audit_log_unless_asked(caplog, django_capture_on_commit_callbacks):
    with caplog.at_level("INFO"), django_capture_on_commit_callbacks(execute=True):
        audit("invited", role="member")

    assert "new last row" not in caplog.text


def test_a_head_that_was_kept_elsewhere_finds_an_older_state_of_everything(
    caplog: pytest.LogCaptureFixture, django_capture_on_commit_callbacks: Any, settings: Any, tmp_path: Path
) -> None:
    settings.WEBHOOK_URL = "https://example.com/hook"
    audit("invited", role="admin")
    before = AuditHead.objects.values("number", "last", "seal").get()
    settings.LOG_AUDIT = True
    with caplog.at_level("INFO"), django_capture_on_commit_callbacks(execute=True):
        audit("invited", role="member")
    told = head_text(head_of_audit())
    queued = [queue_audit_head(), queue_audit_head()]
    backup = tmp_path / "bigmind-20260101T000000Z"
    backup.mkdir()
    _write_manifest(backup, audit_head=told)

    with _past_the_trigger():
        AuditEvent.objects.filter(number=2).delete()
    AuditHead.objects.update(**before)

    assert told in caplog.text
    assert (queued, Delivery.objects.get().body["data"]) == ([True, False], {"head": told})
    call_command("audit_verify")
    with pytest.raises(CommandError, match="was altered"):
        call_command("audit_verify", "--head", told)
    settings.BACKUP_DIR = str(tmp_path)
    output = io.StringIO()
    with pytest.raises(CommandError, match="was altered"):
        call_command("audit_verify", stdout=output)
    assert f"Line 2: the backup {backup.name} notes it as the last row, and it is missing" in output.getvalue()


def _write_manifest(folder: Path, *, audit_head: str) -> None:
    manifest = Manifest(
        bigmind="1",
        made_at=datetime.now(UTC),
        postgresql=18,
        pgvector="1",
        migrations={},
        rows={},
        files={},
        audit_head=audit_head,
    )
    (folder / "manifest.json").write_text(manifest.model_dump_json())


@pytest.mark.parametrize("text", ["", "17", "seventeen.a.b", "17.a", "².a.b"])
def test_what_is_no_head_is_refused_with_how_one_looks(text: str) -> None:
    with pytest.raises(CommandError, match="a number and two seals"):
        call_command("audit_verify", "--head", text)


def test_an_emptied_log_is_missed() -> None:
    _note_three()

    with _past_the_trigger():
        AuditEvent.objects.all().delete()

    assert [broken.number for broken in find_broken_events()] == [3]


def test_rows_that_follow_do_not_heal_a_log_that_was_cut() -> None:
    _note_three()
    with _past_the_trigger():
        AuditEvent.objects.filter(number=3).delete()

    audit("invited", role="admin")

    assert [broken.number for broken in find_broken_events()] == [4]


def test_the_head_cannot_be_made_anew_without_the_key(settings: Any) -> None:
    _note_three()
    first = AuditEvent.objects.get(number=1)
    with _past_the_trigger():
        AuditEvent.objects.filter(number__gt=1).delete()

    AuditHead.objects.update(number=1, last=first.seal)
    forged = [broken.number for broken in find_broken_events()]
    AuditHead.objects.all().delete()
    audit("invited", role="admin")

    assert forged == [1]
    assert [broken.number for broken in find_broken_events()] == [2]


def test_an_older_state_of_both_tables_is_found_by_the_file(settings, tmp_path, django_capture_on_commit_callbacks):
    settings.AUDIT_HEAD_FILE = tmp_path / "audit_head.json"
    with django_capture_on_commit_callbacks(execute=True):
        audit("invited", role="admin")
    before = AuditHead.objects.values("number", "last", "seal").get()
    with django_capture_on_commit_callbacks(execute=True):
        audit("invited", role="member")
    assert not list(find_broken_events())

    with _past_the_trigger():
        AuditEvent.objects.filter(number=2).delete()
    AuditHead.objects.update(**before)

    assert [(broken.number, "audit_head.json" in broken.why) for broken in find_broken_events()] == [(2, True)]
    assert stat.S_IMODE(settings.AUDIT_HEAD_FILE.stat().st_mode) == 0o600


def _note_three() -> None:
    for role in ("admin", "member", "curator"):
        audit("invited", role=role)


def test_rows_from_before_there_was_a_key_still_hold_and_are_counted() -> None:
    old = AuditEvent(number=1, event="invited", details={"role": "admin"})
    old.seal = old.hash_after("")
    old.save()
    AuditHead.seal_last(1, old.seal).save()
    audit("invited", role="member")

    output = io.StringIO()
    call_command("audit_verify", "--json", stdout=output)

    assert json.loads(output.getvalue())["without_key"] == 1
    assert not list(find_broken_events())


def test_rows_sealed_with_an_earlier_secret_key_hold_while_it_is_named(settings: Any) -> None:
    audit("invited", role="admin")
    before = settings.SECRET_KEY

    settings.SECRET_KEY = "another, from today"
    audit("invited", role="member")
    without_it = [broken.number for broken in find_broken_events()]
    settings.SECRET_KEY_FALLBACKS = [before]

    assert without_it == [1]
    assert not list(find_broken_events())


def test_the_name_of_who_is_deleted_leaves_the_log_and_its_seals_hold() -> None:
    user = make_user("wenceslas")
    create_key(user)

    delete_user(user)

    assert not AuditEvent.objects.filter(about_name="wenceslas").exists()
    assert AuditEvent.objects.filter(about_id_kept=user.pk, event="user_deleted").exists()
    assert not list(find_broken_events())


def test_an_admin_finds_decisions_and_events_by_words_kind_and_person(admin: Client) -> None:
    user = make_user("ada")
    create_key(user)
    entry = approved_entry()

    everything = admin.get(reverse("audit")).text
    keys = admin.get(reverse("audit"), {"query": "key_created ada"}).text
    decisions = admin.get(reverse("audit"), {"query": entry.handle, "kind": "decisions"}).text
    nothing = admin.get(reverse("audit"), {"until": "2001-01-01"}).text

    assert "key_created" in everything
    assert "company_approve" in everything
    assert "company_approve" not in keys
    assert "company_approve" in decisions
    assert "key_created" not in decisions
    assert "Nothing matches" in nothing


def test_every_event_is_said_in_a_sentence(admin: Client) -> None:
    noted = {
        name
        for package in ("accounts", "knowledge", "curation", "bigmind")
        for path in (ROOT / package).rglob("*.py")
        if "audit(" in (source := path.read_text())
        for call in ast.walk(ast.parse(source))
        if isinstance(call, ast.Call) and getattr(call.func, "id", "") == "audit"
        for name in (one.value for one in ast.walk(call.args[0]) if isinstance(one, ast.Constant))
    }
    grouped = [event for _, events in EVENT_KINDS.values() for event in events]

    # The version before noted these two.
    assert set(EVENTS) == noted | {"setting_changed", "setting_reset"}
    assert set(DECISIONS) == set(Action.values)
    assert sorted(grouped) == sorted(EVENTS)


def test_the_log_reads_as_sentences_and_is_filtered_by_person_and_kind(admin: Client) -> None:
    entry = approved_entry(title="Deploys on Tuesdays")
    ada = make_user("ada", display_name="Ada Byron")
    admin.post(reverse("person-role", args=[ada.pk]), {"role": "curator"})

    everything = admin.get(reverse("audit")).text
    of_ada = admin.get(reverse("audit"), {"person": "byron"}).text
    roles = admin.get(reverse("audit"), {"kind": "accounts", "person": "Ruth"}).text
    keys = admin.get(reverse("audit"), {"kind": "keys"}).text

    approved = f"approved “Deploys on Tuesdays” ({entry.handle}), which {entry.proposed_by} had proposed."
    assert approved in everything
    assert "Ruth Root changed the role of Ada Byron from member to curator." in of_ada
    assert approved not in of_ada
    assert "changed the role of Ada Byron" in roles
    assert "changed the role of Ada Byron" not in keys


def test_the_log_is_taken_away_and_no_cell_is_a_formula(admin: Client) -> None:
    create_key(make_user(display_name="=HYPERLINK(1)"))

    as_csv = admin.get(reverse("audit-export"), {"format": "csv", "query": "key_created"})
    as_json = admin.get(reverse("audit-export"), {"format": "json", "query": "key_created"})

    (row,) = csv.DictReader(io.StringIO(as_csv.text))
    assert row["about"] == "'=HYPERLINK(1)"
    assert [line["about"] for line in json.loads(as_json.content)] == ["=HYPERLINK(1)"]


def test_with_a_filter_that_is_invalid_nothing_is_taken_away(admin: Client) -> None:
    answer = admin.get(reverse("audit-export"), {"format": "csv", "since": "yesterday"})

    assert answer["Location"] == f"{reverse('audit')}?format=csv&since=yesterday"


def test_a_wrong_date_is_said_beside_its_field(admin: Client) -> None:
    page = admin.get(reverse("audit"), {"since": "yesterday"})

    assert page.status_code == 422
    assert "Enter a valid date" in page.text
