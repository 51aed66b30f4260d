"""Production on one machine: every part a process of its own, and each of them real."""

import signal
import time
from collections import Counter
from collections.abc import Iterator
from contextlib import ExitStack, contextmanager, suppress
from dataclasses import dataclass, field
from pathlib import Path
from threading import Thread
from typing import Any
from uuid import uuid4

from celery import Celery
from kombu.exceptions import OperationalError
from redis.exceptions import RedisError

from bigmind.core.background import WOKEN_BY
from bigmind.embedded import cluster
from bigmind.embedded.programs import programs_for
from bigmind.text.hygiene import digest
from knowledge.embeddings.hashing import Hashing
from knowledge.models.passages import FORM
from tests.drill.proxies import Proxy
from tests.embedded.console import Console
from tests.embedded.instance import eventually, free_port
from tests.growing.compose import Service
from tests.growing.server import ROOT, TwoRoles, see_everybody, two_roles
from tests.pool import Pool
from tests.redis_server import RedisServer
from tests.torture.callers import Caller, Made, calling_by_hand
from tests.torture.writers import Writers
from tests.torture.writes import NOT_NOW_OF_A_PROXY, NotAsPromised, Write, acknowledged, client_of

READY = "Ctrl-C stops it"
SESSIONS = 20
PATIENCE = 30.0
"""Seconds in which an answer may come: a busy machine is no failure."""
WRITERS = 3
SERIAL = ("2025-11-25", "2026-07-28")
AWAY = (OperationalError, RedisError, OSError)
CHEAP_TASK = "knowledge.tasks.forget_expired_notes"
"""What a worker takes up only when it is sent: nothing has expired."""
FREELY = {"BIGMIND_RATE_LIMIT": "1000000", "BIGMIND_WAITING_PER_PERSON": "1000"}
"""A limit that nobody reaches, so that every call is counted in Redis."""

_STORED = "SELECT fact FROM knowledge_fact UNION ALL SELECT hypothesis FROM knowledge_hypothesis"
_FLAGGED = "SELECT content FROM knowledge_chunk"
_WITHOUT_VECTOR = """
SELECT count(*) FROM knowledge_passage AS passage WHERE NOT EXISTS (
    SELECT 1 FROM knowledge_passagevector AS made WHERE made.passage_id = passage.id AND made.vector IS NOT NULL)
"""
_VECTORS_OF_ONE = """
SELECT count(*) FROM knowledge_passage AS passage JOIN knowledge_passagevector AS made ON made.passage_id = passage.id
WHERE passage.text LIKE %s AND made.vector IS NOT NULL
"""


@dataclass
class Load:
    """Clients that write without end: MCP of both revisions, and REST with keys against doing things twice."""

    callers: list[Caller]
    writers: Writers

    def go_on(self) -> None:
        """Return when each has made more calls that succeeded."""
        self.writers.wait_for_each()
        for caller in self.callers:
            caller.wait_for_more()

    def calls(self) -> int:
        """Return how many calls there were."""
        return sum(len(caller.made) for caller in self.callers) + sum(
            one.tries for one in list(self.writers.acknowledgements)
        )

    def failures(self) -> list[Made]:
        """Return the calls over MCP that failed."""
        return [call for caller in self.callers for call in caller.failures()]

    def tried_again(self) -> list[str]:
        """Return what the writes over REST met that needed more than one try."""
        return [one.trouble for one in self.writers.acknowledgements if one.tries > 1]

    def summary(self) -> str:
        """Return the figures, for the report."""
        again = len(self.tried_again())
        return f"{self.calls()} calls: {len(self.failures())} of MCP failed, {again} writes of REST were tried again"


