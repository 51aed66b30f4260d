"""`/metrics`: who may read them, what they count, and that nobody's name is among them."""

import re
from collections.abc import Iterator
from datetime import timedelta
from typing import Any

import psycopg
import pytest
from django.test import Client
from django.utils import timezone
from prometheus_client.parser import text_string_to_metric_families

from accounts.services.task_statistics import tally_task
from bigmind.core.errors import NotFound
from bigmind.core.metrics import REGISTRY
from bigmind.gate import perform
from bigmind.observability.metrics import FIGURES_OF_THE_INSTANCE
from bigmind.operations import CATALOGUE
from curation.models import Delivery
from knowledge.indexing.embedding import embed_pending
from knowledge.models import AppRun
from tests.curation.factories import propose
from tests.factories import make_actor
from tests.knowledge.factories import make_fact
from tests.transports.rest_wire import Rest

HERE = {"REMOTE_ADDR": "127.0.0.1", "HTTP_HOST": "localhost:7700"}

pytestmark = pytest.mark.django_db(transaction=True)


@pytest.fixture(autouse=True)
def nothing_kept() -> Iterator[None]:
    FIGURES_OF_THE_INSTANCE.forget()
    yield
    FIGURES_OF_THE_INSTANCE.forget()


def _scraped(**meta: str) -> dict[str, float]:
    """Everything that is told: each metric with its labels, and its number."""
    answer = Client().get("/metrics", **{**HERE, **meta})
    assert answer.status_code == 200, answer.content
    # The parser of the client library takes ten times as long. Of labels that have no quotes it reads nothing else.
    samples = (line.rpartition(" ") for line in answer.text.splitlines() if not line.startswith("#"))
    return {name.replace('"', ""): float(value) for name, _, value in samples}


def test_this_machine_may_read_them_without_a_token() -> None:
    answer = Client().get("/metrics", **HERE)

    assert answer.status_code == 200
    assert answer["Content-Type"].startswith("text/plain; version=")
    assert 'bigmind_build_info{django="' in answer.text
    assert {"bigmind_calls", "bigmind_database_up"} <= {one.name for one in text_string_to_metric_families(answer.text)}


@pytest.mark.parametrize(
    "told",
    [
        {"REMOTE_ADDR": "192.0.2.7"},
        {"REMOTE_ADDR": ""},
        {"HTTP_HOST": "attacker.example"},
        {"HTTP_X_FORWARDED_FOR": "127.0.0.1"},
        {"HTTP_FORWARDED": "for=127.0.0.1"},
        {"HTTP_VIA": "1.1 proxy"},
        {"REMOTE_ADDR": "192.0.2.7", "HTTP_X_FORWARDED_FOR": "127.0.0.1", "HTTP_X_REAL_IP": "127.0.0.1"},
    ],
    ids=lambda told: " ".join(told),
)
def test_others_and_whoever_a_proxy_asks_for_are_refused(told: dict[str, str]) -> None:
    answer = Client().get("/metrics", **{**HERE, **told})

    assert answer.status_code == 403
    assert "BIGMIND_METRICS_TOKEN" in answer.text
    assert "bigmind_calls" not in answer.text


def test_where_a_proxy_may_stand_in_front_only_the_token_counts(settings: Any) -> None:
    settings.PUBLIC_URL = "https://bigmind.example.com"

    assert Client().get("/metrics", **HERE).status_code == 403


@pytest.mark.parametrize("shown", ["", "Bearer wrong", "Bearer ", "Basic c2VjcmV0", "Bearer sécret"])
def test_with_a_token_nobody_reads_them_without_it(settings: Any, shown: str) -> None:
    settings.METRICS_TOKEN = "secret"

    answer = Client().get("/metrics", **HERE, HTTP_AUTHORIZATION=shown)

    assert answer.status_code == 401
    assert answer["WWW-Authenticate"].startswith("Bearer")


def test_with_the_token_they_are_read_from_anywhere(settings: Any) -> None:
    settings.METRICS_TOKEN, settings.PUBLIC_URL = "secret", "https://bigmind.example.com"

    answer = Client().get("/metrics", REMOTE_ADDR="192.0.2.7", HTTP_HOST="10.0.0.7", HTTP_AUTHORIZATION="Bearer secret")

    assert answer.status_code == 200


def test_they_can_only_be_read() -> None:
    answer = Client().post("/metrics", **HERE)

    assert (answer.status_code, answer["Allow"]) == (405, "GET, HEAD")


def test_calls_are_counted_by_operation_door_and_outcome() -> None:
    actor = make_actor()
    before = _scraped()

    perform(CATALOGUE["memory_list_facts"], actor, {}, transport="mcp")
    with pytest.raises(NotFound):
        perform(CATALOGUE["memory_erase_fact"], actor, {"fact_id": 1}, transport="rest")

    after = _scraped()
    grown = {name for name, number in after.items() if number > before.get(name, 0)}
    assert "bigmind_calls_total{operation=memory_list_facts,outcome=ok,transport=mcp}" in grown
    assert "bigmind_calls_total{operation=memory_erase_fact,outcome=not_found,transport=rest}" in grown
    assert "bigmind_call_seconds_count{operation=memory_list_facts}" in grown
    assert "bigmind_delivered_tokens_total{operation=memory_list_facts}" in grown


