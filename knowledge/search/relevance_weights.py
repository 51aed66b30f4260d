"""The weights of relevance, as `python -m benchmarks --only unknown --write` fitted them. Do not edit."""

from knowledge.search.regressions import Regression

FROM_ELSEWHERE = Regression(
    {
        "best cosine": 3.489,
        "first cosine": 5.7,
        "mean cosine": 7.839,
        "most words": 6.964,
        "first words": -1.746,
    },
    -6.686,
)
ON_TOPIC = Regression(
    {
        "best cosine": 6.951,
        "first cosine": 1.428,
        "mean cosine": -5.99,
        "most words": -0.517,
        "first words": 3.405,
        "words together": 2.262,
        "missing words": 2.875,
        "number of words": 0.478,
    },
    -4.791,
)
FLOOR = 0.212
"""Below it nothing that was found answers: of the first 5 hits."""
