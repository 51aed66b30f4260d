"""Connections: whether one still lives is seen before a request uses it, and seldom asked; moments come in UTC."""

import time
from datetime import UTC, datetime

import pytest
from django.db import DataError, OperationalError, connection, transaction

from bigmind.database.postgresql import base


@pytest.fixture
def _kept(transactional_db, monkeypatch):
    """The connection is kept from request to request, as in a process that serves."""
    connection.close()
    monkeypatch.setitem(connection.settings_dict, "CONN_MAX_AGE", 600)
    yield
    connection.close()


@pytest.fixture
def asked(_kept, monkeypatch):
    """How often a connection that was just in use was asked by a statement whether it lives."""
    _begin_request()
    _begin_request()
    times = []

    def is_usable(wrapper):
        times.append(wrapper.alias)
        return base.base.DatabaseWrapper.is_usable(wrapper)

    monkeypatch.setattr(base.DatabaseWrapper, "is_usable", is_usable)
    return times


def test_a_connection_that_was_just_in_use_is_not_asked_whether_it_lives(asked):
    _begin_request()
    _begin_request()

    assert asked == []


def test_a_connection_that_has_rested_is_asked(asked, monkeypatch):
    monkeypatch.setattr(base, "RESTED_SECONDS", 0.0)

    _begin_request()

    assert asked == ["default"]


def test_a_connection_that_the_server_has_ended_is_replaced_before_it_is_used(asked):
    ended = connection.connection
    other = connection.copy()
    with other.cursor() as cursor:
        cursor.execute("SELECT pg_terminate_backend(%s, 5000)", [ended.info.backend_pid])
    other.close()

    _begin_request()

    assert asked == ["default"]
    assert connection.connection is not ended


def test_a_connection_that_was_closed_here_is_replaced(asked):
    ended = connection.connection
    ended.close()

    _begin_request()

    assert connection.connection is not ended


@pytest.mark.usefixtures("_kept")
def test_a_transaction_that_rested_for_too_long_ends_as_if_the_server_had_gone_away():
    with pytest.raises(OperationalError, match="idle-in-transaction"):
        _rest_in_a_transaction()


@transaction.atomic
def _rest_in_a_transaction():
    with connection.cursor() as cursor:
        cursor.execute("SET LOCAL idle_in_transaction_session_timeout TO '10ms'")
        time.sleep(0.5)
        cursor.execute("SELECT 1")


@pytest.mark.parametrize(
    ("written", "moment"),
    [
        ("2026-11-23 14:06:34.39918+00", datetime(2026, 11, 23, 14, 6, 34, 399180, UTC)),
        ("2026-11-23 14:06:34+05:30", datetime(2026, 11, 23, 8, 36, 34, tzinfo=UTC)),
        ("0001-01-01 00:00:00+00", datetime(1, 1, 1, tzinfo=UTC)),
        ("9999-12-31 23:59:59.999999+00", datetime.max.replace(tzinfo=UTC)),
    ],
)
def test_moments_come_in_utc(db, written, moment):
    with connection.cursor() as cursor:
        cursor.execute("SELECT %s::timestamptz, ARRAY[%s::timestamptz, NULL]", [written] * 2)
        one, several = cursor.fetchone()

    assert [one, several] == [moment, [moment, None]]
    assert one.tzinfo is UTC


@pytest.mark.parametrize("written", ["infinity", "0044-03-15 00:00:00+00 BC", "12026-01-01 00:00:00+00"])
def test_a_moment_that_python_does_not_know_is_refused(db, written):
    with connection.cursor() as cursor:
        cursor.execute("SELECT %s::timestamptz", [written])
        with pytest.raises(DataError):
            cursor.fetchone()


def _begin_request() -> None:
    connection.close_if_unusable_or_obsolete()
    with connection.cursor() as cursor:
        cursor.execute("SELECT 2")
        assert cursor.fetchone() == (2,)
