"""The checks of `bigmind doctor`: each reports a state, and what to do if it is not well."""

import os
import sys
from collections.abc import Callable, Collection, Iterable, Iterator
from dataclasses import dataclass
from enum import StrEnum
from importlib.metadata import PackageNotFoundError, requires, version
from pathlib import Path
from urllib.parse import urlsplit

import httpx
import psycopg
from django.db import DEFAULT_DB_ALIAS, connection
from packaging.requirements import Requirement

from accounts.connecting.hook_files import HookFolder
from accounts.connecting.hook_trials import HookTrial, try_hooks
from accounts.connecting.machines import Machine
from accounts.services.workers import worker_error
from bigmind.database.change_notifications import hears, listening_parameters
from bigmind.database.read_only import is_read_only
from bigmind.database.roles import OWNS_TABLES, is_pooled, may_change_schema, owner_alias, takes_our_tokens
from bigmind.embedded.database import pending_migrations, require_usable, vector_advice, vector_version
from bigmind.embedded.home import CannotStart, free_bytes, reason_for, running_on, start_command
from bigmind.embedded.listeners import listen
from bigmind.environment import Environment, unknown_variables
from bigmind.environment.parts import PARTS, find_misplaced
from bigmind.observability import health
from bigmind.settings import FILES

OLDEST_PYTHON = (3, 11)
PATIENCE_SECONDS = 3
POOL_SECONDS = {"server_login_retry": 3, "query_wait_timeout": 15}
"""The longest that is well: the pool adds the first to an outage of the database, and holds threads for the second."""
COMFORTABLE_FREE_BYTES = 1024**3
OF_THE_DATABASE = ("database", "wall", "vector", "migrations", "writes", "clock", "changes", "pool")
OF_WEB = ("port", "web", "processes", "sessions")
START = f"Start BigMind: {start_command()}"
SESSION_CALLS = 4
HANDSHAKE = {
    "jsonrpc": "2.0",
    "id": 1,
    "method": "initialize",
    "params": {
        "protocolVersion": "2025-06-18",
        "capabilities": {},
        "clientInfo": {"name": "bigmind-doctor", "version": "1"},
    },
}
_MACHINES = """
SELECT count(DISTINCT coalesce(host(client_addr), '')) FROM pg_stat_activity
WHERE datname = current_database() AND application_name = 'bigmind'
"""
_POWERS = "SELECT rolname, rolsuper OR rolbypassrls FROM pg_roles WHERE rolname = current_user"


class CheckStatus(StrEnum):
    """The result of a check."""

    OK = "ok"
    WARNING = "warning"
    PROBLEM = "problem"
    SKIPPED = "skipped"


@dataclass(frozen=True)
class Check:
    """One thing that was checked."""

    name: str
    status: CheckStatus
    found: str
    advice: str = ""


def examine(environment: Environment, parts: Collection[str] = ()) -> Iterator[Check]:
    """Run the checks of some parts of BigMind, dependencies first.

    Args:
        environment: The settings.
        parts: The parts that this machine is for; none means those that run here, or all where none does.
    """
    running = running_on(environment.home)
    is_local = running is not None
    is_up = not environment.is_embedded or is_local
    named, of_running = parts, running.parts if running else ()
    parts = named or of_running or PARTS
    looks: dict[str, Callable[[], Iterable[Check]]] = {
        "part": lambda: [part(parts, is_named=bool(named), is_running=bool(of_running))],
        "python": lambda: [python()],
        "packages": lambda: [packages()],
        "home": lambda: [home(environment.home)],
        "settings": lambda: [settings(environment, parts)],
        "process": lambda: [process(environment)],
        "port": lambda: [port(environment, is_local)],
        "database": lambda: database(parts) if is_up else [_skip(name) for name in OF_THE_DATABASE],
        "machines": lambda: [machines(environment)] if is_up else [_skip("machines")],
        "disk": lambda: check_readiness(is_known=is_up),
        "broker": lambda: [broker(environment)],
        "worker": lambda: [worker(parts)] if is_up else [_skip("worker")],
        "web": lambda: [web(environment.url)],
        "processes": lambda: [processes(environment)],
        "sessions": lambda: [sessions(environment.url)],
        "hooks": lambda: check_hooks(environment),
    }
    for name, look in looks.items():
        if name in OF_WEB and "web" not in parts:
            yield _skip(name, "web runs elsewhere")
            continue
        for check in guard(name, look):
            is_up = is_up and not (check.name == "database" and check.status == CheckStatus.PROBLEM)
            yield check


