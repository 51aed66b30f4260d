"""Sessions: started, flagged, ended, found again by the next one."""

from concurrent.futures import ThreadPoolExecutor
from datetime import timedelta

import pytest
from django.db import connection, transaction
from django.utils import timezone

from bigmind.core.errors import Conflict, NotFound
from knowledge.models import AUTO_CLOSED, Passage, Session
from knowledge.services.chunks import append_chunk, flag_important
from knowledge.services.context import get_context
from knowledge.services.recall import search_chunks
from knowledge.services.sessions import (
    correct_session,
    end_session,
    erase_session,
    get_session_detail,
    list_sessions,
    start_session,
)
from knowledge.tasks import close_stale_sessions
from tests.factories import make_actor, make_agent
from tests.knowledge.factories import make_session
from tests.lock_waits import wait_until_someone_waits

pytestmark = pytest.mark.django_db


def test_the_next_session_knows_how_the_last_one_ended():
    actor = make_actor()
    start_session(actor)
    end_session(actor, one_liner="Chose blue/green deploys", topics=["deploys"], outcome="Rollbacks take a minute")

    next_context = start_session(actor).context.markdown

    assert "Chose blue/green deploys" in next_context
    assert "Rollbacks take a minute" in next_context


def test_a_session_open_for_over_a_day_is_closed_by_the_next_start():
    actor = make_actor()
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


def test_a_session_in_another_editor_is_shown_in_progress_and_left_open():
    user = make_actor().user
    in_cursor, in_claude = make_agent(user, "cursor"), make_agent(user, "claude-code")
    parallel = start_session(in_cursor).session

    context = start_session(in_claude).context.markdown

    parallel.refresh_from_db()
    assert parallel.is_open
    assert f"🟡 **[in progress]** `{parallel.handle}…`" in context


def test_each_agent_means_its_own_open_session():
    user = make_actor().user
    in_cursor, in_claude = make_agent(user, "cursor"), make_agent(user, "claude-code")
    ours = start_session(in_cursor).session
    start_session(in_claude)

    chunk = flag_important(in_cursor, content="We chose Redis.")

    assert chunk.session == ours


def test_without_an_open_session_the_refusal_says_what_to_call():
    actor = make_actor()

    with pytest.raises(Conflict, match="memory_start_session"):
        flag_important(actor, content="We chose Redis.")


def test_a_session_is_meant_by_the_first_eight_characters_of_its_id():
    actor = make_actor()
    session = start_session(actor).session

    assert get_session_detail(actor, session_id=session.handle) == session
    assert get_session_detail(actor, session_id=str(session.pk).upper()) == session


def test_an_ended_session_takes_no_more_chunks_and_cannot_end_twice():
    actor = make_actor()
    session = start_session(actor).session
    end_session(actor, one_liner="Done")

    with pytest.raises(Conflict, match="has ended"):
        append_chunk(actor, role="user", content="One more", session_id=session.handle)
    with pytest.raises(Conflict, match="has ended"):
        end_session(actor, one_liner="Again", session_id=session.handle)


def test_a_session_closed_automatically_can_still_be_ended_properly():
    actor = make_actor()
    session = start_session(actor).session
    Session.objects.filter(pk=session.pk).update(started_at=timezone.now() - timedelta(hours=25))
    close_stale_sessions()

    ended = end_session(actor, one_liner="What it really was", session_id=session.handle)

    assert ended.one_liner == "What it really was"
    assert not ended.auto_closed


def test_chunks_keep_their_order_and_are_found_by_any_word_of_a_question():
    actor = make_actor()
    start_session(actor, project="pi")
    first = append_chunk(actor, role="user", content="The staging host is stage-7.internal.")
    second = flag_important(actor, content="We roll back by switching the router.", flag_reason="decision")

    hits = search_chunks(actor, query="how do we roll back a broken release?")

    assert (first.seq, second.seq) == (1, 2)
    assert [hit.id for hit in hits.items] == [str(second.pk)]
    assert {"roll", "back"} <= set(hits.items[0].matched)
    assert hits.items[0].project == "pi"


