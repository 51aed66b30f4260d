"""The system page: what admins see of how BigMind is, and that it shows nothing of what people store."""

from datetime import timedelta
from typing import Any

import pytest
from django.core.cache import cache
from django.test import Client
from django.urls import reverse
from django.utils import timezone

from accounts.models import AuditEvent, BackupRun, Call, TaskTally, Worker
from accounts.services.task_statistics import tally_task
from bigmind.core.errors import NotFound, TooMany
from bigmind.gate import perform
from bigmind.observability.logging import begin_request
from bigmind.operations import CATALOGUE
from knowledge.indexing.embedding import embed_pending
from tests.factories import make_actor, make_key
from tests.knowledge.factories import make_fact

PARTS = ["database", "vector", "migrations", "writes", "clock", "disk", "embedder", "index", "indexes", "scrubs"]
PARTS += ["backups", "guards", "worker", "broker"]
EMBED = "knowledge.tasks.embed_pending"

pytestmark = pytest.mark.django_db


@pytest.fixture
def admin(client: Client) -> Any:
    """An admin who is signed in."""
    actor = make_actor(admin=True)
    client.force_login(actor.user)
    return actor


def _state(client: Client) -> Any:
    return client.get(reverse("system")).context["state"]


@pytest.mark.parametrize("curator", [False, True])
def test_only_admins_see_it_and_are_led_there(client: Client, curator: bool) -> None:
    client.force_login(make_actor(curator=curator).user)

    page = client.get(reverse("system"))

    assert page.status_code == 403
    assert "may not do what admins do" in page.text
    assert f'href="{reverse("system")}"' not in client.get(reverse("home")).text


def test_it_says_what_runs_and_whether_it_is_well(client: Client, admin: Any) -> None:
    page = client.get(reverse("system"))

    assert [part.name for part in page.context["state"].parts] == PARTS
    assert page.context["state"].versions.postgresql.split(".")[0] in page.text
    assert "accounts 00" in page.text
    assert "knowledge_passage" in page.text


def test_slow_operations_come_first(client: Client, admin: Any) -> None:
    for operation, milliseconds in (("memory_list_facts", 5.0), ("kb_search", 900.0)):
        Call.objects.create(
            user=admin.user, operation=operation, transport="mcp", outcome="ok", milliseconds=milliseconds
        )
    Call.objects.filter(operation="kb_search").update(at=timezone.now() - timedelta(hours=23))

    slowest = _state(client).slowest

    assert [(use.name, use.half_within) for use in slowest] == [("kb_search", 900.0), ("memory_list_facts", 5.0)]


def test_failures_of_a_day_are_grouped_with_the_latest_request_ids(client: Client, admin: Any) -> None:
    for number in range(5):
        begin_request(f"request-{number}")
        with pytest.raises(NotFound):
            perform(CATALOGUE["memory_erase_fact"], admin, {"fact_id": 1}, transport="rest")
    Call.objects.create(user=admin.user, operation="kb_search", transport="mcp", outcome="error", milliseconds=1)
    old = Call.objects.create(user=admin.user, operation="kb_add", transport="mcp", outcome="error", milliseconds=1)
    Call.objects.filter(pk=old.pk).update(at=timezone.now() - timedelta(days=2))

    failures = _state(client).failures

    assert [(each.operation, each.outcome, each.calls) for each in failures] == [
        ("kb_search", "error", 1),
        ("memory_erase_fact", "not_found", 5),
    ]
    assert failures[0].request_ids == []
    assert failures[1].request_ids == ["request-4", "request-3", "request-2"]


def test_whose_key_hits_its_limit_is_shown(client: Client, admin: Any) -> None:
    cache.clear()
    busy = make_actor(scopes=["read"])
    assert busy.key is not None
    busy.key.per_minute = 1
    busy.key.label = "Nightly bot"
    busy.key.save()
    perform(CATALOGUE["memory_list_facts"], busy, {}, transport="rest")
    for _ in range(2):
        with pytest.raises(TooMany):
            perform(CATALOGUE["memory_list_facts"], busy, {}, transport="rest")

    page = client.get(reverse("system"))

    (hits,) = page.context["state"].limit_hits
    assert (hits.username, hits.refused, hits.per_minute) == (busy.user.username, 2, 1)
    assert "Nightly bot" in page.text
    assert busy.key.prefix in page.text


def test_what_waits_to_be_embedded_is_counted(client: Client, admin: Any) -> None:
    embed_pending()
    make_fact(make_actor(), "Private thought.")

    page = client.get(reverse("system"))

    assert (page.context["state"].pipeline.waiting, page.context["state"].pipeline.failed) == (1, 0)
    assert "Private thought" not in page.text


