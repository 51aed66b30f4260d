"""Announces changes to all processes by PostgreSQL's NOTIFY: each may have agents that listen."""

import json
from dataclasses import asdict, dataclass
from functools import partial
from typing import Any, Self
from uuid import UUID, uuid4

import psycopg
from django.conf import settings
from django.db import connection, transaction

CHANNEL = "bigmind_changes"
ANY = "*"
"""A domain of notes that is not known: any may have changed."""

# No need to wait for the disk: after a crash all listeners connect and read again.
_TELL = "SELECT set_config('synchronous_commit', 'off', true), pg_notify(%s, %s)"


@dataclass(frozen=True)
class Change:
    """A change of what a person's agents receive at the start of a session.

    Attributes:
        user: The id of whose memory it is; empty means that everybody's context changed.
        domain: The domain of the note that changed, if one did.
    """

    user: str = ""
    domain: str = ""

    @classmethod
    def of(cls, user_id: UUID, domain: str = "") -> Self:
        """Return a change of one person's memory."""
        return cls(str(user_id), domain)

    @classmethod
    def read(cls, text: str) -> Self:
        """Read the announcement of another process."""
        return cls(**json.loads(text))

    def text(self) -> str:
        """Return it as the text of an announcement."""
        return json.dumps(asdict(self))


def listening_parameters(*, past_pool: bool = True) -> dict[str, Any]:
    """Return the parameters of a connection that listens. A pool in transaction mode lets nobody listen.

    Args:
        past_pool: Go to the server itself, with the role of the application, where its address is known.
    """
    known = connection.get_connection_params()
    # What of Django's parameters an asynchronous connection takes.
    kept = {name: value for name, value in known.items() if name not in {"cursor_factory", "context"}}
    return {**kept, "autocommit": True, **(settings.LISTENS_AT if past_pool else {})}


def hears(ear: psycopg.Connection[Any], speaker: psycopg.Connection[Any], *, seconds: float) -> bool:
    """Return whether one connection hears the announcements of another.

    A connection that tells it to itself may hear it through a pool, too, while it has the session that listens.
    """
    token = uuid4().hex
    ear.execute(f"LISTEN {CHANNEL}")
    speaker.execute("SELECT pg_notify(%s, %s)", [CHANNEL, token])
    return any(notice.payload == token for notice in ear.notifies(timeout=seconds, stop_after=1))


def tell_of_change(change: Change) -> None:
    """Announce a change to all processes after the commit, or now where no transaction is open."""
    transaction.on_commit(partial(_tell, change))


def _tell(change: Change) -> None:
    with connection.cursor() as cursor:
        cursor.execute(_TELL, [CHANNEL, change.text()])
