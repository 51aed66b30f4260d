"""Waking the worker: once for each transaction, and never in the way of a write."""

import pytest
from celery import current_app
from django.db import transaction
from kombu.exceptions import OperationalError

from bigmind.core import background
from bigmind.core.background import after_commit

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
