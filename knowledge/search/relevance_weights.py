"""The weights of relevance, as `python -m benchmarks --only unknown --write` fitted them. Do not edit."""

from knowledge.search.logistic_regression import Regression

FROM_ELSEWHERE = Regression(
    {
        "best cosine": 3.571,
        "first cosine": 4.681,
        "mean cosine": 9.719,
        "most words": 4.091,
        "first words": -0.676,
    },
    -6.886,
)
ON_TOPIC = Regression(
    {
        "best cosine": 5.097,
        "first cosine": 0.342,
        "mean cosine": -2.725,
        "most words": -0.725,
        "first words": 2.357,
        "words together": 2.25,
        "missing words": 2.443,
        "number of words": 0.806,
    },
    -4.384,
)
FLOOR = 0.254
"""Below it nothing that was found answers: of the first 5 hits."""
