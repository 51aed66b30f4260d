"""A run-away import may cost a day's budget, and questions are still answered by meaning."""

import pytest

from bigmind.core.tokens import count_tokens
from knowledge.embeddings import budget
from knowledge.embeddings.budget import BudgetSpent, remember_spent, spend, spent_today
from knowledge.embeddings.hashing import Hashing
from knowledge.embeddings.openai_compatible import OpenAICompatible
from knowledge.embeddings.patience import embed_batch, embed_query

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
    assert spent_today() == count_tokens(TEXT)


def test_the_last_part_of_the_budget_is_kept_for_questions(settings, endpoint, paid):
    settings.EMBEDDING_DAILY_TOKENS = 1000
    remember_spent(960)

    with pytest.raises(BudgetSpent):
        embed_batch(paid, [TEXT])
    embed_query(paid, TEXT)

    assert [asked["input"] for asked in endpoint.requests] == [[TEXT]]


def test_an_embedder_that_costs_nothing_spends_nothing(settings):
    settings.EMBEDDING_DAILY_TOKENS = 1

    for _ in range(3):
        embed_batch(Hashing(), [TEXT])

    assert spent_today() == 0


def test_zero_switches_the_budget_off(settings, paid):
    settings.EMBEDDING_DAILY_TOKENS = 0
    remember_spent(10_000_000)

    vectors = embed_batch(paid, [TEXT])

    assert len(vectors) == 1


def test_a_meter_that_began_anew_is_told_what_was_spent(settings):
    settings.EMBEDDING_DAILY_TOKENS = 100
    spend(30)

    for _ in range(2):
        remember_spent(80)

    assert spent_today() == 80


def test_a_spent_budget_does_not_open_the_circuit(settings, endpoint, paid):
    settings.EMBEDDING_DAILY_TOKENS = 100
    remember_spent(100)
    for _ in range(3):
        with pytest.raises(BudgetSpent):
            embed_query(paid, TEXT)

    settings.EMBEDDING_DAILY_TOKENS = 1000
    embed_query(paid, TEXT)

    assert len(endpoint.requests) == 1


def test_every_day_has_a_budget_of_its_own(settings, monkeypatch):
    settings.EMBEDDING_DAILY_TOKENS = 100
    spend(100)

    monkeypatch.setattr(budget, "_meter", lambda: "embedding-tokens:tomorrow")

    assert spent_today() == 0
