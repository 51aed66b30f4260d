"""What `bigmind up` does, in order: check, prepare the database, start the processes, print the address, watch."""

import gc
import json
import os
import signal
import socket
import sys
import webbrowser
from collections.abc import Collection, Sequence
from functools import partial
from pathlib import Path
from types import FrameType

import psutil
from django.conf import settings
from django.db import DEFAULT_DB_ALIAS, InternalError
from pydantic import SecretStr

from accounts.connecting.hook_files import HookFolder
from accounts.people.first_run import Initial, first_run
from accounts.sign_in.links import make_sign_in_link
from bigmind.core.errors import BigMindError
from bigmind.core.full_disk import LineWriter
from bigmind.database.read_only import is_refused_write
from bigmind.database.roles import owner_alias
from bigmind.embedded.cluster import Cluster
from bigmind.embedded.database import hang_up, prepare_database, wait_for_database
from bigmind.embedded.heartbeats import WORKER
from bigmind.embedded.home import METRICS_FOLDER, CannotStart, clear_leftovers, lock_home, prepare_home
from bigmind.embedded.listeners import LOOPBACK, let_in, listen
from bigmind.embedded.preloading import begin_to_preload, preload
from bigmind.embedded.processes import IS_FORKED, Child, end_leftovers, rotate
from bigmind.embedded.scheduling import PULSE_OPTION, SCHEDULER_OPTION
from bigmind.embedded.service_manager import ServiceManager
from bigmind.embedded.supervisor import Supervisor
from bigmind.embedded.waiting import Say
from bigmind.embedded.web import serve
from bigmind.environment import Environment, unknown_variables
from bigmind.environment.parts import find_misplaced

ENOUGH_MEMORY = 1 << 30
ALIVE = "alive"
"""The file in `run` that is there, and fresh, while all parts do their work: container probes look at it."""


class StopRequested(BaseException):
    """Someone asked BigMind to stop. Not an `Exception`, so that no handler on the way takes it for a failure."""


class StopSignals:
    """Counts the requests to stop; the first one interrupts whatever is running."""

    def __init__(self) -> None:
        self.count = 0

    def listen(self) -> None:
        """Start handling the signals."""
        signal.signal(signal.SIGINT, self._note)
        signal.signal(signal.SIGTERM, self._note)
        # `nohup` ignores the closed terminal on purpose.
        if signal.getsignal(signal.SIGHUP) is not signal.SIG_IGN:
            signal.signal(signal.SIGHUP, self._note)

    def is_hurried(self) -> bool:
        """Whether the request was repeated."""
        return self.count > 1

    def _note(self, _number: int, _frame: FrameType | None) -> None:
        self.count += 1
        if self.count == 1:
            raise StopRequested


def initial(environment: Environment) -> Initial:
    """Read BIGMIND_INIT_PASSWORD and BIGMIND_INIT_KEY, or the files that hold them.

    Raises:
        CannotStart: a file cannot be read, or holds nothing.
    """
    return Initial(
        password=_secret(environment.init_password, environment.init_password_file, "BIGMIND_INIT_PASSWORD_FILE"),
        key_text=_secret(environment.init_key, environment.init_key_file, "BIGMIND_INIT_KEY_FILE"),
    )


def _secret(given: SecretStr, file: str, variable: str) -> str:
    if not file:
        return given.get_secret_value()
    try:
        # Editors and `echo` end a file with a line break, which is not part of the password.
        text = Path(file).read_text().rstrip("\r\n")
    except (OSError, UnicodeDecodeError) as error:
        raise CannotStart(f"{variable} cannot be read: {error}") from error
    if not text:
        raise CannotStart(f"{variable} names a file that holds nothing: {file}")
    return text


def ready_lines(url: str, sign_in_link: str | None, key: str | None, home: str) -> str:
    """Return the ready lines. The key is shown only at the first start; only its hash is stored."""
    lines = ["", f"BigMind is ready: {url}", ""]
    if sign_in_link:
        lines += [f"  Sign in (once, within a day):  {sign_in_link}"]
    if key:
        lines += [f"  Your API key (shown only now): {key}", "", *_snippets(url, key), ""]
    else:
        lines += [f"  Connect an agent:              {url}/connect/"]
    return "\n".join([*lines, f"  Data and logs:                 {home}", "", "Ctrl-C stops it. The data stays."])


