"""Alive and ready, as load balancers ask: by address, and whatever is broken."""

import subprocess
from collections.abc import Iterator
from contextlib import suppress
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import psycopg
import pytest
from django.core.cache import cache
from django.db import connection
from django.test import Client
from django.utils import timezone
from kombu.exceptions import OperationalError as BrokerError

from bigmind.embedded.doctor_checks import Check, check_readiness, guard
from bigmind.observability import health
from bigmind.observability.system import system_state
from knowledge.indexing.embedding import embed_pending
from knowledge.memory.facts import store_fact
from knowledge.memory.upkeep import check_health
from knowledge.models import EmbeddingSpace, PassageVector
from tests.factories import make_actor
from tests.knowledge.embeddings.endpoint import Endpoint


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

    of_the_database = ("database", "vector", "migrations", "writes", "clock")
    parts = (
        *of_the_database,
        "disk",
        "embedder",
        "index",
        "indexes",
        "scrubs",
        "backups",
        "guards",
        "worker",
        "broker",
    )
    nobody_backs_up = {"backups": {"ok": True, "note": "nobody makes any by schedule"}}
    assert answer == {"ready": True, "checks": {part: {"ok": True} for part in parts} | nobody_backs_up}


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

    monkeypatch.setattr("bigmind.observability.health.celery.connection_for_write", away)

    response = Client().get("/readyz")

    assert response.status_code == 200
    assert response.json()["checks"]["broker"]["ok"] is False


@pytest.fixture
def full_disk(tmp_path: Path) -> Iterator[Path]:
    """A disk of its own with nothing left on it."""
    if subprocess.run(["mount", "-t", "tmpfs", "-o", "size=64k", "tmpfs", tmp_path], capture_output=True).returncode:
        pytest.skip("Only root may mount a disk.")
    try:
        with suppress(OSError), (tmp_path / "ballast").open("wb", buffering=0) as ballast:
            while True:
                ballast.write(bytes(4096))
        yield tmp_path
    finally:
        subprocess.run(["umount", tmp_path], check=True)


def test_a_full_disk_is_told_as_such_and_without_its_path(full_disk: Path) -> None:
    assert health.disk_error(full_disk) == health.FULL


@pytest.mark.django_db
def test_what_is_the_matter_is_told_in_one_voice(monkeypatch: pytest.MonkeyPatch) -> None:
    """To balancers, on the page of the system, by doctor, and to agents."""
    monkeypatch.setattr("bigmind.observability.health.shutil.disk_usage", lambda folder: SimpleNamespace(free=1024))
    embed_pending()
    EmbeddingSpace.objects.update(failed_at=timezone.now())
    admin = make_actor(admin=True)

    response = Client().get("/readyz")
    told = {name: part.get("trouble") for name, part in response.json()["checks"].items()}
    page = [part.error for part in system_state(admin).parts]
    doctor = [check.found for check in check_readiness(is_known=True)]
    agents = " ".join(finding.says for finding in check_health(admin).findings)

    assert response.status_code == 503
    assert told["disk"] == health.FULL
    assert told["embedder"].startswith("does not answer since ")
    for trouble in (told["disk"], told["embedder"]):
        assert trouble in page
        assert trouble in doctor
        assert trouble in agents


@pytest.mark.django_db
def test_an_embedder_that_is_away_is_told_and_takes_nobody_out_of_rotation(
    settings: Any, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("knowledge.embeddings.calls.PAUSES", ())
    settings.EMBEDDING_PROVIDER, settings.EMBEDDING_URL, settings.EMBEDDING_DIMENSIONS = "openai", "http://[::1]:9", 3
    store_fact(make_actor(), category="decision", fact="Deploys go through the router.")
    embed_pending()
    away = Client().get("/readyz")
    with Endpoint() as endpoint:
        settings.EMBEDDING_URL = endpoint.url
        PassageVector.objects.update(not_before=timezone.now())
        embed_pending()
        back = Client().get("/readyz")
    cache.clear()

    assert away.status_code == back.status_code == 200
    assert "does not answer" in away.json()["checks"]["embedder"]["trouble"]
    assert back.json()["checks"]["embedder"] == {"ok": True}


def test_doctor_goes_on_where_a_check_breaks_off() -> None:
    def break_off() -> Iterator[Check]:
        raise OSError(28, "No space left on device")

    (check,) = guard("broker", break_off)

    assert check.status == "problem"
    assert "No space left" in check.found
