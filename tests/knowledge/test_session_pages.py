"""Sessions and chunks: listed, read, corrected, ended by hand."""

import pytest
from django.urls import reverse

from knowledge.models import Chunk, Session
from tests.factories import make_actor, make_agent
from tests.knowledge.factories import make_chunk, make_fact, make_session

pytestmark = pytest.mark.django_db


def test_parallel_sessions_are_shown_as_in_progress_with_their_agents(client):
    actor = make_actor()
    make_session(make_agent(actor.user, "Claude Code", host="atlas"), is_open=True)
    make_session(make_agent(actor.user, "Cursor", host="laptop"), is_open=True)
    client.force_login(actor.user)

    page = client.get(reverse("memory-sessions"))

    assert page.text.count("in progress</span>") == 2
    assert "Claude Code 1.0 on atlas" in page.text
    assert "Cursor 1.0 on laptop" in page.text


def test_the_list_is_narrowed_by_topic_project_and_words(client):
    actor = make_actor()
    make_session(actor, one_liner="Chose a runner", topics=["ci"], project="atlas")
    make_session(actor, one_liner="Chose a database", topics=["ci"], project="bigmind")
    make_session(actor, one_liner="Chose a font", topics=["design"], project="atlas")
    client.force_login(actor.user)

    page = client.get(reverse("memory-sessions"), {"topic": "ci", "project": "atlas", "text": "runner"})

    assert "Chose a runner" in page.text
    assert "Chose a database" not in page.text
    assert "Chose a font" not in page.text


def test_a_session_is_read_with_all_that_came_of_it(client):
    actor = make_actor()
    open_session = make_session(actor, is_open=True)
    make_chunk(actor, session=open_session, content="Use **halfvec**.", flag_reason="It halves the index")
    make_fact(actor, "Indexes are small.", source_session=open_session.handle)
    session = open_session
    client.force_login(actor.user)
    client.post(
        reverse("memory-session-end", args=[session.pk]),
        {
            "one_liner": "Chose a type",
            "topics": "vectors, postgres",
            "summary": "# Why\r\n\r\n*Measured.*",
            "key_facts": "Half the size\r\nSame recall",
            "code_refs": "search/vectors.py",
        },
    )

    page = client.get(reverse("memory-session", args=[session.pk]))

    for shown in (
        "<h1>Chose a type</h1>",
        "<h3>Why</h3>",
        "<em>Measured.</em>",
        "<li>Half the size</li>",
        "<code>search/vectors.py</code>",
        "<strong>halfvec</strong>",
        "It halves the index",
        "Indexes are small.",
        "vectors",
        "closed",
    ):
        assert shown in page.text


def test_ending_by_hand_needs_a_headline(client):
    actor = make_actor()
    session = make_session(actor, is_open=True)
    client.force_login(actor.user)

    page = client.post(reverse("memory-session-end", args=[session.pk]), {"outcome": "Typed already."})

    assert "Headline: This field is required." in page.text
    assert "Typed already." in page.text
    assert Session.objects.get().is_open


def test_ending_a_session_that_has_ended_updates_its_record(client):
    actor = make_actor()
    session = make_session(actor, one_liner="Before")
    client.force_login(actor.user)

    client.post(reverse("memory-session-end", args=[session.pk]), {"one_liner": "After"})

    assert Session.objects.get().one_liner == "After"


def test_headline_and_summary_are_corrected(client):
    actor = make_actor()
    session = make_session(
        actor, one_liner="Before", summary="Old.", key_facts=["Kept"], importance=7, topics=["a", "b"]
    )
    client.force_login(actor.user)
    address = reverse("memory-session-correct", args=[session.pk])
    asked = client.get(address)

    page = client.post(
        address,
        {"one_liner": "After", "summary": "New.", "key_facts": "Kept\n- as typed", "importance": "7", "topics": "a, b"},
        follow=True,
    )

    assert 'value="a, b"' in asked.text
    assert "The session is corrected." in page.text
    session.refresh_from_db()
    assert (session.one_liner, session.importance, session.topics) == ("After", 7, ["a", "b"])
    assert (session.summary.summary, session.summary.key_facts) == ("New.", ["Kept", "- as typed"])


def test_an_importance_that_is_too_high_is_refused_with_the_limit(client):
    actor = make_actor()
    session = make_session(actor, one_liner="Before")
    client.force_login(actor.user)

    page = client.post(reverse("memory-session-correct", args=[session.pk]), {"one_liner": "x", "importance": "11"})

    assert "Importance: This must be 10 or less." in page.text
    session.refresh_from_db()
    assert session.one_liner == "Before"


def test_a_headline_that_is_too_long_is_cut_and_kept_whole_in_the_outcome(client):
    actor = make_actor()
    session = make_session(actor, one_liner="Before")
    client.force_login(actor.user)

    client.post(reverse("memory-session-correct", args=[session.pk]), {"one_liner": "word " * 30, "importance": "5"})

    session.refresh_from_db()
    assert (len(session.one_liner), session.outcome) == (115, ("word " * 30).strip())


def test_a_session_in_progress_can_be_corrected_without_a_headline(client):
    actor = make_actor()
    session = make_session(actor, is_open=True)
    client.force_login(actor.user)

    client.post(reverse("memory-session-correct", args=[session.pk]), {"topics": "ci", "importance": "5"})

    session.refresh_from_db()
    assert (session.topics, session.one_liner) == (["ci"], "")


def test_a_chunk_is_corrected(client):
    actor = make_actor()
    chunk = make_chunk(actor, content="Wrong.", flag_reason="Why")
    client.force_login(actor.user)

    page = client.post(
        reverse("memory-chunk", args=[chunk.pk]), {"content": "  Right.\r\n", "flag_reason": ""}, follow=True
    )

    assert page.redirect_chain[-1][0] == reverse("memory-session", args=[chunk.session_id])
    chunk.refresh_from_db()
    assert (chunk.content, chunk.flag_reason) == ("  Right.\n", "")


def test_a_session_of_many_chunks_is_paged(client):
    actor = make_actor()
    session = make_session(actor, is_open=True)
    Chunk.objects.bulk_create(
        Chunk(session=session, user=actor.user, seq=number, content=f"Exchange number {number}.")
        for number in range(21)
    )
    client.force_login(actor.user)

    first = client.get(reverse("memory-session", args=[session.pk]))
    second = client.get(reverse("memory-session", args=[session.pk]), {"offset": "20"})

    assert "1 to 20 of 21 chunks" in first.text
    assert "Exchange number 20." in second.text
