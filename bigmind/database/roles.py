"""The two roles of the database: the owner of the tables, who changes the schema, and the application, who cannot.

They are two in the embedded database, and in another where BIGMIND_DATABASE_OWNER_URL names an owner. The application
then reads and writes rows and no more: it can neither lift the policies that keep private rows apart nor rewrite what
only grows. Processes that serve requests do not know the owner.
"""

import os
from collections.abc import Iterator
from contextlib import contextmanager
from contextvars import ContextVar

from django.conf import settings
from django.db import DEFAULT_DB_ALIAS, ProgrammingError, connection, connections, transaction
from django.db.backends.base.base import BaseDatabaseWrapper
from django.db.backends.utils import CursorWrapper
from django.db.models import Model
from psycopg import sql
from psycopg.errors import InsufficientPrivilege

from bigmind.core.errors import Forbidden
from bigmind.database.read_only import is_read_only, require_writable
from bigmind.database.rls import KEY_TABLE, key_statements, rls_bypass, use_tokens

OWNER = "owner"

ONLY_GROWS: dict[str, tuple[str, ...]] = {
    "curation_review": ("by_id", "by_name", "agent_name"),
    "accounts_erasurereport": ("asked_by_id", "whose_id"),
    "accounts_auditevent": ("by_id", "by_name", "about_id", "about_name"),
}
"""Append-only tables, each with the columns that name people and so can be overwritten when a user is erased."""
READ_ALONE = ("django_migrations",)
"""A row that the application added there would keep a migration from being applied."""

OWNS_TABLES = """
SELECT coalesce(
    (SELECT pg_has_role(current_user, relowner, 'USAGE') FROM pg_class
        WHERE oid = to_regclass('public.django_migrations')),
    has_schema_privilege(current_user, 'public', 'CREATE')
)
"""
"""Whether the connected role can change the tables, or create them where there are none."""
_GRANT = (
    "GRANT USAGE ON SCHEMA public TO {role}",
    "GRANT SELECT, INSERT, UPDATE, DELETE ON ALL TABLES IN SCHEMA public TO {role}",
    "GRANT USAGE, SELECT ON ALL SEQUENCES IN SCHEMA public TO {role}",
    "ALTER DEFAULT PRIVILEGES IN SCHEMA public GRANT SELECT, INSERT, UPDATE, DELETE ON TABLES TO {role}",
    "ALTER DEFAULT PRIVILEGES IN SCHEMA public GRANT USAGE, SELECT ON SEQUENCES TO {role}",
)


_is_migrating = ContextVar("_is_migrating", default=False)


class AsOwnerWhileMigrating:
    """Routes the queries of a running migration to the owner: before it commits, no one else sees its new tables."""

    def db_for_read(self, model: type[Model], **hints: object) -> str | None:
        """The owner while a migration runs; None leaves it to Django."""
        return OWNER if _is_migrating.get() else None

    db_for_write = db_for_read


@contextmanager
def migrating() -> Iterator[None]:
    """Run queries inside this block as the owner of the tables."""
    before = _is_migrating.set(True)
    try:
        yield
    finally:
        _is_migrating.reset(before)


class NotOwner(Forbidden):
    """This process cannot do what the owner of the tables alone may."""


def forget_owner() -> None:
    """Reach the database as the application alone from now on: this process serves requests.

    Each calls this for itself, never an import: a worker that was copied afterwards would have forgotten the owner too.
    """
    os.environ.pop("BIGMIND_DATABASE_OWNER_URL", None)
    for databases in (connections.settings, settings.DATABASES):
        databases.pop(OWNER, None)


def owner_alias() -> str:
    """The name of the connection that changes the schema."""
    return OWNER if OWNER in settings.DATABASES else DEFAULT_DB_ALIAS


def owner() -> BaseDatabaseWrapper:
    """The connection that changes the schema: that of the owner, or the one there is."""
    return connections[owner_alias()]


