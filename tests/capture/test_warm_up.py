"""The first prompt of a conversation does not wait until a model is loaded."""

from threading import Event

import pytest

from knowledge.embeddings import calls
from knowledge.embeddings.hashing import Hashing
from knowledge.embeddings.providers import EmbedderDown
from tests.capture.hooking import HookedClient
from tests.factories import make_user

pytestmark = pytest.mark.django_db


class Watched(Hashing):
    """Says when it was asked, and fails."""

    def __init__(self, *, is_paid=False, is_local=False):
        super().__init__(is_paid=is_paid, is_local=is_local)
        object.__setattr__(self, "asked", Event())

    def embed(self, texts, *, timeout=0):
        self.asked.set()
        raise EmbedderDown("It is away.")


def test_a_start_has_a_server_load_the_model_and_no_failure_of_it_is_told(monkeypatch):
    embedder = Watched()
    monkeypatch.setattr(calls, "provider", lambda: embedder)

    told = HookedClient(make_user()).start()

    assert embedder.asked.wait(5)
    assert told


@pytest.mark.parametrize("embedder", [Watched(is_paid=True), Watched(is_local=True)])
def test_one_that_costs_money_is_left_alone_and_so_is_one_that_is_loaded(monkeypatch, embedder):
    monkeypatch.setattr(calls, "provider", lambda: embedder)

    HookedClient(make_user()).start()

    assert not embedder.asked.wait(0.2)
