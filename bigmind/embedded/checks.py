"""What `bigmind doctor` looks at: each check says how it is, and what to do when it is not well."""

import sys
import time
from collections.abc import Callable, Iterable, Iterator
from dataclasses import dataclass
from enum import StrEnum
from pathlib import Path
from urllib.parse import urlsplit

import httpx
import psycopg
from django.db import DEFAULT_DB_ALIAS, connection
from kombu.exceptions import OperationalError as BrokerError

from accounts.connecting.hook_files import HookFolder
from accounts.connecting.hook_trials import HookTrial, try_hooks
from accounts.connecting.machines import Machine
from bigmind.celery import app as celery
from bigmind.core.roles import OWNS_TABLES, is_pooled, owner_alias
from bigmind.embedded.database import OLDEST_SERVER, pending_migrations, vector_advice, vector_version
from bigmind.embedded.home import CannotStart, free_bytes, reason_for, running_on
from bigmind.embedded.listeners import listen
from bigmind.environment import Environment, unknown_variables
from bigmind.observability import health

OLDEST_PYTHON = (3, 11)
PATIENCE_SECONDS = 3
# A worker on the file queue looks up after 2 to 4 s.
WORKER_PATIENCE_SECONDS = 6
COMFORTABLE_FREE_BYTES = 1024**3
# Beyond this, sign-in links and expiry dates are judged differently by web server and database.
CLOCK_TOLERANCE_SECONDS = 5
OF_THE_DATABASE = ("database", "wall", "vector", "migrations", "clock")
START = "Start BigMind: make run"
_POWERS = "SELECT rolname, rolsuper OR rolbypassrls FROM pg_roles WHERE rolname = current_user"


class CheckStatus(StrEnum):
    """How a check came out."""

    OK = "ok"
    WARNING = "warning"
    PROBLEM = "problem"
    SKIPPED = "skipped"


@dataclass(frozen=True)
class Check:
    """One thing that was looked at."""

    name: str
    status: CheckStatus
    found: str
    advice: str = ""


def examine(environment: Environment) -> Iterator[Check]:
    """Look at everything, in the order in which one thing depends on another."""
    is_local = running_on(environment.home) is not None
    is_up = not environment.is_embedded or is_local
    has_worker = bool(environment.redis_url.get_secret_value()) or is_local
    looks: dict[str, Callable[[], Iterable[Check]]] = {
        "python": lambda: [python()],
        "home": lambda: [home(environment.home)],
        "settings": lambda: [settings()],
        "process": lambda: [process(environment)],
        "port": lambda: [port(environment, is_local)],
        "database": lambda: database() if is_up else [_skip(name) for name in OF_THE_DATABASE],
        "disk": lambda: check_readiness(is_known=is_up),
        "broker": lambda: [broker(environment)],
        "worker": lambda: [worker()] if has_worker else [_skip("worker")],
        "web": lambda: [web(environment.url)],
        "hooks": lambda: check_hooks(environment),
    }
    for name, look in looks.items():
        yield from guard(name, look)


def check_readiness(is_known: bool) -> Iterator[Check]:
    """Look at what `/readyz` looks at and nothing above does, in its words."""
    advice = {
        "disk": "Free some space on the disk of BIGMIND_HOME.",
        "embedder": "See BIGMIND_EMBEDDING_URL, and worker.log for the reason.",
    }
    for part in [health.disk(), health.embedder(is_known=is_known)]:
        yield (
            Check(part.name, CheckStatus.PROBLEM, part.error, advice[part.name])
            if part.error
            else Check(part.name, CheckStatus.OK, "well")
        )


def guard(name: str, look: Callable[[], Iterable[Check]]) -> Iterator[Check]:
    """Report a check that crashes as a problem and go on: a user who runs doctor has enough problems already."""
    try:
        yield from look()
    except Exception as error:  # noqa: BLE001  # The outermost loop: the next check may say what the matter is.
        words = f"cannot be looked at: {type(error).__name__}: {' '.join(str(error).split())[:200]}"
        yield Check(name, CheckStatus.PROBLEM, words, "See the disk and the logs; then ask doctor again.")


def python() -> Check:
    """Look at the Python that runs us."""
    version = sys.version.split()[0]
    if sys.version_info[:2] < OLDEST_PYTHON:
        return Check("python", CheckStatus.PROBLEM, version, "Recreate the environment with Python 3.11 or later.")
    return Check("python", CheckStatus.OK, version)


