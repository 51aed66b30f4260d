"""The log: one object a line, with the request it belongs to, and no secret in it (T11)."""

import json
import logging
import logging.config
import time
from collections.abc import Iterator
from io import StringIO
from typing import Any

import psycopg
import pytest
import structlog
from django.db import IntegrityError, OperationalError, connection, transaction
from django.test import RequestFactory
from django.urls import resolve

from accounts.keys import new_key_text
from bigmind.observability import outages
from bigmind.observability.logging import begin_request, logging_configuration
from knowledge.models import Entry
from tests.embedded.instance import eventually


@pytest.fixture
def formatter() -> logging.Formatter:
    configuration = logging_configuration(level="INFO", as_json=True)
    made: Any = configuration["formatters"]["structured"]
    return logging.config.DictConfigurator({"version": 1}).configure_formatter(made)


@pytest.fixture
def written(formatter: logging.Formatter) -> Any:
    """Write with a logger of its own, and return what was written."""
    output = StringIO()
    stream = logging.StreamHandler(output)
    stream.setFormatter(formatter)
    logger = logging.getLogger("tests.written")
    logger.handlers, logger.propagate = [stream], False
    logger.setLevel("INFO")
    return logger, output


@pytest.mark.parametrize("prefix", ["bm_", "bma_", "bmr_", "bmc_"])
def test_no_key_and_no_token_reaches_the_log(written: Any, prefix: str) -> None:
    logger, output = written
    key = new_key_text(prefix)

    logger.info("Authorization: Bearer %s", key)
    structlog.wrap_logger(logger).info("Told.", said={"deep": [key]}, path=f"/x?key={key}")
    try:
        raise ValueError(f"cannot use {key}")
    except ValueError:
        logger.exception("It broke.")
        structlog.get_logger("tests.written").exception("It broke.")

    assert key[8:] not in output.getvalue()
    assert "ValueError" in output.getvalue()


@pytest.mark.parametrize(
    "said",
    [
        "postgres://bigmind:hunter2@database/bigmind", "redis://:hunter2@redis:6379/0",
        "smtp://ada%40example.com:hunter2@mail.example.com:587", "password=hunter2 host=database",
        "{'password': 'hunter2', 'host': 'x'}", '{"client_secret": 1, "token": "hunter2"}',
        "Authorization: Bearer hunter2", "api_key: hunter2",
    ],
)  # fmt: skip
def test_no_password_reaches_the_log(written: Any, said: str) -> None:
    logger, output = written

    logger.warning("It said: %s", said)

    assert "hunter2" not in output.getvalue()


@pytest.mark.django_db
def test_no_row_that_the_database_refuses_reaches_the_log(written: Any) -> None:
    """Of tables behind row-level security it quotes none, of all others it does."""
    logger, output = written
    said = "What was said\n\nof Zanzibar."  # Not where it is stored: the traceback has that line.
    with connection.cursor() as cursor:
        cursor.execute("ALTER TABLE knowledge_entry ADD CONSTRAINT no_marker CHECK (content NOT LIKE '%Zanzibar%')")

    with pytest.raises(IntegrityError, match=r"(?s)Failing row.*Zanzibar") as refused, transaction.atomic():
        Entry.objects.create(content=said, entry_type="fact")
    error = refused.value
    structlog.wrap_logger(logger).error("A request failed.", exc_info=error)
    structlog.wrap_logger(logger).error("The database refused.", error=str(error))
    logger.error("Task raised unexpected: %r\nTraceback (most recent call last): here", error, exc_info=error)

    assert "Zanzibar" not in output.getvalue()
    for line in map(json.loads, output.getvalue().splitlines()):
        assert 'violates check constraint "no_marker"' in str(line)
        assert "exception" not in line or "The above exception was the direct cause" in line["exception"]
    assert "last): here" in output.getvalue()


def test_a_path_that_is_as_good_as_a_password_is_named_by_its_route(rf: RequestFactory) -> None:
    request, raised = rf.post("/invitation/hunter2/"), (ValueError, ValueError(), None)
    request.resolver_match = resolve("/invitation/hunter2/")
    record = logging.LogRecord("django.request", 30, "", 0, "%s: %s", ("Unprocessable Entity", request.path), raised)
    record.request = request
    unknown = logging.LogRecord("django.request", 30, "", 0, "%s: %s", ("Not Found", "/hunter2/"), raised)
    unknown.request = rf.get("/hunter2/")
    configuration = logging_configuration(level="INFO", as_json=True)
    rules = logging.config.DictConfigurator({"version": 1}).configure_filter(configuration["filters"]["routes"])

    written = [line.getMessage() for line in (record, unknown) if rules.filter(line)]

    assert configuration["loggers"]["django.request"]["filters"] == ["routes"]
    assert written == ["Unprocessable Entity: invitation/<str:token>/", "Not Found: (none)"]


