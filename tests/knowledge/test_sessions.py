"""Sessions: started, flagged, ended, found again by the next one."""

from dataclasses import replace
from datetime import timedelta

import pytest
from django.urls import reverse
from django.utils import timezone

from bigmind.core.errors import NotFound
from bigmind.privacy.screening.policy import collect_notices
from knowledge.context.sessions import (
    correct_session,
    end_session,
    erase_session,
    get_session_detail,
    list_sessions,
    start_session,
)
from knowledge.context.start_context import get_context
from knowledge.conversation.chunks import append_chunk, flag_important
from knowledge.memory.facts import store_fact
from knowledge.models import AUTO_CLOSED, Chunk, Passage, Session
from knowledge.recall.recall import search_chunks
from knowledge.tasks import close_stale_sessions
from tests.factories import make_actor, make_agent
from tests.knowledge.factories import make_chunk, make_session
from tests.lock_waits import at_once, meanwhile

pytestmark = pytest.mark.django_db


def test_the_next_session_knows_how_the_last_one_ended(actor):
    start_session(actor)
    end_session(actor, one_liner="Chose blue/green deploys", topics=["deploys"], outcome="Rollbacks take a minute")

    next_context = start_session(actor).context.markdown

    assert "Chose blue/green deploys" in next_context
    assert "Rollbacks take a minute" in next_context


def test_a_session_open_for_over_a_day_is_closed_by_the_next_start(actor):
    forgotten = start_session(actor).session
    Session.objects.filter(pk=forgotten.pk).update(started_at=timezone.now() - timedelta(hours=25))

    started = start_session(actor)

    forgotten.refresh_from_db()
    assert started.auto_closed == 1
    assert forgotten.one_liner == AUTO_CLOSED == "[auto-closed — session exceeded 24h]"
    assert not forgotten.is_open


def test_the_sweep_closes_stale_sessions_of_everyone():
    stale = [start_session(make_actor()).session for _ in range(2)]
    fresh = start_session(make_actor()).session
    Session.objects.filter(pk__in=[session.pk for session in stale]).update(
        started_at=timezone.now() - timedelta(hours=25)
    )

    close_stale_sessions()

    assert list(Session.objects.open()) == [fresh]


def test_each_agent_means_its_own_session_and_reads_of_one_in_another_editor_that_it_is_in_progress():
    user = make_actor().user
    in_cursor, in_claude = make_agent(user, "cursor"), make_agent(user, "claude-code")
    ours = start_session(in_cursor).session

    context = start_session(in_claude).context.markdown
    chunk = flag_important(in_cursor, content="We chose Redis.")

    ours.refresh_from_db()
    assert ours.is_open
    assert f"🟡 **[in progress]** `{ours.handle}`" in context
    assert chunk.session == ours


def test_an_exchange_without_a_session_opens_one_and_says_so(actor):
    with collect_notices() as notices:
        chunk = flag_important(actor, content="We chose Redis.")

    assert chunk.session.is_open
    assert notices == [f"No session was open, so session {chunk.session.handle} was opened for this."]


def test_an_end_without_a_session_is_kept_as_a_session_that_has_ended(actor):
    ended = end_session(actor, one_liner="Chose Redis", outcome="It was there.", key_facts=["Redis 8"])

    assert (ended.one_liner, ended.outcome, ended.narrative.key_facts) == ("Chose Redis", "It was there.", ["Redis 8"])
    assert not ended.is_open


def test_a_headline_that_is_too_long_is_cut_at_a_word_and_kept_whole_in_the_outcome(actor):
    headline = ("Moved the depot of the northern lines to the new cluster, " * 4).strip()

    ended = end_session(actor, one_liner=headline, outcome="No downtime.")

    assert len(ended.one_liner) <= 120
    assert headline.startswith(ended.one_liner.removesuffix("…") + " ")
    assert ended.outcome == f"{headline}\n\nNo downtime."


def test_sessions_are_numbered_for_each_person_and_no_number_is_given_again():
    actor, other = make_actor(), make_actor()

    handles = [start_session(one).session.handle for one in (actor, other, actor, other)]
    erase_session(actor, session_id="S2")

    assert handles == ["S1", "S1", "S2", "S2"]
    assert start_session(actor).session.handle == "S3"


