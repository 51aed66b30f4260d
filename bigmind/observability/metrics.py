"""`/metrics`: access to it, the counters of the processes on this machine, and figures read from the database."""

import os
import platform
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass
from hmac import compare_digest
from ipaddress import ip_address
from threading import Lock
from time import monotonic
from typing import Any
from urllib.parse import urlsplit

import psycopg
import structlog
from django import get_version
from django.conf import settings
from django.core.exceptions import DisallowedHost, EmptyResultSet
from django.http import HttpRequest, HttpResponse
from prometheus_client import CollectorRegistry, Info, ProcessCollector
from prometheus_client.core import CounterMetricFamily, GaugeMetricFamily, Metric
from prometheus_client.exposition import CONTENT_TYPE_LATEST, generate_latest
from prometheus_client.metrics import MetricWrapperBase
from prometheus_client.multiprocess import MultiProcessCollector
from prometheus_client.registry import Collector
from psycopg.errors import QueryCanceled

from accounts.authentication import bearer_token
from accounts.services.workers import ALIVE_SECONDS
from accounts.sign_in.attempts import count_wrong
from bigmind import __version__
from bigmind.core import metrics as counted
from bigmind.core.errors import TooMany
from bigmind.core.metrics import REGISTRY
from bigmind.network.addresses import LOOPBACK
from bigmind.observability.health import database_aside, parts
from bigmind.observability.waiting_work import OLDEST, OLDEST_TEXT, TEXTS, WAITING
from curation.proposals.queue import WHYS, waiting
from knowledge.indexing.embedding import AGAIN

KEPT_SECONDS = 5.0
PATIENCE_MS = 2_000

Question = tuple[str, Sequence[Any]]

log = structlog.get_logger()

FORWARDED = ("Forwarded", "Via", "X-Forwarded-For", "X-Forwarded-Host", "X-Forwarded-Proto", "X-Real-Ip")
WAY_IN = "Set BIGMIND_METRICS_TOKEN, and send it as `Authorization: Bearer …`.\n"

NOT_COUNTED = CollectorRegistry()
"""What is looked up, and what is so of the process that answers."""
ProcessCollector(registry=NOT_COUNTED)
BUILD = Info("bigmind_build", "The version that runs, and what it runs on.", registry=NOT_COUNTED)


@dataclass(frozen=True)
class Figure:
    """A metric that a query returns. Each row has the values of the labels, then the number."""

    name: str
    about: str
    ask: Callable[[], Question]
    labels: tuple[str, ...] = ()
    counts_up: bool = False

    def read(self, database: psycopg.Connection[Any]) -> Metric:
        """Run the query."""
        family: Any = CounterMetricFamily if self.counts_up else GaugeMetricFamily
        metric: Metric = family(self.name, self.about, labels=self.labels)
        sql, values = self.ask()
        for *labels, number in database.execute(sql, values):
            if number is not None:
                metric.add_metric(labels, float(number))  # type: ignore[attr-defined]
        return metric


def _asking(sql: str, *values: Any) -> Callable[[], Question]:
    return lambda: (sql, values)


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
_IDLE = """
SELECT name, extract(epoch FROM now() - took_at) FROM accounts_worker
WHERE seen_at > now() - %s * interval '1 second'
"""
_OF_TODAY = "SELECT coalesce(sum(tokens), 0) FROM knowledge_embeddingday WHERE day = (now() AT TIME ZONE 'UTC')::date"
_NEWEST_BACKUP = """
SELECT bytes FROM accounts_backuprun WHERE error = '' ORDER BY at DESC, id DESC LIMIT 1
"""
NO_ENTRIES = "SELECT now() AS created_at WHERE false"


def _curation(select: str, whys: Sequence[str]) -> Callable[[], Question]:
    def ask() -> Question:
        parts, values = [], []
        for why in whys:
            try:
                sql, params = waiting(why).order_by().values("created_at").query.sql_with_params()
            except EmptyResultSet:  # The queue is empty, and Django runs no query to say so.
                sql, params = NO_ENTRIES, ()
            parts.append(f"SELECT {select} FROM ({sql}) AS entry")  # noqa: S608 - our own query
            values += [why] * select.count("%s") + list(params)
        return " UNION ALL ".join(parts), values

    return ask


