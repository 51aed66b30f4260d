"""Changes, told to all processes: each may have agents that listen for them (NOTIFY of PostgreSQL)."""

import json
from dataclasses import asdict, dataclass
from functools import partial
from typing import Self
from uuid import UUID

from django.db import connection, transaction

CHANNEL = "bigmind_changes"
ANY = "*"
"""A domain of notes that is not known: any may have changed."""

# Nobody waits until the disk has it: after a crash all that listened connect anew, and read again.
_TELL = "SELECT set_config('synchronous_commit', 'off', true), pg_notify(%s, %s)"


@dataclass(frozen=True)
class Change:
    """That something changed, of what somebody is told at a start.

    Attributes:
        user: The id of whose memory it is; empty means that everybody's context changed.
        domain: The domain of the note that changed, if one did.
    """

    user: str = ""
    domain: str = ""

    @classmethod
    def of(cls, user_id: UUID, domain: str = "") -> Self:
        """Return a change of somebody's memory."""
        return cls(str(user_id), domain)

    @classmethod
    def read(cls, text: str) -> Self:
        """Read what another process told."""
        return cls(**json.loads(text))

    def text(self) -> str:
        """How it travels."""
        return json.dumps(asdict(self))


def tell_of_change(change: Change) -> None:
    """Tell all processes of a change once it is committed; at once where nothing is to be committed."""
    transaction.on_commit(partial(_tell, change))


def _tell(change: Change) -> None:
    with connection.cursor() as cursor:
        cursor.execute(_TELL, [CHANNEL, change.text()])