def test_a_session_is_meant_by_handle_number_id_and_the_beginning_of_its_id(actor):
    start_session(make_actor())
    start_session(actor)
    session = start_session(actor).session

    for name in ("S2", "s2", "2", "session:2", "session:S2", str(session.pk).upper(), str(session.pk)[:8]):
        assert get_session_detail(actor, session_id=name) == session, name


@pytest.mark.parametrize("name", ["S1", "1", "S999", "9999999", "run-42", "deadbeef", "latest one"])
def test_what_names_no_session_of_ones_own_is_not_found(name):
    start_session(make_actor())

    with pytest.raises(NotFound, match="You have no session"):
        get_session_detail(make_actor(), session_id=name)


def test_a_named_session_that_has_ended_takes_one_more_exchange_and_says_so(actor):
    session = start_session(actor).session
    end_session(actor, one_liner="Done")

    with collect_notices() as notices:
        chunk = append_chunk(actor, role="user", content="One more", session_id=session.handle)

    assert chunk.session == session
    assert notices == [f"Session {session.handle} had ended; this was added to it."]


def test_a_second_end_and_a_correction_keep_what_they_leave_out(actor):
    session = start_session(actor).session
    end_session(actor, one_liner="Done", outcome="It works.", key_facts=["One"])

    ended = end_session(actor, one_liner="Done at last", summary="How.", session_id=session.handle)
    corrected = correct_session(actor, session_id=session.handle, one_liner="Right")

    assert (ended.pk, ended.one_liner, ended.outcome) == (session.pk, "Done at last", "It works.")
    assert (ended.narrative.summary, ended.narrative.key_facts) == ("How.", ["One"])
    assert (corrected.one_liner, corrected.outcome) == ("Right", "It works.")
    assert corrected.narrative.summary == "How."


@pytest.mark.parametrize("named", ["whole", "short"])
def test_an_unknown_session_loses_no_fact_and_is_said(named):
    actor, foreign = make_actor(), make_session(make_actor())
    other = str(foreign.pk) if named == "whole" else str(foreign.pk)[:8]
    start_session(actor)

    with collect_notices() as notices:
        stored = store_fact(actor, category="decision", fact="The ferry has two decks.", source_session=other)

    assert stored.fact.source_session is None
    assert notices == [f"You have no session {other}. This was stored without a session."]


def test_an_idle_session_of_the_same_program_is_closed_by_its_next_start_and_a_fresh_one_is_not():
    actor = make_agent(make_actor().user, "script")
    idle, fresh, elsewhere = (start_session(actor, project=name).session for name in ("ferry", "ferry", "depot"))
    Session.objects.filter(pk__in=[idle.pk, elsewhere.pk]).update(started_at=timezone.now() - timedelta(hours=3))

    started = start_session(actor, project="ferry")

    assert started.auto_closed == 1
    assert set(Session.objects.open()) == {fresh, elsewhere, started.session}
    idle.refresh_from_db()
    assert (idle.one_liner, idle.auto_closed) == ("", True)


def test_a_long_session_in_which_something_was_stored_lately_stays_open():
    actor = make_agent(make_actor().user, "script")
    busy = start_session(actor, project="ferry").session
    Session.objects.filter(pk=busy.pk).update(started_at=timezone.now() - timedelta(hours=3))
    flag_important(actor, content="We chose Redis.")

    start_session(actor, project="ferry")

    busy.refresh_from_db()
    assert busy.is_open


def test_a_session_closed_automatically_can_still_be_ended_properly(actor):
    session = start_session(actor).session
    Session.objects.filter(pk=session.pk).update(started_at=timezone.now() - timedelta(hours=25))
    close_stale_sessions()

    ended = end_session(actor, one_liner="What it really was", session_id=session.handle)

    assert ended.one_liner == "What it really was"
    assert not ended.auto_closed


def test_chunks_keep_their_order_and_are_found_by_any_word_of_a_question(actor):
    start_session(actor, project="pi")
    first = append_chunk(actor, role="user", content="The staging host is stage-7.internal.")
    second = flag_important(actor, content="We roll back by switching the router.", flag_reason="decision")

    hits = search_chunks(actor, query="how do we roll back a broken release?")

    assert (first.seq, second.seq) == (1, 2)
    assert [hit.id for hit in hits.items] == [str(second.pk)]
    assert {"roll", "back"} <= set(hits.items[0].matched)
    assert hits.items[0].project == "pi"