def check_readiness(is_known: bool) -> Iterator[Check]:
    """Run the checks of `/readyz` that none of the above covers, in its words."""
    advice = {
        "replica": "Start it, or mend its replication; check BIGMIND_DATABASE_REPLICA_URL.",
        "disk": "Free some space on the disk of BIGMIND_HOME.",
        "embedder": "See BIGMIND_EMBEDDING_URL, and worker.log for the reason.",
        "reranker": "See BIGMIND_RERANK_URL, and web.log for the reason.",
        "index": "Run: bigmind reindex",
        "indexes": "Restart the worker, and read worker.log; beside an external database it needs the owner's address.",
        "scrubs": "Run: bigmind scrub --again",
        "backups": "The page System, Backups says who makes them and what failed. Or run: bigmind backup",
        "guards": "Shorten or switch off triggers of entries: together they are more than hooks take.",
    }
    looks = (health.embedder, health.index, health.indexes, health.scrubs, health.backups, health.guards)
    of_the_database = [look(is_known=is_known) for look in looks]
    for part in [*(health.replica() if is_known else ()), health.disk(), *of_the_database, *health.reranker()]:
        is_away = not is_known and part.error == health.UNKNOWN
        yield _skip(part.name, part.error) if is_away else _part(part, advice[part.name])


def guard(name: str, look: Callable[[], Iterable[Check]]) -> Iterator[Check]:
    """Report a check that crashes as a problem, and go on: a user who runs doctor has enough problems already."""
    try:
        yield from look()
    except Exception as error:  # noqa: BLE001 # The outermost loop: the next check may say what is wrong.
        words = f"cannot be looked at: {type(error).__name__}: {' '.join(str(error).split())[:200]}"
        yield Check(name, CheckStatus.PROBLEM, words, "See the disk and the logs; then ask doctor again.")


def part(parts: Collection[str], *, is_named: bool, is_running: bool) -> Check:
    """Say which parts of BigMind the other checks are about."""
    why = "as you asked" if is_named else "they run here" if is_running else "none runs here; --part checks one of them"
    return Check("part", CheckStatus.OK, f"{', '.join(parts)}: {why}")


def python() -> Check:
    version = sys.version.split()[0]
    if sys.version_info[:2] < OLDEST_PYTHON:
        return Check("python", CheckStatus.PROBLEM, version, "Recreate the environment with Python 3.11 or later.")
    return Check("python", CheckStatus.OK, version)


def packages() -> Check:
    """Check that everything BigMind needs is installed: packages in matching versions, templates, static files."""
    folders = [Path(folder) for folder in (FILES / "templates", FILES / "static")]
    if bare := [folder.name for folder in folders if not any(folder.glob("*/*.*"))]:
        advice = "Install the wheel again; one that is built by hand comes from `make wheel`."
        return Check("packages", CheckStatus.PROBLEM, f"{' and '.join(bare)} are not installed", advice)
    try:
        requirements = [Requirement(text) for text in requires("bigmind") or []]
    except PackageNotFoundError:
        return Check("packages", CheckStatus.SKIPPED, "BigMind runs from a folder that is not installed")
    unfit = [
        problem
        for one in requirements
        if not one.marker or one.marker.evaluate({"extra": ""})
        if (problem := _unfit(one))
    ]
    if unfit:
        advice = "Run: pip install --require-hashes --no-deps -r requirements/run.txt, or install the wheel again."
        return Check("packages", CheckStatus.WARNING, "; ".join(unfit[:3]), advice)
    return Check("packages", CheckStatus.OK, f"BigMind {version('bigmind')}, with all that it needs")


def _unfit(requirement: Requirement) -> str:
    try:
        found = version(requirement.name)
    except PackageNotFoundError:
        return f"{requirement.name} is missing"
    return (
        ""
        if requirement.specifier.contains(found, prereleases=True)
        else f"{requirement.name} {found} is not {requirement.specifier}"
    )


def home(folder: Path) -> Check:
    """Check the folder of BigMind's data: permissions and free space."""
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


def settings(environment: Environment, parts: Collection[str]) -> Check:
    """Check for variables that are unknown, or that a part lacks or should not have."""
    unknown = unknown_variables()
    if not unknown:
        if misplaced := list(find_misplaced(environment, parts)):
            advice = "docs/settings.md says which part reads what. Change the environment of this part, and restart it."
            return Check("settings", CheckStatus.PROBLEM, " ".join(misplaced), advice)
        return Check("settings", CheckStatus.OK, "every BIGMIND_* variable is known")
    advice = "; ".join(f"{name}: did you mean {near}?" if near else f"unset {name}" for name, near in unknown.items())
    return Check("settings", CheckStatus.WARNING, f"not known: {', '.join(unknown)}", advice)


