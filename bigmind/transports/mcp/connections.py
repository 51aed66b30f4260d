"""Connections of the handshake revisions: their id tells what was agreed, so that any process serves any of them."""

from dataclasses import asdict, dataclass
from secrets import token_hex

from django.core import signing
from mcp.types.version import HANDSHAKE_PROTOCOL_VERSIONS

from accounts.actor import Actor
from bigmind.transports.mcp.request_context import ClientName

HEADER = "mcp-session-id"
REVISION_HEADER = "mcp-protocol-version"
NAME_CHARS = 100
"""The id stands in a header of each request; agents are known by no more."""


@dataclass(frozen=True)
class Connection:
    """What client and server agreed on when they shook hands."""

    id: str
    revision: str
    client: str
    version: str

    @property
    def introduced(self) -> ClientName:
        """How the client introduced itself."""
        return ClientName(self.client, self.version)


def open_connection(actor: Actor, *, revision: str, client: ClientName) -> str:
    """Return the id of a new connection. Nothing is kept: it is signed, and says all by itself."""
    opened = Connection(token_hex(16), revision, client.name[:NAME_CHARS], client.version[:NAME_CHARS])
    return signing.dumps(asdict(opened), salt=_salt(actor))


def read_connection(actor: Actor, session_id: str) -> Connection | None:
    """Return what was agreed, or None if we gave this id to nobody, or to somebody else."""
    try:
        return Connection(**signing.loads(session_id, salt=_salt(actor)))
    except signing.BadSignature:
        return None


def is_of_a_handshake(revision: str | None) -> bool:
    """Whether a request that names this revision, or none, is of one that begins with a handshake."""
    return revision is None or revision in HANDSHAKE_PROTOCOL_VERSIONS


def _salt(actor: Actor) -> str:
    """It belongs to its user, whichever of their keys is shown, or to its own app."""
    app = actor.key.pk if actor.key and actor.is_app else ""
    return f"bigmind.transports.mcp.connections:{actor.user.pk}:{app}"
