"""What all tests share: a running server, and a database that is emptied after a test by little work."""

import functools
import gc
import sys
from collections.abc import Iterator
from typing import Any

import httpx
import httpx2
import psycopg
import pytest
from django.conf import settings
from django.contrib.auth import login
from django.contrib.sessions.backends.db import SessionStore
from django.core.cache import cache
from django.core.management import call_command
from django.db import connection, connections, transaction
from django.db.backends.postgresql.creation import DatabaseCreation
from django.http import HttpRequest
from django.template import Context, Template
from django.test import Client, TransactionTestCase
from django.test.signals import template_rendered
from django.utils.safestring import SafeString
from psycopg.errors import DeadlockDetected, InsufficientPrivilege
from whitenoise.middleware import WhiteNoiseMiddleware
from xdist.scheduler import LoadFileScheduling

from accounts.actor import Actor
from accounts.views.sign_in import note_confirmed
from bigmind.database.rls import KEY_TABLE
from bigmind.database.roles import ONLY_GROWS, grant_to_application
from tests.copies import served, web_process
from tests.factories import make_actor, make_agent, make_user
from tests.serving import end_its_database_sessions

__all__ = ["served", "web_process"]

# jsonschema imports it where it is there, for `iri`, a format that no schema here has: 38 grammars, seconds to make.
sys.modules["rfc3987_syntax"] = None  # type: ignore[assignment]

# A migrated database has these rows before any test.
KEPT = ("django_migrations", "django_content_type", "auth_permission", KEY_TABLE)
LARGE_BYTES = 512 * 1024
# Folders with files that take a minute.
LONG_FILES = {"backup", "browser", "embedded", "growing", "transports"}
_WRITTEN = """
SELECT quote_ident(relname), pg_relation_size(oid) FROM pg_class
WHERE relnamespace = 'public'::regnamespace AND relkind = 'r' AND relname <> ALL(%s) AND pg_relation_size(oid) > 0
"""


def pytest_collection_modifyitems(items: list[pytest.Item]) -> None:
    """Begin with the folders of long files: at the end, processes wait for the one that has the last file."""
    items.sort(key=lambda item: not LONG_FILES & set(item.path.parts))


class FilesOnce(LoadFileScheduling):
    """Files to processes. A test that ended its process has failed: another process takes the rest of its file."""

    def remove_node(self, node: Any) -> str | None:
        """Forget a process. Return the test it was at; xdist alone would give that to the next one, and the next."""
        for tests in self.assigned_work[node].values():
            for test, done in tests.items():
                if not done:
                    tests[test] = True
                    super().remove_node(node)
                    return test
        return super().remove_node(node)


def pytest_xdist_make_scheduler(config: pytest.Config, log: Any) -> FilesOnce | None:
    """Give out whole files, where that was asked for."""
    return FilesOnce(config, log) if config.getvalue("dist") == "loadfile" else None


def pytest_collection_finish() -> None:
    """Keep what was imported and collected out of every later search for garbage: it stays until the end."""
    gc.collect()
    gc.freeze()
    gc.set_threshold(100_000, 20, 20)


@pytest.fixture(scope="session")
def django_db_setup(request: pytest.FixtureRequest, django_db_blocker: Any) -> Iterator[None]:
    """Copy the migrated database, and ask nothing of it: `migrate` would look for what is missing, and find nothing."""
    from bigmind.management.commands.migrate import Command

    with pytest.MonkeyPatch.context() as patch:
        if settings.DATABASES["default"].get("TEST", {}).get("TEMPLATE"):
            patch.setattr(Command, "handle", lambda *_, **__: None)
        # Copying a database takes as long as the disk of a busy machine does.
        make = DatabaseCreation._execute_create_test_db
        patch.setattr(
            DatabaseCreation,
            "_execute_create_test_db",
            lambda self, cursor, *rest: (cursor.execute("SET statement_timeout TO 0"), make(self, cursor, *rest)),
        )
        request.getfixturevalue("django_db_setup")
    with django_db_blocker.unblock():
        grant_to_application()  # The database that was copied takes the tokens of another secret key.
    yield
    with django_db_blocker.unblock():
        # Tests in a browser leave a connection of their own, which would keep the database from being dropped.
        end_its_database_sessions()
        connection.close()


@pytest.fixture(scope="session", autouse=True)
def _empty_what_was_written() -> Iterator[None]:
    """Empty the few tables that a test wrote to: Django would truncate all, and make all permissions again."""
    original = TransactionTestCase._fixture_teardown
    TransactionTestCase._fixture_teardown = lambda _: _empty_database()  # type: ignore[method-assign]
    yield
    TransactionTestCase._fixture_teardown = original  # type: ignore[method-assign]