def process(environment: Environment) -> Check:
    """Check for a running `bigmind up` on this data."""
    running = running_on(environment.home)
    if running is not None:
        return Check("process", CheckStatus.OK, f"bigmind up runs as process {running.pid}")
    if environment.is_embedded:
        return Check("process", CheckStatus.PROBLEM, "not running", START)
    return Check("process", CheckStatus.OK, "not on this machine; the database is elsewhere")


def port(environment: Environment, is_local: bool) -> Check:
    """Check that the port is free, unless we hold it ourselves."""
    if is_local:
        return Check("port", CheckStatus.OK, f"{environment.port} is BigMind's")
    try:
        for listener in listen(environment.bind, environment.port):
            listener.close()
    except CannotStart as refusal:
        return Check("port", CheckStatus.WARNING, f"{environment.port} is not free", str(refusal))
    return Check("port", CheckStatus.OK, f"{environment.port} is free")


def database(parts: Collection[str]) -> Iterator[Check]:
    """Check the database: reachable, recent, with pgvector, migrated, and its clock in step with ours."""
    try:
        with psycopg.connect(**{**connection.get_connection_params(), "connect_timeout": PATIENCE_SECONDS}) as server:
            version = server.info.server_version // 10000
            require_usable(server)
            writes, clock = health.writes(server), health.clock(server)
            role, is_above = server.execute(_POWERS).fetchone() or ("", False)
    except psycopg.OperationalError as error:
        advice = "Check that the server runs, and BIGMIND_DATABASE_URL."
        yield Check("database", CheckStatus.PROBLEM, str(error).strip().splitlines()[-1], advice)
        yield from (_skip(name, "the database is away") for name in OF_THE_DATABASE[1:])
        return
    except CannotStart as refusal:
        yield Check("database", CheckStatus.PROBLEM, f"PostgreSQL {version}", str(refusal))
        yield from (_skip(name, "BigMind cannot use this database") for name in OF_THE_DATABASE[1:])
        return
    yield Check("database", CheckStatus.OK, f"PostgreSQL {version}")
    yield _wall(role, is_above, parts)
    yield _vector()
    yield _migrations()
    yield _part(writes, "Let BIGMIND_DATABASE_URL name the primary server, or set BIGMIND_READ_ONLY=on.")
    yield _part(clock, "Let this machine and the database take their time by NTP.", CheckStatus.WARNING)
    yield _changes() if "web" in parts else _skip("changes", "web runs elsewhere")
    yield _pool()


def _wall(role: str, is_above: bool, parts: Collection[str]) -> Check:
    """Check that row-level security applies to our role, and what the role may do."""
    if is_above:
        advice = "Let BIGMIND_DATABASE_URL name an ordinary role that owns the database: none holds a superuser."
        return Check("wall", CheckStatus.WARNING, "this role sees everybody's private rows", advice)
    if not takes_our_tokens():
        advice = "Set BIGMIND_SECRET_KEY to that of the worker; if the key is new, restart the worker with it."
        return Check("wall", CheckStatus.PROBLEM, "the database does not accept this BIGMIND_SECRET_KEY", advice)
    works = "worker" in parts
    if works and is_pooled(owner_alias()):
        advice = "Let BIGMIND_DATABASE_OWNER_URL reach the server past the pool: migrations and indexes need a session."
        found = "a pool stands before the database, and no address leads past it"
        return Check("wall", CheckStatus.PROBLEM, found, advice)
    if works and not is_read_only() and not may_change_schema():
        advice = "Give the worker BIGMIND_DATABASE_OWNER_URL, the role that owns the tables."
        found = f"{role} may not change the tables: this worker neither migrates nor makes indexes"
        return Check("wall", CheckStatus.WARNING, found, advice)
    of_role = f"{role} owns the tables" if _owns_tables() else f"{role} reads and writes rows, and may do no more"
    pool = "; it is behind a pool" if is_pooled(DEFAULT_DB_ALIAS) else ""
    return Check("wall", CheckStatus.OK, f"the database keeps private rows apart; {of_role}{pool}")


