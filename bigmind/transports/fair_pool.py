"""Fair shares of the threads: people take turns, and slow work never holds up what is quick (decision 36).

Each person has a queue of quick and one of slow work, and free threads go round the people. Slow work has at most half
of the threads. While others are at work, too, a person has a quarter of the threads, and one slow operation in all
pools, and for each two processors of the machine one in all web processes.
"""

import asyncio
from collections import Counter, OrderedDict, deque
from collections.abc import Callable, Iterator
from concurrent.futures import Executor, Future
from contextlib import contextmanager
from contextvars import ContextVar
from dataclasses import dataclass, field
from threading import Condition, Thread
from typing import Any, ClassVar, TypeVar

from django.conf import settings

from bigmind.core.errors import TooMany
from bigmind.transports.shared_load import LOOK_AGAIN_SECONDS, AtWork, at_work_here

# The event loop and the threads share one interpreter lock. At the default of 5 ms a thread that comes back from the
# database waits for the lock longer than it worked: calls took twice as long (make bench).
SWITCH_SECONDS = 0.0005
RETRY_AFTER = 5
MOST_KNOWN = 10_000
ADDRESS = "address "
"""What the name of someone begins with of whom no more is known. How many wait, the limits of connections decide."""

Answer = TypeVar("Answer")


class NobodyWaits(Exception):
    """Work that was not begun, because the one who wanted it has left."""


def _stays() -> bool:
    return False


@dataclass(frozen=True)
class Share:
    """Whose work something is, whether it is slow (a search, an import, an export), and whether it may be refused.

    Attributes:
        has_left: Whether nobody waits for it any more. Asked by any thread, until it begins.
    """

    person: str = ""
    is_slow: bool = False
    is_limited: bool = field(default=True, compare=False)
    has_left: Callable[[], bool] = field(default=_stays, compare=False)


_SHARE: ContextVar[Share] = ContextVar("share", default=Share())  # noqa: B039 - it is frozen


@contextmanager
def share_of(
    person: str, *, is_slow: bool = False, is_limited: bool = True, has_left: Callable[[], bool] = _stays
) -> Iterator[None]:
    """Let what is handed to a pool within this block be the work of a person."""
    token = _SHARE.set(Share(person, is_slow, is_limited and not person.startswith(ADDRESS), has_left))
    try:
        yield
    finally:
        _SHARE.reset(token)


@dataclass(frozen=True)
class Work:
    """Something to do on a thread."""

    share: Share
    do: Callable[[], Any]
    future: "Future[Any]" = field(default_factory=Future)

    def run(self) -> None:
        """Do it, unless nobody waits for it any more."""
        if not self.future.set_running_or_notify_cancel():
            return
        if self.share.has_left():
            self.future.set_exception(NobodyWaits())
            return
        try:
            answer = self.do()
        except BaseException as error:  # noqa: BLE001 - it is raised where the call waits
            self.future.set_exception(error)
        else:
            self.future.set_result(answer)


Queues = OrderedDict[str, deque[Work]]


