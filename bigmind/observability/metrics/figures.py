"""Figures of the whole instance, looked up in the database when they are asked for: every process answers the same."""

from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass
from threading import Lock
from time import monotonic
from typing import Any

import psycopg
import structlog
from django.conf import settings
from prometheus_client import Gauge
from prometheus_client.core import CounterMetricFamily, GaugeMetricFamily, Metric
from prometheus_client.registry import Collector
from psycopg.errors import QueryCanceled

from bigmind.core.metrics import REGISTRY
from bigmind.observability.health import database_aside
from curation.proposals.queue import waiting
from knowledge.services.embedding import AGAIN

KEPT_SECONDS = 5.0
PATIENCE_MS = 2_000

Question = tuple[str, Sequence[Any]]

log = structlog.get_logger()


@dataclass(frozen=True)
class Figure:
    """One metric that a query answers: its rows are the values of the labels, then the number."""

    name: str
    about: str
    ask: Callable[[], Question]
    labels: tuple[str, ...] = ()
    counts_up: bool = False

    def read(self, database: psycopg.Connection[Any]) -> Metric:
        """Ask the database."""
        family: Any = CounterMetricFamily if self.counts_up else GaugeMetricFamily
        metric: Metric = family(self.name, self.about, labels=self.labels)
        sql, values = self.ask()
        for *labels, number in database.execute(sql, values):
            if number is not None:
                metric.add_metric(labels, float(number))  # type: ignore[attr-defined]
        return metric


def _asking(sql: str, *values: Any) -> Callable[[], Question]:
    return lambda: (sql, values)


# The condition is that of the index `vector_next`: finished rows are never read.
_UNFINISHED = "NOT (vector.vector IS NOT NULL AND vector.trouble = '')"
_TEXTS = f"""
SELECT CASE WHEN trouble IN ('', %s) THEN 'waiting' ELSE 'failed' END, count(*)
FROM knowledge_passagevector AS vector WHERE {_UNFINISHED} GROUP BY 1
"""  # noqa: S608 - our own words
_OLDEST_TEXT = f"""
SELECT coalesce(extract(epoch FROM now() - min(
    CASE WHEN vector.vector IS NULL THEN greatest(passage.created_at, space.created_at) ELSE vector.not_before END
)), 0)
FROM knowledge_passagevector AS vector
JOIN knowledge_passage AS passage ON passage.id = vector.passage_id
JOIN knowledge_embeddingspace AS space ON space.id = vector.space_id
WHERE {_UNFINISHED} AND vector.trouble IN ('', %s)
"""  # noqa: S608 - our own words
_GOLDEN = """
SELECT 'held', count(*) FILTER (WHERE lost_since IS NULL) FROM curation_goldenquestion UNION ALL
SELECT 'lost', count(*) FILTER (WHERE lost_since IS NOT NULL) FROM curation_goldenquestion
"""
_CONNECTIONS = """
SELECT coalesce(state, 'other'), count(*) FROM pg_stat_activity
WHERE datname = current_database() AND backend_type = 'client backend' GROUP BY 1
"""
_RUNS = """
SELECT task, 'ok', runs - failures FROM accounts_tasktally UNION ALL
SELECT task, 'failed', failures FROM accounts_tasktally
"""
_OF_TODAY = "SELECT coalesce(sum(tokens), 0) FROM knowledge_embeddingday WHERE day = (now() AT TIME ZONE 'UTC')::date"
_WHYS = ("proposed", "reported", "due")


def _curation(select: str, whys: Sequence[str]) -> Callable[[], Question]:
    def ask() -> Question:
        parts, values = [], []
        for why in whys:
            sql, params = waiting(why).order_by().values("created_at").query.sql_with_params()
            parts.append(f"SELECT {select} FROM ({sql}) AS entry")  # noqa: S608 - our own query
            values += [why] * select.count("%s") + list(params)
        return " UNION ALL ".join(parts), values

    return ask


