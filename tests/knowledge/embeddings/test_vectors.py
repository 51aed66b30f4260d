"""No vector is stored that would make its text unfindable."""

import math

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from hypothesis.extra.numpy import arrays

from knowledge.embeddings.providers import EmbedderBroken, check_vectors

NUMBERS = st.floats(width=32, allow_nan=True, allow_infinity=True)


@pytest.mark.parametrize(
    ("answer", "complaint"),
    [
        ([[1.0, 2.0], [math.nan, 1.0]], "not finite"),
        ([[1.0, 2.0], [math.inf, 1.0]], "not finite"),
        ([[1.0, 2.0], [None, 1.0]], "not finite|not a table"),
        ([[1.0, 2.0], [0.0, 0.0]], "zeros"),
        ([[1.0, 2.0]], "1 vectors for 2 texts"),
        ([[1.0, 2.0, 3.0], [1.0, 2.0, 3.0]], "3 dimensions instead of 2"),
        ([[1.0, 2.0], [1.0]], "not a table"),
        ([[1.0, 2.0], ["one", 1.0]], "not a table"),
        ([[], []], "0 dimensions"),
        (7.0, "not a table"),
    ],
)
def test_a_bad_answer_is_refused(answer, complaint):
    with pytest.raises(EmbedderBroken, match=complaint):
        check_vectors(answer, count=2, dimensions=2)


@settings(deadline=None)
@given(arrays(np.float32, (2, 3), elements=NUMBERS))
def test_whatever_passes_is_of_length_one(answer):
    try:
        vectors = check_vectors(answer, count=2, dimensions=3)
    except EmbedderBroken:
        assert not np.isfinite(answer).all() or not answer.any(axis=1).all()
    else:
        np.testing.assert_allclose(np.linalg.norm(vectors.astype(np.float64), axis=1), 1, atol=1e-6)
