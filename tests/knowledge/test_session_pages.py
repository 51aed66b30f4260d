"""Sessions and chunks: listed, read, corrected, ended by hand."""

import pytest
from django.urls import reverse

from knowledge.models import Chunk, Session
from tests.knowledge.factories import make_chunk, make_session

pytestmark = pytest.mark.django_db


def test_ending_by_hand_needs_a_headline(browser, actor):
    session = make_session(actor, is_open=True)

    page = browser.post(reverse("memory-session-end", args=[session.pk]), {"outcome": "Typed already."})

    assert "Headline: This field is required." in page.text
    assert "Typed already." in page.text
    assert Session.objects.get().is_open


def test_ending_a_session_that_has_ended_updates_its_record(browser, actor):
    session = make_session(actor, one_liner="Before")

    browser.post(reverse("memory-session-end", args=[session.pk]), {"one_liner": "After"})

    assert Session.objects.get().one_liner == "After"


def test_headline_and_summary_are_corrected(browser, actor):
    session = make_session(
        actor, one_liner="Before", summary="Old.", key_facts=["Kept"], importance=7, topics=["a", "b"]
    )
    address = reverse("memory-session-correct", args=[session.pk])
    asked = browser.get(address)

    page = browser.post(
        address,
        {"one_liner": "After", "summary": "New.", "key_facts": "Kept\n- as typed", "importance": "7", "topics": "a, b"},
        follow=True,
    )

    assert 'value="a, b"' in asked.text
    assert "The session is corrected." in page.text
    session.refresh_from_db()
    assert (session.one_liner, session.importance, session.topics) == ("After", 7, ["a", "b"])
    assert (session.summary.summary, session.summary.key_facts) == ("New.", ["Kept", "- as typed"])


def test_a_headline_that_is_too_long_is_cut_and_kept_whole_in_the_outcome(browser, actor):
    session = make_session(actor, one_liner="Before")

    browser.post(reverse("memory-session-correct", args=[session.pk]), {"one_liner": "word " * 30, "importance": "5"})

    session.refresh_from_db()
    assert (len(session.one_liner), session.outcome) == (115, ("word " * 30).strip())


def test_a_session_in_progress_can_be_corrected_without_a_headline(browser, actor):
    session = make_session(actor, is_open=True)

    browser.post(reverse("memory-session-correct", args=[session.pk]), {"topics": "ci", "importance": "5"})

    session.refresh_from_db()
    assert (session.topics, session.one_liner) == (["ci"], "")


def test_a_chunk_is_corrected(browser, actor):
    chunk = make_chunk(actor, content="Wrong.", flag_reason="Why")

    page = browser.post(
        reverse("memory-chunk", args=[chunk.pk]), {"content": "  Right.\r\n", "flag_reason": ""}, follow=True
    )

    assert page.redirect_chain[-1][0] == reverse("memory-session", args=[chunk.session_id])
    chunk.refresh_from_db()
    assert (chunk.content, chunk.flag_reason) == ("  Right.\n", "")


def test_a_session_of_many_chunks_is_paged(browser, actor):
    session = make_session(actor, is_open=True)
    Chunk.objects.bulk_create(
        Chunk(session=session, user=actor.user, seq=number, content=f"Exchange number {number}.")
        for number in range(21)
    )

    first = browser.get(reverse("memory-session", args=[session.pk]))
    second = browser.get(reverse("memory-session", args=[session.pk]), {"offset": "20"})

    assert "1 to 20 of 21 chunks" in first.text
    assert "Exchange number 20." in second.text
