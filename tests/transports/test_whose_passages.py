"""A search for what is shared reads nothing of the index of who asks: what they have of their own costs it nothing."""

import re

import pytest
from django.db import connection
from django.test.utils import CaptureQueriesContext

from accounts.actor import Actor
from accounts.models import User
from bigmind.gate import perform
from bigmind.operations import CATALOGUE
from knowledge.indexing.embedding import embed_pending
from tests.factories import browser_of, make_actor
from tests.transports.isolation import SHARED, approve_company_knowledge, own_everything, share_entries

pytestmark = pytest.mark.django_db

SEARCHES_OWN = {"memory_recall", "memory_semantic_search", "memory_search_chunks", "knowledge_search"}
"""Every other operation that takes a query searches what is shared, and that alone."""
SEARCHES = sorted(
    {name for name, operation in CATALOGUE.items() if "query" in operation.arguments.model_fields} - SEARCHES_OWN
)
PAGES = ["/kb/", "/company/", "/docs/", "/directory/"]


@pytest.fixture
def somebody() -> Actor:
    actor = make_actor()
    approve_company_knowledge(share_entries(actor, own_everything(actor)))
    embed_pending()
    return actor


def _own_passages_asked(queries: CaptureQueriesContext, user: User) -> list[str]:
    named = re.compile(rf"owner_id\"? = (ANY\()?'\{{?{user.pk.hex}")
    asked = (query["sql"].replace("-", "") for query in queries)
    return [sql for sql in asked if "knowledge_passage" in sql and named.search(sql)]


@pytest.mark.parametrize("name", SEARCHES)
def test_an_operation_that_searches_what_is_shared_asks_for_nothing_of_ones_own(somebody: Actor, name: str) -> None:
    with CaptureQueriesContext(connection) as queries:
        perform(CATALOGUE[name], somebody, {"query": f"Which {SHARED} rule held yesterday?"}, transport="rest")

    assert any("knowledge_passage" in query["sql"] for query in queries)
    assert _own_passages_asked(queries, somebody.user) == []


@pytest.mark.parametrize("page", PAGES)
def test_a_page_that_searches_what_is_shared_asks_for_nothing_of_ones_own(somebody: Actor, page: str) -> None:
    browser = browser_of(somebody.user)

    with CaptureQueriesContext(connection) as queries:
        answer = browser.get(page, {"query": SHARED})

    assert answer.status_code == 200
    assert any("knowledge_passage" in query["sql"] for query in queries)
    assert _own_passages_asked(queries, somebody.user) == []
