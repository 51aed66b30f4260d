"""Every function that meets text from outside, with every text that is known to be slow to read."""

from functools import cache

import pytest

from tests.pathological import ENTRANCES, bank, meet
from tests.processor_time import SIZES, holds_too_long

pytestmark = pytest.mark.torture


@pytest.mark.parametrize("entrance", ENTRANCES)
def test_no_text_of_64_kib_holds_the_interpreter(entrance: str) -> None:
    slow = {}
    for name in _texts(SIZES[0]):
        times = holds_too_long(lambda text: meet(entrance, text), lambda size, name=name: _texts(size)[name])
        slow |= {name: times} if times else {}

    assert not slow


@cache
def _texts(size: int) -> dict[str, str]:
    return {name: text for name, text in bank(size) if name.endswith("then a letter")}
