"""Row-level security: PostgreSQL itself limits a request to the private rows of the user who sent it.

Services already filter by owner. Should one of them forget to, the database still holds: policies on every table of
private memory compare the row's owner with whom the transaction may see. The migrations that make a table make its
policy; `knowledge/migrations/0036_sees_by_token.py` has what they all ask. Whom a transaction may see is a setting of
it, `bigmind.sees`, and it counts only with a token that the application alone can make: an injected statement may set
it, and sees no more by that. Decision 0037 explains it, and what it costs.

In a process that serves requests, each connection starts without access to any private row. Commands, tasks and
migrations work for the whole instance, and see the rows of all users.
"""

import hmac
from collections.abc import Iterator
from contextlib import contextmanager
from functools import cache, lru_cache
from hashlib import sha256
from typing import TYPE_CHECKING, cast
from uuid import UUID

from django.conf import settings
from django.db import connection

if TYPE_CHECKING:
    from bigmind.database.postgresql.base import DatabaseWrapper

# The functions in the migrations contain these names too.
SETTING = "bigmind.sees"
EVERYBODY = "everybody"
NOBODY = "nobody"
KEY_TABLE = "bigmind_row_key"
_BLOCK = 64
"""Bytes of a block of SHA-256, to which HMAC fills its key up."""

_has_keys = True


class FIRST:
    """What new connections of this process can see."""

    sees = EVERYBODY


def begin_seeing(whom: str) -> None:
    """Set what new connections of this process can see: `NOBODY` or `EVERYBODY`."""
    FIRST.sees = whom


@contextmanager
def deny_by_default() -> Iterator[None]:
    """Give connections no access to private rows inside this block: the user is not known yet."""
    begin_seeing(NOBODY)
    try:
        yield
    finally:
        begin_seeing(EVERYBODY)


@contextmanager
def rls_scope(user_id: UUID) -> Iterator[None]:
    """Limit reads and writes inside this block to the private rows of one user."""
    with _seeing(str(user_id)):
        yield


@contextmanager
def rls_bypass() -> Iterator[None]:
    """Let queries inside this block read and write the private rows of all users.

    Wrap the one query that needs it and nothing else: reading what people chose to share, taking back a company entry
    as an admin, deleting a user with all they own. No policy protects these places, so each of them must check for
    itself what it may show.
    """
    with _seeing(EVERYBODY):
        yield


@contextmanager
def _seeing(whom: str) -> Iterator[None]:
    """Set whose rows this thread's connection asks for. The next statement carries it, so it costs no round trip."""
    wrapper = cast("DatabaseWrapper", connection)
    before, wrapper.sees = wrapper.sees, whom
    try:
        yield
    finally:
        wrapper.sees = before


@lru_cache(maxsize=4096)
def token_of(whom: str, session: int | None = None) -> str:
    """Return what a transaction sets to see someone's rows.

    Args:
        session: The process of the server that alone takes it; None is taken by any, for where a pool chooses it.
    """
    if whom == NOBODY or not _has_keys:
        return whom
    spoken = f"{whom}:{session or ''}".encode()
    return f"{whom}:{hmac.new(_own_key(), spoken, sha256).hexdigest()}"


def use_tokens(has_keys: bool = True) -> None:
    """Make tokens of the secret key that is set now, or none: a database that is yet to be migrated knows no keys."""
    global _has_keys
    _has_keys = has_keys
    _own_key.cache_clear()
    token_of.cache_clear()


def key_statements() -> list[str]:
    """Return the statements by which the owner of the tables tells the database which tokens to take.

    HMAC hashes twice, with the key filled up and masked in two ways. The database keeps these two: it has sha256, and
    HMAC only by an extension that not every server has. A key that is no longer ours goes, and so does the leave to
    come without a token that an upgrade gives for an hour, when that is over.
    """
    rows = []
    for secret in (settings.SECRET_KEY, *settings.SECRET_KEY_FALLBACKS):
        key = _key(secret).ljust(_BLOCK, b"\0")
        rows.append([bytes(byte ^ mask for byte in key).hex() for mask in (0x36, 0x5C)])
    ours = ", ".join(f"'\\x{inner}'::bytea" for inner, _ in rows)
    values = ", ".join(f"('\\x{inner}', '\\x{outer}')" for inner, outer in rows)
    return [
        f"INSERT INTO public.{KEY_TABLE} (inner_key, outer_key) VALUES {values} ON CONFLICT DO NOTHING",
        f"DELETE FROM public.{KEY_TABLE} WHERE inner_key NOT IN ({ours}) AND until <= now()",
    ]


@cache
def _own_key() -> bytes:
    return _key(settings.SECRET_KEY)


def _key(secret: str) -> bytes:
    """The key of tokens, made of the instance's: anyone who reads it in the database can sign nothing else with it."""
    return hmac.new(secret.encode(), b"bigmind.database.rls", sha256).digest()
