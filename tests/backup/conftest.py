"""An instance with something of everything in it, and a second database to restore into."""

import os
import shutil
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

import psycopg
import pytest
from django.db import connections
from pytest_django.plugin import DjangoDbBlocker

from accounts.actor import Actor
from accounts.models import User
from bigmind.backup.making import Backup, make_backup
from bigmind.database.roles import grant_to_application
from bigmind.embedded.database import hang_up, prepare_database
from knowledge.indexing.embedding import embed_pending
from knowledge.kb.entries import add_entry
from tests.curation.factories import approved_entry
from tests.factories import make_actor, make_key
from tests.knowledge.factories import make_chunk, make_fact, make_hypothesis, make_note, make_session

# Processes of one run share a server.
FRESH = f"bigmind_restored_{os.getpid()}"
KEPT = f"bigmind_backed_up_{os.getpid()}"
MADE_ONCE = f"bigmind_filled_{os.getpid()}"
TOPICS = ("depot", "harbour", "ferry", "lantern", "ledger", "orchard", "quarry", "saddle", "turbine", "violin")


@contextmanager
def on_database(name: str) -> Iterator[None]:
    """Let everything go to another database of the same server meanwhile."""
    default = connections["default"]
    before = default.settings_dict["NAME"]
    hang_up()
    default.settings_dict["NAME"] = name
    try:
        yield
    finally:
        hang_up()
        default.settings_dict["NAME"] = before


@pytest.fixture
def fresh(transactional_db) -> Iterator[str]:
    """Yield the name of a database that is empty."""
    with database(FRESH, "") as name:
        yield name


@pytest.fixture
def migrated(transactional_db) -> Iterator[str]:
    """Yield the name of a database that is migrated, and has nobody in it."""
    with _migrated(FRESH) as name:
        yield name


@pytest.fixture(scope="session")
def filled_once(django_db_setup: None, django_db_blocker: DjangoDbBlocker) -> Iterator[tuple[str, int, str]]:
    """Yield a database to copy, with the id and the key of somebody who has something of everything in it."""
    with django_db_blocker.unblock(), _migrated(MADE_ONCE) as name:
        with on_database(name):
            grant_to_application()  # The database that was copied takes the tokens of another secret key.
            actor, key = _fill()
        yield name, actor.user.pk, key


@pytest.fixture(scope="session")
def backed_up_once(
    filled_once: tuple[str, int, str], django_db_blocker: DjangoDbBlocker, tmp_path_factory: pytest.TempPathFactory
) -> Backup:
    """Return a backup of that database."""
    with django_db_blocker.unblock(), on_database(filled_once[0]):
        return make_backup(tmp_path_factory.mktemp("backups"))


@pytest.fixture
def backup(backed_up_once: Backup, tmp_path: Path) -> Backup:
    """Return a copy of that backup, which a test may damage."""
    return Backup(shutil.copytree(backed_up_once.folder, tmp_path / backed_up_once.name), backed_up_once.manifest)


@pytest.fixture
def unchanged(filled_once: tuple[str, int, str], transactional_db) -> Iterator[None]:
    """Let a test use the database that others copy: it must change nothing there."""
    with on_database(filled_once[0]):
        yield


@pytest.fixture
def filled(filled_once: tuple[str, int, str], transactional_db) -> Iterator[tuple[Actor, str]]:
    """Yield somebody who has something of everything, with a key, and company knowledge that was decided about.

    All of it is in a database of its own: servers of other tests hold connections to the one that tests share, and
    make them again, and a restore refuses while BigMind uses the database.
    """
    template, user_id, key = filled_once
    with database(KEPT, f'TEMPLATE "{template}"') as name, on_database(name):
        yield Actor.of(User.objects.get(pk=user_id)), key


def _fill() -> tuple[Actor, str]:
    actor = make_actor()
    make_session(actor, one_liner="Moved the depot", summary="The depot went to the harbour.", topics=["depot"])
    for topic in TOPICS:
        make_fact(actor, f"The {topic} is checked on Fridays.")
        make_note(actor, f"Ask Ada about the {topic}.", key=topic)
        add_entry(actor, content=f"A {topic} needs two people.", entry_type="fact", tags=[topic])
    make_chunk(actor, content="The ferry leaves at six.")
    make_hypothesis(actor, "The turbine stands still because of salt.")
    for topic in TOPICS[:3]:
        approved_entry(
            actor, category="decision", title=f"Owners of the {topic}", content=f"Every {topic} has an owner."
        )
    while embed_pending():
        pass
    return actor, make_key(actor.user).text


@contextmanager
def _migrated(name: str) -> Iterator[str]:
    template = connections["default"].settings_dict["TEST"].get("TEMPLATE")
    with database(name, f"TEMPLATE {template}" if template else "") as name:
        if not template:
            with on_database(name):
                prepare_database()
        yield name


@contextmanager
def database(name: str, made_from: str = "") -> Iterator[str]:
    """Yield the name of a database that is there for the length of a `with`."""
    drop = f'DROP DATABASE IF EXISTS "{name}" WITH (FORCE)'
    # To copy the files takes a fifth of what writing each page to the journal does.
    _administer(drop, f'CREATE DATABASE "{name}" {made_from} STRATEGY FILE_COPY')
    try:
        yield name
    finally:
        _administer(drop)


def _administer(*statements: str) -> None:
    told = connections["default"].get_connection_params()
    address = {name: told[name] for name in ("host", "user", "password", "port", "passfile") if told.get(name)}
    with psycopg.connect(**address, dbname="postgres", autocommit=True) as database:
        for statement in statements:
            database.execute(statement)