def _snippets(url: str, key: str) -> list[str]:
    header = f"Authorization: Bearer {key}"
    server = {"type": "http", "url": f"{url}/mcp", "headers": {"Authorization": f"Bearer {key}"}}
    configuration = json.dumps({"mcpServers": {"bigmind": server}}, indent=2)
    return [
        "  Connect an agent, for example Claude Code:",
        f"    claude mcp add --transport http bigmind {url}/mcp --header {json.dumps(header)}",
        "",
        "  or any other MCP client:",
        *(f"    {line}" for line in configuration.splitlines()),
    ]


def bring_up(environment: Environment, parts: Collection[str], say: Say) -> None:
    """Run BigMind until a signal stops it.

    Raises:
        CannotStart: with the reason and the remedy in one sentence; everything already started is stopped again.
    """
    signals = StopSignals()
    signals.listen()
    for warning in warnings(environment, parts):
        say(warning)
    prepare_home(environment.home)
    with lock_home(environment.home, environment.url, parts):
        end_leftovers(environment.home)
        clear_leftovers(environment.home)
        renew_hooks(environment, say)
        supervisor = Supervisor(say, ServiceManager(environment.home / "run" / ALIVE))
        try:
            _start(environment, parts, supervisor)
            supervisor.manager.announce_ready()
            supervisor.watch()
        except StopRequested:
            say("Stopping; Ctrl-C again to hurry.")
        except BigMindError as refusal:
            raise CannotStart(str(refusal)) from refusal
        finally:
            supervisor.stop(signals.is_hurried)


def warnings(environment: Environment, parts: Collection[str]) -> list[str]:
    """Return warnings about settings that are probably a mistake."""
    found = list(find_misplaced(environment, parts))
    found += [
        f"{name} means nothing to BigMind" + (f"; did you mean {nearest}?" if nearest else ".")
        for name, nearest in unknown_variables().items()
    ]
    if environment.bind not in {*LOOPBACK, "localhost"} and not environment.public_url:
        found.append("Other machines are refused until BIGMIND_PUBLIC_URL says which address they use.")
    return found


def renew_hooks(environment: Environment, say: Say) -> None:
    """Update the hook program of clients on this machine. A failure does not stop BigMind from starting."""
    try:
        HookFolder(environment.home / "hooks").renew()
    except BigMindError as refusal:
        say(f"Hooks keep the program of an older version. {refusal}")


def _start(environment: Environment, parts: Collection[str], supervisor: Supervisor) -> None:
    # With one server, clients wait until it has started. With several, the others answer if this one refuses.
    at_once = environment.is_embedded
    sockets = listen(environment.bind, environment.port, at_once=at_once) if "web" in parts else []
    for log in (environment.home / "logs").glob("*.log"):
        rotate(log)
    loading = begin_to_preload() if IS_FORKED and {*parts} != {"scheduler"} else None
    if environment.is_embedded:
        supervisor.start_database(Cluster(environment.home, say=supervisor.say))
    for alias in dict.fromkeys((DEFAULT_DB_ALIAS, owner_alias())):
        wait_for_database(supervisor.say, alias)
    prepare_database(supervisor.say)
    pause = environment.read_only
    if pause and {*parts} - {"web"}:
        supervisor.say("Worker and scheduler pause: BIGMIND_READ_ONLY is on.")
    children = _web(environment, sockets) if sockets else []
    children += [] if pause else _of_celery({*parts} - {"web"}, environment)
    if loading:
        loading.join()
        hang_up()  # Copies of this process must not use its connections.
        preload()
    else:
        gc.enable()
    let_in(sockets, environment.bind, environment.port)
    for child in children:
        supervisor.start_child(child)
    if sockets:
        served_by = [child for child in children if child.name.startswith("web")]
        supervisor.wait_until_served(environment.url, sockets[0].getsockname()[:2], served_by)
        _welcome(environment)


