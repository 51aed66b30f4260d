"""Storing a fact compares it with facts and with company knowledge: with little work, and as a search would."""

import pytest
from django.db import connection
from django.test.utils import CaptureQueriesContext

from knowledge.indexing.embedding import embed_pending
from knowledge.memory.facts import deprecate_fact, store_fact
from knowledge.models import Kind
from knowledge.search.filters import Filters
from knowledge.search.frequencies import forget_statistics
from knowledge.search.hybrid import cosines_each, search_each
from tests.curation.factories import approved_entry
from tests.factories import make_actor
from tests.knowledge.factories import make_facts

pytestmark = pytest.mark.django_db

MOST_STATEMENTS = 32
"""39 before both comparisons shared what they ask of the index."""
CITIES = ("Berlin", "Lisbon", "Oslo", "Porto", "Turin", "Vienna")
FACTS = [
    *(f"The router of {city} is switched by the team of {other}." for city in CITIES for other in CITIES),
    "Deploys go out on Tuesdays.",
]


def test_storing_a_fact_asks_the_database_little():
    actor = make_actor()
    make_facts(actor, FACTS, category="codebase")
    embed_pending()
    store_fact(actor, category="codebase", fact="The router of Berlin is switched by hand.")

    with CaptureQueriesContext(connection) as queries:
        store_fact(actor, category="codebase", fact="The router of Lisbon is switched by hand.")

    assert len(queries) <= MOST_STATEMENTS


def test_what_a_text_is_compared_with_is_what_a_search_finds():
    actor = make_actor()
    make_facts(actor, FACTS, category="codebase")
    approved_entry(content="Deploys go through the router.")
    embed_pending()
    own, company = Filters([Kind.FACT]), Filters([Kind.COMPANY])

    for text in ("The router of Oslo is switched by hand.", "Never deploy on Tuesdays.", "Zanzibarr"):
        forget_statistics()
        near = cosines_each(text, owner=actor.user, filters=[own, company], limit=8)

        forget_statistics()
        found = search_each(text, owner=actor.user, filters=[own, company], limit=8)
        assert near == [{item.source_id: item.vector for item in one.items} for one in found]
        assert any(near)


def test_of_two_that_were_archived_the_one_with_the_same_words_is_named():
    actor = make_actor()
    same = store_fact(actor, category="preference", fact="Likes tabs in Python.").fact
    other = store_fact(actor, category="preference", fact="Likes tabs in Python, too.").fact
    deprecate_fact(actor, fact_id=same.pk, reason="Says spaces now.")
    deprecate_fact(actor, fact_id=other.pk, reason="Says spaces now.")

    archived = store_fact(actor, category="preference", fact="Likes tabs in Python.").archived

    assert archived == same
