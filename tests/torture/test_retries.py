"""T9: a write has one effect, however often and from however many places it is tried."""

import random
from collections import Counter
from collections.abc import Callable
from concurrent.futures import ThreadPoolExecutor

import httpx
import pytest

from tests.embedded.instance import Instance
from tests.torture.scale import LOGICAL_WRITES, TRIED_FROM, TRIES
from tests.torture.writes import REPLAYED, Write, numbered, stored_texts

pytestmark = pytest.mark.torture


def test_writes_tried_five_times_each_have_one_effect_each(
    bigmind: Instance, client: httpx.Client, report: Callable[[str], None]
) -> None:
    writes = [numbered(number, f"Logical write {number}.") for number in range(LOGICAL_WRITES)]
    before, tries = stored_texts(bigmind.home), _tries_of(writes)

    with ThreadPoolExecutor(TRIED_FROM) as threads:
        answers = list(threads.map(lambda write: write.send(client), tries))

    statuses = Counter(answer.status_code for answer in answers)
    replays = Counter(write.key for write, answer in zip(tries, answers, strict=True) if REPLAYED in answer.headers)
    bodies = {(write.key, answer.text) for write, answer in zip(tries, answers, strict=True)}
    stored = stored_texts(bigmind.home)
    rows = stored.total() - before.total()
    report(f"{len(writes)} writes, {len(tries)} tries: {rows} rows, {replays.total()} replays, {dict(statuses)}")
    assert statuses == {201: len(tries)}
    assert stored == before + Counter(write.text for write in writes)
    assert replays == {write.key: TRIES - 1 for write in writes}
    assert len(bodies) == len(writes)


def _tries_of(writes: list[Write]) -> list[Write]:
    """Every write as often as it is tried: half of them all tries at once, the others whenever it comes."""
    middle = len(writes) // 2
    later = writes[middle:] * TRIES
    random.Random(9).shuffle(later)
    return [write for write in writes[:middle] for _ in range(TRIES)] + later