def test_a_task_is_well_late_or_failed_and_says_when_it_is_due(client: Client, admin: Any) -> None:
    tally_task(EMBED, seconds=0.1, scheduled=True, request_id="1")
    tally_task("curation.tasks.send_digests", seconds=0.1, scheduled=True, request_id="2", error="SMTPException")
    tally_task("knowledge.tasks.keep_indexes", seconds=0.1, scheduled=True, request_id="3")
    yesterday = timezone.now() - timedelta(days=1)
    TaskTally.objects.filter(task="knowledge.tasks.keep_indexes").update(scheduled_at=yesterday, ended_at=yesterday)

    page = client.get(reverse("system"))

    tasks = {task.name: task for task in page.context["state"].tasks}
    assert not tasks[EMBED].is_late
    assert tasks[EMBED].due - tasks[EMBED].tally.scheduled_at == timedelta(seconds=15)
    assert tasks["knowledge.tasks.keep_indexes"].is_late
    assert tasks["curation.tasks.send_digests"].failed_last
    assert tasks["bigmind.tasks.delete_past_bounds"].tally is None
    assert "SMTPException" in page.text


def test_settings_worth_a_look_are_named(client: Client, admin: Any, settings: Any) -> None:
    settings.BIGMIND_MODE, settings.PUBLIC_URL, settings.RATE_LIMIT_PER_MINUTE = "team", "http://b.example", 0

    unusual = " ".join(_state(client).unusual)

    for name in ("BIGMIND_PUBLIC_URL", "BIGMIND_EMAIL_URL", "BIGMIND_RATE_LIMIT", "BIGMIND_REQUIRE_MFA"):
        assert name in unusual
    assert "BIGMIND_DEBUG" not in unusual


def test_the_system_page_says_whether_anybody_makes_backups(client: Client, admin: Any) -> None:
    unset = client.get(reverse("system"))
    now = timezone.now()
    Worker.objects.create(name="host-1f3c", seen_at=now, took_at=now, folder="/backups")

    page = client.get(reverse("system"))

    assert "Automatic backups: off" in unset.text
    assert "nobody makes any by schedule" in unset.text
    assert "BIGMIND_BACKUP_DIR is not set" in unset.text
    assert "none yet" in page.text
    assert "BIGMIND_BACKUP_DIR is not set" not in page.text


def test_the_page_of_backups_tells_what_was_done_and_starts_more(
    client: Client, admin: Any, settings: Any, tmp_path: Any, monkeypatch: Any, django_assert_max_num_queries: Any
) -> None:
    woken: list[str] = []
    monkeypatch.setattr("bigmind.views.system_backups.after_commit", woken.append)
    address, start = reverse("system-backups"), reverse("system-backup-start")
    unset, nowhere = client.get(address), client.post(start)
    settings.BACKUP_DIR = str(tmp_path)
    alone, nobody = client.get(address), client.post(start)
    settings.BACKUP_DIR = ""  # Only the worker has to know, and it alone can write there.
    seen = {"seen_at": timezone.now(), "took_at": timezone.now()}
    Worker.objects.create(name="host-1f3c", folder=str(tmp_path), **seen)
    new, name = client.get(address), "bigmind-20261123T020000Z"
    BackupRun.objects.create(place=str(tmp_path), name=name, seconds=4.2, bytes=5_000_000)
    BackupRun.objects.create(place=str(tmp_path), seconds=9, error="It is <b>torn</b>.")
    with django_assert_max_num_queries(12):
        torn = client.get(address)
    client.post(start)

    assert "No automatic backups" in unset.text
    assert (nowhere.status_code, nobody.status_code) == (409, 409)
    assert "no worker runs that could make any" in alone.text
    assert "host-1f3c" in new.text
    assert "none yet" in new.text
    assert "the last one failed" in torn.text
    assert torn.text.count("It is &lt;b&gt;torn&lt;/b&gt;.") == 1
    assert torn.text.count(name) == 1
    assert "4.8\xa0MB" in torn.text
    assert "BIGMIND_BACKUP_KEEP_MONTHLY" in torn.text
    assert woken == ["bigmind.tasks.back_up_now"]
    assert list(AuditEvent.objects.values_list("event", flat=True)) == ["backup_asked"]
    assert client.get(start).status_code == 405


def test_it_takes_the_same_few_queries_however_much_there_is(
    client: Client, admin: Any, django_assert_max_num_queries: Any
) -> None:
    for number in range(30):
        actor = make_actor()
        key = make_key(actor.user).key
        said = {"user": actor.user, "key": key, "transport": "rest", "milliseconds": number}
        Call.objects.create(operation=f"operation_{number}", outcome="ok", **said)
        Call.objects.create(operation=f"operation_{number}", outcome="error", **said)
        Call.objects.create(operation=f"operation_{number}", outcome="too_many", **said)
        tally_task(f"task_{number}", seconds=1, scheduled=False, request_id="1")

    with django_assert_max_num_queries(24):
        page = client.get(reverse("system"))

    assert page.status_code == 200
