"""T5: whatever is killed while many write, every write that was acknowledged is there once, and all is soon well."""

import time
from collections import Counter
from collections.abc import Callable

import psutil
import pytest

from tests.embedded.instance import Instance, command, eventually
from tests.torture.scale import KILLS_OF_EACH, PATIENCE, READY_WITHIN, WRITERS
from tests.torture.writers import Writers
from tests.torture.writes import Write, acknowledged, client_of, findable_texts, stored_texts

pytestmark = [pytest.mark.torture, pytest.mark.alone]

KILLED = ("web-1", "postgresql")


def test_kill_9_of_web_and_postgresql_loses_and_doubles_nothing(
    bigmind: Instance, report: Callable[[str], None]
) -> None:
    # Of somebody else: a write of the one whose fifty writers wait in line waits behind all of them.
    command(bigmind.home, "user_add", "bea", "--username", "bea")
    bea = command(bigmind.home, "key_create", "bea", "--quiet").stdout.strip()
    before, probes = stored_texts(bigmind.home), Counter[str]()
    recoveries: dict[str, list[float]] = {part: [] for part in KILLED}

    with Writers(bigmind, WRITERS, "Killed parts") as writers:
        for kill in range(KILLS_OF_EACH):
            for part in KILLED:
                writers.wait_for_each()
                probe = Write("hypothesis", f"After kill {kill} of {part}.")
                recoveries[part].append(_recovery(bigmind, part, probe, bea))
                probes[probe.text] += 1

    for part, seconds in recoveries.items():
        report(f"{part}: killed {len(seconds)} times; back after {_summary(seconds)}")
    report(_account(writers))
    assert not writers.surprises
    assert stored_texts(bigmind.home) == before + writers.texts() + probes
    assert findable_texts(bigmind.home) == stored_texts(bigmind.home)
    assert max(max(seconds) for seconds in recoveries.values()) <= READY_WITHIN


def test_kill_9_of_bigmind_itself_loses_nothing_that_the_next_start_does_not_have(
    bigmind: Instance, report: Callable[[str], None]
) -> None:
    # Of somebody else, as above.
    command(bigmind.home, "user_add", "zoe", "--username", "zoe")
    zoe = command(bigmind.home, "key_create", "zoe", "--quiet").stdout.strip()
    before, probe = stored_texts(bigmind.home), Write("hypothesis", "After the kill of bigmind up.")

    with Writers(bigmind, WRITERS, "Killed supervisor") as writers:
        writers.wait_for_each()
        killed = time.monotonic()
        bigmind.process.kill()
        bigmind.finish()
        bigmind.start()
        _acknowledge(bigmind, probe, zoe)
        recovery = time.monotonic() - killed
        writers.wait_for_each()

    report(f"bigmind up: killed and started again; back after {recovery:.1f} s")
    report(_account(writers))
    assert not writers.surprises
    assert stored_texts(bigmind.home) == before + writers.texts() + Counter([probe.text])
    assert findable_texts(bigmind.home) == stored_texts(bigmind.home)


def _recovery(instance: Instance, part: str, probe: Write, key: str) -> float:
    """Kill a part, and return the seconds until another one is in its place and a write is acknowledged."""
    eventually(lambda: part in _parts(instance), within=PATIENCE)
    victim = _parts(instance)[part]
    killed = time.monotonic()
    victim.kill()
    # What the old server's last processes may still acknowledge is no recovery.
    eventually(lambda: _parts(instance).get(part, victim) != victim, within=PATIENCE)
    _acknowledge(instance, probe, key)
    return time.monotonic() - killed


def _acknowledge(instance: Instance, probe: Write, key: str) -> None:
    with client_of(instance, timeout=5.0, key=key) as client:
        acknowledged(client, probe)


def _parts(instance: Instance) -> dict[str, psutil.Process]:
    """Return what runs now, by name; nothing when something ended while we looked."""
    try:
        return instance.processes()
    except psutil.Error:
        return {}


def _summary(seconds: list[float]) -> str:
    return f"{min(seconds):.1f} to {max(seconds):.1f} s, on average {sum(seconds) / len(seconds):.1f} s"


def _account(writers: Writers) -> str:
    made = writers.acknowledgements
    again, replayed = sum(each.tries > 1 for each in made), sum(each.replayed for each in made)
    return (
        f"{WRITERS} writers: {len(made)} writes acknowledged, {again} of them tried again, {replayed} of these stored "
        f"by a try whose reply was lost; {len(writers.surprises)} surprises"
    )
