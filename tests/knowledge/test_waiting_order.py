"""What waits for a vector: people's own writing before imports, the newest first."""

import pytest
from django.db import connection
from django.test.utils import CaptureQueriesContext
from django.utils import timezone

from accounts.models import User
from knowledge.embeddings.hashing import Hashing
from knowledge.indexing import embedding
from knowledge.indexing.embedding import AGAIN, _claim, embed_pending, progress
from knowledge.kb.entries import add_entry
from knowledge.memory.facts import store_fact
from knowledge.models import EmbeddingSpace, Kind, PassageVector
from knowledge.search.passages import Indexed, index_new
from tests.factories import make_actor

WAITING = 1_500

pytestmark = pytest.mark.django_db


def import_references(count: int, *, owner: User | None = None) -> None:
    """Let this many pieces of documentation wait, by default of shared one."""
    texts = (f"GET /cranes/{number} returns crane {number} of the quay." for number in range(count))
    index_new(Kind.REFERENCE, [Indexed(number, text, "") for number, text in enumerate(texts)], owner=owner)


@pytest.fixture
def clock(monkeypatch: pytest.MonkeyPatch) -> dict[str, float]:
    """Let each text take a tenth of a second; set `a text` to let it take longer."""
    clock = {"now": 0.0, "a text": 0.1}
    embed = Hashing.embed

    def take_time(self: Hashing, texts: list[str], **more: object) -> object:
        clock["now"] += clock["a text"] * len(texts)
        return embed(self, texts, **more)

    monkeypatch.setattr(Hashing, "embed", take_time)
    monkeypatch.setattr(embedding, "monotonic", lambda: clock["now"])
    return clock


@pytest.fixture
def embedded(clock: dict[str, float], monkeypatch: pytest.MonkeyPatch) -> list[str]:
    """Collect the texts that are embedded, in that order."""
    texts: list[str] = []
    embed = Hashing.embed
    monkeypatch.setattr(Hashing, "embed", lambda self, new, **more: texts.extend(new) or embed(self, new, **more))
    return texts


def test_a_fact_is_in_the_next_batch_although_hundreds_of_references_wait() -> None:
    import_references(300)
    store_fact(make_actor(), category="decision", fact="The crane is oiled on Fridays.")
    progress()

    batch = _claim(EmbeddingSpace.objects.get(), 50, {})

    assert [row.passage.text for row in batch] == ["The crane is oiled on Fridays."]


def test_a_fact_that_is_stored_while_references_are_embedded_is_in_the_next_batch(monkeypatch) -> None:
    batches: list[list[str]] = []
    import_references(200)
    embed, actor = Hashing.embed, make_actor()

    def embed_and_write(self: Hashing, texts: list[str], **more: object) -> object:
        batches.append(list(texts))
        if len(batches) == 2:
            store_fact(actor, category="decision", fact="The crane is oiled on Fridays.")
        return embed(self, texts, **more)

    monkeypatch.setattr(Hashing, "embed", embed_and_write)

    embed_pending()

    assert batches[2] == ["The crane is oiled on Fridays."]
    assert progress().waiting == 0


def test_what_one_person_imports_waits_for_others_as_they_for_it(embedded: list[str]) -> None:
    ada, bea, cora = make_actor(), make_actor(), make_actor()
    store_fact(cora, category="decision", fact="The quay is closed on Mondays.")
    for actor, first in ((bea, 1000), (ada, 2000)):
        texts = [f"{actor.user.username} oiled crane {number}." for number in range(60)]
        index_new(Kind.FACT, [Indexed(first + n, text, "") for n, text in enumerate(texts)], owner=actor.user)

    embed_pending()

    first_half = {text.split()[0] for text in embedded[:60]}
    assert first_half == {ada.user.username, bea.user.username, "The"}
    assert len(embedded) == 121
    assert progress().waiting == 0


def test_many_short_facts_do_not_wait_for_as_many_batches_of_long_pages(clock, embedded, monkeypatch) -> None:
    import_references(60)
    ada, embed = make_actor(), Hashing.embed
    texts = [f"Ada oiled crane {number}." for number in range(60)]
    index_new(Kind.FACT, [Indexed(1000 + n, text, "") for n, text in enumerate(texts)], owner=ada.user)

    def embed_at_two_paces(self: Hashing, texts: list[str], **more: object) -> object:
        clock["a text"] = 0.2 if texts[0].startswith("GET") else 0.001
        return embed(self, texts, **more)

    monkeypatch.setattr(Hashing, "embed", embed_at_two_paces)

    embed_pending()

    assert [text.split()[0] for text in embedded] == ["Ada"] * 60 + ["GET"] * 60


def test_an_entry_does_not_wait_behind_what_somebody_imported_nor_do_references(embedded: list[str]) -> None:
    import_references(150)
    ada = make_actor()
    add_entry(ada, content="The quay is swept before the crane moves.", entry_type="fact", roles=["dev"])
    texts = [f"Ada oiled crane {number}." for number in range(150)]
    index_new(Kind.FACT, [Indexed(1000 + n, text, "") for n, text in enumerate(texts)], owner=ada.user)

    embed_pending()

    begun = {text: embedded.index(text) for text in embedded if text.startswith(("Ada", "GET", "The quay"))}
    first_of_docs = min(place for text, place in begun.items() if text.startswith("GET"))
    assert begun["The quay is swept before the crane moves."] < first_of_docs < 60
    assert max(place for text, place in begun.items() if text.startswith("Ada")) > first_of_docs
    assert progress().waiting == 0


def test_what_an_older_version_let_wait_has_its_turn_too(embedded: list[str]) -> None:
    import_references(3)
    PassageVector.objects.update(kind="")

    embed_pending()

    assert (len(embedded), progress().waiting) == (3, 0)


def test_the_newest_writing_comes_first_and_what_is_made_again_last(embedded, actor):
    store_fact(actor, category="decision", fact="An old fact.")
    embed_pending()
    PassageVector.objects.update(trouble=AGAIN, not_before=timezone.now())
    index_new(Kind.REFERENCE, [Indexed(1, "Documentation.", "")], owner=None)
    store_fact(actor, category="decision", fact="A new fact.")
    store_fact(actor, category="decision", fact="The newest fact.")
    embedded.clear()

    embed_pending()

    assert embedded == ["The newest fact.", "A new fact.", "Documentation."]
    assert progress().waiting == 0


@pytest.mark.parametrize("owned", [True, False], ids=["of one person", "of all"])
def test_the_next_batch_is_read_from_an_index_however_many_wait(owned: bool) -> None:
    import_references(WAITING, owner=make_actor().user if owned else None)
    progress()
    with connection.cursor() as cursor:
        cursor.execute("ANALYZE knowledge_passagevector")
        cursor.execute(f"EXPLAIN {_next_batch()}")
        plan = "\n".join(line for (line,) in cursor.fetchall())

    assert "vector_next" in plan, plan
    assert "Sort" not in plan


def _next_batch() -> str:
    """Return the statement by which a worker takes its batch: the last it asked before it had one."""
    with CaptureQueriesContext(connection) as asked:
        assert _claim(EmbeddingSpace.objects.get(), 50, {})
    batch = [query["sql"] for query in asked if "SKIP LOCKED" in query["sql"] and "ORDER BY" in query["sql"]][-1]
    return batch.rpartition(";")[2]  # A savepoint may travel before it.
