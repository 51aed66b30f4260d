"""The embedding pipeline as admins see it: what waits, what failed and why, and what they can do about it."""

from datetime import timedelta

import pytest
from django.urls import reverse
from django.utils import timezone

from knowledge.embeddings.calls import FAILURES, Circuit
from knowledge.indexing.embedding import AGAIN, active_space, embed_pending, progress, start_again, stop_rebuild
from knowledge.kb.entries import add_entry
from knowledge.models import CachedVector, EmbeddingSpace, Kind, Passage, PassageVector
from knowledge.search.passages import Indexed, index_new
from tests.factories import make_actor
from tests.knowledge.factories import make_fact, make_facts

pytestmark = [pytest.mark.django_db, pytest.mark.usefixtures("nothing_cached")]

REFUSED = "The embedding endpoint answered 413: it does not take these texts."


@pytest.fixture
def admin(client):
    """An admin who is signed in."""
    actor = make_actor(admin=True)
    client.force_login(actor.user)
    return actor


def _stored(count=3):
    """Facts of somebody whose vectors are made."""
    owner = make_actor()
    facts = make_facts(owner, [f"Private thought {number}." for number in range(count)])
    embed_pending()
    return facts


def _fail(fact, reason=REFUSED):
    rows = PassageVector.objects.filter(passage__kind="fact", passage__source_id=str(fact.pk))
    rows.update(vector=None, trouble=reason, not_before=timezone.now() + timedelta(hours=23, minutes=30))


def _space(page, number=0):
    return page.context["state"].spaces[number]


def test_only_admins_are_led_there(client):
    client.force_login(make_actor().user)
    assert reverse("embeddings") not in client.get(reverse("kb")).text

    client.force_login(make_actor(admin=True).user)
    assert reverse("embeddings") in client.get(reverse("kb")).text


def test_the_page_counts_what_is_made_and_what_waits_and_since_when(client, admin):
    _stored(3)
    make_fact(make_actor(), "Still waiting.")
    Passage.objects.filter(text="Still waiting.").update(created_at=timezone.now() - timedelta(hours=2))
    EmbeddingSpace.objects.update(created_at=timezone.now() - timedelta(days=9))

    page = client.get(reverse("embeddings"))

    space = _space(page)
    assert (space.total, space.made, space.waiting, space.failed, space.cached) == (4, 3, 1, 0, 3)
    assert "2 hours ago" in page.text
    assert "3 of 4" in page.text
    assert "hashing" in page.text


def test_failures_are_grouped_by_reason_show_nobodys_text_and_link_an_entry(client, admin):
    entry = add_entry(admin, content="Shared.", entry_type="fact").entry
    facts = _stored(6)
    for fact in facts[:5]:
        _fail(fact)
    _fail(facts[5], "The embedder answered with a vector of zeros.")
    PassageVector.objects.filter(passage__kind="entry").update(vector=None, trouble="Other.")

    page = client.get(reverse("embeddings"))

    assert sorted((one.reason, one.count, len(one.examples)) for one in _space(page).failures) == [
        ("Other.", 1, 1),
        ("The embedder answered with a vector of zeros.", 1, 1),
        (REFUSED, 5, 3),
    ]
    assert _space(page).failures[0].count == 5
    assert REFUSED in page.text
    assert "in 23 hours" in page.text
    assert f"fact <code>{facts[0].pk}</code>" in page.text
    assert reverse("kb-entry", args=[entry.pk]) in page.text
    assert "Private thought" not in page.text


def test_failures_are_retried_now(client, admin):
    facts = _stored(3)
    _fail(facts[0])
    _fail(facts[1])

    page = client.post(reverse("embeddings-retry"), follow=True)
    waited = _space(page).waiting
    made = embed_pending()

    assert "2 texts will be tried again now." in page.text
    assert (waited, made) == (2, 2)
    assert progress().waiting == 0


def test_an_embedder_that_was_left_alone_is_asked_again_on_retry(client, admin):
    _stored(1)
    circuit = Circuit(active_space().name)
    for _ in range(FAILURES):
        circuit.note_failure()

    before = client.get(reverse("embeddings"))
    after = client.post(reverse("embeddings-retry"), follow=True)

    assert "not answering" in before.text
    assert "not answering" not in after.text
    assert circuit.admits()