def test_requests_are_counted_by_the_template_of_their_route() -> None:
    before = _scraped()

    Rest().get("sessions/11111111-1111-4111-8111-111111111111/")
    Client().get("/people/11111111-1111-4111-8111-111111111111/")
    Client().get("/no/such/page")

    grown = {name for name, number in _scraped().items() if number > before.get(name, 0)}
    assert "bigmind_requests_total{route=api/v1/sessions/<str:session_id>/,status=404}" in grown
    assert "bigmind_requests_total{route=people/<uuid:person_id>/,status=302}" in grown
    assert "bigmind_requests_total{route=(none),status=404}" in grown


def test_searches_are_counted_by_the_arms_that_found_something() -> None:
    actor = make_actor()
    make_fact(actor, "The harbour closes at nine.")
    embed_pending()
    before = _scraped()

    perform(CATALOGUE["memory_semantic_search"], actor, {"query": "harbour"}, transport="rest")

    after = _scraped()
    for name in ("bigmind_searches_total{fallback=no}", "bigmind_search_hits_total{arm=keyword}"):
        assert after[name] == before.get(name, 0) + 1


def test_what_waits_is_counted_in_the_database(settings: Any) -> None:
    settings.BIGMIND_MODE = "team"
    embed_pending()
    make_fact(make_actor(), "Waits for its vector.")
    propose()
    embed = "knowledge.tasks.embed_pending"
    tally_task(embed, seconds=0.5, scheduled=True, request_id="1")
    tally_task(embed, seconds=0.25, scheduled=False, request_id="2", error="ValueError")

    told = _scraped()

    assert told["bigmind_embedding_texts{state=waiting}"] >= 1
    assert told["bigmind_curation_entries{why=proposed}"] == 1
    assert told[f"bigmind_tasks_total{{outcome=ok,task={embed}}}"] == 1
    assert told[f"bigmind_tasks_total{{outcome=failed,task={embed}}}"] == 1
    assert told[f"bigmind_task_seconds_total{{task={embed}}}"] == 0.75
    assert told["bigmind_scheduler_last_beat_timestamp_seconds"] > 1.7e9
    assert told["bigmind_database_bytes"] > 0
    assert told["bigmind_database_up"] == 1


def test_how_long_the_oldest_of_each_kind_of_work_waits_is_told_and_what_is_tried_later_does_not_wait() -> None:
    embed_pending()
    make_fact(make_actor(), "Waits for its vector.")
    now = timezone.now()
    for minutes in (7, 3, -5):
        Delivery.objects.create(channel="webhook", event="x", body={}, not_before=now - timedelta(minutes=minutes))
    Delivery.objects.create(channel="webhook", event="x", body={}, not_before=now - timedelta(days=1), delivered_at=now)
    AppRun.objects.create(purpose="bootstrap", connector="budibase", created_at=now - timedelta(hours=1))
    idle = _scraped()
    AppRun.objects.update(held_until=now + timedelta(minutes=1))
    FIGURES_OF_THE_INSTANCE.forget()

    held = _scraped()

    assert idle["bigmind_work_waiting{kind=vectors}"] >= 1
    assert idle["bigmind_work_oldest_seconds{kind=vectors}"] > 0
    assert idle["bigmind_work_waiting{kind=deliveries}"] == 2
    assert idle["bigmind_work_oldest_seconds{kind=deliveries}"] >= 7 * 60
    assert (idle["bigmind_work_waiting{kind=app_runs}"], held["bigmind_work_waiting{kind=app_runs}"]) == (1, 0)
    assert idle["bigmind_work_oldest_seconds{kind=app_runs}"] >= 60 * 60
    assert held["bigmind_work_oldest_seconds{kind=app_runs}"] == 0
    assert idle["bigmind_work_oldest_seconds{kind=dispatches}"] == 0


def test_figures_are_looked_up_once_in_some_seconds(monkeypatch: pytest.MonkeyPatch) -> None:
    _scraped()
    monkeypatch.setattr("psycopg.connect", lambda **_: pytest.fail("asked again"))

    assert _scraped()["bigmind_database_up"] == 1


def test_without_the_database_the_rest_is_told_and_that_it_is_away(monkeypatch: pytest.MonkeyPatch) -> None:
    def away(**_: Any) -> None:
        raise psycopg.OperationalError("password=hunter2")

    monkeypatch.setattr("psycopg.connect", away)

    told = _scraped()

    assert told["bigmind_database_up"] == 0
    assert "bigmind_database_bytes" not in told
    assert "bigmind_database_connections_opened_total" in told


def test_no_label_names_anybody_or_anything_of_theirs() -> None:
    actor = make_actor(scopes=["read", "write"])
    rest = Rest()
    make_fact(actor, "Zanzibar is secret.")
    perform(CATALOGUE["memory_semantic_search"], actor, {"query": "Zanzibar"}, transport="mcp")
    rest.get("facts/", project="Zanzibar")
    Client().get(f"/u/{actor.user.username}/")

    text = Client().get("/metrics", **HERE).text

    assert actor.key is not None
    for private in (actor.user.username, str(actor.user.pk), str(actor.key.pk), rest.key.text, "Zanzibar"):
        assert private not in text
    assert not re.search(r"[0-9a-f]{8}-[0-9a-f]{4}-|bm[arc]?_\w{20}", text)


def test_the_labels_are_those_that_the_code_can_name() -> None:
    of_work = {
        "operation", "transport", "outcome", "route", "status", "fallback", "step", "arm", "state", "why", "task",
    }  # fmt: skip
    fixed = {"le", "version", "python", "django"}

    told = {name for family in REGISTRY.collect() for sample in family.samples for name in sample.labels}

    assert told <= of_work | fixed
