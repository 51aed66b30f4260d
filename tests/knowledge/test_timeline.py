"""The timeline of a memory: what came about, what replaced what, and nothing of anybody else."""

from datetime import timedelta

import pytest
from django.urls import reverse
from django.utils import timezone

from bigmind.core.operations import carry_out
from knowledge.memory.facts import correct_fact
from knowledge.memory.hypotheses import resolve_hypothesis
from knowledge.memory.timeline import see_timeline
from knowledge.models import Fact
from tests.curation.factories import approved_entry
from tests.factories import browser_of, make_actor
from tests.knowledge.factories import make_fact, make_facts, make_hypothesis, make_note, make_session

pytestmark = pytest.mark.django_db


def test_it_tells_what_came_about_and_what_replaced_what():
    actor, other = make_actor(), make_actor()
    make_session(actor, one_liner="Chose a queue")
    old = make_fact(actor, "The queue is RabbitMQ.", category="decision", project="billing")
    new = correct_fact(actor, fact_id=old.pk, fact="The queue is PostgreSQL.")
    make_note(actor, "Deploys.", domain="ops", key="deploys")
    belief = make_hypothesis(actor, "The index is missing.")
    resolve_hypothesis(actor, hypothesis_id=belief.pk, status="confirmed", resolution="It was.")
    make_fact(other, "Not yours.")
    approved_entry(other)

    events = see_timeline(actor).items

    told = {(event.what, event.title) for event in events}
    assert told == {
        ("began", "Chose a queue"),
        ("decided", "The queue is RabbitMQ."),
        ("decided", "The queue is PostgreSQL."),
        ("written", "ops/deploys"),
        ("believed", "The index is missing."),
        ("confirmed", "The index is missing."),
    }
    first, second = sorted((event for event in events if event.kind == "decision"), key=lambda event: event.at)
    assert (first.newer_id, first.newer, first.other) == (new.pk, "The queue is PostgreSQL.", None)
    assert (second.other_id, second.other, second.newer) == (old.pk, "The queue is RabbitMQ.", None)


def test_it_is_narrowed_to_a_kind_a_project_and_a_week_and_comes_in_pages(actor):
    for first, project in enumerate(("", "billing")):
        facts = make_facts(actor, [f"Fact {number}." for number in range(first, 60, 2)], project=project)
        for number, fact in enumerate(facts):
            fact.created_at = timezone.now() - timedelta(days=2 * number + first)
        Fact.objects.bulk_update(facts, ["created_at"])
    make_session(actor)
    today = timezone.localdate()

    everything = see_timeline(actor)
    of_project = see_timeline(actor, project="billing", kind="fact")
    of_week = see_timeline(actor, kind="fact", week=today - timedelta(days=6))

    assert (everything.total, len(everything.items), len(see_timeline(actor, offset=50).items)) == (61, 50, 11)
    assert (of_project.total, {event.project for event in of_project.items}) == (30, {"billing"})
    assert (of_week.total, len(of_week.items)) == (7, 7)
    assert sum(number for _, number in everything.weeks) == 61
    assert see_timeline(actor, offset=9_999).items == []


def test_what_was_archived_is_not_on_it(actor):
    fact = make_fact(actor, "Gone.")
    Fact.objects.filter(pk=fact.pk).update(deprecated_at=timezone.now(), deprecation_reason="Wrong.")

    assert see_timeline(actor).items == []


@pytest.mark.parametrize("asked", ["kind=secret", "week=soon", "week=9999-12-31", "offset=x", "project=" + "x" * 500])
def test_what_cannot_be_asked_is_said_on_the_page(asked, actor):
    make_fact(actor)
    client = browser_of(actor.user)

    assert client.get(f"{reverse('memory-timeline')}?{asked}").status_code == 200


def test_the_page_takes_few_queries(django_assert_max_num_queries, actor):
    for number in range(3):
        make_fact(actor, f"Fact {number}.", project="billing")
        make_session(actor)
    approved_entry(actor)
    client = browser_of(actor.user)
    client.get(reverse("memory-timeline"))

    with django_assert_max_num_queries(12):
        page = client.get(reverse("memory-timeline"))

    assert "Proposal approved" in page.text
    assert carry_out(see_timeline, actor, {"kind": "company"}).total == 1