class Work:
    """Since when each part is at work again, in seconds since a moment: looked at from outside, by what it does."""

    def __init__(self, production: "Production", name: str) -> None:
        self.seconds: dict[str, float] = {}
        self.surprise = ""
        self._production, self._began = production, time.monotonic()
        self._text = f"Work goes on after {name}."
        ((self._since,),) = production.query("SELECT clock_timestamp()")

    def wait(self, *, within: float = 60.0) -> "Work":
        """Write something, send a task, and return when all is done and every worker answers."""
        writing, sending = Thread(target=self._write, daemon=True), Thread(target=self._send, daemon=True)
        writing.start()
        sending.start()
        looks = {
            "a new fact has its vector": lambda: self._production.has_vector(self._text),
            "a task is taken": self._is_taken,
            "both workers answer": lambda: self._production.workers_that_answer() == len(self._production.workers),
            "the scheduler sends": self._is_scheduled,
        }
        while len(self.seconds) < len(looks) + 1 and time.monotonic() < self._began + within:
            for name, look in looks.items():
                if name not in self.seconds and look():
                    self._note(name)
            time.sleep(0.1)
        for name in ("a write is acknowledged", *looks):
            self.seconds.setdefault(name, float("inf"))
        return self

    def slowest(self) -> float:
        """Return the seconds until all but the scheduler, which sends every 15 s, was at work."""
        return max(seconds for name, seconds in self.seconds.items() if name != "the scheduler sends")

    def summary(self) -> str:
        """Return the figures, for the report."""
        told = ", ".join(f"{name} after {seconds:.1f} s" for name, seconds in self.seconds.items())
        return f"{told}{'; ' if self.surprise else ''}{self.surprise}"

    def _note(self, name: str) -> None:
        self.seconds[name] = time.monotonic() - self._began

    def _write(self) -> None:
        with client_of(self._production, timeout=5.0) as client:
            try:
                acknowledged(client, Write("fact", self._text), not_now=NOT_NOW_OF_A_PROXY)
            except NotAsPromised as surprise:
                self.surprise = str(surprise)
            else:
                self._note("a write is acknowledged")

    def _send(self) -> None:
        while "a task is taken" not in self.seconds and time.monotonic() < self._began + 60:
            self._production.send(CHEAP_TASK)
            time.sleep(1)

    def _is_taken(self) -> bool:
        asked = "SELECT count(*) FROM accounts_tasktally WHERE task = %s AND ended_at > %s"
        return self._production.query(asked, CHEAP_TASK, self._since) == [(1,)]

    def _is_scheduled(self) -> bool:
        asked = "SELECT count(*) > 0 FROM accounts_tasktally WHERE scheduled_at > %s"
        return self._production.query(asked, self._since) == [(True,)]


@dataclass
class Production:
    """Two instances behind a proxy, two workers, a scheduler, and what they need; clients know `url` and `key`."""

    database: TwoRoles
    pool: Pool
    redis: RedisServer
    proxy: Proxy
    webs: list[Service]
    workers: list[Service]
    scheduler: Service
    key: str = ""
    stack: ExitStack = field(default_factory=ExitStack)

    @property
    def url(self) -> str:
        """The address of the proxy."""
        return self.proxy.url

    @property
    def celery(self) -> Celery:
        """What sends tasks, and asks workers whether they take them."""
        sender = Celery("drill", broker=self.redis.url)
        sender.conf.broker_transport_options = {"socket_connect_timeout": 1, "socket_timeout": 2}
        return sender

    def query(self, statement: str, *values: object) -> list[tuple[Any, ...]]:
        """Ask the database directly, past the pool and the wall between people."""
        with self.database.as_owner() as owner:
            return owner.execute(statement, values or None).fetchall()

    def send(self, task: str) -> None:
        """Send a task to whichever worker takes it."""
        with suppress(*AWAY), self.celery as sender:
            # Woken by somebody: what comes without a name the scheduler has sent.
            sender.send_task(task, ignore_result=True, retry=False, headers={WOKEN_BY: "drill"})

    def workers_that_answer(self) -> int:
        """Return how many workers answer from where they take tasks."""
        with suppress(*AWAY), self.celery as sender:
            return len(sender.control.ping(timeout=2.0))
        return 0

    def has_vector(self, text: str) -> bool:
        """Whether a text is found by its meaning."""
        return bool(self.query(_VECTORS_OF_ONE, f"%{text}%")[0][0])

    def wait_until_embedded(self, *, within: float) -> float:
        """Return the seconds until no text waits for its vector."""
        began = time.monotonic()
        eventually(lambda: self.query(_WITHOUT_VECTOR) == [(0,)], within=within)
        return time.monotonic() - began

    def pile_up(self, number: int, name: str) -> None:
        """Let so many texts of the company's wait for their vectors, and wake the workers."""
        put_passages(self, number, name, embedded=False)
        for _ in range(8):
            self.send("knowledge.tasks.embed_pending")

    @contextmanager
    def load(self, name: str) -> Iterator[Load]:
        """Let clients write until the end of the block."""
        with (
            calling_by_hand(self, *SERIAL) as callers,
            Writers(self, WRITERS, name, not_now=NOT_NOW_OF_A_PROXY, timeout=PATIENCE) as writers,
        ):
            for caller in callers:
                caller.name = f"{name}, {caller.name}"
            load = Load(callers, writers)
            load.go_on()
            yield load

    def lost_and_doubled(self, load: Load) -> tuple[list[str], list[str]]:
        """Compare what was acknowledged with what is stored."""
        facts, flags = (Counter(text for (text,) in self.query(asked)) for asked in (_STORED, _FLAGGED))
        stored = facts + flags
        promised = [*load.writers.texts(), *(text for caller in load.callers for text in caller.stored)]
        return [text for text in promised if not stored[text]], [text for text, times in stored.items() if times > 1]

    def console(self, service: Service) -> Console:
        """Return a shell on the machine of a part."""
        ours = {name: value for name, value in service.environment.items() if name.startswith("BIGMIND_")}
        return Console(ours.pop("BIGMIND_HOME") and service.home, **ours)

    def services(self) -> list[Service]:
        """Return all processes of BigMind."""
        return [*self.webs, *self.workers, self.scheduler]


