"""Indexes over vectors are built and dropped as in earnest: outside a transaction, concurrently."""

from datetime import timedelta

import pytest
from django.db import connection
from django.utils import timezone

from accounts.models import TaskTally
from accounts.services.task_statistics import tally_task
from bigmind.database.advisory_locks import SessionLock
from knowledge.indexing.embedding import embed_pending, progress, start_again
from knowledge.models import Kind, PassageVector
from knowledge.search import indexes
from knowledge.search.filters import Filters, scope_of_owner
from tests.factories import make_actor
from tests.knowledge.test_search_at_scale import large_from, remember, share_found


@pytest.fixture
def at_scale(transactional_db):
    with large_from(100):
        yield


def test_the_nearest_are_found_in_a_small_scope_that_all_share(at_scale):
    space = remember(64)
    remember(50, owner=make_actor().user)

    assert indexes.keep_indexes() == []
    assert share_found(space, Filters(Kind.values), None) >= 0.99


def test_indexes_come_and_go_with_what_they_are_for(at_scale):
    space = remember(120)

    made = indexes.keep_indexes()
    again = indexes.keep_indexes()
    PassageVector.objects.filter(pk__in=PassageVector.objects.values("pk")[:50]).delete()
    still_large = indexes.keep_indexes()
    PassageVector.objects.filter(pk__in=PassageVector.objects.values("pk")[:40]).delete()
    dropped = indexes.keep_indexes()

    assert made == dropped == [f"knowledge_near_{space.pk}_shared"]
    assert again == still_large == []
    assert not scope_of_owner(None).indexed


def test_all_vectors_are_made_anew_without_the_indexes_that_would_slow_each_change_down(at_scale):
    remember(120)
    indexes.keep_indexes()

    start_again(batch_size=50, clear_cache=False)
    asked = bool(scope_of_owner(None).indexed), PassageVector.objects.filter(trouble="").count()
    embed_pending()
    made = bool(scope_of_owner(None).indexed), progress()

    assert asked == (True, 120)
    assert (made[0], made[1].processed) == (False, 120)
    assert len(indexes.keep_indexes()) == 1


def test_only_one_process_at_a_time_keeps_the_indexes(at_scale):
    remember(120)
    other = connection.copy()

    with other.cursor() as cursor:
        cursor.execute("SELECT pg_advisory_lock(%s)", SessionLock.INDEXES.value)
        made = indexes.keep_indexes()
    other.close()

    assert made == []


@pytest.mark.django_db
@pytest.mark.parametrize(
    ("minutes", "error", "says"),
    [
        (1, "", ""),
        (1, "NotOwner", "BIGMIND_DATABASE_OWNER_URL"),
        (1, "DiskFull", "DiskFull"),
        (40, "", "start a worker"),
    ],
)
def test_what_the_last_run_of_a_worker_left_is_the_state_of_the_indexes(minutes, error, says):
    tally_task(indexes.TASK, seconds=1, scheduled=True, request_id="1", error=error)
    TaskTally.objects.update(scheduled_at=timezone.now() - timedelta(minutes=minutes))

    assert says in indexes.indexes_error()
    assert bool(says) == bool(indexes.indexes_error())


def test_the_task_that_health_asks_about_is_scheduled(settings):
    assert indexes.TASK in {entry["task"] for entry in settings.CELERY_BEAT_SCHEDULE.values()}
