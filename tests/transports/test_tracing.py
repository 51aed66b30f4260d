"""Traces: from the request over the operation and its statements to the task that it woke, and none of the content."""

import subprocess
import sys
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path

import httpx
import pytest
from opentelemetry.sdk.trace import TracerProvider
from opentelemetry.sdk.trace.export import SimpleSpanProcessor
from opentelemetry.sdk.trace.export.in_memory_span_exporter import InMemorySpanExporter

from bigmind.embedded.up import worker_command
from bigmind.observability.tracing import DiscreetExporter
from tests.factories import make_key
from tests.serving import (
    ROOT,
    Served,
    end_its_database_sessions,
    environment_of_a_server,
    home_of_its_own,
    serving,
)
from tests.transports.collector import Collector, collecting

REQUEST_ID = "trace-me-please-42"
SECRET = "Zanzibar"
WITHIN = 90
EMBEDS = "run/knowledge.tasks.embed_pending"

pytestmark = pytest.mark.django_db(transaction=True)


@dataclass(frozen=True)
class Traced:
    """What a write and a search left behind: their spans, and the logs of the server and of the worker."""

    collector: Collector
    key: str
    web_log: Path
    worker_log: Path


@pytest.fixture
def traced(transactional_db: None, tmp_path: Path) -> Iterator[Traced]:
    """A fact stored over REST, with the web process and a worker running."""
    # The processes of a parallel run share one queue, and a worker takes whatever it finds there.
    home = home_of_its_own(tmp_path / "home")
    quick = {"OTEL_BSP_SCHEDULE_DELAY": "200", "BIGMIND_LOG_LEVEL": "INFO", "BIGMIND_LOG_FORMAT": "json"}
    log = tmp_path / "worker.log"
    with collecting() as collector:
        address = {
            "BIGMIND_HOME": str(home),
            "BIGMIND_OTLP_ENDPOINT": collector.url,
            "BIGMIND_SLOW_MS": "1",
            "BIGMIND_EMBEDDING_PROVIDER": "hashing",
        }
        variables = {**quick, **address}
        # Each imports for seconds, so both start at once.
        with _working(variables, log), serving(tmp_path / "web.log", **variables) as (served, _):
            key = make_key().text
            _store(served, key)
            # The sweep runs the same task on its own account.
            _eventually(lambda: bool(_traces(collector, "POST api/v1/facts/") & _traces(collector, EMBEDS)))
            _eventually(lambda: REQUEST_ID in log.read_text())
            yield Traced(collector, key, tmp_path / "web.log", log)
    end_its_database_sessions()


def _traces(collector: Collector, name: str) -> set[str]:
    return {span.trace for span in collector.named(name)}


@contextmanager
def _working(variables: dict[str, str], log: Path) -> Iterator[None]:
    """Let a worker run for a while."""
    environment = environment_of_a_server(8000) | variables
    with log.open("w") as output:
        process = subprocess.Popen(worker_command(), cwd=ROOT, env=environment, stdout=output, stderr=output)
    try:
        yield
    finally:
        process.kill()
        process.wait()


def _store(served: Served, key: str) -> None:
    headers = {"Authorization": f"Bearer {key}", "X-Request-Id": REQUEST_ID}
    fact = {"category": "decision", "fact": f"{SECRET} it is."}
    assert httpx.post(f"{served.url}/api/v1/facts/", json=fact, headers=headers, timeout=60).status_code == 201
    sought = {"query": f"Where is {SECRET}?"}
    found = httpx.get(f"{served.url}/api/v1/search/", params=sought, headers=headers, timeout=60)
    assert SECRET in found.text


def _eventually(claim: Callable[[], bool]) -> None:
    give_up = time.monotonic() + WITHIN
    while not claim():
        assert time.monotonic() < give_up, "It did not come true in time."
        time.sleep(0.05)


def test_a_write_is_one_trace_from_the_request_to_the_task_and_the_log_names_it(traced: Traced) -> None:
    (request,) = traced.collector.named("POST api/v1/facts/")
    (operation,) = traced.collector.named("memory_store_fact")
    statements = [span for span in traced.collector.spans if "INSERT INTO" in span.attributes.get("db.statement", "")]
    tasks = [span for span in traced.collector.named("run/knowledge") if span.trace == request.trace]

    assert operation.parent == request.id
    assert any(span.parent == operation.id for span in statements)
    assert [task.name for task in tasks] == [EMBEDS]
    assert {span.attributes["bigmind.request_id"] for span in (request, operation, *tasks)} == {REQUEST_ID}
    assert operation.attributes["bigmind.outcome"] == "ok"
    assert request.service == "bigmind"

    everything = "".join(span.raw for span in traced.collector.spans)
    assert SECRET not in everything
    assert traced.key not in everything

    lines = [line for line in traced.worker_log.read_text().splitlines() if REQUEST_ID in line]
    assert any("knowledge.tasks.embed_pending" in line for line in lines)
    assert SECRET not in traced.worker_log.read_text()

    said = traced.web_log.read_text()
    assert "memory_store_fact" in said
    assert "memory_semantic_search" in said
    assert SECRET not in said
    assert traced.key not in said


def test_the_words_of_an_error_are_not_sent() -> None:
    kept = InMemorySpanExporter()
    provider = TracerProvider()
    provider.add_span_processor(SimpleSpanProcessor(DiscreetExporter(kept)))

    with pytest.raises(ValueError, match=SECRET), provider.get_tracer("t").start_as_current_span("INSERT"):
        raise ValueError(f"Key (fact)=({SECRET}) already exists.")

    (span,) = kept.get_finished_spans()
    assert span.events[0].attributes == {"exception.type": "ValueError"}
    assert SECRET not in span.to_json()


def test_where_no_collector_is_configured_nothing_of_it_is_loaded() -> None:
    code = (
        "import django, sys; django.setup(); import bigmind.gate, bigmind.middleware, bigmind.celery;"
        "print([name for name in sys.modules if name.startswith('opentelemetry')])"
    )

    said = subprocess.run([sys.executable, "-c", code], cwd=ROOT, capture_output=True, text=True, check=True)

    assert said.stdout.strip().splitlines()[-1] == "[]"
