"""Alive and ready, as load balancers ask: by address, and whatever is broken."""

from typing import Any

import psycopg
import pytest
from django.db import connection
from django.test import Client
from kombu.exceptions import OperationalError as BrokerError


@pytest.mark.parametrize("path", ["/healthz", "/readyz"])
@pytest.mark.django_db
def test_they_answer_whatever_the_host_header_says(path: str, settings: Any) -> None:
    settings.ALLOWED_HOSTS = ["bigmind.example.com"]

    response = Client().get(path, headers={"Host": "10.0.0.7"})

    assert response.status_code == 200
    assert response["X-Request-Id"]


def test_alive_asks_nothing_of_the_database() -> None:
    assert Client().get("/healthz").content == b"ok\n"


@pytest.mark.django_db
def test_ready_says_how_each_part_does() -> None:
    answer = Client().get("/readyz").json()

    parts = ("database", "vector", "migrations", "broker")
    assert answer == {"ready": True, "checks": {part: {"ok": True} for part in parts}}


@pytest.mark.django_db
def test_without_its_database_it_is_alive_and_not_ready(monkeypatch: pytest.MonkeyPatch) -> None:
    def away(**parameters: Any) -> None:
        raise psycopg.OperationalError("password=hunter2")

    monkeypatch.setattr("psycopg.connect", away)

    response = Client().get("/readyz")

    assert response.status_code == 503
    assert response.json()["checks"]["database"] == {"ok": False, "trouble": "does not answer"}
    assert "hunter2" not in response.content.decode()
    assert Client().get("/healthz").status_code == 200


@pytest.mark.django_db(transaction=True)
def test_a_migration_that_is_missing_is_told(monkeypatch: pytest.MonkeyPatch) -> None:
    with connection.cursor() as cursor:
        cursor.execute(
            "UPDATE django_migrations SET name = '0001_gone' WHERE app = 'knowledge' AND name = '0001_squashed'"
        )
    try:
        response = Client().get("/readyz")
    finally:
        with connection.cursor() as cursor:
            cursor.execute("UPDATE django_migrations SET name = '0001_squashed' WHERE name = '0001_gone'")

    assert response.status_code == 503
    assert "bigmind migrate" in response.json()["checks"]["migrations"]["trouble"]


@pytest.mark.django_db
def test_a_broker_that_is_away_is_told_and_stops_nothing(monkeypatch: pytest.MonkeyPatch) -> None:
    def away(*args: Any, **kwargs: Any) -> None:
        raise BrokerError("connection refused")

    monkeypatch.setattr("bigmind.health.celery.connection_for_write", away)

    response = Client().get("/readyz")

    assert response.status_code == 200
    assert response.json()["checks"]["broker"]["ok"] is False