def is_pooled(alias: str) -> bool:
    """Whether a pool stands before the server of a connection, and hands each transaction to a session of its own."""
    connections[alias].ensure_connection()
    return bool(getattr(connections[alias], "is_pooled", False))


def may_change_schema() -> bool:
    """Whether this process can migrate and make indexes, or must leave it to one that knows the owner."""
    if is_read_only():
        return False
    with owner().cursor() as cursor:
        cursor.execute(OWNS_TABLES)
        row = cursor.fetchone()
    return bool(row and row[0])


def require_owner(act: str) -> None:
    """Refuse what the owner of the tables alone may do, in a session of its own.

    Args:
        act: What is to be done, as after “cannot”.

    Raises:
        NotOwner: this process does not own them, or reaches the server only through a pool.
        ReadOnly: nothing can be changed at the moment.
    """
    require_writable()
    require_own_session(act)
    if not may_change_schema():
        raise NotOwner(
            f"Cannot {act}: this process does not own the tables; set BIGMIND_DATABASE_OWNER_URL on the worker."
        )


def require_own_session(act: str) -> None:
    """Refuse what needs a session of its own.

    Raises:
        NotOwner: the owner's connection leads through a pool.
    """
    if is_pooled(owner_alias()):
        raise NotOwner(f"Cannot {act}: a pool stands before the database; let BIGMIND_DATABASE_OWNER_URL lead past it.")


def grant_to_application() -> None:
    """Let the application read and write the rows of all tables, and no more. Runs after each migration.

    Whose private rows it sees, it says by tokens, and the database learns here which of them to take.
    """
    take_our_tokens()
    if owner_alias() == DEFAULT_DB_ALIAS:
        return
    role = sql.Identifier(connections[DEFAULT_DB_ALIAS].get_connection_params()["user"])
    with transaction.atomic(using=OWNER), owner().cursor() as cursor:
        for statement in _GRANT:
            cursor.execute(sql.SQL(statement).format(role=role))
        there = set(owner().introspection.table_names(cursor))
        for table, columns in ONLY_GROWS.items():
            if table in there:
                _let_grow_alone(cursor, table, columns, role)
        for table in there & {*READ_ALONE}:
            names = {"table": sql.Identifier(table), "role": role}
            cursor.execute(sql.SQL("REVOKE INSERT, UPDATE, DELETE ON {table} FROM {role}").format(**names))


def take_our_tokens() -> None:
    """Tell the database which tokens to take. One that is yet to be migrated takes the bare word, and gets it."""
    with transaction.atomic(using=owner_alias()), owner().cursor() as cursor:
        has_keys = knows_keys()
        use_tokens(has_keys)
        for statement in key_statements() if has_keys else ():
            cursor.execute(statement)


def takes_our_tokens() -> bool:
    """Whether the database accepts tokens of this process's secret key; one without policies yet accepts any."""
    try:
        with rls_bypass(), connection.cursor() as cursor:
            cursor.execute("SELECT public.bigmind_sees()")
    except ProgrammingError as error:
        return not isinstance(error.__cause__, InsufficientPrivilege)
    return True


def knows_keys() -> bool:
    """Whether the database has a place for the keys of tokens."""
    with owner().cursor() as cursor:
        cursor.execute("SELECT to_regclass(%s)", [f"public.{KEY_TABLE}"])
        row = cursor.fetchone()
    return bool(row and row[0])


def _let_grow_alone(cursor: CursorWrapper, table: str, columns: tuple[str, ...], role: sql.Identifier) -> None:
    names = {"table": sql.Identifier(table), "role": role}
    erasable = sql.SQL(", ").join(map(sql.Identifier, columns))
    cursor.execute(sql.SQL("REVOKE UPDATE, DELETE ON {table} FROM {role}").format(**names))
    cursor.execute(sql.SQL("GRANT UPDATE ({erasable}) ON {table} TO {role}").format(erasable=erasable, **names))