def home(folder: Path) -> Check:
    """Look at the folder of everything BigMind keeps: permissions and free space."""
    try:
        (folder / "run").mkdir(mode=0o700, parents=True, exist_ok=True)
        trial = folder / "run" / "doctor"
        trial.write_text("")
        trial.unlink()
        others = folder.stat().st_mode & 0o077
    except OSError as error:
        return Check("home", CheckStatus.PROBLEM, str(folder), reason_for(error, folder))
    free = free_bytes(folder)
    found = f"{folder}, {free / 1024**3:.1f} GB free"
    if others:
        return Check("home", CheckStatus.PROBLEM, f"{folder} is open to other users", f"Run: chmod 700 {folder}")
    if free < COMFORTABLE_FREE_BYTES:
        return Check("home", CheckStatus.WARNING, found, "Free some disk space before the database needs it.")
    return Check("home", CheckStatus.OK, found)


def settings() -> Check:
    """Look for variables that mean nothing to BigMind."""
    unknown = unknown_variables()
    if not unknown:
        return Check("settings", CheckStatus.OK, "every BIGMIND_* variable is known")
    advice = "; ".join(f"{name}: did you mean {near}?" if near else f"unset {name}" for name, near in unknown.items())
    return Check("settings", CheckStatus.WARNING, f"not known: {', '.join(unknown)}", advice)


def process(environment: Environment) -> Check:
    """Look for a `bigmind up` on this data."""
    running = running_on(environment.home)
    if running is not None:
        return Check("process", CheckStatus.OK, f"bigmind up runs as process {running.pid}")
    if environment.is_embedded:
        return Check("process", CheckStatus.PROBLEM, "not running", START)
    return Check("process", CheckStatus.OK, "not on this machine; the database is elsewhere")


def port(environment: Environment, is_local: bool) -> Check:
    """Look whether the port could be taken, when we do not hold it ourselves."""
    if is_local:
        return Check("port", CheckStatus.OK, f"{environment.port} is BigMind's")
    try:
        for listener in listen(environment.bind, environment.port):
            listener.close()
    except CannotStart as refusal:
        return Check("port", CheckStatus.WARNING, f"{environment.port} is not free", str(refusal))
    return Check("port", CheckStatus.OK, f"{environment.port} is free")


def database() -> Iterator[Check]:
    """Look at the database: reachable, recent, with pgvector, migrated, and agreed with us about the time."""
    try:
        with psycopg.connect(**{**connection.get_connection_params(), "connect_timeout": PATIENCE_SECONDS}) as server:
            version, ours = server.info.server_version // 10000, time.time()
            row = server.execute("SELECT extract(epoch FROM clock_timestamp())::float8").fetchone()
            theirs = row[0] if row else ours
            role, is_above = server.execute(_POWERS).fetchone() or ("", False)
    except psycopg.OperationalError as error:
        advice = "Check that the server runs, and BIGMIND_DATABASE_URL."
        yield Check("database", CheckStatus.PROBLEM, str(error).strip().splitlines()[-1], advice)
        yield from (Check(name, CheckStatus.SKIPPED, "the database is away") for name in OF_THE_DATABASE[1:])
        return
    yield _server(version)
    yield _wall(role, is_above)
    yield _vector()
    yield _migrations()
    yield _clock(theirs - ours)


def _wall(role: str, is_above: bool) -> Check:
    """Whether the policies that keep private rows apart hold for the role we connect as, and what it may do."""
    if is_above:
        advice = "Let BIGMIND_DATABASE_URL name an ordinary role that owns the database: none holds a superuser."
        return Check("wall", CheckStatus.WARNING, "this role sees everybody's private rows", advice)
    if is_pooled(owner_alias()):
        advice = "Let BIGMIND_DATABASE_OWNER_URL reach the server past the pool: migrations and indexes need a session."
        found = "a pool stands before the database, and no address leads past it"
        return Check("wall", CheckStatus.PROBLEM, found, advice)
    of_role = f"{role} owns the tables" if _owns_tables() else f"{role} reads and writes rows, and may do no more"
    pool = "; it is behind a pool" if is_pooled(DEFAULT_DB_ALIAS) else ""
    return Check("wall", CheckStatus.OK, f"the database keeps private rows apart; {of_role}{pool}")


def _owns_tables() -> bool:
    with connection.cursor() as cursor:
        cursor.execute(OWNS_TABLES)
        row = cursor.fetchone()
    return bool(row and row[0])


def broker(environment: Environment) -> Check:
    """Look at what wakes the worker: Redis, or the folder of the file queue."""
    if not environment.redis_url.get_secret_value():
        queue = environment.home / "queue"
        return Check("broker", CheckStatus.OK, f"files in {queue}")
    try:
        with celery.connection_for_write(connect_timeout=PATIENCE_SECONDS) as redis:
            redis.ensure_connection(max_retries=1, interval_start=0, timeout=PATIENCE_SECONDS)
    except (BrokerError, OSError) as error:
        return Check(
            "broker", CheckStatus.PROBLEM, f"Redis does not answer: {error}", "Start it, or check BIGMIND_REDIS_URL."
        )
    return Check("broker", CheckStatus.OK, "Redis answers")


