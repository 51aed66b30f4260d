"""T7: the embedder is down, slow, overloaded or wrong: writing goes on as ever, search by words, until all is well."""

import math
import time
from collections import Counter
from collections.abc import Callable, Iterator
from contextlib import contextmanager

import httpx
import numpy as np
import pytest

from tests.embedded.instance import Instance, eventually
from tests.knowledge.embeddings.endpoint import Answer, Endpoint
from tests.torture.conftest import Start
from tests.torture.day import Day
from tests.torture.scale import SLOWER_AT_MOST, WRITES_IN_TROUBLE
from tests.torture.vectors import (
    RIGHT,
    right_vectors,
    seconds_until_embedded,
    settings_for,
    texts_with_a_wrong_vector,
    vectors_of_each_text,
)
from tests.torture.writes import client_of, stored_texts

pytestmark = [pytest.mark.torture, pytest.mark.alone]

# The circuit opens for 15 seconds, 30 after a failed probe; so long a batch that failed waits, and then for the sweep.
WELL_WITHIN = 90.0
DOWN = None
TROUBLES: dict[str, Answer | None] = {
    "down": DOWN,
    "slow": Answer(right_vectors, delay=4.0),
    "429": Answer(status=429, headers={"Retry-After": "5"}),
    "500": Answer(status=500),
    "wrong dimension": Answer(lambda texts: [[1.0, 2.0, 3.0]] * len(texts)),
    "NaN": Answer(lambda texts: [[*vector[:-1], math.nan] for vector in right_vectors(texts)]),
    "garbage": Answer(body='{"object": "list", "data": [{"index": 0, "embedding'),
}


def test_in_every_trouble_writing_goes_on_as_ever_and_search_by_words_until_all_is_well_again(
    running: Start, report: Callable[[str], None]
) -> None:
    healthy, troubled, ratios = [], [], {}
    with Endpoint(RIGHT) as endpoint, running(**settings_for(endpoint)) as bigmind, client_of(bigmind) as client:
        _until_well(bigmind, client)
        parts = _parts(bigmind)
        for trouble, answer in TROUBLES.items():
            before = Day(client, f"Before {trouble}").rounds(WRITES_IN_TROUBLE)
            with _in_trouble(endpoint, answer):
                day = Day(client, f"Embedder {trouble}").rounds(WRITES_IN_TROUBLE)
            ratios[trouble] = day.p95("write") / before.p95("write")
            report(f"{day.summary()}; writes {ratios[trouble]:.2f} × healthy; {dict(day.fallbacks)}")
            report(f"  well again after {_until_well(bigmind, client):.1f} s")
            assert texts_with_a_wrong_vector(bigmind.home) == [], trouble
            healthy.append(before)
            troubled.append(day)

        ratio = _p95_of_writes(troubled) / _p95_of_writes(healthy)
        report(f"all troubles together: writes {ratio:.2f} × healthy (p95)")
        assert [failure for day in healthy + troubled for failure in day.failures] == []
        assert all(set(day.fallbacks) == {False} for day in healthy)
        assert all(set(day.fallbacks) == {True} for day in troubled)
        written = sum((day.written for day in healthy + troubled), Counter())
        assert stored_texts(bigmind.home) == vectors_of_each_text(bigmind.home) == written
        assert _parts(bigmind) == parts
        assert ratio <= SLOWER_AT_MOST


@contextmanager
def _in_trouble(endpoint: Endpoint, answer: Answer | None) -> Iterator[None]:
    if answer is DOWN:
        endpoint.close()
    else:
        endpoint.usual = answer
    yield
    if answer is DOWN:
        endpoint.open()
    endpoint.usual = RIGHT


def _until_well(instance: Instance, client: httpx.Client) -> float:
    """Return how long it takes until search asks for meanings again, and every passage has its vector."""
    begun = time.monotonic()
    eventually(lambda: not _falls_back(client), within=WELL_WITHIN)
    seconds_until_embedded(instance, within=WELL_WITHIN - (time.monotonic() - begun))
    return time.monotonic() - begun


def _falls_back(client: httpx.Client) -> bool:
    time.sleep(0.5)
    return bool(client.get("search/", params={"query": "Is all well?"}).json()["fallback"])


def _p95_of_writes(days: list[Day]) -> float:
    return float(np.percentile([seconds for day in days for seconds in day.seconds["write"]], 95))


def _parts(instance: Instance) -> dict[str, int]:
    return {name: process.pid for name, process in instance.processes().items()}