def test_when_nothing_is_found_real_topics_are_suggested(actor):
    start_session(actor)
    end_session(actor, one_liner="x", topics=["kubernetes"])

    hits = search_chunks(actor, query="kubernets")

    assert hits.items == []
    assert hits.did_you_mean == ["kubernetes"]


def test_sessions_are_listed_by_topic_project_words_and_date(actor):
    start_session(actor, project="pi")
    end_session(actor, one_liner="Deploys by router", topics=["deploys"])
    start_session(actor)
    end_session(actor, one_liner="Billing bug", topics=["billing"])

    assert [s.one_liner for s in list_sessions(actor, topic="deploys").items] == ["Deploys by router"]
    assert [s.one_liner for s in list_sessions(actor, project="pi").items] == ["Deploys by router"]
    assert [s.one_liner for s in list_sessions(actor, text="bug").items] == ["Billing bug"]
    assert list_sessions(actor, before=timezone.now() - timedelta(days=1)).total == 0
    assert [s.one_liner for s in list_sessions(actor, limit=1, offset=1).items] == ["Deploys by router"]


def test_an_erased_session_is_gone_from_lists_search_and_context(actor):
    session = start_session(actor).session
    flag_important(actor, content="Unrepeatable marker.")
    end_session(actor, one_liner="Unrepeatable headline")

    erase_session(actor, session_id=session.handle)

    assert list_sessions(actor).total == 0
    assert search_chunks(actor, query="unrepeatable").items == []
    assert "Unrepeatable" not in get_context(actor).markdown
    with pytest.raises(NotFound):
        get_session_detail(actor, session_id=str(session.pk))


@pytest.mark.django_db(transaction=True)
def test_what_is_kept_in_a_session_while_it_is_erased_goes_with_it(actor):
    session = start_session(actor).session

    meanwhile(
        lambda: flag_important(actor, content="Unrepeatable marker."),
        lambda: erase_session(actor, session_id=session.handle),
    )

    assert not Passage.objects.filter(text__contains="Unrepeatable").exists()


@pytest.mark.django_db(transaction=True)
def test_the_first_writes_of_a_conversation_open_one_session_however_many_come_at_once():
    actor = replace(make_actor(), conversation="run-1")

    chunks = at_once(lambda number: flag_important(actor, content=f"We chose Redis {number}."), range(8))

    assert len({chunk.session_id for chunk in chunks}) == Session.objects.count() == 1


def test_closing_a_session_keeps_the_headline_that_somebody_wrote(actor):
    session = start_session(actor).session
    correct_session(actor, session_id=session.handle, one_liner="Chose Redis")
    Session.objects.filter(pk=session.pk).update(started_at=timezone.now() - timedelta(hours=25))

    close_stale_sessions()

    session.refresh_from_db()
    assert (session.one_liner, session.is_open) == ("Chose Redis", False)


def test_the_largest_summary_that_is_allowed_is_stored_and_found(actor):
    start_session(actor)
    words = " ".join(f"word{number}" for number in range(6_000))

    end_session(
        actor, one_liner="Large", summary=words, key_facts=[f"{number} " + "x y " * 480 for number in range(50)]
    )

    assert Passage.objects.filter(kind="summary", text__contains="word5999").exists()


def test_the_latest_session_is_the_newest_of_the_person(actor):
    make_session(make_actor())
    with pytest.raises(NotFound, match="You have no session yet"):
        get_session_detail(actor, session_id="latest")
    make_session(actor, one_liner="Older")

    newest = make_session(actor, one_liner="Newest")

    assert get_session_detail(actor, session_id="latest") == newest


def test_a_session_in_progress_is_corrected_and_ended_by_hand_with_a_headline(browser, actor):
    session = make_session(actor, is_open=True)
    end = reverse("memory-session-end", args=[session.pk])

    browser.post(reverse("memory-session-correct", args=[session.pk]), {"topics": "ci", "importance": "5"})
    refused = browser.post(end, {"outcome": "Typed already."})
    session.refresh_from_db()
    before = session.is_open, session.topics, session.one_liner
    for headline in ("Before", "After"):
        browser.post(end, {"one_liner": headline})

    assert "Headline: This field is required." in refused.text
    assert "Typed already." in refused.text
    assert before == (True, ["ci"], "")
    session.refresh_from_db()
    assert (session.is_open, session.one_liner) == (False, "After")


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