def test_a_key_in_the_wrong_header_is_no_id_of_a_request() -> None:
    key = new_key_text()

    assert begin_request("deploy-42.a") == "deploy-42.a"
    assert key not in begin_request(key)


def test_what_is_no_secret_is_written_as_it_is(written: Any) -> None:
    logger, output = written
    begin_request("deploy-42.a")

    structlog.wrap_logger(logger).info("A call was slow.", operation="memory_store_fact", milliseconds=1204.5)
    logger.info("See http://localhost:7700/keys/ about bm_Ab12C and 3 tokens.")

    first, second = map(json.loads, output.getvalue().splitlines())
    assert (first["operation"], first["milliseconds"]) == ("memory_store_fact", 1204.5)
    assert second["event"] == "See http://localhost:7700/keys/ about bm_Ab12C and 3 tokens."
    assert second["request_id"] == "deploy-42.a"


def test_an_outage_is_one_line_and_a_defect_keeps_its_traceback(log: StringIO) -> None:
    with pytest.raises(psycopg.OperationalError) as away:
        psycopg.connect("host=127.0.0.1 port=1 connect_timeout=1")
    with pytest.raises(ValueError, match="no lantern") as defect:
        int("no lantern")
    ours, theirs = structlog.get_logger("tests.log"), logging.getLogger("django.request")

    theirs.error("%s: %s", "Internal Server Error", "/", exc_info=away.value)
    for _ in range(30):
        ours.error("A request failed.", exc_info=away.value)
        ours.warning("A call was not recorded.", error=away.value)
        theirs.error("consumer: Cannot connect to %s: %s", "it", away.value)
    ours.error("A request failed.", exc_info=defect.value)

    first, *others = log.getvalue().splitlines()
    assert "Internal Server Error" in first
    assert "port 1 failed: Connection refused" in first
    assert sum(line.startswith("Traceback") for line in others) == 1
    assert others[-1].startswith("ValueError: ")


def test_an_outage_is_written_again_once_a_minute_and_when_it_is_over(
    log: StringIO, monkeypatch: pytest.MonkeyPatch
) -> None:
    for name, seconds in {"LOOK_EVERY": 0.05, "SAY_EVERY": 0.4, "QUIET_FOR": 60.0, "SETTLED_FOR": 0.2}.items():
        monkeypatch.setattr(outages, name, seconds)
    ours = structlog.get_logger("tests.log")

    for _ in range(12):
        ours.warning("The company server was not reached.", outage="company server")
        time.sleep(0.05)
    outages.OUTAGES.note_answer("company server")
    eventually(lambda: "An outage is over." in log.getvalue(), within=5)

    first, *others, last = log.getvalue().splitlines()
    assert "The company server was not reached." in first
    assert others
    assert all("An outage goes on." in line for line in others)
    assert "An outage is over." in last
    assert "lines_left_out=11" in last


@pytest.mark.django_db
def test_a_statement_that_took_too_long_is_no_outage() -> None:
    with connection.cursor() as cursor:
        cursor.execute("SET LOCAL statement_timeout = '10ms'")
        with pytest.raises(OperationalError) as canceled:
            cursor.execute("SELECT pg_sleep(5)")

    assert outages.outage_behind(canceled.value) == ""


@pytest.fixture
def log(monkeypatch: pytest.MonkeyPatch) -> Iterator[StringIO]:
    """What the handler of a process writes, which has met no outage yet."""
    output, configuration = StringIO(), logging_configuration(level="INFO", as_json=False)
    configurator = logging.config.DictConfigurator({"version": 1})
    handler = logging.StreamHandler(output)
    handler.setFormatter(configurator.configure_formatter(configuration["formatters"]["structured"]))
    for name in configuration["handlers"]["stderr"]["filters"]:
        handler.addFilter(configurator.configure_filter(configuration["filters"][name]))
    outages.OUTAGES.forget()
    monkeypatch.setattr(logging.getLogger(), "handlers", [handler])  # Others have the same filter.
    yield output
    outages.OUTAGES.forget()
