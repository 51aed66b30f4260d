"""Truth when something is stored: what it may contradict or repeat is named, and both keep their lines."""

import pytest

from bigmind.core.errors import Conflict
from bigmind.gate import perform
from bigmind.operations import CATALOGUE
from knowledge.context.reply_notices import hear_notices
from knowledge.context.sessions import end_session, start_session
from knowledge.context.start_context import get_context
from knowledge.indexing.embedding import embed_pending
from knowledge.kb.entries import add_entry
from knowledge.memory.facts import correct_fact, deprecate_fact, erase_fact, restore_fact, store_fact
from knowledge.models import Fact
from knowledge.recall.recall import recall
from tests.curation.factories import approved_entry
from tests.factories import make_actor, make_agent, make_user

pytestmark = pytest.mark.django_db

TUESDAY, THURSDAY = "The shop deploys on Tuesday.", "The shop deploys on Thursday."


def store(actor, fact, **said):
    return store_fact(actor, fact=fact, **{"category": "decision", **said})


def relations(stored):
    return {one.handle: one.relation for one in stored.similar}


def told(actor):
    return get_context(actor).markdown


def test_a_fact_that_contradicts_an_older_one_names_it_with_the_call_that_settles_it(actor):
    old = store(actor, TUESDAY).fact

    new = store(actor, THURSDAY)

    assert relations(new) == {f"F{old.number}": "contradicts"}
    assert f'memory_store_fact(category="decision", fact="{THURSDAY}", supersedes=[{old.number}])' in new.next_steps[0]
    assert len(new.next_steps) == 1


def test_each_of_several_that_it_contradicts_is_replaced_by_a_call_of_its_own(actor):
    old = [store(actor, text).fact for text in (TUESDAY, "The shop deploys on Monday.")]

    new = store(actor, THURSDAY)

    calls = {step.split()[1]: step for step in new.next_steps}
    assert set(calls) == set(relations(new)) == {f"F{one.number}" for one in old}
    assert [f"supersedes=[{one.number}])" in calls[f"F{one.number}"] for one in old] == [True, True]


def test_what_has_moved_to_another_day_contradicts_the_day_and_not_the_tool(actor):
    store(actor, "We deploy billing with Nomad, not Kubernetes, since the March outage.")
    store(actor, "Payroll exports run on Jenkins, not on Airflow.")

    assert not [one for one in store(actor, "The billing deploy day moved to Thursday.").similar if one.contradicts]
    assert not [one for one in store(actor, "The payroll export changed to Fridays.").similar if one.contradicts]


def test_the_next_start_says_how_much_there_is_to_settle():
    actor = make_agent(make_user(), "claude-code")
    old = store(actor, TUESDAY).fact
    assert start_session(actor).notices == []
    store(actor, THURSDAY)
    store(actor, "The user does not eat meat.")
    store(actor, "The user eats meat.")

    assert start_session(actor).notices == ['2 things to settle with the user: memory_tidy(concern="contradiction")']

    deprecate_fact(actor, fact_id=old.number, reason="It moved.")
    assert start_session(actor).notices[0].startswith("1 thing to settle")


@pytest.mark.parametrize(
    ("older", "newer"),
    [
        ("The user does not eat meat.", "The user eats meat."),
        ("Invoices are due within 30 days.", "Invoices are due within 14 days."),
        ("User lives in Lisbon.", "User lives in Porto."),
        ("The gateway forwards unknown headers.", "The gateway drops unknown headers."),
    ],
)
def test_each_way_to_contradict_is_noticed(older, newer, actor):
    old = store(actor, older).fact

    assert relations(store(actor, newer)) == {f"F{old.number}": "contradicts"}


def test_two_that_may_disagree_keep_their_lines_each_with_a_label(actor):
    old, new = store(actor, TUESDAY).fact, store(actor, THURSDAY).fact

    lines = [line for line in told(actor).splitlines() if "The shop deploys" in line]
    hits = recall(actor, query="When does the shop deploy?").items

    listed = perform(CATALOGUE["memory_list_facts"], actor, {}, transport="mcp").markdown()
    assert sorted(line.partition(" (")[2].partition(") ") for line in lines) == [
        (f"F{old.number}, {old.created_at:%Y-%m-%d}, may contradict F{new.number}", ") ", TUESDAY),
        (f"F{new.number}, {new.created_at:%Y-%m-%d}, may contradict F{old.number}", ") ", THURSDAY),
    ]
    assert {hit.id: hit.may_contradict for hit in hits} == {
        str(new.pk): f"F{old.number}",
        str(old.pk): f"F{new.number}",
    }
    assert [f"may contradict F{one.number}" in listed for one in (old, new)] == [True, True]
    assert "sk the user" not in told(actor) + listed


