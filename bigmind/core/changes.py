"""Changes, told to all processes: each may have agents that listen for them (NOTIFY of PostgreSQL)."""

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

# Nobody waits until the disk has it: after a crash all that listened connect again, and read again.
_TELL = "SELECT set_config('synchronous_commit', 'off', true), pg_notify(%s, %s)"


@dataclass(frozen=True)
class Change:
    """That something changed, of what someone receives at a start.

    Attributes:
        user: The id of whose memory it is; empty means that everybody's context changed.
        domain: The domain of the note that changed, if one did.
    """

    user: str = ""
    domain: str = ""

    @classmethod
    def of(cls, user_id: UUID, domain: str = "") -> Self:
        """Return a change of someone's memory."""
        return cls(str(user_id), domain)

    @classmethod
    def read(cls, text: str) -> Self:
        """Read what another process told."""
        return cls(**json.loads(text))

    def text(self) -> str:
        """How it travels."""
        return json.dumps(asdict(self))


def listening_parameters(*, past_pool: bool = True) -> dict[str, Any]:
    """Return what a connection that listens for changes is made with. A pool that lends transactions lets nobody.

    Args:
        past_pool: Go where the address of the tables' owner leads, with the role of the application.
    """
    known = connection.get_connection_params()
    # What of Django's parameters an asynchronous connection takes.
    kept = {name: value for name, value in known.items() if name not in {"cursor_factory", "context"}}
    return {**kept, "autocommit": True, **(settings.LISTENS_AT if past_pool else {})}


def hears(ear: psycopg.Connection[Any], speaker: psycopg.Connection[Any], *, seconds: float) -> bool:
    """Return whether what one connection tells is heard by another.

    A connection that tells it to itself may hear it through a pool, too, while it has the session that listens.
    """
    token = uuid4().hex
    ear.execute(f"LISTEN {CHANNEL}")
    speaker.execute("SELECT pg_notify(%s, %s)", [CHANNEL, token])
    return any(notice.payload == token for notice in ear.notifies(timeout=seconds, stop_after=1))


def tell_of_change(change: Change) -> None:
    """Tell all processes of a change once it is committed; at once where nothing is to be committed."""
    transaction.on_commit(partial(_tell, change))


def _tell(change: Change) -> None:
    with connection.cursor() as cursor:
        cursor.execute(_TELL, [CHANNEL, change.text()])
