"""Connections of the handshake revisions: their id holds what was agreed, so that any process can serve any of them."""

from dataclasses import asdict, dataclass
from functools import lru_cache
from secrets import token_hex

from django.core import signing
from mcp.types.version import HANDSHAKE_PROTOCOL_VERSIONS

from accounts.actor import Actor
from bigmind.transports.mcp.request_context import ClientName

HEADER = "mcp-session-id"
REVISION_HEADER = "mcp-protocol-version"
NAME_CHARS = 100
"""The id travels in a header of each request, so it must stay short; agents are stored with as many characters."""


@dataclass(frozen=True)
class Connection:
    """What client and server agreed on in the handshake."""

    id: str
    revision: str
    client: str
    version: str

    @property
    def introduced(self) -> ClientName:
        """How the client introduced itself."""
        return ClientName(self.client, self.version)


def open_connection(actor: Actor, *, revision: str, client: ClientName) -> str:
    """Return the id of a new connection. Nothing is stored: the id is signed and contains everything."""
    opened = Connection(token_hex(16), revision, client.name[:NAME_CHARS], client.version[:NAME_CHARS])
    return signing.dumps(asdict(opened), salt=_salt(actor))


def read_connection(actor: Actor, session_id: str) -> Connection | None:
    """Return what was agreed; None if we did not issue this id, or issued it to someone else."""
    return _read(session_id, _salt(actor))


# Each request of a client brings the same id, whose signature need not be checked again.
@lru_cache(maxsize=1024)
def _read(session_id: str, salt: str) -> Connection | None:
    try:
        return Connection(**signing.loads(session_id, salt=salt))
    except signing.BadSignature:
        return None


def is_of_a_handshake(revision: str | None) -> bool:
    """Whether this revision of the protocol begins with a handshake. Requests without one come from old clients."""
    return revision is None or revision in HANDSHAKE_PROTOCOL_VERSIONS


def _salt(actor: Actor) -> str:
    """Bind the id to its user, so that any of their keys can continue it, or to a single connected app."""
    app = actor.key.pk if actor.key and actor.is_app else ""
    return f"bigmind.transports.mcp.connections:{actor.user.pk}:{app}"