def test_a_suspicion_changes_no_order():
    order = []
    for suspects in (True, False):
        actor = make_actor()
        facts = [store(actor, text).fact for text in (THURSDAY, "The shop opens at nine.", TUESDAY)]
        if not suspects:
            Fact.objects.filter(user=actor.user).update(contradicted_by=None)
        found = [hit.id for hit in recall(actor, query="On which day does the shop deploy, on Thursday?").items]
        order.append([[str(fact.pk) for fact in facts].index(id) for id in found])

    assert order[0] == order[1]


def test_a_correction_asks_for_near_duplicates_of_what_it_corrects(actor):
    kept = store(actor, "The standup meeting is at nine every morning.").fact
    twin = store(actor, "The standup meeting is every morning at nine.").fact

    corrected = perform(
        CATALOGUE["memory_correct_fact"],
        actor,
        {"fact_id": kept.number, "fact": "The standup is at ten."},
        transport="mcp",
    ).markdown()

    assert f"F{twin.number} “{twin.fact}” says nearly what was replaced. Replace it, too?" in corrected
    assert f"supersedes=[{twin.number}])" in corrected


def test_a_fact_that_supersedes_asks_for_near_duplicates_of_what_it_replaces(actor):
    kept = store(actor, "The standup meeting is at nine every morning.").fact
    twin = store(actor, "The standup meeting is every morning at nine.").fact

    new = store(actor, "We meet in writing since May.", supersedes=[kept.number])

    assert [f"F{twin.number}" in step for step in new.next_steps] == [True]


def test_superseding_settles_it_also_after_the_fact_is_stored(actor):
    old, new = store(actor, TUESDAY).fact, store(actor, THURSDAY).fact

    again = store(actor, THURSDAY, supersedes=[old.pk])

    old.refresh_from_db()
    assert (again.duplicate, [one.pk for one in again.superseded]) == (True, [old.pk])
    assert (old.is_current, old.superseded_by, again.similar) == (False, new, [])
    assert "may contradict" not in told(actor)


def test_both_are_told_once_someone_says_that_both_hold(actor):
    old = store(actor, TUESDAY).fact
    store(actor, THURSDAY)

    settled = store(actor, THURSDAY, despite=[old.pk])

    assert settled.similar == []
    assert TUESDAY in told(actor)
    assert THURSDAY in told(actor)
    assert "may contradict" not in told(actor)


def test_what_was_contradicted_holds_again_when_the_newer_one_goes(actor):
    old, new = store(actor, TUESDAY).fact, store(actor, THURSDAY).fact

    deprecate_fact(actor, fact_id=new.pk, reason="A misunderstanding.")

    assert any(line.startswith(f"- **[decision]** (F{old.number},") for line in told(actor).splitlines())
    assert TUESDAY in told(actor)
    assert recall(actor, query=TUESDAY).items[0].may_contradict == ""


def test_the_older_one_points_to_the_newer_when_it_is_set_aside(actor):
    old, new = store(actor, TUESDAY).fact, store(actor, THURSDAY).fact

    assert deprecate_fact(actor, fact_id=old.pk, reason="It is Thursday now.").superseded_by == new


def test_a_correction_and_a_restored_fact_are_compared_too(actor):
    kept, other = store(actor, TUESDAY).fact, store(actor, "The shop closes at six.").fact

    corrected = correct_fact(actor, fact_id=other.pk, fact=THURSDAY)
    first = Fact.objects.get(pk=kept.pk).contradicted_by
    deprecate_fact(actor, fact_id=corrected.pk, reason="No.")
    restore_fact(actor, fact_id=corrected.pk)

    assert first == corrected
    assert Fact.objects.get(pk=kept.pk).contradicted_by == corrected


def test_two_projects_may_have_it_each_their_way(actor):
    store(actor, TUESDAY, project="pi")

    assert not any(one.contradicts for one in store(actor, THURSDAY, project="rho").similar)


def test_nobody_elses_fact_is_named():
    store(make_actor(), TUESDAY)

    assert store(make_actor(), THURSDAY).similar == []


