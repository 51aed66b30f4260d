"""`memory_recall`: one question over memory, company, knowledge base, documentation and app maps."""

from dataclasses import replace
from datetime import timedelta
from itertools import product

import pytest
from django.template.loader import render_to_string
from django.utils import timezone
from pgvector import HalfVector

from accounts.actor import Actor
from bigmind.text.hygiene import digest
from bigmind.text.token_counts import count_tokens
from curation.proposals.proposals import promote_to_global
from knowledge.context.sessions import end_session, start_session
from knowledge.embeddings.providers import provider
from knowledge.indexing.embedding import embed_pending, space_of
from knowledge.kb.entries import add_entry
from knowledge.kinds import KINDS, SEARCHED
from knowledge.models import Fact, Kind, Passage, PassageVector, Reference, ReferenceCollection, UnansweredQuestion
from knowledge.recall.recall import GROUPS, Recollections, recall
from knowledge.shapes.recall import RecallShape
from tests.factories import make_actor, make_agent
from tests.knowledge.factories import (
    make_chunk,
    make_fact,
    make_facts,
    make_hypothesis,
    make_note,
    make_reference,
    make_session,
)

pytestmark = pytest.mark.django_db


def _text(reply: Recollections) -> str:
    shape = RecallShape.model_validate(reply)
    return render_to_string("agent/recall.md", {"reply": shape}, using="agent").strip()


def _everything(actor: Actor) -> None:
    make_fact(actor, "Deploying happens on Tuesdays.")
    make_note(actor, "Announce deploying in the channel.", key="deploying")
    make_hypothesis(actor, "I believe deploying is slow.")
    session = make_session(actor, is_open=True)
    make_chunk(actor, session=session, content="Deploying failed at noon.")
    end_session(actor, session_id=session.handle, one_liner="Deploying mended", topics=["ci"])
    add_entry(actor, content="Deploying takes two people.", entry_type="fact", tags=["ci"])
    promote_to_global(actor, category="standard", title="Deploying", content="Deploying needs a green build.")
    make_reference("deploying start", summary="Begins deploying.")
    embed_pending()


def test_one_question_is_answered_from_every_kind_there_is(actor):
    _everything(actor)

    reply = recall(actor, query="deploying", limit=20)

    kinds = {"fact", "note", "hypothesis", "chunk", "summary", "entry", "company", "reference"}
    assert {hit.kind for hit in reply.items} == kinds
    assert reply.state == "answer"


def test_each_kind_that_is_searched_is_in_one_group():
    tiers = [tier for _, group in GROUPS for tier in group]

    assert sorted(tiers) == sorted({KINDS[kind].tier for kind in SEARCHED})


def test_a_hit_is_one_line_with_its_handle_and_date(actor):
    fact = make_fact(actor, "Prefers tabs over spaces.")
    embed_pending()

    text = _text(recall(actor, query="tabs or spaces?"))

    assert text == f"- F{fact.number} {timezone.now():%Y-%m-%d}: Prefers tabs over spaces."


@pytest.mark.parametrize("references", [300, pytest.param(10_000, marks=pytest.mark.torture)])
def test_a_flood_of_references_does_not_drown_one_fact(references, actor):
    fact = make_fact(actor, "The user lives in Porto.")
    embed_pending()
    _import_references(references)

    reply = recall(actor, query="where does the user live")

    assert str(fact.pk) in [hit.id for hit in reply.items[:2]]
    assert {hit.kind for hit in reply.items} == {"fact", "reference"}


def test_a_long_past_of_ones_own_does_not_drown_a_fact(actor):
    fact = make_fact(actor, "The user lives in Porto.")
    session = make_session(actor, is_open=True)
    for number in range(30):
        make_chunk(actor, session=session, content=f"Where does the user live? The user may live anywhere, {number}.")
    embed_pending()

    reply = recall(actor, query="where does the user live", max_tokens=200)

    assert str(fact.pk) in [hit.id for hit in reply.items[:3] if hit.kind == "fact"]
    assert "chunk" in {hit.kind for hit in reply.items}


def test_what_nobody_knows_is_said_to_be_uncertain_above_the_nearest_and_kept_as_a_gap():
    actor = make_agent(make_actor().user, "claude-code")
    make_fact(actor, "Prefers tabs over spaces.")
    embed_pending()

    reply = recall(actor, query="Which colour has the bicycle of the postman?")

    assert reply.state == "uncertain"
    assert _text(reply).splitlines()[0] == "Nothing certain; nearest:"
    assert "Prefers tabs over spaces." in _text(reply).splitlines()[1]
    assert UnansweredQuestion.objects.get(user=actor.user).text.startswith("Which colour")


