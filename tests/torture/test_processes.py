"""T30: clients of every revision go on while web processes are killed, hang and restart, and after half an hour."""

import signal
import time
from collections import Counter
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path
from struct import pack

import psutil
import pytest

from bigmind.embedded.pulses import LOOP, STUCK_AFTER
from tests.embedded.instance import Instance, eventually
from tests.torture.callers import Caller, Made, calling
from tests.torture.conftest import Start
from tests.torture.scale import WEB_KILLS
from tests.torture.writes import query

pytestmark = pytest.mark.torture

WEB = ("web-1", "web-2")
IDLE_SECONDS = 31 * 60
IDLE_REALLY = 7
"""Longer than a connection stays open on which nothing is asked."""
AROUND = 0.1
"""Seconds by which two clocks may differ that looked at the same kill."""
MOVED_CLOCK = """
import mmap, os, struct, time

with open(os.environ["CLOCK"], "r+b") as file:
    _ahead = mmap.mmap(file.fileno(), 8)
for _name in ("time", "monotonic"):
    def _moved(real=getattr(time, _name)):
        return real() + struct.unpack("d", _ahead)[0]
    setattr(time, _name, _moved)
"""


@pytest.fixture
def clock(tmp_path: Path) -> Path:
    """A file that says by how many seconds the clock of a BigMind goes ahead; it may change while that runs."""
    (tmp_path / "sitecustomize.py").write_text(MOVED_CLOCK)
    (tmp_path / "clock").write_bytes(pack("d", 0))
    return tmp_path / "clock"


@pytest.fixture
def bigmind(running: Start, clock: Path) -> Iterator[Instance]:
    with running(CLOCK=str(clock), PYTHONPATH=str(clock.parent)) as instance:
        yield instance


def test_no_call_fails_but_those_in_a_process_that_ends(
    bigmind: Instance, clock: Path, report: Callable[[str], None]
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
        with pausing(callers):
            clock.write_bytes(pack("d", IDLE_SECONDS))
            time.sleep(IDLE_REALLY)
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


@dataclass(frozen=True)
class Disturbance:
    """A time in which a process was ended, or stood still until it was."""

    began: float
    ended: float


def was_in_it(call: Made, disturbance: Disturbance) -> bool:
    return call.began <= disturbance.ended + AROUND and call.ended >= disturbance.began - AROUND


def all_go_on(callers: list[Caller]) -> None:
    for caller in callers:
        caller.wait_for_more()


@contextmanager
def pausing(callers: list[Caller]) -> Iterator[None]:
    """Let the clients make no calls."""
    for caller in callers:
        caller.paused.set()
    time.sleep(2)
    yield
    for caller in callers:
        caller.paused.clear()


def web_process(instance: Instance, name: str) -> psutil.Process:
    """Return one of the two web processes, once both are there."""
    eventually(lambda: set(WEB) <= set(instance.processes()))
    return instance.processes()[name]


def kill(instance: Instance, name: str) -> Disturbance:
    victim, began = web_process(instance, name), time.time()
    victim.kill()
    return Disturbance(began, began)


def hang(instance: Instance) -> Disturbance:
    """Let a web process stand still, and wait until another one is in its place."""
    victim, began = web_process(instance, "web-1"), time.time()
    victim.send_signal(signal.SIGSTOP)
    within = STUCK_AFTER[LOOP] + 20
    eventually(lambda: instance.processes().get("web-1", victim) != victim, within=within)
    return Disturbance(began, time.time())


def restart(instance: Instance) -> None:
    """Stop and start all of BigMind, which prints its key at the first start only."""
    printed = instance.printed
    instance.stop()
    instance.start()
    instance.printed = printed
