"""How many connections a web process holds: so many of one address, so many of all, and who makes way."""

import logging
from dataclasses import dataclass, field
from typing import Any

import pytest

from bigmind.embedded import connections
from bigmind.embedded.connections import Connections
from bigmind.environment.addresses import networks_in
from bigmind.observability.logging import MOST_OF_A_KIND, FewOfAKind


@dataclass(eq=False)
class Held:
    closed: bool = field(default=False)

    def make_way(self) -> None:
        self.closed = True


@pytest.fixture
def counted() -> Connections:
    return Connections(most=6, most_of_address=3, proxies=networks_in("127.0.0.1, 10.0.0.0/8"))


def opened(counted: Connections, address: str, *, waits: bool = True) -> Held | None:
    held = Held()
    if not counted.admit(held, address):
        return None
    if waits:
        counted.wait_for_client(held)
    return held


def test_at_the_limit_of_an_address_its_own_that_waits_longest_makes_way(counted):
    theirs = opened(counted, "192.0.2.9")
    first, second, third = (opened(counted, "192.0.2.1") for _ in range(3))

    assert opened(counted, "192.0.2.1")
    assert (first.closed, second.closed, third.closed, theirs.closed) == (True, False, False, False)


def test_what_is_being_served_makes_way_for_nobody(counted):
    served = [opened(counted, "192.0.2.1", waits=False) for _ in range(3)]

    assert opened(counted, "192.0.2.1") is None
    assert not any(one.closed for one in served)
    assert opened(counted, "192.0.2.2")


def test_who_was_served_and_waits_again_comes_last(counted):
    first, second, _ = (opened(counted, "192.0.2.1") for _ in range(3))
    counted.serve(first)
    counted.wait_for_client(first)

    opened(counted, "192.0.2.1")

    assert second.closed
    assert not first.closed


def test_proxies_speak_for_many_but_not_for_more_than_all(counted):
    through = [opened(counted, "10.1.2.3") for _ in range(6)]

    assert opened(counted, "::ffff:10.9.9.9")
    assert [one.closed for one in through] == [True, *[False] * 5]


def test_of_ipv6_a_network_counts_as_one_address(counted):
    first, *_ = (opened(counted, f"2001:db8::{number}") for number in range(1, 4))

    opened(counted, "2001:db8::ffff")
    opened(counted, "2001:db8:0:1::1")

    assert first.closed


def test_a_closed_connection_leaves_its_place(counted):
    for _ in range(1000):
        held = opened(counted, "192.0.2.1", waits=False)
        assert held
        counted.release(held)
        counted.release(held)


def test_addresses_without_a_connection_are_not_kept(counted):
    for number in range(5000):
        counted.release(opened(counted, f"198.51.{number // 250}.{number % 250}"))

    assert len(counted._of_address) <= 200


def test_however_many_are_too_many_the_log_has_a_line_a_minute(counted, monkeypatch):
    lines: list[dict[str, Any]] = []
    now = iter([100.0, *[101.0] * 5000, *[161.0] * 5000])
    monkeypatch.setattr(connections, "monotonic", lambda: next(now))
    monkeypatch.setattr(connections.log, "warning", lambda _, **told: lines.append(told))
    for _ in range(3 + 6000):
        opened(counted, "192.0.2.1")

    assert len(lines) == 2
    assert lines[0]["address"] == "192.0.2.1"
    assert lines[1]["cut"] > 4000


def test_of_one_kind_of_line_twenty_are_written_in_a_minute():
    few, written = FewOfAKind(), []
    for second in (0, 61):
        for number in range(500):
            record = logging.LogRecord("bigmind.x", logging.INFO, "", 0, "Refused: %s", (number,), None)
            record.created = second
            if few.filter(record):
                written.append(record.getMessage())

    assert len(written) == 2 * MOST_OF_A_KIND
    assert "left out for a minute" in written[MOST_OF_A_KIND - 1]
    assert "480 like it were left out." in written[MOST_OF_A_KIND]
