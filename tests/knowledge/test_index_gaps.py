"""What search cannot find although it is stored is counted, shown and mended."""

import json
from datetime import timedelta
from io import StringIO

import pytest
from django.core.management import CommandError, call_command
from django.db import connection
from django.utils import timezone

from accounts.models import TaskTally
from accounts.services.task_statistics import tally_task
from bigmind.observability import health
from knowledge.context.sessions import correct_session, start_session
from knowledge.indexing.embedding import embed_pending
from knowledge.indexing.index_gaps import check_index, find_gaps
from knowledge.kinds import KINDS
from knowledge.memory.upkeep import check_health
from knowledge.models import STALE_AFTER, Fact, IndexGap, Kind, Passage, PassageVector, Session
from knowledge.recall.semantic_search import semantic_search
from tests.everything import make_one_of_everything
from tests.factories import make_actor
from tests.knowledge.factories import make_chunk, make_fact

pytestmark = pytest.mark.django_db


def gaps() -> dict[tuple[str, str], int]:
    return {(one.gap, one.kind): one.count for one in find_gaps()}


def test_nothing_is_missing_in_an_index_of_every_kind_and_whatever_is_lost_comes_back() -> None:
    make_one_of_everything()
    embed_pending()
    before = gaps()
    check_index()  # A copy of an entry was made without the service that indexes it.
    kinds = set(Passage.objects.values_list("kind", flat=True))
    Passage.objects.exclude(kind=Kind.PERSON).delete()

    lost = gaps()
    check_index()

    assert before == {("passages", "company"): 1}
    assert {kind for gap, kind in lost if gap == "passages"} == kinds - {Kind.PERSON}
    assert gaps() == {}
    assert set(Passage.objects.values_list("kind", flat=True)) == kinds


def test_nothing_is_missing_of_a_session_that_goes_on_nor_of_one_that_nobody_ended(actor):
    forgotten = start_session(actor, project="pi", topics=["deploys"]).session
    make_chunk(actor, session=forgotten, content="The router of the depot was switched.")
    Session.objects.update(started_at=timezone.now() - 2 * STALE_AFTER)
    assert start_session(actor, project="pi", topics=["routers"]).auto_closed == 1
    embed_pending()

    found = gaps()
    correct_session(actor, session_id=str(forgotten.pk), topics=["switches"])
    embed_pending()

    assert found == gaps() == {}
    assert [passage.text for passage in Passage.objects.filter(kind=Kind.SUMMARY)] == ["switches"]


def test_every_kind_says_what_must_have_passages_and_how_they_are_written() -> None:
    silent = [kind for kind, row in KINDS.items() if row.searchable is None and kind != Kind.PERSON]

    assert silent == []
    assert [kind for kind, row in KINDS.items() if not (row.own or row.index)] == []


def test_each_gap_is_told_by_all_voices_and_mended_by_one_command() -> None:
    actor = make_actor(admin=True)
    for number in range(4):
        make_fact(actor, f"The depot of street {number} is closed on Fridays.")
    embed_pending()
    first, second, third, fourth = Passage.objects.order_by("pk")
    with connection.cursor() as cursor:
        cursor.execute("SET CONSTRAINTS ALL IMMEDIATE")
        cursor.execute("ALTER TABLE knowledge_passage DISABLE TRIGGER write_lexemes")
        cursor.execute("UPDATE knowledge_passage SET lexemes = NULL WHERE id = %s", [first.pk])
        cursor.execute("ALTER TABLE knowledge_passage ENABLE TRIGGER write_lexemes")
    PassageVector.objects.filter(passage=second).delete()
    PassageVector.objects.filter(passage=third).update(vector=[0.5, 0.5])
    Fact.objects.filter(pk=fourth.source_id).delete()
    said = StringIO()
    with pytest.raises(CommandError, match="4 are missing"):
        call_command("reindex", "--dry-run", stdout=said)
    part = health.index(is_known=True)

    told = " ".join(finding.says for finding in check_health(actor).findings)
    done = StringIO()
    call_command("reindex", "--json", stdout=done)
    embed_pending()

    assert {row.gap for row in IndexGap.objects.all()} == set()
    assert not part.stops
    assert part.error in told
    assert "1 passages without words" in part.error
    assert {gap["gap"] for gap in json.loads(done.getvalue())["found"]} == {
        "words",
        "vectors",
        "other_model",
        "orphans",
    }
    assert health.index(is_known=True).ok
    assert PassageVector.objects.exclude(vector=None).count() == Passage.objects.count() == 3
    assert len(semantic_search(actor, query="depot street 0").items) == 3


def test_a_check_that_failed_says_so_and_is_not_taken_for_a_whole_index() -> None:
    tally_task("knowledge.tasks.check_index", seconds=1, scheduled=True, request_id="1", error="QueryCanceled")
    failed = health.index(is_known=True)
    TaskTally.objects.update(failed_at=timezone.now() - timedelta(hours=1))
    tally_task("knowledge.tasks.check_index", seconds=1, scheduled=True, request_id="2")

    assert "QueryCanceled" in failed.error
    assert health.index(is_known=True).ok
