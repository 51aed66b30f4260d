"""A worker that has a task in hand for as long as a test likes, and what is known of all workers."""

import time
from typing import Any

import httpx

from tests.embedded.instance import Instance, eventually
from tests.knowledge.embeddings.endpoint import Answer, Endpoint
from tests.torture.vectors import right_vectors
from tests.torture.writes import client_of, query


class WorkInHand:
    """Texts that an embedder takes its time with, each of which may be sent to it once."""

    def __init__(self, instance: Instance, endpoint: Endpoint) -> None:
        self.instance, self.endpoint = instance, endpoint
        self.written: list[str] = []

    def begin(self, words: str, *, lasts: float) -> None:
        """Store some facts, and return when a worker has their texts in hand, for `lasts` seconds."""
        self.endpoint.usual = Answer(right_vectors, delay=lasts)
        asked = len(self.endpoint.requests)
        with client_of(self.instance) as client:
            for number in range(5):
                fact = f"{words}, fact {number}."
                client.post("facts/", json={"fact": fact, "category": "decision"}).raise_for_status()
                self.written.append(fact)
        eventually(lambda: len(self.endpoint.requests) > asked)

    def sent(self) -> list[str]:
        """Return which of the facts were sent to the embedder, as often as they were."""
        texts = [text for request in self.endpoint.requests for text in request["input"]]
        return [fact for text in texts for fact in self.written if fact in text]


def seconds_until_all_take(instance: Instance, *, within: float) -> float:
    """Return how long it takes until each worker has taken something after this moment.

    Raises:
        AssertionError: one has taken nothing for `within` seconds.
    """
    begun = time.monotonic()
    ((now,),) = query(instance.home, "SELECT now()")
    while not (known := _workers(instance)) or min(known.values()) <= now:
        assert time.monotonic() - begun < within, f"After {within:.0f} s, this is when they took something: {known}"
        time.sleep(0.2)
    return time.monotonic() - begun


def _workers(instance: Instance) -> dict[str, Any]:
    return dict(query(instance.home, "SELECT name, took_at FROM accounts_worker"))


def part(instance: Instance, name: str) -> dict[str, Any]:
    """Return what /readyz says of a part."""
    checks: dict[str, dict[str, Any]] = httpx.get(f"{instance.url}/readyz", timeout=30).json()["checks"]
    return checks[name]
