"""The English model says what the original says, alone or in company, from any thread."""

import json
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path

import numpy as np
import pytest

from knowledge.embeddings import minilm
from knowledge.embeddings.minilm import embed_minilm
from knowledge.embeddings.providers import EmbedderBroken

# From sentence-transformers 6.2 on PyTorch 2.13, one text at a time: short, long, empty, code, German, Japanese.
REFERENCE = json.loads(Path(__file__).with_name("minilm_reference.json").read_text(encoding="utf-8"))
TEXTS = [line["text"] for line in REFERENCE]
VECTORS = np.array([line["vector"] for line in REFERENCE])


def test_vectors_are_those_of_the_original():
    vectors = embed_minilm(TEXTS).vectors

    assert vectors.dtype == np.float32
    np.testing.assert_allclose(vectors, VECTORS, atol=1e-6)


def test_a_text_has_the_same_vector_in_every_company():
    alone = np.concatenate([embed_minilm([text]).vectors for text in TEXTS])
    in_company = embed_minilm([*TEXTS, *reversed(TEXTS), *TEXTS * 2]).vectors

    np.testing.assert_allclose(in_company, np.concatenate([alone, alone[::-1], alone, alone]), atol=1e-6)


def test_a_question_is_nearest_to_its_answer():
    texts = [
        "Deploys to production happen on Tuesdays.",
        "The user prefers tabs over spaces.",
        "Backups are kept for thirty days in another region.",
    ]

    question, *answers = embed_minilm(["When do we release?", *texts]).vectors

    assert int(np.argmax([question @ answer for answer in answers])) == 0


def test_what_follows_the_256th_token_does_not_count():
    words = ["word"] * 254  # And one token each that begins and ends the text.

    vectors = embed_minilm([" ".join(words), " ".join([*words, "something else entirely"])]).vectors

    np.testing.assert_allclose(vectors[0], vectors[1], atol=1e-6)


def test_many_threads_may_ask_at_once():
    minilm.load_minilm.cache_clear()

    with ThreadPoolExecutor(8) as threads:
        answers = list(threads.map(lambda text: embed_minilm([text]).vectors[0], TEXTS * 2))

    np.testing.assert_allclose(np.array(answers), np.tile(VECTORS, (2, 1)), atol=1e-6)


def test_a_missing_package_is_said_and_not_raised_through(monkeypatch):
    monkeypatch.setattr(minilm, "PACKAGE", "no_such_package")
    minilm.load_minilm.cache_clear()

    with pytest.raises(EmbedderBroken, match="no_such_package"):
        embed_minilm(["anything"])
