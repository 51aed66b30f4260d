"""Upkeep: statistics, the health check, pruning."""

from datetime import timedelta

import pytest
from django.utils import timezone

from knowledge.context.sessions import end_session, get_session_detail, start_session
from knowledge.conversation.chunks import append_chunk
from knowledge.memory.facts import deprecate_fact, store_fact
from knowledge.memory.upkeep import check_health, get_profile_url, get_stats, open_profile, vacuum
from knowledge.models import Chunk, Fact, Passage
from tests.factories import make_actor

pytestmark = pytest.mark.django_db


def _findings(actor, **arguments):
    return {finding.check: finding for finding in check_health(actor, **arguments).findings}


def test_statistics_count_ones_own_things_only():
    actor, other = make_actor(), make_actor()
    store_fact(other, category="identity", fact="Foreign.")
    start_session(actor)
    fact = store_fact(actor, category="identity", fact="Mine.").fact
    deprecate_fact(actor, fact_id=fact.pk, reason="No.")

    stats = get_stats(actor)

    assert (stats.sessions, stats.open_sessions, stats.facts, stats.deprecated_facts) == (1, 1, 0, 1)


def test_members_of_a_team_are_not_told_how_much_others_store(settings):
    settings.BIGMIND_MODE = "team"

    assert get_stats(make_actor()).database_bytes is None
    assert get_stats(make_actor(admin=True)).database_bytes > 0


def test_the_health_check_finds_what_needs_a_look(actor):
    stale = store_fact(actor, category="decision", fact="Old.").fact
    Fact.objects.filter(pk=stale.pk).update(updated_at=timezone.now() - timedelta(days=31))
    doubtful = store_fact(actor, category="decision", fact="Maybe.", confidence=0.3).fact
    lost = store_fact(actor, category="decision", fact="Lost.").fact
    Passage.objects.filter(source_id=str(lost.pk)).delete()
    start_session(actor)
    end_session(actor, one_liner="No summary")
    open_session = start_session(actor).session

    found = _findings(actor)

    assert found["stale_facts"].ids == [str(stale.number)]
    assert found["low_confidence_facts"].ids == [str(doubtful.number)]
    assert found["search_index"].ids == [f"fact {lost.number}"]
    assert found["open_sessions"].ids == [str(open_session.pk)]
    assert found["sessions_without_summary"].count == 1
    assert check_health(actor).status == "attention"
    assert _findings(actor, stale_days=60)["stale_facts"].count == 0


def test_pruning_counts_first_then_deletes_chunks_and_keeps_summaries():
    actor, other = make_actor(), make_actor()
    for who in (actor, other):
        start_session(who)
        append_chunk(who, role="user", content="Old words.")
    Chunk.objects.update(created_at=timezone.now() - timedelta(days=100))
    append_chunk(actor, role="user", content="New words.")
    session = end_session(actor, one_liner="x", summary="Kept.")

    would = vacuum(actor)
    assert (would.dry_run, would.chunks, Chunk.objects.count()) == (True, 1, 3)

    vacuum(actor, dry_run=False)
    detail = get_session_detail(actor, session_id=str(session.pk))
    assert [chunk.content for chunk in detail.chunks_in_order] == ["New words."]
    assert detail.narrative.summary == "Kept."
    assert Chunk.objects.filter(user=other.user).count() == 1


def test_the_profile_has_an_address_and_opens_in_personal_mode_only(settings, monkeypatch):
    opened = []
    monkeypatch.setattr("webbrowser.open", lambda url: opened.append(url) or True)
    actor = make_actor()

    url = get_profile_url(actor).url
    assert url.endswith(f"/u/{actor.user.username}/")
    assert open_profile(actor).opened
    settings.BIGMIND_MODE = "team"
    assert not open_profile(actor).opened
    assert opened == [url]
