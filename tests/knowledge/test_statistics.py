"""Statistics: after a large import PostgreSQL knows what it has to search, before it would look by itself."""

import pytest
from django.db import connection, transaction
from pgvector import HalfVector

from knowledge.embeddings.providers import provider
from knowledge.indexing.embedding import embed_pending, space_of
from knowledge.kb.entry_imports import NewEntry, import_entries
from knowledge.models import Kind
from knowledge.search import indexes
from knowledge.search.filters import Filters, scope_of_owner
from knowledge.search.indexes import keep_statistics
from knowledge.search.retrievers import retrieve_by_meaning
from tests.factories import make_actor

IMPORTED = 350
TABLES = ["knowledge_entry", "knowledge_passage", "knowledge_passagevector"]


@pytest.fixture
def known_to_be_empty(transactional_db, monkeypatch):
    """PostgreSQL has just looked at tables without a row; a change of 300 is much."""
    monkeypatch.setattr(indexes, "CHANGED_ROWS", 300)
    _execute(f"ANALYZE {', '.join(TABLES)}")


def test_vectors_are_compared_without_reading_all_of_them_for_each_passage(known_to_be_empty, monkeypatch):
    # Pointing asks for each entry anew, so long that PostgreSQL has looked by itself.
    monkeypatch.setattr("knowledge.indexing.embedding.compare_next", lambda space, most: 0)
    _import(IMPORTED)
    embed_pending()
    vector = HalfVector([1.0] * provider().dimensions)

    pages = []
    with connection.execute_wrapper(_counting(pages)), transaction.atomic():
        found = retrieve_by_meaning(
            vector, space_of(provider()), Filters([Kind.ENTRY]), scope_of_owner(None), few=False
        )

    assert len(found) == 200
    assert sum(pages) < 10 * IMPORTED


def test_only_what_has_changed_much_is_looked_at(known_to_be_empty):
    _import(IMPORTED)

    looked_at, again = keep_statistics(), keep_statistics()
    _import(50, first=IMPORTED)
    after_a_few = keep_statistics()

    assert {"knowledge_entry", "knowledge_passage"} <= set(looked_at)
    assert again == after_a_few == []


def _import(count: int, *, first: int = 0) -> None:
    rows = [NewEntry(content=f"Number {number} is kept by the depot.") for number in range(first, first + count)]
    for begin in range(0, count, 500):
        import_entries(make_actor(admin=True), entries=rows[begin : begin + 500])
    # What a connection counted is told to the others now, and not in a second.
    _execute("SELECT pg_stat_force_next_flush()")


def _counting(pages):
    """Note how many pages PostgreSQL reads for each comparison of vectors."""

    def count(execute, sql, params, many, context):
        if "<=>" in sql:
            execute(f"EXPLAIN (ANALYZE, BUFFERS, FORMAT JSON) {sql}", params, many, context)
            plan = context["cursor"].fetchone()[0][0]["Plan"]
            pages.append(plan["Shared Hit Blocks"] + plan["Shared Read Blocks"])
        return execute(sql, params, many, context)

    return count


def _execute(sql: str) -> None:
    with connection.cursor() as cursor:
        cursor.execute(sql)
