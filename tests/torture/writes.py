"""Writes as careful clients make them: each with a key of its own, and tried again until it is acknowledged."""

import time
from collections import Counter
from collections.abc import Set as AbstractSet
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import httpx
import psycopg

from bigmind.embedded.cluster import Cluster
from tests.growing.server import see_everybody
from tests.torture.callers import Address
from tests.torture.scale import PATIENCE

REPLAYED = "Idempotency-Replayed"
PAUSE_SECONDS = 0.2
NOT_NOW = {429, 503}
"""One person with fifty writers has more calls waiting, now and then, than one person may."""
NOT_NOW_OF_A_PROXY = {*NOT_NOW, 502, 504}


@dataclass(frozen=True)
class Write:
    """One logical write. The constraint on facts would hide that one was stored twice; nothing hides it of beliefs."""

    kind: str
    text: str

    @property
    def key(self) -> str:
        """Its idempotency key."""
        return self.text

    def send(self, client: httpx.Client) -> httpx.Response:
        """Try it once."""
        headers = {"Idempotency-Key": self.key}
        if self.kind == "fact":
            return client.post("facts/", json={"fact": self.text, "category": "decision"}, headers=headers)
        return client.post("hypotheses/", json={"hypothesis": self.text}, headers=headers)


@dataclass(frozen=True)
class Acknowledgement:
    """What the server promised about a write, after how many tries."""

    write: Write
    replayed: bool
    tries: int
    trouble: str = ""
    """What the try before the last one met, if there was one."""


class NotAsPromised(AssertionError):
    """An answer that no client should get for such a write."""


def numbered(number: int, text: str) -> Write:
    """Return a fact or, for odd numbers, a belief."""
    return Write("hypothesis" if number % 2 else "fact", text)


def client_of(served: Address, key: str = "", **options: Any) -> httpx.Client:
    """Return a client with a key, or with the one that the instance printed, for as many threads as like to use it."""
    return httpx.Client(
        base_url=f"{served.url}/api/v1/",
        headers={"Authorization": f"Bearer {key or served.key}"},
        limits=httpx.Limits(max_connections=None, max_keepalive_connections=None),
        **{"timeout": PATIENCE, **options},
    )


def acknowledged(client: httpx.Client, write: Write, *, not_now: AbstractSet[int] = NOT_NOW) -> Acknowledgement:
    """Try a write until it is acknowledged: again when nobody answers, and when the answer is “not now”.

    Raises:
        NotAsPromised: any other refusal, another text than was sent, or no acknowledgement in time.
    """
    give_up, tries, last = time.monotonic() + PATIENCE, 0, ""
    while time.monotonic() < give_up:
        tries += 1
        try:
            answer = write.send(client)
        except httpx.TransportError as error:
            last = repr(error)
        else:
            if answer.status_code not in not_now:
                _check(write, answer)
                return Acknowledgement(write, REPLAYED in answer.headers, tries, last)
            last = f"{answer.status_code} {answer.text}"
        time.sleep(PAUSE_SECONDS)
    raise NotAsPromised(f"“{write.text}” was tried {tries} times in {PATIENCE:.0f} s; the last time: {last}")


def _check(write: Write, answer: httpx.Response) -> None:
    if answer.status_code != 201:
        # A fact that is known but not replayed (200) was stored in another transaction than its reply.
        raise NotAsPromised(f"“{write.text}” was answered with {answer.status_code}: {answer.text}")
    reply = answer.json()
    said = reply["fact"]["fact"] if write.kind == "fact" else reply["hypothesis"]
    if said != write.text:
        raise NotAsPromised(f"“{write.text}” was answered with “{said}”.")


def stored_texts(home: Path) -> Counter[str]:
    """Return how often each text is stored, from the tables themselves."""
    rows = query(home, "SELECT fact FROM knowledge_fact UNION ALL SELECT hypothesis FROM knowledge_hypothesis")
    return Counter(text for (text,) in rows)


def findable_texts(home: Path) -> Counter[str]:
    """Return how often each text stands in what search looks through."""
    return Counter(text for (text,) in query(home, "SELECT text FROM knowledge_passage"))


def query(home: Path, statement: str, *arguments: object) -> list[tuple[Any, ...]]:
    """Ask the database of a home directly, past the wall between people."""
    with psycopg.connect(Cluster(home).url) as database:
        see_everybody(database)
        return database.execute(statement, arguments).fetchall()
