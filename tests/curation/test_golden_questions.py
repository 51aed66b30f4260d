"""Golden questions: what must go on being found, asked again whenever that may have changed."""

import pytest
from django.urls import reverse

from bigmind.core.errors import Conflict, Forbidden, NotFound
from bigmind.core.operations import carry_out
from curation.decisions.golden_questions import (
    check_golden_questions,
    list_golden_questions,
    pin_golden_question,
    unpin_golden_question,
)
from curation.models import GoldenQuestion, Review
from curation.tasks import check_golden_questions as check_in_background
from knowledge.indexing.embedding import embed_pending
from knowledge.kb.entries import add_entry
from knowledge.models import CompanyEntry
from tests.curation.factories import approved_entry, decide_at_latest, propose
from tests.factories import make_actor
from tests.meanwhile import meanwhile
from tests.worlds import keep_world

pytestmark = pytest.mark.django_db

QUESTION = "How do we rotate the Kafka certificates?"
ANSWER = "The Kafka certificates rotate by themselves: run the job `rotate`, then restart the brokers."


@pytest.fixture(scope="module")
def world(django_db_setup, django_db_blocker):
    """A curator, and an entry that is found, made once."""

    def make():
        entry = approved_entry(title="Kafka certificates", content=ANSWER)
        embed_pending()
        return make_actor(curator=True), entry

    with keep_world(django_db_blocker, make) as made:
        yield made


@pytest.fixture
def curator(world, db):
    return world[0]


@pytest.fixture
def entry(world, db):
    return CompanyEntry.objects.get(pk=world[1].pk)


def _pin(curator, entry, **more):
    wanted = {"question": QUESTION, "kind": "company", "id": str(entry.pk), **more}
    return carry_out(pin_golden_question, curator, wanted)


def test_what_nobody_else_sees_cannot_be_pinned(curator):
    waiting = propose(make_actor())

    with pytest.raises(NotFound):
        _pin(curator, waiting)
    with pytest.raises(Forbidden):
        _pin(make_actor(), waiting)


def test_a_decision_that_would_lose_one_says_so_first_and_changes_nothing(curator, entry):
    golden = _pin(curator, entry)

    with pytest.raises(Conflict) as refusal:
        decide_at_latest(curator, entry_id=entry.pk, action="deprecate", notes="Old.")

    entry.refresh_from_db()
    assert entry.is_approved
    assert Review.objects.filter(entry=entry, action="deprecate").count() == 0
    assert refusal.value.details["losing"] == [golden.pk]
    assert QUESTION in str(refusal.value)

    decide_at_latest(curator, entry_id=entry.pk, action="deprecate", notes="Old.", losing=[golden.pk])
    check_in_background()

    golden.refresh_from_db()
    assert golden.is_lost
    assert [one.pk for one in list_golden_questions(curator, lost=True).items] == [golden.pk]


def test_an_edit_that_takes_its_words_away_would_lose_it_and_another_would_not(curator, entry):
    for number in range(12):
        text = f"Certificates of the {number}th broker rotate: how do we do it? We ask team {number}."
        add_entry(make_actor(), content=text, entry_type="fact")
    embed_pending()
    golden = _pin(curator, entry, within=1)
    assert not golden.is_lost

    decide_at_latest(curator, entry_id=entry.pk, action="edit", content=f"{ANSWER} Tell the team.")
    with pytest.raises(Conflict, match="Golden questions"):
        decide_at_latest(curator, entry_id=entry.pk, action="edit", title="Holidays", content="Thirty days each.")


def test_what_changed_is_asked_again_and_what_did_not_is_left_alone(curator, entry):
    golden = _pin(curator, entry)
    check_in_background()
    first = GoldenQuestion.objects.get(pk=golden.pk).checked_at

    check_in_background()
    unchanged = GoldenQuestion.objects.get(pk=golden.pk).checked_at
    add_entry(make_actor(), content="Kafka runs in Lisbon.", entry_type="fact")
    check_in_background()

    assert first == unchanged
    assert GoldenQuestion.objects.get(pk=golden.pk).checked_at > first


def test_one_that_is_removed_while_all_are_asked_ends_no_check(curator, entry):
    golden = _pin(curator, entry)
    _pin(curator, entry, question="Which job rotates the certificates?")

    with meanwhile(lambda: unpin_golden_question(curator, golden_id=golden.pk), after='SELECT "curation_golden'):
        check = check_golden_questions(curator)

    assert check.checked == 2
    assert golden.pk not in GoldenQuestion.objects.values_list("pk", flat=True)


def test_a_curator_pins_asks_and_removes_on_the_page(client, curator, entry):
    client.force_login(curator.user)
    page = reverse("golden-questions")

    refused = client.post(page, {"question": QUESTION, "item": "C999", "within": "3"})
    client.post(page, {"question": QUESTION, "item": entry.handle, "within": "3"})
    shown = client.get(page).content.decode()
    asked = client.post(reverse("golden-check"), follow=True).content.decode()
    client.post(reverse("golden-unpin", args=[GoldenQuestion.objects.get().pk]))

    assert refused.status_code == 422
    assert "that everybody sees" in refused.content.decode()
    assert QUESTION in shown
    assert "found at place 1" in shown
    assert reverse("company-entry", args=[entry.pk]) in shown
    assert "1 asked: 1 find what they must, 0 do not." in asked
    assert not GoldenQuestion.objects.exists()


def test_the_page_says_what_would_be_lost_and_asks_a_second_time(client, curator, entry):
    golden = _pin(curator, entry)
    client.force_login(curator.user)
    sent = {"decision": "deprecate", "revision": entry.revision, "reason": "outdated"}

    refused = client.post(reverse("curation-decide", args=[entry.pk]), sent)
    client.post(reverse("curation-decide", args=[entry.pk]), {**sent, "losing": [golden.pk]})

    entry.refresh_from_db()
    assert refused.status_code == 409
    assert QUESTION in refused.content.decode()
    assert f'name="losing" value="{golden.pk}"' in refused.content.decode()
    assert entry.status == "deprecated"