def _changes() -> Check:
    """Check that processes hear each other's changes: nobody can listen through a pool that lends transactions."""
    if is_read_only():
        return Check("changes", CheckStatus.SKIPPED, "a replica tells of none")
    try:
        parameters = {**listening_parameters(), "connect_timeout": PATIENCE_SECONDS}
        with psycopg.connect(**parameters) as ear, psycopg.connect(**parameters) as speaker:
            is_heard = hears(ear, speaker, seconds=PATIENCE_SECONDS)
    except psycopg.OperationalError as error:
        advice = "Let the role of BIGMIND_DATABASE_URL in where BIGMIND_DATABASE_DIRECT_URL leads."
        return Check("changes", CheckStatus.WARNING, str(error).strip().splitlines()[-1].strip(), advice)
    if is_heard:
        return Check("changes", CheckStatus.OK, "agents that listen are told of them")
    advice = "Let BIGMIND_DATABASE_DIRECT_URL name the server past the pool: web processes listen there."
    found = "nobody can listen through the pool before the database: agents that subscribed are told of no changes"
    return Check("changes", CheckStatus.WARNING, found, advice)


def _pool() -> Check:
    """Check how long an outage of the database lasts through a pool, as far as the pool lets us see its settings."""
    if not is_pooled(DEFAULT_DB_ALIAS):
        return Check("pool", CheckStatus.OK, "none")
    console = {**connection.get_connection_params(), "dbname": "pgbouncer", "connect_timeout": PATIENCE_SECONDS}
    try:
        with psycopg.connect(**console, autocommit=True) as pool:
            settings = {name: value for name, value, *_ in pool.execute("SHOW CONFIG")}
        found = {name: float(settings[name]) for name in POOL_SECONDS}
    except (psycopg.Error, KeyError):
        return _skip("pool", "only its stats_users may read its settings; docs/growing.md says which it needs")
    words = ", ".join(f"{name} = {seconds:g}" for name, seconds in found.items())
    if all(0 < seconds <= POOL_SECONDS[name] for name, seconds in found.items()):
        return Check("pool", CheckStatus.OK, f"PgBouncer: {words}")
    advice = "Set server_login_retry = 1 and query_wait_timeout = 5 in pgbouncer.ini, and RELOAD it."
    worse = f"PgBouncer makes each outage of the database longer: {words}"
    return Check("pool", CheckStatus.WARNING, worse, advice)


def _owns_tables() -> bool:
    with connection.cursor() as cursor:
        cursor.execute(OWNS_TABLES)
        row = cursor.fetchone()
    return bool(row and row[0])


def machines(environment: Environment) -> Check:
    """Check that machines on one database share the required settings, without which sessions do not carry over."""
    with connection.cursor() as cursor:
        cursor.execute(_MACHINES)
        (count,) = cursor.fetchone() or (0,)
    shared = {"BIGMIND_SECRET_KEY": environment.secret_key, "BIGMIND_REDIS_URL": environment.redis_url}
    missing = [name for name, value in shared.items() if not value.get_secret_value()]
    if count > 1 and missing:
        advice = "Set it to the same on each of them, and restart them: sessions, limits and queues are shared by it."
        found = f"{count} machines use this database, and {' and '.join(missing)} is not set"
        return Check("machines", CheckStatus.PROBLEM, found, advice)
    return Check("machines", CheckStatus.OK, f"{max(count, 1)} on this database, as far as it sees")


def broker(environment: Environment) -> Check:
    """Check what wakes the worker: Redis, or the folder of the file queue."""
    part = health.broker()
    if part.error:
        advice = "Start Redis, or check BIGMIND_REDIS_URL; without Redis, see the folder of the queue."
        return Check("broker", CheckStatus.PROBLEM, part.error, advice)
    has_redis = bool(environment.redis_url.get_secret_value())
    return Check("broker", CheckStatus.OK, "Redis answers" if has_redis else f"files in {environment.home / 'queue'}")


def worker(parts: Collection[str]) -> Check:
    """Check that each worker takes what waits."""
    error = health.worker(is_known=True).error or ("none was ever seen" if worker_error() is None else "")
    if not error:
        return Check("worker", CheckStatus.OK, "takes work")
    if "worker" not in parts:
        return Check("worker", CheckStatus.WARNING, error, "Where it runs, see worker.log: bigmind up --only worker")
    return Check("worker", CheckStatus.PROBLEM, error, "See the broker, and worker.log; then restart BigMind.")


def web(url: str) -> Check:
    """Check that the web server answers at its public address."""
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


