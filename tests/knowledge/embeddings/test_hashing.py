"""The embedder of the tests: the same everywhere, near where words are shared."""

import numpy as np

from knowledge.embeddings.hashing import Hashing

EXPECTED = [0.0375029, 0.6000469, 0.0, -0.1125088, -0.7500586, 0.0, 0.1125088, 0.2250176]


def test_the_same_text_has_the_same_vector_in_every_process():
    vectors = Hashing(8).embed(["Deploys happen on Tuesdays."])

    np.testing.assert_allclose(vectors[0], EXPECTED, atol=1e-6)


def test_texts_that_share_words_or_parts_of_words_are_nearer():
    said, same_words, same_stems, other = Hashing().embed(
        ["deploys happen on tuesdays", "on tuesdays deploys happen", "deploying on a tuesday", "tabs over spaces"]
    )

    assert said @ same_words > said @ same_stems > said @ other


def test_even_a_text_without_words_has_a_direction():
    vectors = Hashing().embed(["", "…", "\ud800"])

    np.testing.assert_allclose(np.linalg.norm(vectors, axis=1), 1, atol=1e-6)
