"""A backlog of vectors holds up nothing but vectors."""

import re
from collections.abc import Callable
from time import monotonic, sleep
from typing import Any

import pytest
from celery import Celery
from celery.contrib.testing.worker import start_worker
from django.core.cache import cache

from bigmind.celery import app as ours
from bigmind.embedded.up import worker_command
from curation.models import Delivery
from knowledge.indexing.embedding import progress
from knowledge.models import Kind, PassageVector
from knowledge.search.passages import Indexed, index_new
from tests.curation.factories import propose
from tests.curation.test_notices import Hook, hook  # noqa: F401
from tests.knowledge.embeddings.endpoint import Answer, Endpoint

WAITING = 600
PATIENCE_SECONDS = 60

pytestmark = pytest.mark.django_db(transaction=True)


def test_a_delivery_does_not_stand_behind_a_backlog_of_vectors(settings: Any, hook: Hook) -> None:  # noqa: F811
    """A worker with as many threads as ours, woken for vectors by each of many writes, and a slow embedder."""
    texts = (f"GET /cranes/{number} returns crane {number}." for number in range(WAITING))
    index_new(Kind.REFERENCE, [Indexed(number, text, "") for number, text in enumerate(texts)], owner=None)
    modules = ["curation.tasks", "knowledge.tasks"]
    app = Celery("backlog", broker="memory://", set_as_current=False, include=modules, task_cls=ours.task_cls)
    app.loader.import_default_modules()
    app.conf.update(task_ignore_result=True)
    threads = int(re.search(r"--concurrency=(\d+)", " ".join(worker_command()))[1])
    with Endpoint(Answer(delay=0.5)) as endpoint:
        settings.EMBEDDING_PROVIDER, settings.EMBEDDING_URL, settings.EMBEDDING_MODEL = "openai", endpoint.url, "test"
        settings.EMBEDDING_DIMENSIONS = 3
        with start_worker(app, concurrency=threads, pool="threads", perform_ping_check=False):
            for _ in range(50):
                app.send_task("knowledge.tasks.embed_pending")
            _wait_until(lambda: len(endpoint.requests) > 0)
            propose()
            app.send_task("curation.tasks.deliver_pending")
            _wait_until(lambda: not Delivery.objects.filter(delivered_at=None).exists())
            waiting = progress().waiting
            PassageVector.objects.all().delete()
    cache.clear()

    assert len(hook.received) == 1
    assert waiting > WAITING / 2


def _wait_until(claim: Callable[[], bool]) -> None:
    give_up = monotonic() + PATIENCE_SECONDS
    while not claim():
        assert monotonic() < give_up, "It did not come true in time."
        sleep(0.02)