@pytest.mark.parametrize(
    ("older", "newer"),
    [
        ("Only Maya approves travel costs.", "Tom approves travel costs as well."),
        ("Every report is public.", "Every report is public except payroll."),
    ],
)
def test_a_contradiction_in_other_words_is_named_with_the_next_reply(older, newer, agent):
    start_session(agent)
    old = store(agent, older).fact
    embed_pending()

    stored = store(agent, newer)
    embed_pending()

    [notice] = hear_notices(agent)
    assert stored.similar == []
    assert f"May contradict: F{old.number}" in notice
    assert f'memory_store_fact(category="decision", fact="{newer}", supersedes=[{old.number}])' in notice
    assert hear_notices(agent) == []


def test_the_reply_to_the_end_of_a_session_names_what_was_found_meanwhile(agent):
    start_session(agent)
    store(agent, "Only Maya approves travel costs.")
    embed_pending()
    store(agent, "Tom approves travel costs as well.")
    embed_pending()

    end_session(agent, one_liner="Travel costs")

    assert "May contradict" in hear_notices(agent)[0]


def test_what_was_erased_meanwhile_is_not_named(agent):
    start_session(agent)
    old = store(agent, "Only Maya approves travel costs.").fact
    embed_pending()
    store(agent, "Tom approves travel costs as well.")
    embed_pending()

    erase_fact(agent, fact_id=old.number)

    assert hear_notices(agent) == []


def test_what_the_reply_named_is_not_named_again(agent):
    start_session(agent)
    store(agent, TUESDAY)
    embed_pending()
    store(agent, THURSDAY)

    embed_pending()

    assert hear_notices(agent) == []


def test_what_company_knowledge_says_otherwise_is_named_with_the_next_reply():
    entry = approved_entry(title="Friday deploys", content="Never deploy to production on Fridays.")
    agent = make_agent(make_user(), "claude-code")
    start_session(agent)
    embed_pending()

    store(agent, "Developers may deploy to production on Fridays.")
    embed_pending()

    [notice] = hear_notices(agent)
    assert f"May contradict: {entry.handle}" in notice
    assert "memory_feedback" in notice


def test_what_company_knowledge_tells_everybody_is_stored_and_named():
    entry = approved_entry(title="Friday deploys", content="Never deploy to production on Fridays.")

    stored = store(make_actor(), "Never deploy to production on Fridays.")

    assert relations(stored) == {entry.handle: "same"}


def test_a_fact_that_was_set_aside_brings_its_reason_back(actor):
    old = store(actor, TUESDAY).fact
    deprecate_fact(actor, fact_id=old.pk, reason="Only until the move to the new cluster.")

    again = store(actor, "The shop deploys on  Tuesday")

    reply = perform(CATALOGUE["memory_store_fact"], actor, {"category": "decision", "fact": THURSDAY}, transport="mcp")
    assert (again.archived, again.duplicate) == (old, False)
    assert "new cluster" in again.archived.deprecation_reason
    assert "May contradict" in reply.markdown()


def test_a_corrected_fact_that_comes_back_is_answered_with_what_replaced_it(actor):
    old = store(actor, TUESDAY).fact
    new = correct_fact(actor, fact_id=old.pk, fact=THURSDAY)

    again = store(actor, TUESDAY)

    assert (again.archived, again.archived.superseded_by) == (old, new)
    assert relations(again) == {f"F{new.number}": "contradicts"}


def test_what_was_set_aside_already_is_not_superseded_again(actor):
    old = store(actor, TUESDAY).fact
    deprecate_fact(actor, fact_id=old.pk, reason="No.")

    with pytest.raises(Conflict, match="already"):
        store(actor, THURSDAY, supersedes=[old.pk])


def test_what_was_said_to_hold_beside_it_is_not_labelled_when_the_vectors_are_made(actor):
    old = store(actor, TUESDAY).fact
    store(actor, THURSDAY, despite=[old.pk])
    store(actor, "The shop deploys on Friday.")

    embed_pending()

    assert Fact.objects.filter(contradicted_by=None).count() == 1


def test_a_worker_labels_what_it_finds(actor):
    old, new = store(actor, "Every report is public.").fact, store(actor, "Every report is public except payroll.")
    assert new.similar == []

    embed_pending()

    assert Fact.objects.get(pk=old.pk).contradicted_by == new.fact


def test_a_shared_entry_that_contradicts_another_names_it():
    known = add_entry(make_actor(), content="The import job runs at 02:00.", entry_type="fact").entry

    added = add_entry(make_actor(), content="The import job runs at 05:00.", entry_type="fact")

    assert [(one.id, one.relation) for one in added.similar] == [(known.pk, "contradicts")]
    assert added.similar[0].hints