class FairPool(Executor):
    """Threads that live as long as the process, so that each keeps its connection to the database, shared out fairly.

    A thread is started when there is work and none is free, up to `threads`. `waiting` is how much of one person's work
    may wait, quick or slow; without it, what BIGMIND_WAITING_PER_PERSON says at the moment.
    """

    pools: ClassVar[list["FairPool"]] = []
    at_work: ClassVar[AtWork] = at_work_here()

    def __init__(self, name: str, threads: int, waiting: int | None = None) -> None:
        self.threads, self._name, self._waiting = threads, name, waiting
        self._slow_threads = max(1, threads // 2)
        self._queues: dict[bool, Queues] = {False: OrderedDict(), True: OrderedDict()}
        self._probes: deque[Work] = deque()
        self._changed = Condition()
        self._started = self._idle = self._queued = 0
        self._held_back = self._looking = False
        self._running: Counter[Share] = Counter()
        self.pools.append(self)

    def submit(self, fn: Callable[..., Answer], /, *arguments: Any, **named: Any) -> "Future[Answer]":
        """Take up work of the person whose share this is.

        The future ends with `NobodyWaits` if they leave before it begins.

        Raises:
            TooMany: so much of theirs is waiting already.
        """
        work = Work(_SHARE.get(), lambda: fn(*arguments, **named))
        with self._changed:
            queue = self._queues[work.share.is_slow].setdefault(work.share.person, deque())
            most = self._waiting or settings.WAITING_PER_PERSON
            if work.share.is_limited and len(queue) >= most:
                self._forget_left(queue)
            if work.share.is_limited and len(queue) >= most:
                raise TooMany(
                    f"{len(queue)} of your {'slow' if work.share.is_slow else 'quick'} calls are waiting here already, "
                    "as many as may (BIGMIND_WAITING_PER_PERSON).",
                    retry_after=RETRY_AFTER,
                )
            queue.append(work)
            self._queued += 1
            # Addresses are left out: they ask how BigMind is. And so is what BigMind does for nobody, such as its log.
            if work.share.person and not work.share.person.startswith(ADDRESS):
                self.at_work.note(work.share.person)
            self._wake()
        return work.future

    def finish(self) -> None:
        """Return when nothing runs any more."""
        with self._changed:
            self._changed.wait_for(lambda: not self._running)

    def probe(self) -> "Future[None]":
        """Return what is done as soon as a thread is free, before all other work."""
        work = Work(Share(), lambda: None)
        with self._changed:
            self._probes.append(work)
            self._queued += 1
            self._wake()
        return work.future

    def _wake(self) -> None:
        if self._queued > self._idle and self._started < self.threads:
            self._started += 1
            # A daemon, because it waits for work without an end; `finish_work` waits for what it does.
            Thread(target=self._serve, name=f"{self._name}-{self._started}", daemon=True).start()
        else:
            self._changed.notify()

    def _forget_left(self, queue: deque[Work]) -> None:
        """Remove from a queue what nobody waits for any more."""
        for work in [work for work in queue if work.share.has_left()]:
            queue.remove(work)
            self._queued -= 1
            work.run()

    def _serve(self) -> None:
        while True:
            with self._changed:
                while (work := self._next()) is None:
                    # One of the idle threads looks whether another process has left a place for what waits here.
                    looks, self._held_back = self._held_back and not self._looking, False
                    self._looking |= looks
                    self._idle += 1
                    self._changed.wait(LOOK_AGAIN_SECONDS if looks else None)
                    self._idle -= 1
                    self._looking &= not looks
                self._queued -= 1
                self._running[work.share] += 1
            work.run()
            share = work.share
            del work  # An idle thread keeps nobody's arguments and reply.
            with self._changed:
                self._running[share] -= 1
                if share.is_slow:
                    self.at_work.end_slow(share.person, has_more=share.person in self._queues[True])
                if not self._running[share]:
                    del self._running[share]
                # A place of this person or of slow work is free again, which someone idle may have waited for.
                self._changed.notify_all()
            if share.is_slow:
                self._tell_others()

    def _tell_others(self) -> None:
        """Wake the other pools: a person's slow work counts in all of them."""
        for pool in self.pools:
            if pool is not self:
                with pool._changed:
                    pool._changed.notify()

    def _next(self) -> Work | None:
        """Return what a free thread does next; None when nothing may begin."""
        if self._probes:
            return self._probes.popleft()
        # One thread of several is there for slow work before anything quick: it would wait for ever in a flood.
        if self.threads > 1 and not self._slow() and (work := self._take(is_slow=True)):
            return work
        if work := self._take(is_slow=False):
            return work
        return self._take(is_slow=True) if self._slow() < self._slow_threads else None

    def _take(self, *, is_slow: bool) -> Work | None:
        """Take the first work of the person whose turn it is, and let them go behind the others."""
        queues = self._queues[is_slow]
        for person in list(queues):
            queue = queues[person]
            is_alone = not self.at_work.others_than(person)
            if self._running[Share(person, is_slow)] >= self._most_of(person, is_slow=is_slow, is_alone=is_alone):
                continue
            if is_slow and not self.at_work.begin_slow(person, is_alone=is_alone):
                self._held_back = True
                continue
            work = queue.popleft()
            if queue:
                queues.move_to_end(person)
            else:
                del queues[person]
            return work
        return None

    def _most_of(self, person: str, *, is_slow: bool, is_alone: bool) -> int:
        """Return how much of a person's work may run at once."""
        if is_alone:
            return self._slow_threads if is_slow else self.threads
        if not is_slow:
            return max(1, self.threads // 4)
        share = Share(person, is_slow)
        return 1 - sum(pool._running.get(share, 0) for pool in self.pools if pool is not self)

    def _slow(self) -> int:
        return sum(count for share, count in self._running.items() if share.is_slow)


def finish_work() -> None:
    """Return when nothing runs any more: a write is not torn in half because its process ends."""
    for pool in FairPool.pools:
        pool.finish()


async def probe_threads() -> None:
    """Return when every pool has had a thread free. One of a single thread has none during a long import."""
    await asyncio.gather(*(asyncio.wrap_future(pool.probe()) for pool in FairPool.pools if pool.threads > 1))


class People:
    """Who showed which key or session a moment ago: until it is looked up, a request waits in the right queue.

    What is known only decides whose turn it is. It may be out of date, and opens nothing.
    """

    _known: ClassVar[OrderedDict[int, str]] = OrderedDict()

    @classmethod
    def note(cls, shown: str, person: object) -> None:
        """Remember whose key, token or session this is."""
        # By a hash: no key stays here, and a clash would change whose turn it is and nothing else.
        cls._known[hash(shown)] = str(person)
        while len(cls._known) > MOST_KNOWN:
            cls._known.popitem(last=False)

    @classmethod
    def find(cls, shown: str, address: str) -> str:
        """Return whose turn a request takes: its person's, or that of all from its address of whom no more is known."""
        return (cls._known.get(hash(shown)) if shown else None) or ADDRESS + address