def test_what_says_the_same_is_told_once_with_its_count(actor):
    make_fact(actor, "Releases go out on the Tuesday.")
    make_note(actor, "releases go out on Tuesday")
    add_entry(actor, content="Releases go out on Tuesday!", entry_type="fact")
    make_fact(actor, "Releases do not go out on Tuesday.")
    embed_pending()

    reply = recall(actor, query="when do releases go out on Tuesday")

    assert sorted(hit.alike for hit in reply.items) == [0, 2]
    assert next(hit.excerpt for hit in reply.items if not hit.alike) == "Releases do not go out on Tuesday."


def test_a_budget_holds_for_the_text_and_still_brings_hits():
    actor, asked = make_actor(), "what is done before anybody deploys?"
    text = "the staging cluster is drained before anybody deploys. " * 7
    make_facts(actor, [f"Deploy rule {number}: {text}" for number in range(12)])
    embed_pending()

    for style, (budget, least) in product(["concise", "detailed"], {100: 1, 300: 3, 1_000: 6}.items()):
        reply = recall(actor, query=asked, style=style, max_tokens=budget, limit=12)

        assert count_tokens(_text(reply)) <= budget
        assert len(reply.items) >= least
        assert len(reply.items) + reply.left == 12


def test_a_long_text_is_shown_around_the_answer(actor):
    make_note(actor, "Nothing to see here. " * 60 + "The password of the lift is written on the door. " + "More. " * 60)
    embed_pending()

    hit = recall(actor, query="where is the password of the lift written").items[0]

    assert "written on the door" in hit.excerpt
    assert len(hit.excerpt) < 230


def test_only_what_is_from_then_is_told(actor):
    old, new = make_fact(actor, "Deploys by hand."), make_fact(actor, "Deploys by pipeline.")
    Fact.objects.filter(pk=old.pk).update(created_at=timezone.now() - timedelta(days=40))
    embed_pending()

    week_ago = timezone.now() - timedelta(days=7)

    assert [hit.id for hit in recall(actor, query="deploys by", since=week_ago).items] == [str(new.pk)]
    assert [hit.id for hit in recall(actor, query="deploys by", before=week_ago).items] == [str(old.pk)]


def test_what_belongs_to_the_project_comes_first_and_the_rest_is_not_left_out(actor):
    there = make_fact(actor, "Deploys run on Fridays.", project="Freight")
    make_fact(actor, "Deploys run on Mondays.", project="billing")
    make_fact(actor, "Deploys run at night.")
    embed_pending()

    hits = recall(actor, query="when do deploys run", project="freight").items

    assert hits[0].id == str(there.pk)
    assert len(hits) == 3


def test_nobody_is_told_what_is_somebody_elses():
    make_fact(make_actor(), "The user lives in Porto.")
    embed_pending()

    assert _text(recall(make_actor(), query="where does the user live")) == "Nothing is stored yet."


def test_of_what_is_uncertain_the_nearest_three_are_shown(actor):
    for text in ("Prefers tabs.", "Works from Lisbon.", "Uses SQLite.", "Deploys on Tuesday.", "Likes tea."):
        make_fact(actor, text)
    embed_pending()

    reply = recall(actor, query="Which colour has the bicycle of the postman?")

    assert (reply.state, len(reply.items), reply.left) == ("uncertain", 3, 0)
    assert {hit.relevance for hit in reply.items} == {"weak"}


def test_what_was_asked_before_in_vain_still_shows_the_nearest():
    actor = replace(make_agent(make_actor().user, "claude-code"), conversation="a" * 64)
    start_session(actor)
    make_fact(actor, "Prefers tabs over spaces.")
    embed_pending()
    question = "Which colour has the bicycle of the postman?"
    recall(actor, query=question)

    again = _text(recall(actor, query=question))

    assert again.splitlines()[0].startswith("Asked before in this conversation")
    assert "Prefers tabs over spaces." in again


def _import_references(count: int) -> None:
    """Store references that use the words of the question, as an import does, with vectors near to it."""
    collection = ReferenceCollection.objects.create(slug="api")
    texts = [f"GET /users/{n}/live: where the user does live, record {n} of the user." for n in range(count)]
    references = Reference.objects.bulk_create(
        Reference(collection=collection, key=str(n), kind="api", title=f"Live {n}", content=text, digest=digest(text))
        for n, text in enumerate(texts)
    )
    passages = Passage.objects.bulk_create(
        Passage(kind=Kind.REFERENCE, source_id=str(reference.pk), text=text, digest=digest(text), form=1)
        for reference, text in zip(references, texts, strict=True)
    )
    space = space_of(provider())
    near = HalfVector(provider().embed([texts[0]], timeout=2.0)[0].tolist())
    PassageVector.objects.bulk_create(PassageVector(passage=each, space=space, vector=near) for each in passages)