def processes(environment: Environment) -> Check:
    """Check how many web processes `bigmind up` runs here: while the only one restarts, nobody is served."""
    from bigmind.embedded.up import default_web_processes

    count = environment.web_processes or default_web_processes()
    if count > 1:
        return Check("processes", CheckStatus.OK, f"{count} web processes: one is enough to go on")
    advice = "Set BIGMIND_WEB_PROCESSES=2, or give the machine more than 1 GB of memory, and restart BigMind."
    found = "one web process: nobody is served for seconds when it ends"
    return Check("processes", CheckStatus.WARNING, found, advice)


def sessions(url: str) -> Check:
    """Do an agent's handshake at the public address, then make calls in that session over other connections.

    Behind a load balancer these calls reach other processes and machines, each of which must know the session.
    """
    key = os.environ.get("BIGMIND_API_KEY", "")
    headers = {"Accept": "application/json, text/event-stream", **({"Authorization": f"Bearer {key}"} if key else {})}
    try:
        first = httpx.post(f"{url}/mcp", json=HANDSHAKE, headers=headers, timeout=PATIENCE_SECONDS)
        if not key:
            return _asks_for_key(first)
        session = {**headers, "Mcp-Session-Id": first.headers.get("Mcp-Session-Id", "")}
        ping = {"jsonrpc": "2.0", "id": 2, "method": "ping"}
        calls = range(SESSION_CALLS if first.status_code == 200 else 0)
        later = [httpx.post(f"{url}/mcp", json=ping, headers=session, timeout=PATIENCE_SECONDS) for _ in calls]
    except httpx.HTTPError as error:
        return Check("sessions", CheckStatus.SKIPPED, f"{url} does not answer ({type(error).__name__})")
    if first.status_code != 200:
        found = f"the handshake of agents is answered with {first.status_code}"
        return Check("sessions", CheckStatus.PROBLEM, found, "Check BIGMIND_API_KEY, and what the proxy passes on.")
    if lost := [one.status_code for one in later if one.status_code != 200]:
        found = f"{len(lost)} of {SESSION_CALLS} calls in a session of an agent are answered with {lost[0]}"
        advice = "Give all machines the same BIGMIND_SECRET_KEY, and let the proxy pass Mcp-Session-Id on."
        return Check("sessions", CheckStatus.PROBLEM, found, advice)
    return Check("sessions", CheckStatus.OK, "an agent's session holds over new connections")


def _asks_for_key(answer: httpx.Response) -> Check:
    if answer.status_code == 401:
        found = "agents are asked for a key; with BIGMIND_API_KEY set a session is tried as well"
        return Check("sessions", CheckStatus.OK, found)
    found = f"/mcp answers {answer.status_code} where 401 is due"
    return Check("sessions", CheckStatus.PROBLEM, found, "Let the proxy pass /mcp on as it comes.")


def check_hooks(environment: Environment) -> Iterator[Check]:
    """Run the hooks installed in clients on this machine, with an event that changes nothing."""
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
    failed += f" ({failure.late} answers too late, {failure.away} events not taken so far)" if failure else ""
    if trial.error:
        # The client goes on, and nothing is lost: the checks of BigMind above say what is wrong.
        is_away = trial.status is not None and (trial.status in {0, 429} or trial.status >= 500)
        status = CheckStatus.WARNING if is_away else CheckStatus.PROBLEM
        advice = "Clients go on. Start BigMind, and it gets what waits." if is_away else again
        return Check("hooks", status, f"{where}: {trial.error}{waiting}{failed}", advice)
    found = f"{where}: {trial.entries} hooks, {trial.milliseconds} ms{waiting}{failed}"
    if trial.untrusted:
        advice = "Start codex and choose “Review hooks” or “Trust all”: it skips the others without a word."
        return Check("hooks", CheckStatus.WARNING, f"{found}; {trial.untrusted} of them are not trusted", advice)
    return Check("hooks", CheckStatus.OK, found)


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


def _part(part: health.HealthCheck, advice: str, status: CheckStatus = CheckStatus.PROBLEM) -> Check:
    """What `/readyz` reports about a part, in its words."""
    if part.note:
        return Check(part.name, CheckStatus.SKIPPED, part.note)
    return Check(part.name, status, part.error, advice) if part.error else Check(part.name, CheckStatus.OK, "well")


def _skip(name: str, reason: str = "BigMind is not running") -> Check:
    return Check(name, CheckStatus.SKIPPED, reason)
