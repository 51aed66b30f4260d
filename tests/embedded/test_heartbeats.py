"""The watchdog: a process that stands still is found out by what it counts, and one on a sleeping machine is not."""

from pathlib import Path

import pytest

from bigmind.embedded import heartbeats
from bigmind.embedded.heartbeats import LOOP, THREADS, Pulse, PulseWatch


class Clock:
    """A clock that a test moves; the supervisor looks every second."""

    def __init__(self) -> None:
        self.now = 1000.0

    def monotonic(self) -> float:
        return self.now


@pytest.fixture
def clock(monkeypatch: pytest.MonkeyPatch) -> Clock:
    clock = Clock()
    monkeypatch.setattr(heartbeats, "time", clock)
    return clock


@pytest.fixture
def pulse(tmp_path: Path) -> Pulse:
    return Pulse.create(tmp_path / "web.pulse")


def symptom_after(watch: PulseWatch, clock: Clock, seconds: int, *beating: tuple[Pulse, int]) -> str:
    """Let time pass, in which some parts count, and return what the supervisor says last."""
    said = ""
    for _ in range(seconds):
        clock.now += 1
        for pulse, part in beating:
            pulse.beat(part)
        said = watch.symptom()
    return said


def test_a_process_that_counts_is_well(pulse: Pulse, clock: Clock) -> None:
    assert symptom_after(PulseWatch(pulse), clock, 200, (pulse, LOOP), (pulse, THREADS)) == ""


def test_an_event_loop_that_stands_still_is_found_out_after_15_seconds(pulse: Pulse, clock: Clock) -> None:
    watch = PulseWatch(pulse)
    symptom_after(watch, clock, 3, (pulse, LOOP), (pulse, THREADS))

    assert symptom_after(watch, clock, 14) == ""
    assert "its event loop" in symptom_after(watch, clock, 2)


def test_threads_that_are_all_stuck_are_found_out_after_60_seconds(pulse: Pulse, clock: Clock) -> None:
    watch = PulseWatch(pulse)
    symptom_after(watch, clock, 3, (pulse, LOOP), (pulse, THREADS))

    assert symptom_after(watch, clock, 59, (pulse, LOOP)) == ""
    assert "its threads" in symptom_after(watch, clock, 2, (pulse, LOOP))


def test_a_process_may_take_its_time_to_start(pulse: Pulse, clock: Clock) -> None:
    watch = PulseWatch(pulse)

    assert symptom_after(watch, clock, 89) == ""
    assert "does not answer" in symptom_after(watch, clock, 2)


def test_nobody_is_blamed_for_the_time_in_which_the_machine_slept(pulse: Pulse, clock: Clock) -> None:
    watch = PulseWatch(pulse)
    symptom_after(watch, clock, 3, (pulse, LOOP), (pulse, THREADS))

    clock.now += 3600

    assert symptom_after(watch, clock, 10) == ""
