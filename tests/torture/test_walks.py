"""A walk by cursor through thousands of rows, while somebody else adds and removes some without end."""

import threading
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from itertools import count
from random import Random
from typing import Any

import pytest
from django.db import connection

from accounts.models import SCOPES, User
from bigmind.operations import CATALOGUE
from tests.factories import make_key, make_user
from tests.torture.scale import WALKED
from tests.transports.long_lists import LONG_LISTS, LongList
from tests.transports.rest_wire import Rest

pytestmark = [pytest.mark.torture, pytest.mark.django_db(transaction=True)]

PAGE = 100


@pytest.mark.parametrize("name", ["memory_list_facts", "memory_list_sessions", "knowledge_get"])
def test_a_walk_misses_nothing_and_sees_nothing_twice(name: str, settings: Any, report: Callable[[str], None]) -> None:
    settings.RATE_LIMIT = 0
    owner, (long, *_), path = make_user(), LONG_LISTS[name], CATALOGUE[name].path
    rest = Rest(make_key(owner, scopes=SCOPES))
    long.add(owner, (number * 10 for number in range(WALKED)))
    told = {str(name) for name in long.model.objects.values_list(long.told, flat=True)}
    leaving = set(Random(77).sample(sorted(told), WALKED // 10))

    started = time.monotonic()
    with _come_and_go(long, owner, sorted(leaving)) as changes:
        seen = list(_walk(rest, path, long))
    took = time.monotonic() - started

    report(f"{name}: {len(seen)} rows seen in {took:.1f} s, while {len(changes)} times some came and one went")
    assert len(seen) == len(set(seen))
    assert told - leaving <= set(seen)
    assert changes


def _walk(rest: Rest, path: str, long: LongList) -> Iterator[str]:
    cursor: dict[str, str] = {}
    while True:
        reply = rest.get(path, limit=PAGE, **cursor).json()
        yield from long.names(reply["items"])
        if reply["next_cursor"] is None:
            return
        cursor = {"cursor": reply["next_cursor"]}


@contextmanager
def _come_and_go(long: LongList, owner: User, leaving: list[str]) -> Iterator[list[int]]:
    """Add rows all over the list and remove some of those that were there, for the length of a `with`."""
    enough, changes = threading.Event(), []
    # Numbers all over the list that no row has yet: those that were there have one that ends in 0.
    newcomers = [number for number in range(WALKED * 10) if number % 10]
    Random(78).shuffle(newcomers)

    def change() -> None:
        for turn in count():
            if enough.is_set():
                break
            long.add(owner, newcomers[turn * 3 : turn * 3 + 3])
            long.take_away([leaving.pop()] if leaving else [])
            changes.append(turn)
        connection.close()

    thread = threading.Thread(target=change)
    thread.start()
    try:
        yield changes
    finally:
        enough.set()
        thread.join()