@pytest.mark.parametrize("query", ["& | ! ( ) <-> :*", "'", "\\", "%s %(x)s", "the of and", "”„", "a" * 2000])
def test_no_question_can_make_the_search_fail(query):
    actor = make_actor()
    start_session(actor)
    flag_important(actor, content="Plain words.")

    assert search_chunks(actor, query=query).items == []


def test_when_nothing_is_found_real_topics_are_suggested():
    actor = make_actor()
    start_session(actor)
    end_session(actor, one_liner="x", topics=["kubernetes"])

    hits = search_chunks(actor, query="kubernets")

    assert hits.items == []
    assert hits.did_you_mean == ["kubernetes"]


def test_sessions_are_listed_by_topic_project_words_and_date():
    actor = make_actor()
    start_session(actor, project="pi")
    end_session(actor, one_liner="Deploys by router", topics=["deploys"])
    start_session(actor)
    end_session(actor, one_liner="Billing bug", topics=["billing"])

    assert [s.one_liner for s in list_sessions(actor, topic="deploys").items] == ["Deploys by router"]
    assert [s.one_liner for s in list_sessions(actor, project="pi").items] == ["Deploys by router"]
    assert [s.one_liner for s in list_sessions(actor, text="bug").items] == ["Billing bug"]
    assert list_sessions(actor, before=timezone.now() - timedelta(days=1)).total == 0
    assert [s.one_liner for s in list_sessions(actor, limit=1, offset=1).items] == ["Deploys by router"]


def test_what_is_left_out_of_a_correction_stays():
    actor = make_actor()
    session = start_session(actor).session
    end_session(actor, one_liner="Wrong", outcome="Kept", summary="Told", key_facts=["One"])

    corrected = correct_session(actor, session_id=session.handle, one_liner="Right")

    assert (corrected.one_liner, corrected.outcome) == ("Right", "Kept")
    assert corrected.narrative.summary == "Told"


def test_an_erased_session_is_gone_from_lists_search_and_context():
    actor = make_actor()
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
def test_what_is_kept_in_a_session_while_it_is_erased_goes_with_it():
    actor = make_actor()
    session = start_session(actor).session

    def erase():
        try:
            erase_session(actor, session_id=session.handle)
        finally:
            connection.close()

    with ThreadPoolExecutor(1) as threads:
        with transaction.atomic():
            flag_important(actor, content="Unrepeatable marker.")
            erasing = threads.submit(erase)
            wait_until_someone_waits()
        erasing.result(30)

    assert not Passage.objects.filter(text__contains="Unrepeatable").exists()


def test_closing_a_session_keeps_the_headline_that_somebody_wrote():
    actor = make_actor()
    session = start_session(actor).session
    correct_session(actor, session_id=session.handle, one_liner="Chose Redis")
    Session.objects.filter(pk=session.pk).update(started_at=timezone.now() - timedelta(hours=25))

    close_stale_sessions()

    session.refresh_from_db()
    assert (session.one_liner, session.is_open) == ("Chose Redis", False)


def test_the_largest_summary_that_is_allowed_is_stored_and_found():
    actor = make_actor()
    start_session(actor)
    words = " ".join(f"word{number}" for number in range(6_000))

    end_session(
        actor, one_liner="Large", summary=words, key_facts=[f"{number} " + "x y " * 480 for number in range(50)]
    )

    assert Passage.objects.filter(kind="summary", text__contains="word5999").exists()


def test_the_latest_session_is_the_newest_of_the_person():
    actor = make_actor()
    make_session(actor, one_liner="Older")
    newest = make_session(actor, one_liner="Newest")
    make_session(make_actor())

    assert get_session_detail(actor, session_id="latest") == newest


def test_without_a_session_there_is_no_latest():
    with pytest.raises(NotFound, match="You have no session yet"):
        get_session_detail(make_actor(), session_id="latest")
