"""The weights of relevance, as `python -m benchmarks --only unknown --write` fitted them. Do not edit."""

from knowledge.search.logistic_regression import Regression

FROM_ELSEWHERE = Regression(
    {
        "best cosine": 4.486,
        "first cosine": 5.589,
        "mean cosine": 11.038,
        "most words": 2.623,
        "first words": -0.042,
    },
    -6.586,
)
ON_TOPIC = Regression(
    {
        "best cosine": 6.199,
        "first cosine": 1.215,
        "mean cosine": -4.937,
        "most words": -0.679,
        "first words": 2.767,
        "words together": 1.488,
        "missing words": 2.336,
        "number of words": 0.712,
    },
    -4.001,
)
FLOOR = 0.218
"""Below it nothing that was found answers: of the first 5 hits."""
