"""Keeps BigMind's processes running: starts them in order, restarts any that die, and stops them all together."""

import http.client
import time
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import Protocol
from urllib.parse import urlsplit

from bigmind.embedded.cluster import Cluster
from bigmind.embedded.home import CannotStart
from bigmind.embedded.processes import Child, end_together, shorten
from bigmind.embedded.service_manager import ServiceManager
from bigmind.embedded.waiting import Say, Wait

LOOK_EVERY = 0.1
# With a start of 2 to 4 s, a part that keeps dying is still back within 15 s.
FIRST_DELAY, LONGEST_DELAY = 0.5, 4.0
# A process that ran this long is healthy; after its next death the delays start over.
WELL_AFTER = 10.0
SERVED_WITHIN, USUALLY_SERVED_WITHIN = 90.0, 10.0
# An idle worker on the file queue polls every 2 to 4 s.
CHILD_PATIENCE, DATABASE_PATIENCE, HURRIED_PATIENCE = 6.0, 8.0, 2.0


class Service(Protocol):
    """What the supervisor watches."""

    name: str

    def start(self) -> None:
        """Start it, or start it again after it died."""

    def is_alive(self) -> bool:
        """Whether it runs."""

    def how_it_ended(self) -> str:
        """Describe how it ended."""


@dataclass
class Watch:
    """One part, and when it may be started again."""

    part: Service
    delay: float = FIRST_DELAY
    started: float = 0.0
    due: float | None = None

    def start(self) -> None:
        self.started, self.due = time.monotonic(), None
        self.part.start()

    @property
    def is_whole(self) -> bool:
        """Whether the part does its work: one that was started again has to show it first."""
        return self.due is None and (not isinstance(self.part, Child) or self.part.is_at_work())

    def look(self, say: Say) -> None:
        """Notice that the part died, and restart it when its delay is over."""
        if self.due is not None:
            if time.monotonic() >= self.due:
                self._revive(say)
        elif not self.part.is_alive():
            self._postpone(self.part.how_it_ended(), say)
        elif isinstance(self.part, Child) and (symptom := self.part.symptom()):
            self.part.abort()
            self._postpone(symptom, say)

    def _revive(self, say: Say) -> None:
        try:
            self.start()
        except Exception as refusal:  # noqa: BLE001 - on a full disk anything may fail, and it is tried again
            self._postpone(f"could not be started: {refusal}", say)

    def _postpone(self, reason: str, say: Say) -> None:
        if time.monotonic() - self.started > WELL_AFTER:
            self.delay = FIRST_DELAY
        say(f"{self.part.name} {reason}; starting it again in {self.delay:g} s.")
        self.due = time.monotonic() + self.delay
        self.delay = min(self.delay * 2, LONGEST_DELAY)


class Supervisor:
    """Runs the parts of one BigMind until a signal stops it."""

    def __init__(self, say: Say, manager: ServiceManager) -> None:
        self.say = say
        self.manager = manager
        self.cluster: Cluster | None = None
        self.children: list[Child] = []
        self._watches: list[Watch] = []

    def start_database(self, cluster: Cluster) -> None:
        """Start the embedded PostgreSQL and watch it."""
        self.cluster = cluster
        self._begin(cluster)

    def start_child(self, child: Child) -> None:
        """Start a process and watch it."""
        self.children.append(child)
        self._begin(child)

    def wait_until_served(self, url: str, address: tuple[str, int], web: Sequence[Child]) -> None:
        """Wait until one process of the web server answers /healthz.

        Raises:
            CannotStart: it ended, or did not answer in time.
        """
        wait = Wait(self.say, after=USUALLY_SERVED_WITHIN, limit=SERVED_WITHIN)
        while not is_served(url, address):
            if not any(process.is_alive() for process in web):
                raise CannotStart(f"The web server {web[0].how_it_ended()}")
            wait(f"Waiting for the web server; its log is {web[0].log}.")
            if wait.is_over:
                raise CannotStart(f"The web server did not answer for {SERVED_WITHIN:.0f} s; its log is {web[0].log}")
            time.sleep(LOOK_EVERY)

    def watch(self) -> None:
        """Restart parts that die, until an exception says stop."""
        while True:
            for watch in self._watches:
                try:
                    watch.look(self.say)
                except Exception as error:  # noqa: BLE001 - what one part meets must not end what keeps the others running
                    self.say(f"{watch.part.name} could not be looked at: {error}")
            for log in {child.log for child in self.children} | ({self.cluster.log} if self.cluster else set()):
                shorten(log)
            self.manager.report(is_whole=all(watch.is_whole for watch in self._watches))
            time.sleep(LOOK_EVERY)

    def stop(self, is_hurried: Callable[[], bool]) -> None:
        """Let requests and tasks finish, then stop the database they need."""
        self.manager.announce_stop()
        end_together(self.children, CHILD_PATIENCE, is_hurried)
        if self.cluster is not None:
            self.cluster.stop(patience=HURRIED_PATIENCE if is_hurried() else DATABASE_PATIENCE)

    def _begin(self, part: Service) -> None:
        watch = Watch(part)
        watch.start()
        self._watches.append(watch)


def is_served(url: str, address: tuple[str, int]) -> bool:
    """Ask /healthz at a local address, under the public host name: other names are refused."""
    host, port = address
    probe = http.client.HTTPConnection(host, port, timeout=5)
    try:
        probe.request("GET", "/healthz", headers={"Host": urlsplit(url).netloc})
        return probe.getresponse().status == 200
    except (OSError, http.client.HTTPException):
        return False
    finally:
        probe.close()
