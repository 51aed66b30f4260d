"""An instance with something of everything in it, and a second database to restore into."""

from collections.abc import Iterator
from contextlib import contextmanager

import psycopg
import pytest
from django.db import connections

from bigmind.embedded.database import hang_up, prepare_database
from knowledge.services.embedding import embed_pending
from knowledge.services.entries import add_entry
from tests.curation.factories import approved_entry
from tests.factories import make_actor, make_key
from tests.knowledge.factories import make_chunk, make_fact, make_hypothesis, make_note, make_session

FRESH = "bigmind_restored"
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
    with _database("") as name:
        yield name


@pytest.fixture
def migrated(transactional_db) -> Iterator[str]:
    """Yield the name of a database that is migrated, and has nobody in it."""
    template = connections["default"].settings_dict["TEST"].get("TEMPLATE")
    with _database(f"TEMPLATE {template}" if template else "") as name:
        if not template:
            with on_database(name):
                prepare_database()
        yield name


@pytest.fixture
def filled(transactional_db):
    """Return somebody who has something of everything, with a key, and company knowledge that was decided about."""
    # Threads of servers that other tests ran here still hold connections, which a restore would take for use.
    name = connections["default"].settings_dict["NAME"]
    _administer(
        f"SELECT pg_terminate_backend(pid) FROM pg_stat_activity WHERE datname = '{name}' AND pid <> {_own_pid()}"
    )
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


def _own_pid() -> int:
    connections["default"].ensure_connection()
    return connections["default"].connection.info.backend_pid


@contextmanager
def _database(made_from: str) -> Iterator[str]:
    drop = f'DROP DATABASE IF EXISTS "{FRESH}" WITH (FORCE)'
    _administer(drop, f'CREATE DATABASE "{FRESH}" {made_from}')
    yield FRESH
    _administer(drop)


def _administer(*statements: str) -> None:
    told = connections["default"].get_connection_params()
    address = {name: told[name] for name in ("host", "user", "password", "port", "passfile") if told.get(name)}
    with psycopg.connect(**address, dbname="postgres", autocommit=True) as database:
        for statement in statements:
            database.execute(statement)
