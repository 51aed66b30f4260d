"""T11: after a busy day no secret stands anywhere: tables, files, broker, replies, metrics, traces, process list."""

from collections.abc import Iterator
from contextlib import nullcontext
from pathlib import Path
from typing import Any

import pytest
from pydantic import SecretStr
from redis import Redis

from bigmind.environment import Environment
from tests.redis_server import RedisServer
from tests.torture.busy_day import NOT_USED, BusyDay, command_lines, init_variables, outside
from tests.torture.writes import query

pytestmark = pytest.mark.torture

# Where a secret stands on purpose, and why nobody reads it there who could not do worse.
KEPT_ON_PURPOSE = {
    ("secret_key", "secret_key"): "the file that the setting is read from; only its owner can open it",
    ("password of the database", "pgpass"): "the file that PostgreSQL's own programs read; only its owner can open it",
    (
        "session",
        "table django_session",
    ): "Django finds a session by it. Signing out deletes it, and so does a new password",
    ("session", "table accounts_signin"): "the list of one's sign-ins ends a session by it; both rows go together",
    ("session", "postgresql/"): "the files of those tables",
}


@pytest.mark.parametrize("broker", ["files", "redis"])
def test_after_a_busy_day_no_secret_stands_anywhere(running, tmp_path, broker, report):
    redis = RedisServer(tmp_path) if broker == "redis" else nullcontext()
    with redis as queue, outside() as servers, command_lines() as lines:
        variables = {**init_variables(), **servers.variables()}
        if queue is not None:
            variables["BIGMIND_REDIS_URL"] = queue.url
        with running(**variables) as instance:
            day = BusyDay(instance, servers, variables, variables["BIGMIND_INIT_KEY"])
            day.pass_by()
            places = {
                **dict(_tables(instance.home)),
                **dict(_files(instance.home)),
                **({"redis": _kept_by(queue)} if queue is not None else {}),
                "replies": "\n".join(day.replies).encode(),
                "traces": "".join(span.raw for span in servers.collector.spans).encode(),
                "process list": "\n".join(lines).encode(),
            }
    found = {
        (secret, place)
        for place, content in places.items()
        for secret, text in day.secrets.items()
        if text.encode() in content and not _is_kept_on_purpose(secret, place)
    }
    size = sum(map(len, places.values()))
    report(
        f"{broker}: {len(day.secrets)} secrets, {len(places)} places, {size / 1e6:.1f} MB, {len(lines)} command lines"
    )

    assert found == set()
    assert _not_used(day) == set()
    assert len(places["traces"]) > 10_000
    assert b"A request was" in b"".join(content for place, content in places.items() if place.startswith("logs/"))
    assert b"The laptop of Ada shows" in places["table knowledge_fact"]


def test_every_setting_that_holds_a_secret_is_used_or_says_why_not() -> None:
    assert _settings() >= set(NOT_USED)


def _not_used(day: BusyDay) -> set[str]:
    """Return the settings with a secret that the day had no use for."""
    return _settings() - set(NOT_USED) - set(day.secrets)


def _settings() -> set[str]:
    return {name for name, field in Environment.model_fields.items() if field.annotation is SecretStr}


def _is_kept_on_purpose(secret: str, place: str) -> bool:
    return any(secret == kept and place.startswith(where) for kept, where in KEPT_ON_PURPOSE)


def _tables(home: Path) -> Iterator[tuple[str, bytes]]:
    """Read every table as text, as a dump would."""
    names = query(home, "SELECT tablename FROM pg_tables WHERE schemaname = 'public'")
    for (name,) in names:
        rows = query(home, f'SELECT whole::text FROM "{name}" AS whole')
        yield f"table {name}", "\n".join(str(row) for (row,) in rows).encode()


def _files(home: Path) -> Iterator[tuple[str, bytes]]:
    """Read every file of the home: logs, the queue, what PostgreSQL wrote."""
    for path in home.rglob("*"):
        if path.is_file():
            yield str(path.relative_to(home)), _content(path)


def _content(path: Path) -> bytes:
    try:
        return path.read_bytes()
    except FileNotFoundError:  # The worker has taken it meanwhile.
        return b""


def _kept_by(redis: Any) -> bytes:
    with Redis.from_url(redis.url) as client:
        return b"\n".join(name + b" " + (client.dump(name) or b"") for name in client.scan_iter())
