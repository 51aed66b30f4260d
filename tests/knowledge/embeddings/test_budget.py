"""A run-away import may cost a day's budget, and questions are still answered by meaning."""

from concurrent.futures import ThreadPoolExecutor
from datetime import date

import pytest
from django.core.cache import cache
from django.db import connection

from bigmind.text.token_counts import count_tokens
from knowledge.embeddings import budget
from knowledge.embeddings.budget import BudgetSpent, spend, tokens_today
from knowledge.embeddings.calls import embed_batch, embed_query
from knowledge.embeddings.hashing import Hashing
from knowledge.embeddings.openai_compatible import OpenAICompatible

pytestmark = pytest.mark.django_db
TEXT = "Deploys to production happen on Tuesdays."


@pytest.fixture
def paid(endpoint):
    return OpenAICompatible(url=endpoint.url, model="three-numbers", dimensions=3, key="k")


def test_nothing_is_sent_once_the_budget_is_spent(settings, endpoint, paid):
    settings.EMBEDDING_DAILY_TOKENS = 5
    embed_batch(paid, [TEXT])

    with pytest.raises(BudgetSpent, match="BIGMIND_EMBEDDING_DAILY_TOKENS") as spent:
        embed_batch(paid, [TEXT])

    assert len(endpoint.requests) == 1
    assert 0 < spent.value.retry_after <= 24 * 3600
    assert tokens_today() == count_tokens(TEXT)


def test_the_last_part_of_the_budget_is_kept_for_questions(settings, endpoint, paid):
    settings.EMBEDDING_DAILY_TOKENS = 1000
    spend(960)

    with pytest.raises(BudgetSpent):
        embed_batch(paid, [TEXT])
    embed_query(paid, TEXT)

    assert [asked["input"] for asked in endpoint.requests] == [[TEXT]]


def test_an_embedder_that_costs_nothing_spends_nothing(settings):
    settings.EMBEDDING_DAILY_TOKENS = 1

    for _ in range(3):
        embed_batch(Hashing(), [TEXT])

    assert tokens_today() == 0


def test_zero_switches_the_budget_off(settings, paid):
    settings.EMBEDDING_DAILY_TOKENS = 0
    spend(10_000_000)

    vectors = embed_batch(paid, [TEXT]).vectors

    assert len(vectors) == 1


def test_what_is_lost_with_the_memory_of_a_process_is_not_the_meter(settings):
    settings.EMBEDDING_DAILY_TOKENS = 100
    spend(30)

    cache.clear()
    spend(50)

    assert tokens_today() == 80


def test_who_is_refused_has_spent_nothing(settings):
    settings.EMBEDDING_DAILY_TOKENS = 100
    spend(100)

    with pytest.raises(BudgetSpent):
        spend(7)

    assert tokens_today() == 100


@pytest.mark.django_db(transaction=True)
def test_many_processes_at_the_line_cross_it_once(settings):
    settings.EMBEDDING_DAILY_TOKENS = 1000

    with ThreadPoolExecutor(8) as threads:
        passed = list(threads.map(lambda _: _passes(300), range(16)))

    assert passed.count(True) == 4
    assert tokens_today() == 1200


def test_a_spent_budget_does_not_open_the_circuit(settings, endpoint, paid):
    settings.EMBEDDING_DAILY_TOKENS = 100
    spend(100)
    for _ in range(3):
        with pytest.raises(BudgetSpent):
            embed_query(paid, TEXT)

    settings.EMBEDDING_DAILY_TOKENS = 1000
    embed_query(paid, TEXT)

    assert len(endpoint.requests) == 1


def test_every_day_has_a_budget_of_its_own(settings, monkeypatch):
    settings.EMBEDDING_DAILY_TOKENS = 100
    spend(100)

    monkeypatch.setattr(budget, "_today", lambda: date(2999, 1, 1))

    assert tokens_today() == 0


def _passes(tokens):
    """Spend from a thread, whose connection is its own as a process's is."""
    try:
        spend(tokens)
    except BudgetSpent:
        return False
    finally:
        connection.close()
    return True
