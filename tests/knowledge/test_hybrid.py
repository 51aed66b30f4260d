"""Hybrid search: both arms score all that either found, by what the asker may see, and say what they could not."""

from dataclasses import asdict

import pytest
from django.db import connection

from knowledge.indexing.embedding import embed_pending
from knowledge.kb.entries import add_entry
from knowledge.kb.entry_reading import search_entries
from knowledge.models import Fact, PassageVector
from knowledge.recall.hits import Hits
from knowledge.recall.semantic_search import semantic_search
from tests.factories import make_actor
from tests.knowledge.factories import make_entries, make_fact, make_facts, make_note

pytestmark = pytest.mark.django_db

CITIES = ("Berlin", "Lisbon", "Oslo", "Porto", "Turin", "Vienna")


def _order(hits: Hits) -> list[str]:
    return [hit.excerpt for hit in hits.items]


def test_each_arm_scores_what_only_the_other_found(monkeypatch, actor):
    make_fact(actor, "Zanzibar.")
    for city in CITIES:
        make_fact(actor, f"The router of {city} was switched by the team in the night.")
    embed_pending()
    monkeypatch.setattr("knowledge.search.retrievers.CANDIDATES", 3)

    hits = semantic_search(
        actor, query="the router of berlin was switched by the team in the night, zanzibar", explain=True
    )

    assert len(hits.items) >= 3
    assert all(hit.explain and hit.explain.vector is not None and hit.explain.keyword for hit in hits.items)


def test_among_equals_the_newest_comes_first(actor):
    for text in ("Deploys go out on Tuesdays.", "On Tuesdays go out deploys.", "Go out on Tuesdays, deploys!"):
        make_fact(actor, text)
    embed_pending()

    hits = semantic_search(actor, query="deploys on Tuesdays")

    assert len({hit.score for hit in hits.items}) == 1
    assert _order(hits)[0] == "Go out on Tuesdays, deploys!"
    assert _order(hits)[-1] == "Deploys go out on Tuesdays."


def test_documents_that_wait_for_their_vectors_do_not_stand_before_the_fact_that_answers(actor):
    make_fact(actor, "The user lives in Lisbon, a city by the sea.")
    make_fact(actor, "The user likes tea.")
    embed_pending()
    make_entries(actor, [f"Where a user object lives: GET /v{number}/users/live returns it." for number in range(20)])

    hits = semantic_search(actor, query="in which city does the user live")

    assert hits.items[0].excerpt == "The user lives in Lisbon, a city by the sea."
    assert all(hit.score < 1 for hit in hits.items)


def test_what_waits_for_its_vector_is_found_by_the_word_that_stands_nowhere_else(actor):
    for city in CITIES:
        make_fact(actor, f"The router of {city} was switched.")
    embed_pending()
    make_fact(actor, "The router of Zanzibar was switched.")

    hits = semantic_search(actor, query="who switched the router of Zanzibar")

    assert _order(hits)[0] == "The router of Zanzibar was switched."


def test_a_reply_says_how_many_of_the_texts_it_searched_wait_for_their_vectors():
    actor, other = make_actor(), make_actor()
    for city in CITIES:
        make_fact(actor, f"The router of {city} was switched.")
    embed_pending()
    make_fact(actor, "The router of Zanzibar was switched.")
    make_note(actor, "The router is grey.")
    make_fact(other, "The router of another person was switched.")

    hits = semantic_search(actor, query="router", kinds=["fact"])

    assert (hits.fallback, hits.notice) == (
        False,
        "1 of 7 texts are still being indexed by meaning: until then only their words count.",
    )
    embed_pending()
    assert semantic_search(actor, query="router").notice == ""


def test_the_notice_stands_in_what_an_agent_reads(actor):
    add_entry(actor, content="Vercel rewrites need a trailing slash.", entry_type="fact")
    embed_pending()
    add_entry(actor, content="Vercel redirects do not.", entry_type="fact")

    reply = search_entries(actor, query="vercel")

    assert reply.notice.startswith("1 of 2 texts are still being indexed by meaning")


def test_nonsense_scores_low(actor):
    for city in CITIES:
        make_fact(actor, f"The router of {city} was switched.")
    embed_pending()

    hits = semantic_search(actor, query="flurble grommet xyzzy quux")

    assert all(hit.score < 0.5 for hit in hits.items)


def test_an_answer_does_not_tell_whether_a_word_stands_in_someone_elses_memory():
    reader, owner = make_actor(), make_actor()
    fillers = [f"word{number:02}" for number in range(61)]
    make_facts(reader, [f"{filler} belongs to xylotherm and xylothurm." for filler in fillers])
    embed_pending()
    questions = {word: " ".join([word, *fillers]) for word in ("Xylotherm", "Xylothurm")}

    for word, question in questions.items():
        before = _answer(reader, question)
        make_facts(owner, [f"{word} {fillers[0]} is what ails me, for the {number}th time." for number in range(30)])
        embed_pending()

        assert _answer(reader, question) == before


def _answer(actor, question):
    """All that an answer says, after PostgreSQL has looked at what is stored."""
    with connection.cursor() as cursor:
        cursor.execute("ANALYZE knowledge_passage")
    from knowledge.search.frequencies import forget_statistics
    from knowledge.search.spelling import forget_vocabularies

    forget_statistics()
    forget_vocabularies()
    hits = semantic_search(actor, query=question, explain=True, limit=50)
    return [{**asdict(hit), "created_at": None} for hit in hits.items], hits.total


def test_with_half_of_the_vectors_missing_answers_are_no_worse_than_by_words_alone(settings, actor):
    places = list(enumerate(CITIES * 3))
    facts = make_facts(
        actor, [f"Machine {n} in {city} has the serial number {n * 7919} and runs since May." for n, city in places]
    )
    questions = {
        f"serial number of machine {n} in {city}": str(fact.pk) for (n, city), fact in zip(places, facts, strict=True)
    }
    embed_pending()
    half = Fact.objects.order_by("pk").values_list("pk", flat=True)[::2]
    PassageVector.objects.filter(passage__source_id__in=[str(pk) for pk in half]).update(vector=None)

    found = {recipe: _found_first(actor, questions, settings, recipe) for recipe in ("keyword", "blend")}

    assert found["blend"] >= found["keyword"]


def _found_first(actor, questions, settings, recipe):
    settings.SEARCH_FUSION = recipe
    return sum(semantic_search(actor, query=asked, limit=1).items[0].id == id for asked, id in questions.items())