def test_all_vectors_are_made_anew_after_a_question_and_without_what_was_kept_when_that_is_ticked(client, admin):
    _stored(3)

    asked = client.get(reverse("embeddings-rebuild"))
    untouched = PassageVector.objects.filter(trouble=AGAIN).count()
    page = client.post(reverse("embeddings-rebuild"), follow=True)
    kept = CachedVector.objects.count()
    client.post(reverse("embeddings-rebuild"), {"clear_cache": "on"})

    assert "Re-embed everything?" in asked.text
    assert untouched == 0
    assert "3 texts will get new vectors." in page.text
    assert (_space(page).again, _space(page).made) == (3, 0)
    assert (kept, CachedVector.objects.count()) == (3, 0)
    assert "Stop the rebuild" in page.text


def test_a_rebuild_is_stopped_once_and_the_old_vectors_stay(client, admin):
    _stored(3)
    start_again(batch_size=50, clear_cache=True)
    make_fact(make_actor(), "New meanwhile.")

    asked = client.get(reverse("embeddings-stop"))
    page = client.post(reverse("embeddings-stop"), follow=True)
    late = client.get(reverse("embeddings-stop"))

    assert "Stop the rebuild?" in asked.text
    assert "3 texts will not get a new vector." in page.text
    assert (_space(page).made, _space(page).waiting) == (3, 1)
    assert "Nothing is being rebuilt." in late.text
    assert stop_rebuild(admin) == 0
    assert embed_pending() == 1


def test_a_rebuild_that_was_asked_for_twice_lets_go_of_each_text_once(admin):
    _stored(3)
    start_again(batch_size=50, clear_cache=True)
    PassageVector.objects.filter(pk__in=PassageVector.objects.values("pk")[:2]).update(trouble=AGAIN)

    assert stop_rebuild(admin) == 3
    assert embed_pending() == 0


def test_a_space_that_is_built_beside_is_stopped_until_somebody_goes_on(client, admin, settings):
    _stored(3)
    old = active_space()
    settings.EMBEDDING_DIMENSIONS = 32
    progress()

    building = client.get(reverse("embeddings"))
    client.post(reverse("embeddings-stop"))
    make_fact(make_actor(), "New meanwhile.")
    made = embed_pending()
    stopped = client.get(reverse("embeddings"))

    assert "being built" in building.text
    assert made == 0
    assert active_space() == old
    assert "stopped" in stopped.text
    assert _space(stopped, 1).total == 0

    client.post(reverse("embeddings-rebuild"))
    embed_pending()

    assert active_space() != old
    assert progress().processed == 4


def test_a_space_that_no_setting_names_any_more_is_dropped(client, admin, settings):
    _stored(3)
    settings.EMBEDDING_DIMENSIONS = 32
    progress()
    settings.EMBEDDING_DIMENSIONS = 0

    page = client.get(reverse("embeddings"))
    client.post(reverse("embeddings-stop"))

    assert "left behind" in page.text
    assert EmbeddingSpace.objects.get() == active_space()
    assert progress().processed == 3


def test_an_embedder_that_is_not_configured_is_told_and_the_page_stands(client, admin, settings):
    _stored(1)
    settings.EMBEDDING_PROVIDER = "nonsense"

    page = client.get(reverse("embeddings"))
    refused = client.post(reverse("embeddings-rebuild"))

    assert page.status_code == 200
    assert "There is no embedding provider &#x27;nonsense&#x27;" in page.text
    assert _space(page).total == 1
    assert refused.status_code == 409


def test_what_waits_of_an_import_is_cancelled_and_taken_up_again(client, admin):
    _stored(2)
    index_new(Kind.REFERENCE, [Indexed(n, f"GET /cranes/{n}", "") for n in range(40)], owner=None)
    make_fact(make_actor(), "The crane is oiled on Fridays.")

    page = client.post(reverse("embeddings-stop"), {"kind": "reference"}, follow=True)
    made = embed_pending()
    client.post(reverse("embeddings-retry"))

    assert "Stopped: 40 texts will be found by words only." in page.text
    assert "An admin stopped it." in page.text
    assert made == 1
    assert embed_pending() == 40


def test_nobody_cancels_what_people_wrote_for_themselves(client, admin):
    _stored(1)
    make_fact(make_actor(), "The crane is oiled on Fridays.")

    for kind in ("", "fact", "nonsense"):
        client.post(reverse("embeddings-stop"), {"kind": kind})

    assert embed_pending() == 1


def test_an_instance_without_any_text_says_what_comes(client, admin):
    page = client.get(reverse("embeddings"))

    assert "No text has been embedded yet." in page.text


def test_the_page_takes_the_same_few_queries_however_much_there_is(client, admin, django_assert_max_num_queries):
    for number, fact in enumerate(_stored(20)):
        _fail(fact, f"Reason {number % 7}")

    with django_assert_max_num_queries(15):
        page = client.get(reverse("embeddings"))

    assert len(_space(page).failures) == 7
