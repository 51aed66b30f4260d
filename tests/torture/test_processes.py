"""T30: clients of every revision go on while web processes are killed, hang and restart, and after half an hour."""

from collections import Counter
from collections.abc import Callable, Iterator
from pathlib import Path

import pytest

from tests.embedded.instance import Instance
from tests.torture.callers import calling
from tests.torture.conftest import Start
from tests.torture.disturbances import (
    WEB,
    Clock,
    Disturbance,
    all_go_on,
    hang,
    kill,
    pausing,
    restart,
    stay_idle,
    was_in_it,
)
from tests.torture.scale import WEB_KILLS
from tests.torture.writes import query

pytestmark = [pytest.mark.torture, pytest.mark.alone]


@pytest.fixture
def clock(tmp_path: Path) -> Clock:
    """The clock of a BigMind."""
    return Clock(tmp_path)


@pytest.fixture
def bigmind(running: Start, clock: Clock) -> Iterator[Instance]:
    with running(**clock.variables) as instance:
        yield instance


def test_no_call_fails_but_those_in_a_process_that_ends(
    bigmind: Instance, clock: Clock, report: Callable[[str], None]
) -> None:
    disturbed: list[Disturbance] = []
    with calling(bigmind) as callers:
        all_go_on(callers)
        for number in range(WEB_KILLS):
            disturbed.append(kill(bigmind, WEB[number % 2]))
            all_go_on(callers)
        disturbed.append(hung := hang(bigmind))
        all_go_on(callers)
        with pausing(callers):
            restart(bigmind)
        all_go_on(callers)
        stay_idle(callers, clock)
        all_go_on(callers)

    lost = [call for caller in callers for call in caller.failures()]
    for caller in callers:
        report(f"{caller.name}: {len(caller.made)} calls, {len(caller.failures())} failed")
    report(f"{WEB_KILLS} kills and one process that hung took {len(lost)} calls along")
    report(f"the one that hung was replaced after {hung.ended - hung.began:.1f} s")
    assert [call for call in lost if not any(was_in_it(call, one) for one in disturbed)] == []
    texts = Counter(text for (text,) in query(bigmind.home, "SELECT content FROM knowledge_chunk"))
    assert texts
    assert set(texts.values()) == {1}