@contextmanager
def production(
    redis_folder: Path, *, kind: str = "haproxy", is_pooled: bool = True, **variables: str
) -> Iterator[Production]:
    """Run all of it."""
    with ExitStack() as stack:
        # What is kept for tests is of the version that BigMind brings; another one is migrated by the first worker.
        is_ours = cluster.programs_for is programs_for
        database, folder = stack.enter_context(two_roles(migrated=is_ours, durable=True))
        (folder / "pool").mkdir()
        (folder / "proxy").mkdir()
        pool = Pool(folder / "pool", database.application_url, sessions=SESSIONS)
        redis = RedisServer(redis_folder)
        ports = [free_port(), free_port()]
        proxy = Proxy(kind, folder / "proxy", ports)
        given = {
            **FREELY,
            "BIGMIND_DATABASE_URL": pool.url if is_pooled else database.application_url,
            "BIGMIND_REDIS_URL": redis.url,
            "BIGMIND_WEB_PROCESSES": "2",
            "BIGMIND_PUBLIC_URL": proxy.url,
            "PYTHONPATH": str(ROOT),  # Each starts from nothing, as in production.
            **variables,
        }
        owner = {"BIGMIND_DATABASE_OWNER_URL": database.owner_url}
        webs = [_at(port, Service("web", folder / f"web-{n}", **given)) for n, port in enumerate(ports, 1)]
        workers = [Service("worker", folder / f"worker-{n}", **given, **owner) for n in (1, 2)]
        whole = Production(
            database, pool, redis, proxy, webs, workers, Service("scheduler", folder / "scheduler", **given)
        )
        for part in (redis, pool):
            stack.enter_context(part)
        stack.callback(proxy.kill)
        for service in whole.services():
            stack.callback(service.hurry)
            service.launch()
        for web in webs:
            web.read_until(READY)
        whole.key = next(web.key for web in webs if "bm_" in web.printed)
        proxy.start()
        eventually(lambda: whole.workers_that_answer() == len(whole.workers), within=120)
        whole.send("knowledge.tasks.embed_pending")
        eventually(lambda: bool(whole.query("SELECT id FROM knowledge_embeddingspace")), within=60)
        yield whole


def _at(port: int, service: Service) -> Service:
    service.port, service.url = port, f"http://localhost:{port}"
    service.environment["BIGMIND_PORT"] = str(port)
    return service


def kill_process(service: Service, name: str) -> None:
    """Kill one process that `bigmind up` runs there, which it starts again."""
    service.processes()[name].kill()


def kill_whole(service: Service) -> None:
    """Kill `bigmind up` with all that it runs."""
    service.process.kill()
    service.finish()


def silence(service: RedisServer, seconds: float) -> None:
    """Let Redis take what it is sent and answer nothing for so long."""
    service.fall_silent()
    time.sleep(seconds)
    service._process.send_signal(signal.SIGCONT)


def put_passages(production: Production, number: int, name: str, *, embedded: bool) -> None:
    """Store texts of the company's directly, as a large import leaves them."""
    texts = [
        f"{name}: rule {n} of {_word(n)} and {_word(n * 7 + 3)} at the {_word(n * 13 + 5)}." for n in range(number)
    ]
    with production.database.as_owner() as owner, owner.transaction():
        see_everybody(owner)
        space, dimensions = owner.execute("SELECT id, dimensions FROM knowledge_embeddingspace").fetchone()
        columns = "kind, source_id, ordinal, project, text, digest, form, created_at"
        with owner.cursor().copy(f"COPY knowledge_passage ({columns}) FROM STDIN") as copy:
            for text in texts:
                copy.write_row(("reference", str(uuid4()), 0, "", text, digest(text), FORM, "now"))
        rows = owner.execute(
            "SELECT id, text FROM knowledge_passage WHERE text LIKE %s", [f"{name}: rule %"]
        ).fetchall()
        with owner.cursor().copy(
            "COPY knowledge_passagevector (passage_id, space_id, kind, vector, trouble) FROM STDIN"
        ) as copy:
            embedder = Hashing(dimensions=dimensions)
            for id, text in rows:
                vector = str(embedder.embed([text])[0].tolist()) if embedded else None
                copy.write_row((id, space, "reference", vector, ""))


def _word(number: int) -> str:
    """Return a word that few other numbers have."""
    return "".join(chr(ord("a") + (number * prime + 11) % 26) for prime in (3, 7, 31, 101, 211, 401))
