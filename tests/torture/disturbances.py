"""What happens to web processes while clients call: they are killed, hang and restart, and their clock goes ahead."""

import signal
import time
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path
from struct import pack

import psutil

from bigmind.embedded.heartbeats import LOOP, STUCK_AFTER
from tests.embedded.instance import Instance, eventually
from tests.torture.callers import Caller, Made

WEB = ("web-1", "web-2")
AROUND = 0.1
"""Seconds by which two clocks may differ that looked at the same kill."""
IDLE_SECONDS = 31 * 60
IDLE_REALLY = 7
"""Longer than a connection stays open on which nothing is asked."""
MOVED_CLOCK = """
import mmap, os, struct, time

with open(os.environ["CLOCK"], "r+b") as file:
    _ahead = mmap.mmap(file.fileno(), 8)
for _name in ("time", "monotonic"):
    def _moved(real=getattr(time, _name)):
        return real() + struct.unpack("d", _ahead)[0]
    setattr(time, _name, _moved)
"""


class Clock:
    """How far the clock of all processes of Python goes ahead that have its variables; it may change while they run."""

    def __init__(self, folder: Path) -> None:
        (folder / "sitecustomize.py").write_text(MOVED_CLOCK)
        self._file = folder / "clock"
        self.variables = {"CLOCK": str(self._file), "PYTHONPATH": str(folder)}
        self._file.write_bytes(pack("d", 0))

    def go_ahead(self, seconds: float) -> None:
        """Set by how much it does."""
        # In place: whoever read the clock while the file was empty for a moment would be ended by SIGBUS.
        with self._file.open("r+b") as file:
            file.write(pack("d", seconds))


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


def stay_idle(callers: list[Caller], clock: Clock) -> None:
    """Let half an hour go by in which nobody calls."""
    with pausing(callers):
        clock.go_ahead(IDLE_SECONDS)
        time.sleep(IDLE_REALLY)


def restart(instance: Instance) -> None:
    """Stop and start all of BigMind, which prints its key at the first start only."""
    printed = instance.printed
    instance.stop()
    instance.start()
    instance.printed = printed
