"""Calling an address that somebody named: within the time that is given, however it answers."""

import time

import httpx
import pytest

from bigmind.network.addresses import AddressRefused, fetch
from tests.dribbling import dribbling


def test_whoever_answers_byte_by_byte_is_hung_up_on_in_time() -> None:
    with dribbling() as url:
        began = time.monotonic()

        with pytest.raises((httpx.HTTPError, AddressRefused)):
            fetch(url, most_bytes=1_000, seconds=1, may_be_private=True)

        assert time.monotonic() - began < 4
