"""Folds the log lines of an outage: the first is written at once, then one a minute with their number, then its end.

While a database or another service is away, every request and task fails for one reason that is known. A traceback
each time would hide what is not known: errors of any other kind are written as they come.
"""

import logging
import os
import sys
from dataclasses import dataclass, field
from threading import Lock, Thread
from time import monotonic, sleep
from typing import Any

import structlog

DATABASE, REDIS = "database", "Redis"
LOOK_EVERY = 1.0
SAY_EVERY = 60.0
# Without a line for this long it is over; sooner, if an answer came since the last one.
QUIET_FOR, SETTLED_FOR = 60.0, 3.0
NOTE = "More lines like it are counted, and written once a minute."
# By name: a process imports few of these libraries.
_AWAY = {
    "django.db.utils.OperationalError": DATABASE,
    "django.db.utils.InterfaceError": DATABASE,
    "psycopg.OperationalError": DATABASE,
    "psycopg.InterfaceError": DATABASE,
    "redis.exceptions.ConnectionError": REDIS,
    "redis.exceptions.TimeoutError": REDIS,
    "kombu.exceptions.OperationalError": REDIS,
}
# Connection failed, takes no writes, too few resources, shut down. With another code one statement was refused.
_CODES_OF_AWAY = ("08", "25006", "53", "57P")

log = structlog.get_logger()


def outage_behind(error: BaseException | None) -> str:
    """Return which service is away according to an error; empty for any other error."""
    found = ""
    while error is not None:
        if code := getattr(error, "sqlstate", None):
            return DATABASE if code.startswith(_CODES_OF_AWAY) else ""
        names = (f"{kind.__module__}.{kind.__qualname__}" for kind in type(error).__mro__)
        found = found or next((_AWAY[name] for name in names if name in _AWAY), "")
        error = error.__cause__
    return found


def mark_outage(_logger: object, _method: str, event: structlog.types.EventDict) -> structlog.types.EventDict:
    """Name the outage that a line of ours is about, by the exceptions in it, and drop their traceback."""
    raised = sys.exc_info()[1] if event.get("exc_info") is True else event.get("exc_info")
    errors = [error for error in (raised, *event.values()) if isinstance(error, BaseException)]
    if name := event.pop("outage", "") or next(filter(None, map(outage_behind, errors)), ""):
        event.pop("exc_info", None)
        event["outage"] = name
        if errors:
            event["error"] = errors[0]
    return event


@dataclass
class Outage:
    """A service that is away: since when, when a line last said so, and how many were left out."""

    name: str
    began: float = field(default_factory=monotonic)
    last: float = field(default_factory=monotonic)
    said: float = field(default_factory=monotonic)
    answered: float = 0.0
    left_out: int = 0

    def is_over(self, now: float) -> bool:
        """Whether it is answered again, or nothing failed for a while."""
        quiet = now - self.last
        return quiet >= (SETTLED_FOR if self.answered > self.last else QUIET_FOR)


class Outages:
    """The outages of this process, and the thread that reports them while there are any."""

    def __init__(self) -> None:
        self.forget()
        os.register_at_fork(after_in_child=self.forget)

    def forget(self) -> None:
        """Begin without any: the thread of another process is not in its copy."""
        self._open: dict[str, Outage] = {}
        self._lock = Lock()

    def note(self, name: str) -> bool:
        """Note a line about a service that is away, and return whether it is the first one."""
        with self._lock:
            if outage := self._open.get(name):
                outage.last, outage.left_out = monotonic(), outage.left_out + 1
                return False
            self._open[name] = Outage(name)
            if len(self._open) == 1:
                Thread(target=self._report, name="outages", daemon=True).start()
            return True

    def note_answer(self, name: str) -> None:
        """Note that a service answers."""
        if outage := self._open.get(name):
            outage.answered = monotonic()

    def _report(self) -> None:
        while self._open:
            sleep(LOOK_EVERY)
            now = monotonic()
            with self._lock:
                over = [outage for outage in self._open.values() if outage.is_over(now)]
                for outage in over:
                    del self._open[outage.name]
                lasting = [outage for outage in self._open.values() if now - outage.said >= SAY_EVERY]
                for outage in lasting:
                    outage.said = now
            for outage in lasting:
                self._say("An outage goes on.", outage)
            for outage in over:
                self._say("An outage is over.", outage)

    def _say(self, words: str, outage: Outage) -> None:
        seconds = round(outage.last - outage.began, 1)
        log.warning(words, service=outage.name, seconds=seconds, lines_left_out=outage.left_out)


OUTAGES = Outages()


def follow_database() -> None:
    """Note each connection that the database accepts."""
    from django.db.backends.signals import connection_created

    def note(connection: Any, **_: object) -> None:
        OUTAGES.note_answer(DATABASE if connection.alias != "replica" else connection.alias)

    connection_created.connect(note, weak=False, dispatch_uid="bigmind.observability.outages")


class FoldOutages(logging.Filter):
    """Lets the first line of each outage through, without a traceback."""

    def filter(self, record: logging.LogRecord) -> bool:
        """Return whether to write a line."""
        event: Any = record.msg  # A line of ours is a dictionary.
        is_ours, error = isinstance(event, dict), _error_in(record)
        name = event.get("outage", "") if is_ours else outage_behind(error)
        if not name:
            return True
        if not OUTAGES.note(name):
            return False
        if is_ours:
            record.msg = {**event, "note": NOTE}
        else:
            first, reason = (text.strip().partition("\n")[0] for text in (record.getMessage(), str(error)))
            record.msg, record.args = f"{first} ({reason}) {NOTE}", ()
            record.exc_info = record.exc_text = None
        return True


def _error_in(record: logging.LogRecord) -> BaseException | None:
    """Return the exception that a line of a library is about: what it raised, or one among its words."""
    raised: Any = record.exc_info[1] if isinstance(record.exc_info, tuple) else None
    words = record.args if isinstance(record.args, tuple) else ()
    return raised or next((word for word in words if isinstance(word, BaseException)), None)