FIGURES = (
    Figure(
        "bigmind_embedding_texts",
        "Texts without the vector they should have: `waiting`, or `failed` and tried again later.",
        _asking(TEXTS, AGAIN),
        ("state",),
    ),
    Figure("bigmind_embedding_oldest_seconds", "How long the oldest text waits.", _asking(OLDEST_TEXT, AGAIN)),
    Figure("bigmind_embedding_spent_tokens", "Tokens of a paid embedder spent today (UTC).", _asking(_OF_TODAY)),
    Figure(
        "bigmind_work_waiting",
        "What a worker could take up now: `vectors` of texts, `deliveries`, `app_runs`, or `dispatches` to a company "
        "server.",
        _asking(WAITING, AGAIN),
        ("kind",),
    ),
    Figure(
        "bigmind_work_oldest_seconds",
        "How long the oldest of it waits; workers are scaled by this.",
        _asking(OLDEST, AGAIN),
        ("kind",),
    ),
    Figure(
        "bigmind_curation_entries",
        "What waits for curators: `proposed`, `reported` as wrong or outdated, `overlapping`, `unused` or `due`.",
        _curation("%s, count(*)", WHYS),
        ("why",),
    ),
    Figure(
        "bigmind_curation_oldest_seconds",
        "How long the oldest proposal waits.",
        _curation("coalesce(extract(epoch FROM now() - min(entry.created_at)), 0)", WHYS[:1]),
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
        "bigmind_worker_idle_seconds",
        "How long ago each worker that is alive took up something last, if only its own ping.",
        _asking(_IDLE, ALIVE_SECONDS),
        ("worker",),
    ),
    Figure(
        "bigmind_scheduler_last_beat_timestamp_seconds",
        "When a worker last took up what the scheduler sent.",
        _asking("SELECT extract(epoch FROM max(scheduled_at)) FROM accounts_tasktally"),
    ),
    Figure(
        "bigmind_backup_last_timestamp_seconds",
        "When a backup was last `made` without a failure.",
        _asking("SELECT 'made', extract(epoch FROM max(at)) FROM accounts_backuprun WHERE error = ''"),
        ("kind",),
    ),
    Figure("bigmind_backup_last_bytes", "Size of the newest backup.", _asking(_NEWEST_BACKUP)),
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
WELL = "bigmind_part_well"
ABOUT_WELL = "1 when nothing is the matter with a part, else 0; `/readyz` says what."
BUDGET = "bigmind_embedding_budget_tokens"
ABOUT_BUDGET = "Tokens a paid embedder may be sent in a day; 0: no limit."
ABOUT_UP = "1 when the database answered this look-up, else 0: then the figures of the instance are missing."


class FigureCollector(Collector):
    """Reads all figures on a separate connection, and keeps them for some seconds."""

    def __init__(self) -> None:
        self._lock = Lock()
        self._kept: list[Metric] = []
        self._until = 0.0

    def describe(self) -> list[Metric]:
        """Return nothing, so that registering this runs no query."""
        return []

    def collect(self) -> Iterator[Metric]:
        """Yield the figures, read again after some seconds."""
        with self._lock:
            if monotonic() >= self._until:
                self._kept = list(_look_up())
                self._until = monotonic() + KEPT_SECONDS
            yield from self._kept

    def forget(self) -> None:
        """Read the figures again at the next scrape."""
        self._until = 0.0


def _look_up() -> Iterator[Metric]:
    is_up = False
    try:
        with database_aside() as database:
            database.autocommit = True
            for figure in FIGURES:
                try:
                    # For this transaction alone: behind a pool the session serves others next.
                    with database.transaction():
                        database.execute("SELECT set_config('statement_timeout', %s, true)", [str(PATIENCE_MS)])
                        values = figure.read(database)
                    yield values
                except QueryCanceled:
                    log.warning("A figure took too long and is left out.", figure=figure.name)
            is_up = True
    except psycopg.Error as error:
        log.warning("The figures cannot be looked up.", error=error)
    well = GaugeMetricFamily(WELL, ABOUT_WELL, labels=("part",))
    for part in parts():
        well.add_metric([part.name], float(part.ok))
    yield well
    yield GaugeMetricFamily(UP, ABOUT_UP, value=float(is_up))
    yield GaugeMetricFamily(BUDGET, ABOUT_BUDGET, value=float(settings.EMBEDDING_DAILY_TOKENS))


FIGURES_OF_THE_INSTANCE = FigureCollector()
NOT_COUNTED.register(FIGURES_OF_THE_INSTANCE)
BUILD.info({"version": __version__, "python": platform.python_version(), "django": get_version()})


def metrics(request: HttpRequest) -> HttpResponse:
    """Answer Prometheus: anyone who sends the token; where none is set, this machine alone."""
    if settings.METRICS_TOKEN:
        shown = bearer_token(request.headers.get("Authorization", "")) or ""
        if not compare_digest(shown.encode(), settings.METRICS_TOKEN.encode()):
            return _refuse(shown, request.META.get("REMOTE_ADDR", ""))
    elif not _comes_from_here(request):
        return _plain(WAY_IN, 403)
    if request.method not in {"GET", "HEAD"}:
        return _plain("Metrics can only be read.\n", 405, {"Allow": "GET, HEAD"})
    answer = HttpResponse(generate_latest(_counters()) + generate_latest(NOT_COUNTED), CONTENT_TYPE_LATEST)
    answer["Cache-Control"] = "no-store"
    return answer


def _counters() -> CollectorRegistry:
    """Return the counters of all processes of this `bigmind up`, or of this process where it serves alone."""
    if "PROMETHEUS_MULTIPROC_DIR" not in os.environ:
        return REGISTRY
    together = CollectorRegistry()
    MultiProcessCollector(together)  # type: ignore[no-untyped-call]
    return together


def _refuse(shown: str, address: str) -> HttpResponse:
    try:
        if shown:
            count_wrong(shown, address)
    except TooMany as refusal:
        return _plain(f"{refusal}\n", 429, {"Retry-After": str(refusal.retry_after)})
    return _plain(WAY_IN, 401, {"WWW-Authenticate": 'Bearer realm="BigMind metrics"'})


def _comes_from_here(request: HttpRequest) -> bool:
    """Whether the request comes from this machine directly, not through a proxy.

    A proxy on this machine connects from here, too, and need not say for whom. So where people come in by another
    address than this machine's there may be one, and only the token counts.
    """
    try:
        host = urlsplit(f"//{request.get_host()}").hostname
    except DisallowedHost:  # a page elsewhere may have a name that leads here
        return False
    names = {host, urlsplit(settings.PUBLIC_URL).hostname}
    return names <= LOOPBACK and _is_loopback(request) and not any(name in request.headers for name in FORWARDED)


def _is_loopback(request: HttpRequest) -> bool:
    try:
        address = ip_address(request.META.get("REMOTE_ADDR", ""))
    except ValueError:
        return False
    return (getattr(address, "ipv4_mapped", None) or address).is_loopback


def _plain(text: str, status: int, headers: dict[str, str] | None = None) -> HttpResponse:
    return HttpResponse(text, "text/plain; charset=utf-8", status, headers=headers or {})


@dataclass(frozen=True)
class DescribedMetric:
    """A metric: its name as Prometheus stores it, its meaning, and its labels."""

    name: str
    kind: str
    labels: tuple[str, ...]
    about: str


def describe_metrics() -> Iterator[DescribedMetric]:
    """Yield every metric of BigMind."""
    for metric in (*vars(counted).values(), *globals().values()):
        if isinstance(metric, MetricWrapperBase) and metric._documentation:
            yield _of_the_process(metric)
    for figure in FIGURES:
        name = f"{figure.name}_total" if figure.counts_up else figure.name
        yield DescribedMetric(
            name, f"{'counter' if figure.counts_up else 'gauge'}, instance", figure.labels, figure.about
        )
    for name, labels, about in ((WELL, ("part",), ABOUT_WELL), (UP, (), ABOUT_UP), (BUDGET, (), ABOUT_BUDGET)):
        yield DescribedMetric(name, "gauge, instance", labels, about)


def _of_the_process(metric: Any) -> DescribedMetric:
    ending = {"counter": "_total", "info": "_info"}.get(metric._type, "")
    labels = tuple(metric._labelnames) or tuple(metric._value if metric._type == "info" else ())
    return DescribedMetric(f"{metric._name}{ending}", f"{metric._type}, process", labels, metric._documentation)
