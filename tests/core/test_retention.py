"""What grows by mere use has a bound, set in the settings, applied by one task and shown with its size."""

from collections.abc import Callable
from datetime import timedelta
from typing import Any

import pytest
from django.apps import apps
from django.conf import settings as configured
from django.core.cache import cache
from django.db.models import Model
from django.test import Client
from django.urls import reverse
from django.utils import timezone

from accounts.actor import acts
from accounts.models import Alert, Call, User
from bigmind import retention
from bigmind.retention import FEW, FOR_GOOD, KNOWLEDGE, LEDGERS, PARTS, delete_past_bounds, say_bound
from bigmind.tasks import delete_past_bounds as delete_task
from bigmind.text.hygiene import digest
from knowledge.indexing.embedding import embed_pending
from knowledge.memory.facts import erase_fact, store_fact
from knowledge.models import CachedVector, EmbeddingDay, Writing
from tests.factories import make_actor, make_agent, make_user
from tests.knowledge.factories import make_fact

pytestmark = pytest.mark.django_db

OURS = {"accounts", "knowledge", "curation"}
PLACES = [set(LEDGERS), KNOWLEDGE, PARTS, FOR_GOOD, FEW]


@pytest.fixture(autouse=True)
def scan_again() -> None:
    """Let each test read whole tables, as the first run of a day does."""
    cache.delete(retention._SCANNED)


def test_every_table_has_one_place() -> None:
    labels = sorted(model._meta.label for model in apps.get_models(include_auto_created=True))

    assert sorted(label for place in PLACES for label in place) == labels


def test_every_bound_can_be_said_in_words() -> None:
    assert [label for place in PLACES for label in place if not say_bound(label)] == []


def test_every_ledger_is_deleted_from_by_the_sweep_or_by_a_task_that_runs() -> None:
    scheduled = {entry["task"] for entry in configured.CELERY_BEAT_SCHEDULE.values()} | {"bigmind.tasks.back_up"}

    assert "bigmind.tasks.delete_past_bounds" in scheduled
    assert {bound.by for bound in LEDGERS.values() if not bound.past} <= scheduled
    assert not any(bound.by for bound in LEDGERS.values() if bound.past)


def test_what_a_bound_deletes_can_be_asked_for_in_every_table() -> None:
    delete_task()

    assert delete_past_bounds() == 0


def _call(user: User, days: int) -> Call:
    call = Call.objects.create(user=user, operation="kb_search", transport="mcp", outcome="ok", milliseconds=1)
    Call.objects.filter(pk=call.pk).update(at=timezone.now() - timedelta(days=days))
    return call


@pytest.mark.parametrize(
    ("setting", "days", "make"),
    [
        ("KEEP_CALLS_DAYS", 90, _call),
        (
            "KEEP_RECORDS_DAYS",
            365,
            lambda user, days: Alert.objects.create(
                user=user, kind=Alert.Topic.KEY_ENDS, text="It ends.", created_at=timezone.now() - timedelta(days=days)
            ),
        ),
        (
            "KEEP_RECORDS_DAYS",
            365,
            lambda user, days: EmbeddingDay.objects.create(day=timezone.now().date() - timedelta(days=days), tokens=1),
        ),
    ],
)
def test_a_record_is_kept_as_long_as_the_setting_says(
    setting: str, days: int, make: Callable[[User, int], Model], settings: Any
) -> None:
    user = make_user()
    old, new = make(user, days + 1), make(user, days - 1)

    gone = delete_past_bounds()

    left = type(new)._default_manager.values_list("pk", flat=True)
    assert gone == 1
    assert old.pk not in left
    assert new.pk in left
    setattr(settings, setting, days - 30)
    assert delete_past_bounds() == 1


def test_many_rows_go_in_batches(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(retention, "BATCH", 2)
    user = make_user()
    for _ in range(5):
        _call(user, 100)

    assert delete_past_bounds() == 5


def test_vectors_of_texts_that_nothing_stored_has_are_kept_up_to_a_number(settings: Any) -> None:
    settings.KEEP_UNUSED_VECTORS = 2
    make_fact(make_actor(), "Deploys go out on Tuesdays.")
    embed_pending()
    [stored] = CachedVector.objects.values_list("pk", flat=True)
    vector = CachedVector.objects.get(pk=stored)
    unused = [
        CachedVector.objects.create(space=vector.space, digest=digest(str(number)), vector=vector.vector).pk
        for number in range(5)
    ]

    assert delete_past_bounds() == 3
    assert set(CachedVector.objects.values_list("pk", flat=True)) == {stored, *unused[3:]}


def test_who_wrote_what_is_gone_is_forgotten() -> None:
    agent = make_agent(make_user(), "Claude Code")
    with acts(agent):
        stays = store_fact(agent, category="decision", fact="Deploys go out on Tuesdays.").fact
        goes = store_fact(agent, category="decision", fact="The kiln is hot in the morning.").fact
    erase_fact(agent, fact_id=goes.pk)

    delete_past_bounds()

    assert set(Writing.objects.values_list("source_id", flat=True)) == {str(stays.pk)}


def test_the_system_page_says_beside_its_size_how_long_a_table_is_kept(client: Client) -> None:
    client.force_login(make_actor(admin=True).user)

    page = client.get(reverse("system"))

    assert all(table.bound for table in page.context["state"].tables if table.name.split("_")[0] in OURS)
    assert "goes with what it is about" in page.text


def test_whole_tables_are_read_once_a_day() -> None:
    delete_past_bounds()
    Writing.objects.create(kind="fact", source_id="999999", made=True, user=make_user())

    assert delete_past_bounds() == 0
    cache.delete(retention._SCANNED)
    assert delete_past_bounds() == 1
