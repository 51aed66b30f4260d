"""Metrics: what the processes of one `bigmind up` count of their work; another process counts for itself.

Labels are names from the code: operations, routes, outcomes. Names, ids, texts and keys of users are never labels, so
callers cannot make the number of time series grow.
"""

from django.db.backends.signals import connection_created
from prometheus_client import CollectorRegistry, Counter, Gauge, Histogram

SECONDS = (0.005, 0.01, 0.025, 0.05, 0.1, 0.25, 0.5, 1.0, 2.5, 5.0, 10.0)

REGISTRY = CollectorRegistry()

CALLS = Counter(
    "bigmind_calls",
    "Operations performed, by `transport` and outcome (`ok`, or the code of the refusal; `error` is our fault).",
    ["operation", "transport", "outcome"],
    registry=REGISTRY,
)
CALL_SECONDS = Histogram(
    "bigmind_call_seconds", "How long operations took.", ["operation"], buckets=SECONDS, registry=REGISTRY
)
TOKENS = Counter(
    "bigmind_delivered_tokens", "Tokens of the replies that agents read.", ["operation"], registry=REGISTRY
)
REQUESTS = Counter(
    "bigmind_requests",
    "Pages and REST requests answered, by route (its template, never the address) and status.",
    ["route", "status"],
    registry=REGISTRY,
)
REQUEST_SECONDS = Histogram(
    "bigmind_request_seconds",
    "How long pages and REST requests took.",
    ["route"],
    buckets=SECONDS,
    registry=REGISTRY,
)
SEARCHES = Counter(
    "bigmind_searches", "Searches; with `fallback` words alone decided.", ["fallback"], registry=REGISTRY
)
SEARCH_SECONDS = Histogram(
    "bigmind_search_seconds", "How long the steps of searches took.", ["step"], buckets=SECONDS, registry=REGISTRY
)
FOUND = Counter(
    "bigmind_search_hits", "Things that searches showed, by the arm that found them.", ["arm"], registry=REGISTRY
)
DATABASE_ERRORS = Counter(
    "bigmind_database_errors",
    "Requests that the database refused or did not answer, by `transport`.",
    ["transport"],
    registry=REGISTRY,
)
CONNECTIONS_OPENED = Counter(
    "bigmind_database_connections_opened", "Connections to the database that this process opened.", registry=REGISTRY
)
CONNECTIONS_CUT = Counter(
    "bigmind_connections_cut",
    "Connections beyond a limit: one that waited for its client was closed (`made_way`), or the new one (`refused`).",
    ["outcome"],
    registry=REGISTRY,
)
STREAMS = Gauge(
    "bigmind_mcp_streams",
    "Streams over which agents listen for changes.",
    registry=REGISTRY,
    multiprocess_mode="livesum",
)


def _count_connection(**_: object) -> None:
    CONNECTIONS_OPENED.inc()


connection_created.connect(_count_connection, dispatch_uid="bigmind.core.metrics")