def _web(environment: Environment, sockets: Sequence[socket.socket]) -> list[Child]:
    descriptors = [listener.fileno() for listener in sockets]
    count = environment.web_processes or default_web_processes()
    shared = Path(os.environ.get(METRICS_FOLDER, environment.home / "run"))
    children = []
    for name in [f"web-{number + 1}" for number in range(count)] if count > 1 else ["web"]:
        pulse = shared / f"{name}.pulse"
        command = [sys.executable, "-m", "bigmind.embedded.web", str(pulse), *map(str, descriptors)]
        work = partial(serve, descriptors, pulse)
        children.append(Child(name, command, environment.home, sockets, work=work, pulse=pulse))
    return children


def _of_celery(parts: Collection[str], environment: Environment) -> list[Child]:
    """Return the worker and the scheduler; if both run here, the worker schedules, too."""
    if not parts:
        return []
    schedule = str(environment.home / "run" / "schedule")
    if "worker" not in parts:
        command = scheduler_command(schedule)
        return [Child("scheduler", command, environment.home, work=partial(run_celery, command[2:]))]
    pulse = environment.home / "run" / "worker.pulse"
    command = worker_command(pulse, schedule if "scheduler" in parts else "")
    work = partial(run_celery, command[2:])
    return [Child("worker", command, environment.home, work=work, pulse=pulse, parts=WORKER)]


def run_celery(arguments: list[str]) -> None:
    """Run Celery's program in this process. It imports Celery itself, while the web processes start serving."""
    from celery.__main__ import main as celery_main

    os.environ["CELERY_SKIP_CHECKS"] = "1"  # They load every template, and ran when the database was prepared.
    sys.argv = arguments
    try:
        celery_main()
    finally:
        if settings.TRACES:
            from bigmind.observability.tracing import flush_traces

            flush_traces()


def default_web_processes() -> int:
    """Two, so that one can go on alone; one if memory is scarce."""
    return 2 if memory_bytes() >= ENOUGH_MEMORY else 1


def memory_bytes() -> int:
    """Return how much memory this machine has, or this container may use."""
    machine = psutil.virtual_memory().total
    try:
        return min(machine, int(Path("/sys/fs/cgroup/memory.max").read_text()))
    except (OSError, ValueError):  # Not in a container; “max”.
        return machine


def worker_command(pulse: Path | None = None, schedule: str = "") -> list[str]:
    """Return the command of the worker. Its tasks wait for the database, so threads do, and one process is lighter.

    There are more threads than kinds of work that take long, each of which has few (`BackgroundTask`): so deliveries
    go out beside vectors, app runs, a backup and the making of an index. A thread is started when none is free.

    Args:
        pulse: The file in which it counts what it takes, for a supervisor.
        schedule: The file of the scheduler, where it is a thread of this worker.
    """
    quiet = ["--without-gossip", "--without-mingle", "--without-heartbeat"]
    own = [*([PULSE_OPTION, str(pulse)] if pulse else []), *([SCHEDULER_OPTION, schedule] if schedule else [])]
    worker = ["worker", "--pool=threads", "--concurrency=16", *quiet, *own]
    return [sys.executable, "-m", "celery", "-A", "bigmind", *worker]


def scheduler_command(schedule: str) -> list[str]:
    """Return the command of a separate scheduler, for a machine without a worker."""
    return [sys.executable, "-m", "celery", "-A", "bigmind", "beat", f"--schedule={schedule}", "--pidfile="]


def _first_ways_in(environment: Environment) -> tuple[str | None, str | None]:
    """Return a link to sign in and the first key, each if it is due; neither of a database that takes no writes."""
    try:
        first = first_run(environment.init_user or environment.user, initial(environment))
        # An owner with a password needs no link: anyone who reads the output could use it before them.
        if environment.mode != "personal" and (not first.is_new or first.user.has_usable_password()):
            return None, first.key_text
        return f"{environment.url}/sign-in/{make_sign_in_link(first.user)}/", first.key_text
    except InternalError as error:
        if not is_refused_write(error):
            raise
        return None, None
    finally:
        hang_up()


def _welcome(environment: Environment) -> None:
    """Create the first user and key if there is none, and print the ready lines."""
    link, key = (None, None) if environment.read_only else _first_ways_in(environment)
    LineWriter(sys.stdout).write(ready_lines(environment.url, link, key, str(environment.home)))
    if link and environment.autoopen:
        webbrowser.open(link)
