"""Every passage is searched with what makes it understandable alone, and shown without it."""

from datetime import UTC, datetime

import pytest

from knowledge.context.sessions import end_session
from knowledge.conversation.chunks import index_chunk
from knowledge.indexing.embedding import AGAIN, embed_pending
from knowledge.indexing.passage_rewriting import rewrite_passages
from knowledge.kb.entries import add_entry
from knowledge.models import Chunk, Kind, Passage, PassageVector
from knowledge.recall.semantic_search import semantic_search
from knowledge.search.passage_splitting import heads_of, split_text
from tests.knowledge.factories import make_chunk, make_fact, make_session

pytestmark = pytest.mark.django_db

LONG = "# Restoring the ledger\n\n" + "\n\n".join(
    f"## Step {name}\n\n{f'Then somebody turns the {name} crank very slowly. ' * 20}" for name in ("first", "second")
)


def _chunk(actor, content="We switched the router.", **told) -> Chunk:
    """A chunk of an open session, said on a day of its own."""
    chunk = make_chunk(actor, session=make_session(actor, is_open=True), content=content)
    chunk.created_at = datetime(2026, 5, 7, 12, tzinfo=UTC)
    chunk.save()
    index_chunk(chunk)
    return chunk


def test_a_chunk_is_found_by_the_day_it_was_said_and_shown_as_it_was_said(actor):
    chunk = _chunk(actor)
    make_fact(actor, "Lunch is at noon.")

    hits = semantic_search(actor, query="what happened on 7 May 2026").items

    assert (hits[0].kind, hits[0].id, hits[0].excerpt) == ("chunk", str(chunk.pk), "We switched the router.")
    assert {"7", "2026"} <= set(hits[0].matched)


def test_when_a_session_gets_its_headline_its_chunks_are_found_by_it(actor):
    chunk = _chunk(actor)
    end_session(actor, session_id=chunk.session.handle, one_liner="Zanzibar moved to fibre")

    rewritten = rewrite_passages()
    hits = semantic_search(actor, query="zanzibar", kinds=["chunk"]).items

    assert rewritten == 1
    assert [(hit.id, hit.excerpt) for hit in hits] == [(str(chunk.pk), "We switched the router.")]
    assert rewrite_passages() == 0


def test_what_is_rewritten_keeps_its_vector_until_the_new_one_is_there(actor):
    chunk = _chunk(actor)
    embed_pending()
    end_session(actor, session_id=chunk.session.handle, one_liner="Zanzibar moved to fibre")
    former = PassageVector.objects.get(passage__kind=Kind.CHUNK)

    rewrite_passages()
    between = PassageVector.objects.get(passage__kind=Kind.CHUNK)
    embed_pending()
    after = PassageVector.objects.get(passage__kind=Kind.CHUNK)

    assert (between.vector, between.trouble) == (former.vector, AGAIN)
    assert after.trouble == ""
    assert after.vector != former.vector


def test_what_an_older_version_wrote_is_rewritten_in_place(actor):
    chunk = _chunk(actor)
    entry = add_entry(actor, content=LONG, entry_type="fact")
    fact = make_fact(actor, "Lunch is at noon.")
    now = {passage.pk: passage.text for passage in Passage.objects.all()}
    for passage in Passage.objects.all():
        Passage.objects.filter(pk=passage.pk).update(text=passage.words, head=0, form=0, digest=f"old {passage.pk}")

    rewrite_passages()

    assert {passage.pk: passage.text for passage in Passage.objects.all()} == now
    assert Passage.objects.get(kind=Kind.CHUNK).words == chunk.content
    assert Passage.objects.filter(source_id=str(entry.id), ordinal__gt=0, head__gt=0).exists()
    assert Passage.objects.get(source_id=str(fact.pk), kind=Kind.FACT).head == 0


def test_later_pieces_of_a_long_text_are_found_by_its_title_and_shown_without_it(actor):
    add_entry(actor, content=LONG, entry_type="fact")

    last = Passage.objects.order_by("ordinal").last()

    assert last is not None
    assert last.ordinal > 0
    assert last.text.startswith("Restoring the ledger\n")
    assert "Restoring the ledger" not in last.words
    assert "restor" in str(Passage.objects.filter(pk=last.pk).values_list("lexemes", flat=True).get())


def test_a_text_that_begins_with_a_sentence_has_no_title():
    text = "It rained all day, and nobody went out.\n" + "The rain did not stop until the evening came. " * 60

    assert set(heads_of([*split_text(text)])) == {""}
