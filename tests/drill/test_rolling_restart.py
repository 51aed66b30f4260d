"""T59: both instances are restarted, one after the other, and no client notices, behind HAProxy and behind nginx."""

import time
from collections.abc import Callable

import pytest

from tests.drill.production import Production, production
from tests.torture.disturbances import restart

pytestmark = pytest.mark.drill
ROUNDS = 2
UNTIL_TRUSTED_AGAIN = 5
"""HAProxy looks twice, two seconds apart, at an instance that was away."""


def test_no_call_fails_while_both_instances_are_restarted(company: Production, report: Callable[[str], None]) -> None:
    _restart_both(company, report)


def test_nor_behind_nginx(tmp_path, report: Callable[[str], None]) -> None:
    with production(tmp_path, kind="nginx", BIGMIND_EMBEDDING_PROVIDER="hashing") as whole:
        _restart_both(whole, report)


def _restart_both(whole: Production, report: Callable[[str], None]) -> None:
    with whole.load("Rolling") as load:
        for _ in range(ROUNDS):
            for web in whole.webs:
                restart(web)
                time.sleep(UNTIL_TRUSTED_AGAIN)
                load.go_on()

    lost, doubled = whole.lost_and_doubled(load)
    report(f"{whole.proxy.kind}, {ROUNDS} rolling restarts of two instances: {load.summary()}")
    assert load.writers.surprises == []
    assert [call.error for call in load.failures()] == []
    assert load.tried_again() == []
    assert (lost, doubled) == ([], [])