FIGURES = (
    Figure(
        "bigmind_embedding_texts",
        "Texts without the vector they should have: `waiting`, or `failed` and tried again later.",
        _asking(_TEXTS, AGAIN),
        ("state",),
    ),
    Figure("bigmind_embedding_oldest_seconds", "How long the oldest text waits.", _asking(_OLDEST_TEXT, AGAIN)),
    Figure("bigmind_embedding_spent_tokens", "Tokens of a paid embedder spent today (UTC).", _asking(_OF_TODAY)),
    Figure(
        "bigmind_curation_entries",
        "What waits for curators: `proposed`, `reported` as wrong or outdated, or `due` for verification.",
        _curation("%s, count(*)", _WHYS),
        ("why",),
    ),
    Figure(
        "bigmind_curation_oldest_seconds",
        "How long the oldest proposal waits.",
        _curation("coalesce(extract(epoch FROM now() - min(entry.created_at)), 0)", _WHYS[:1]),
    ),
    Figure(
        "bigmind_golden_questions",
        "Golden questions by the outcome of their last check: `held`, or `lost`.",
        _asking(_GOLDEN),
        ("outcome",),
    ),
    Figure("bigmind_tasks", "Background tasks run, over all workers.", _asking(_RUNS), ("task", "outcome"), True),
    Figure(
        "bigmind_task_seconds",
        "Seconds that background tasks took, over all workers.",
        _asking("SELECT task, seconds FROM accounts_tasktally"),
        ("task",),
        True,
    ),
    Figure(
        "bigmind_task_last_end_timestamp_seconds",
        "When a background task ended last.",
        _asking("SELECT task, extract(epoch FROM ended_at) FROM accounts_tasktally"),
        ("task",),
    ),
    Figure(
        "bigmind_scheduler_last_beat_timestamp_seconds",
        "When a worker last took up what the scheduler sent.",
        _asking("SELECT extract(epoch FROM max(scheduled_at)) FROM accounts_tasktally"),
    ),
    Figure(
        "bigmind_database_connections",
        "Connections to the database, of all processes.",
        _asking(_CONNECTIONS),
        ("state",),
    ),
    Figure(
        "bigmind_database_connections_most",
        "How many connections the database takes.",
        _asking("SELECT current_setting('max_connections')::int"),
    ),
    Figure("bigmind_database_bytes", "Size of the database.", _asking("SELECT pg_database_size(current_database())")),
)
UP = "bigmind_database_up"
ABOUT_UP = "1 when the database answered this look-up, else 0: then the figures of the instance are missing."


class FigureCollector(Collector):
    """Asks for all figures on a connection of its own, and keeps the answer for some seconds."""

    def __init__(self) -> None:
        self._lock = Lock()
        self._kept: list[Metric] = []
        self._until = 0.0

    def describe(self) -> list[Metric]:
        """Say nothing: the names are known, and nobody is asked when BigMind starts."""
        return []

    def collect(self) -> Iterator[Metric]:
        """Yield the figures: those of a moment ago, or new ones."""
        with self._lock:
            if monotonic() >= self._until:
                self._kept = list(_look_up())
                self._until = monotonic() + KEPT_SECONDS
            yield from self._kept

    def forget(self) -> None:
        """Look them up again when they are asked for next."""
        self._until = 0.0


def _look_up() -> Iterator[Metric]:
    is_up = False
    try:
        with database_aside(statement_ms=PATIENCE_MS) as database:
            for figure in FIGURES:
                try:
                    yield figure.read(database)
                except QueryCanceled:
                    log.warning("A figure took too long and is left out.", figure=figure.name)
            is_up = True
    except psycopg.Error as error:
        log.warning("The figures cannot be looked up.", error=type(error).__name__)
    yield GaugeMetricFamily(UP, ABOUT_UP, value=float(is_up))


FIGURES_OF_THE_INSTANCE = FigureCollector()
REGISTRY.register(FIGURES_OF_THE_INSTANCE)

BUDGET = Gauge(
    "bigmind_embedding_budget_tokens", "Tokens a paid embedder may be sent in a day; 0: no limit.", registry=REGISTRY
)
BUDGET.set_function(lambda: settings.EMBEDDING_DAILY_TOKENS)
