"""Waking the worker: once for each transaction, and never in the way of a write."""

from threading import Event, Thread

import pytest
from celery import current_app
from django.db import transaction
from kombu.exceptions import OperationalError

from bigmind.core import background
from bigmind.core.background import BackgroundTask, after_commit

pytestmark = pytest.mark.django_db(transaction=True)


@pytest.fixture
def sent(monkeypatch):
    """Collect what is sent to the broker instead of sending it."""
    sent = []
    monkeypatch.setattr(current_app, "send_task", lambda task, **options: sent.append(task))
    monkeypatch.setattr(background._Broker, "away_until", 0.0)
    return sent


def test_a_transaction_wakes_the_worker_once_for_each_task(sent):
    with transaction.atomic():
        for _ in range(1000):
            after_commit("embed")
            after_commit("tidy")
        assert sent == []

    assert sent == ["embed", "tidy"]


def test_every_transaction_wakes_it_anew(sent):
    for _ in range(2):
        with transaction.atomic():
            after_commit("embed")

    assert sent == ["embed", "embed"]


def test_what_is_rolled_back_wakes_nobody_and_keeps_nobody_asleep(sent):
    with transaction.atomic():
        with pytest.raises(RuntimeError):
            begin_and_give_up()
        after_commit("tidy")
        with transaction.atomic():
            after_commit("embed")

    assert sent == ["tidy", "embed"]


def test_without_a_transaction_it_is_woken_at_once(sent):
    after_commit("embed")

    assert sent == ["embed"]


def test_a_broker_that_is_away_is_asked_once_and_refuses_nobody(sent, monkeypatch):
    def refuse(task, **options):
        sent.append(task)
        raise OperationalError("Nobody is there.")

    monkeypatch.setattr(current_app, "send_task", refuse)

    for _ in range(3):
        after_commit("embed")

    assert sent == ["embed"]


@transaction.atomic
def begin_and_give_up():
    """Ask for a worker in a savepoint that is rolled back."""
    after_commit("embed")
    raise RuntimeError


def test_one_kind_of_work_leaves_threads_for_the_others() -> None:
    at_once, most, enough = [], [], Event()

    class Slow(BackgroundTask):
        name = "slow"
        threads = 2

        def run(self) -> None:
            at_once.append(1)
            most.append(len(at_once))
            enough.wait(0.2)
            at_once.pop()

    task = Slow()
    workers = [Thread(target=task) for _ in range(8)]
    for worker in workers:
        worker.start()
    for worker in workers:
        worker.join()

    assert max(most) == 2
    assert len(most) > 2, "What was asked for meanwhile is done afterwards."
