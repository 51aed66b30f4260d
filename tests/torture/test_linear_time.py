"""Every function that meets text from outside, with every text that is known to be slow to read."""

from functools import cache

import pytest

from tests.pathological import ENTRANCES, PATIENT, bank, meet
from tests.processor_time import KIB, SIZES, holds_too_long, seconds_of

SHORTER = (4 * KIB, 8 * KIB, 16 * KIB)
LONG = (1024 * KIB, 2048 * KIB, 4096 * KIB)
PATIENT_SECONDS = 0.95
"""For 16 KiB."""
LONG_SECONDS = 20.0

pytestmark = pytest.mark.torture


@pytest.mark.parametrize("entrance", sorted(ENTRANCES.keys() - PATIENT))
def test_no_text_of_64_kib_holds_the_interpreter(entrance: str) -> None:
    slow = {}
    for name in _texts(SIZES[0]):
        times = holds_too_long(lambda text: meet(entrance, text), lambda size, name=name: _texts(size)[name])
        slow |= {name: times} if times else {}

    assert not slow


@pytest.mark.parametrize("entrance", sorted(PATIENT))
def test_a_document_takes_time_that_grows_with_it(entrance: str) -> None:
    slow = {}
    for name in _texts(SHORTER[0]):
        times = holds_too_long(
            lambda text: meet(entrance, text),
            lambda size, name=name: _texts(size)[name],
            sizes=SHORTER,
            seconds=PATIENT_SECONDS,
        )
        slow |= {name: times} if times else {}

    assert not slow


@pytest.mark.parametrize("entrance", sorted(name for name in ENTRANCES if name.startswith("an import")))
def test_the_slowest_text_of_an_import_is_linear_up_to_what_is_allowed(entrance: str) -> None:
    times = {name: seconds_of(lambda text=text: meet(entrance, text)) for name, text in _texts(SIZES[-1]).items()}
    slowest = max(times, key=lambda name: times[name])

    too_long = holds_too_long(
        lambda text: meet(entrance, text),
        lambda size: dict(bank(size))[slowest],
        sizes=LONG,
        seconds=LONG_SECONDS,
        tries=1,
        given_up=LONG_SECONDS,
    )

    assert not too_long, slowest


@cache
def _texts(size: int) -> dict[str, str]:
    return {name: text for name, text in bank(size) if name.endswith("then a letter")}