def worker() -> Check:
    """Look for a worker that answers."""
    try:
        answers = celery.control.ping(timeout=WORKER_PATIENCE_SECONDS, limit=1)
    except (BrokerError, OSError) as error:
        return Check("worker", CheckStatus.PROBLEM, f"cannot be asked: {error}", "See to the broker first.")
    if not answers:
        return Check(
            "worker", CheckStatus.PROBLEM, "no worker answers", "Restart BigMind, and read worker.log in its logs."
        )
    return Check("worker", CheckStatus.OK, f"{next(iter(answers[0]))} answers")


def web(url: str) -> Check:
    """Ask the web server at the address that people use."""
    try:
        status = httpx.get(f"{url}/healthz", timeout=PATIENCE_SECONDS).status_code
    except httpx.HTTPError as error:
        is_near = urlsplit(url).hostname == "localhost"
        advice = START if is_near else "Check BIGMIND_PUBLIC_URL, and the proxy if there is one."
        return Check("web", CheckStatus.PROBLEM, f"{url} does not answer ({error})", advice)
    if status != 200:
        return Check(
            "web", CheckStatus.PROBLEM, f"{url}/healthz answers {status}", "Does another program answer there?"
        )
    return Check("web", CheckStatus.OK, f"{url} answers")


def check_hooks(environment: Environment) -> Iterator[Check]:
    """Run the hooks that are installed in clients on this machine, with an event that changes nothing."""
    folder = HookFolder(environment.home / "hooks")
    trials = list(try_hooks(folder, Machine.here()))
    yield from map(_hooks, trials)
    if not trials:
        yield Check("hooks", CheckStatus.OK, "none are installed")
    elif not folder.is_current() and not any(trial.error for trial in trials):
        advice = f"`bigmind up` renews it, and so does: bigmind connect {trials[0].client}"
        yield Check("hooks", CheckStatus.WARNING, "the hook program is of another version", advice)


def _hooks(trial: HookTrial) -> Check:
    again = f"Run: bigmind connect {trial.client} --hooks" + (
        "" if trial.place == "user" else f" --project {trial.place}"
    )
    where = trial.client if trial.place == "user" else f"{trial.client} in {trial.place}"
    count, size = trial.waiting
    waiting = f"; {count} events ({size / 1024:.0f} KB) wait to be sent" if count else ""
    failure = trial.last_failure
    failed = f"; last failure {failure.at}, {failure.event}: {failure.reason}" if failure else ""
    if trial.error:
        # The client goes on, and nothing is lost: what is wrong is said of BigMind above.
        is_away = trial.status is not None and (trial.status in {0, 429} or trial.status >= 500)
        status = CheckStatus.WARNING if is_away else CheckStatus.PROBLEM
        advice = "Clients go on. Start BigMind, and it gets what waits." if is_away else again
        return Check("hooks", status, f"{where}: {trial.error}{waiting}{failed}", advice)
    found = f"{where}: {trial.entries} hooks, {trial.milliseconds} ms{waiting}{failed}"
    if trial.untrusted:
        advice = "Start codex and choose “Review hooks” or “Trust all”: it skips the others without a word."
        return Check("hooks", CheckStatus.WARNING, f"{found}; {trial.untrusted} of them are not trusted", advice)
    return Check("hooks", CheckStatus.OK, found)


def _server(version: int) -> Check:
    found = f"PostgreSQL {version}"
    if version < OLDEST_SERVER:
        return Check("database", CheckStatus.PROBLEM, found, f"BigMind needs PostgreSQL {OLDEST_SERVER} or later.")
    return Check("database", CheckStatus.OK, found)


def _vector() -> Check:
    version = vector_version()
    if version is None:
        return Check("vector", CheckStatus.PROBLEM, "pgvector is missing", vector_advice())
    return Check("vector", CheckStatus.OK, f"pgvector {version}")


def _migrations() -> Check:
    pending = pending_migrations()
    if pending:
        return Check("migrations", CheckStatus.PROBLEM, f"{len(pending)} to apply", "Run: bigmind migrate")
    return Check("migrations", CheckStatus.OK, "all applied")


def _clock(difference: float) -> Check:
    found = f"{abs(difference):.1f} s between this machine and the database"
    if abs(difference) > CLOCK_TOLERANCE_SECONDS:
        return Check("clock", CheckStatus.WARNING, found, "Let both take their time from the network (NTP).")
    return Check("clock", CheckStatus.OK, found)


def _skip(name: str) -> Check:
    return Check(name, CheckStatus.SKIPPED, "BigMind is not running")