@pytest.fixture(scope="session", autouse=True)
def _keep_the_connection() -> Iterator[None]:
    """Clean the session of a test that committed: Django would connect again, and a new session knows no table yet."""
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(TransactionTestCase, "_should_reload_connections", lambda _: _clean_sessions())
        yield


def _clean_sessions() -> bool:
    """Begin the sessions of this thread anew; return whether one could not be, so that all are closed."""
    try:
        for made in connections.all(initialized_only=True):
            if made.connection is not None:
                made.connection.execute("DISCARD ALL")
                made.init_connection_state()
    except psycopg.Error:
        return True
    return False


@pytest.fixture(scope="session", autouse=True)
def _look_for_static_files_once() -> Iterator[None]:
    """Let all test clients share one list of the static files: each has a middleware of its own, which makes one."""
    original = WhiteNoiseMiddleware.add_files_from_finders
    found: dict[str, object] = {}

    def add_files(middleware: WhiteNoiseMiddleware) -> None:
        if not found:
            original(middleware)
            found.update(middleware.files)
        middleware.files.update(found)

    WhiteNoiseMiddleware.add_files_from_finders = add_files
    yield
    WhiteNoiseMiddleware.add_files_from_finders = original


@pytest.fixture(scope="session", autouse=True)
def _sign_in_with_one_session() -> Iterator[None]:
    """Let a client that nobody signed in with save one session: Django saves an empty one first, and replaces it."""
    original = Client._login

    def sign_in(client: Client, user: Any, backend: str | None = None) -> None:
        if settings.SESSION_COOKIE_NAME in client.cookies:
            original(client, user, backend)
            return
        request = HttpRequest()
        request.session = SessionStore()
        login(request, user, backend)
        note_confirmed(request)
        request.session.save()
        client._set_login_cookies(request)

    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(Client, "_login", sign_in)
        yield


@pytest.fixture(scope="session", autouse=True)
def _note_whole_pages_only() -> Iterator[None]:
    """Tell a client of the template of its page, and not of the hundred in it: for each, it copies the context."""

    def render(template: Template, context: Context) -> SafeString:
        if context.template is template:
            template_rendered.send(sender=template, template=template, context=context)
        return template.nodelist.render(context)

    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(Template, "_render", render)
        yield


@pytest.fixture(scope="session", autouse=True)
def _read_certificates_once() -> Iterator[None]:
    """Let all HTTP clients share one list of the authorities that they trust: reading it takes longer than a call."""
    with pytest.MonkeyPatch.context() as patch:
        for library in (httpx, httpx2):
            patch.setattr(
                library._transports.default, "create_ssl_context", functools.cache(library.create_ssl_context)
            )
        yield


@pytest.fixture
def in_a_team(settings: Any) -> None:
    """Several people use this BigMind."""
    settings.BIGMIND_MODE = "team"


@pytest.fixture
def actor(db: None) -> Actor:
    """Somebody, and their agent."""
    return make_actor()


@pytest.fixture
def curator(db: None) -> Actor:
    """Somebody who decides what everybody is told."""
    return make_actor(curator=True)


@pytest.fixture
def agent(db: None) -> Actor:
    """Claude Code, which acts for somebody."""
    return make_agent(make_user(), "claude-code")


@pytest.fixture
def browser(client: Client, actor: Actor) -> Client:
    """The browser in which this person is signed in."""
    client.force_login(actor.user)
    return client


@pytest.fixture
def nothing_cached() -> Iterator[None]:
    """Nothing was counted or kept before, nor is afterwards."""
    cache.clear()
    yield
    cache.clear()


def _empty_database(tries: int = 3) -> None:
    try:
        with transaction.atomic(), connection.cursor() as cursor:
            # Rows that only grow and rows of others are deleted too, in any order.
            cursor.execute("SET LOCAL session_replication_role = replica")
            cursor.execute(_WRITTEN, [list(KEPT)])
            written = cursor.fetchall()
            if any(size > LARGE_BYTES for _, size in written):
                cursor.execute(f"TRUNCATE {', '.join(name for name, _ in written)} CASCADE")
            else:
                for name, _ in written:
                    cursor.execute(f"DELETE FROM {name}")
    except Exception as error:
        # A process that still serves writes down what followed from its last replies.
        if tries and isinstance(error.__cause__, DeadlockDetected):
            return _empty_database(tries - 1)
        # On a server that is not ours, the role of the tests may not set what it takes.
        if not isinstance(error.__cause__, InsufficientPrivilege):
            raise
        _flush()


def _flush() -> None:
    """Truncate everything, also the tables that refuse it."""
    with connection.cursor() as cursor:
        for switch in ("DISABLE", "ENABLE"):
            for table in ONLY_GROWS:
                cursor.execute(f"ALTER TABLE {table} {switch} TRIGGER USER")
            if switch == "DISABLE":
                call_command("flush", verbosity=0, interactive=False, inhibit_post_migrate=False)
