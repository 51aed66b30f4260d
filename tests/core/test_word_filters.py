"""Narrowing a list down by words: all of them, in any order, in one column or another."""

import pytest

from curation.proposals.queue import list_queue
from knowledge.context.sessions import end_session, list_sessions, start_session
from knowledge.memory.facts import list_facts, store_fact
from tests.curation.factories import propose
from tests.factories import make_actor

pytestmark = pytest.mark.django_db


@pytest.mark.parametrize("text", ["staging Frankfurt", "frankfurt STAGING", "runs  staging\n", "ging kfur"])
def test_a_list_of_facts_is_narrowed_down_by_all_words_in_any_order(text):
    actor = make_actor()
    store_fact(actor, category="codebase", fact="Staging runs in the region Frankfurt.")
    store_fact(actor, category="codebase", fact="Staging runs in Dublin in summer, production in Frankfurt-West."[:40])

    found = list_facts(actor, text=text).items

    assert "Staging runs in the region Frankfurt." in [fact.fact for fact in found]
    assert not list_facts(actor, text=f"{text} Oslo").items


def test_a_list_of_sessions_is_narrowed_down_by_words_of_the_headline_and_the_outcome():
    actor = make_actor()
    session = start_session(actor).session
    end_session(actor, one_liner="Chose rolling deploys", outcome="Frankfurt goes first.", session_id=str(session.pk))

    assert list_sessions(actor, text="frankfurt rolling").items == [session]
    assert not list_sessions(actor, text="frankfurt canary").items


def test_the_queue_is_narrowed_down_by_words_of_the_title_and_the_text(settings):
    settings.BIGMIND_MODE = "team"
    entry = propose(title="Deploys", content="They begin in Frankfurt.")

    found = list_queue(make_actor(curator=True), text="frankfurt deploys")

    assert [item.entry.pk for item in found.items] == [entry.pk]
