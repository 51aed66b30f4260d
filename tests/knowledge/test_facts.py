"""Facts: stored once, corrected, set aside, restored, erased."""

import pytest
from django.db import connection
from django.urls import reverse

from bigmind.core.errors import Conflict, NotFound
from knowledge.context.sessions import end_session, start_session
from knowledge.context.start_context import get_context
from knowledge.conversation.current_sessions import begin_session
from knowledge.memory.facts import correct_fact, deprecate_fact, erase_fact, list_facts, restore_fact, store_fact
from knowledge.models import Fact, Passage
from knowledge.truth import near_duplicates
from knowledge.truth.near_duplicates import load_models
from tests.factories import make_actor
from tests.knowledge.factories import make_fact
from tests.lock_waits import at_once

pytestmark = pytest.mark.django_db


def test_the_same_fact_is_stored_once_and_says_so(actor):
    first = store_fact(actor, category="preference", fact="Prefers pytest.")
    again = store_fact(actor, category="decision", fact="  Prefers   pytest.\n")

    assert (first.duplicate, again.duplicate) == (False, True)
    assert again.fact == first.fact


def test_nobody_waits_while_the_first_fact_of_a_process_loads_the_models(monkeypatch):
    held = []

    def load(_text):
        with connection.cursor() as cursor:
            cursor.execute("SELECT count(*) FROM pg_locks WHERE locktype = 'advisory' AND pid = pg_backend_pid()")
            held.append(cursor.fetchone()[0])

    load_models.cache_clear()
    monkeypatch.setattr(near_duplicates, "language_of", load)

    store_fact(make_actor(), category="decision", fact="Deploys go through the blue queue.")

    assert held[0] == 0


def test_two_people_may_know_the_same_fact():
    store_fact(make_actor(), category="preference", fact="Prefers pytest.")

    assert not store_fact(make_actor(), category="preference", fact="Prefers pytest.").duplicate


def test_a_fact_remembers_the_session_and_project_it_was_learned_in(actor):
    session = start_session(actor, project="pi").session

    fact = store_fact(actor, category="codebase", fact="Entry point is src/server.py.").fact

    assert (fact.source_session, fact.project) == (session, "pi")


def test_a_deprecated_fact_is_hidden_everywhere_but_kept_on_record(actor):
    fact = store_fact(actor, category="preference", fact="Likes tabs.").fact

    deprecate_fact(actor, fact_id=fact.pk, reason="Says spaces now.")

    assert list_facts(actor).total == 0
    assert "Likes tabs" not in get_context(actor).markdown
    assert not Passage.objects.filter(kind="fact").exists()
    (kept,) = list_facts(actor, include_deprecated=True).items
    assert kept.deprecation_reason == "Says spaces now."
    with pytest.raises(Conflict, match="already"):
        deprecate_fact(actor, fact_id=fact.pk, reason="Again.")


def test_a_deprecated_fact_may_be_learned_again(actor):
    old = store_fact(actor, category="preference", fact="Likes tabs.").fact
    deprecate_fact(actor, fact_id=old.pk, reason="No.")

    again = store_fact(actor, category="preference", fact="Likes tabs.")

    assert not again.duplicate
    assert again.fact != old


def test_a_correction_replaces_the_fact_and_the_old_one_points_to_it(actor):
    old = store_fact(actor, category="decision", fact="Deploys on Fridays.", project="pi").fact

    new = correct_fact(actor, fact_id=old.pk, fact="Deploys on Mondays.")

    old.refresh_from_db()
    assert (old.is_current, old.superseded_by) == (False, new)
    assert (new.category, new.project) == ("decision", "pi")
    assert [fact.fact for fact in list_facts(actor).items] == ["Deploys on Mondays."]


def test_a_correction_belongs_to_the_session_it_was_said_in_and_else_to_that_of_the_old_fact(actor):
    sessions = [begin_session(actor), begin_session(actor)]
    old = store_fact(actor, category="decision", fact="Friday.", source_session=sessions[0].handle).fact

    named = correct_fact(actor, fact_id=old.pk, fact="Monday.", source_session=sessions[1].handle)
    for session in sessions:
        end_session(actor, session_id=session.handle, one_liner="Days", outcome="Moved.")
    on_a_page = correct_fact(actor, fact_id=named.pk, fact="Tuesday.")

    assert [fact.session_handle for fact in (old, named, on_a_page)] == ["S1", "S2", "S2"]


def test_a_fact_and_its_correction_are_never_both_current(actor):
    old = store_fact(actor, category="decision", fact="Deploys on Fridays.").fact
    new = correct_fact(actor, fact_id=old.pk, fact="Deploys on Mondays.")

    with pytest.raises(Conflict, match=f"fact {new.number}"):
        restore_fact(actor, fact_id=old.pk)

    deprecate_fact(actor, fact_id=new.pk, reason="Fridays after all.")
    assert restore_fact(actor, fact_id=old.pk).is_current


def test_a_correction_to_what_is_known_already_points_there(actor):
    known = store_fact(actor, category="decision", fact="Deploys on Mondays.").fact
    old = store_fact(actor, category="decision", fact="Deploys on Fridays.").fact

    assert correct_fact(actor, fact_id=old.pk, fact="Deploys on Mondays.") == known
    assert Fact.objects.of(actor.user).current().count() == 1


def test_an_erased_fact_leaves_nothing(actor):
    fact = store_fact(actor, category="identity", fact="Unrepeatable.").fact

    erase_fact(actor, fact_id=fact.pk)

    assert not Fact.objects.exists()
    assert not Passage.objects.exists()


@pytest.mark.parametrize("operation", [erase_fact, restore_fact])
def test_someone_elses_fact_answers_like_one_that_does_not_exist(operation):
    foreign = store_fact(make_actor(), category="identity", fact="Mine alone.").fact
    me = make_actor()

    with pytest.raises(NotFound) as of_another:
        operation(me, fact_id=foreign.pk)
    with pytest.raises(NotFound) as of_nobody:
        operation(me, fact_id=foreign.pk + 1000)

    assert str(of_another.value).replace(str(foreign.pk), "N") == str(of_nobody.value).replace(
        str(foreign.pk + 1000), "N"
    )


@pytest.mark.django_db(transaction=True)
def test_many_corrections_to_one_text_at_once_end_in_one_fact(actor):
    facts = [store_fact(actor, category="decision", fact=f"Deploys on day {n}.").fact for n in range(10)]

    corrected = set(at_once(lambda fact: correct_fact(actor, fact_id=fact.pk, fact="Deploys on Mondays."), facts))

    assert len(corrected) == 1
    assert Fact.objects.of(actor.user).current().count() == 1


def test_a_fact_that_says_nearly_the_same_is_stored_with_a_pointer_to_it(actor):
    first = store_fact(actor, category="decision", fact="Deploys go through the router in stage.").fact
    store_fact(make_actor(), category="decision", fact="All deploys go through the router in stage.")

    stored = store_fact(actor, category="decision", fact="Deploys always go through the router in stage.")

    assert (stored.duplicate, [one.id for one in stored.similar]) == (False, [first.pk])
    assert stored.fact.similar_to == first


def test_a_fact_points_to_none_that_was_set_aside(actor):
    first = store_fact(actor, category="decision", fact="Deploys go through the router in stage.").fact
    deprecate_fact(actor, fact_id=first.pk, reason="No longer.")

    assert store_fact(actor, category="decision", fact="Deploys go through the router in staging.").similar == []


def test_of_two_that_were_archived_the_one_with_the_same_words_is_named(actor):
    same = store_fact(actor, category="preference", fact="Likes tabs in Python.").fact
    other = store_fact(actor, category="preference", fact="Likes tabs in Python, too.").fact
    deprecate_fact(actor, fact_id=same.pk, reason="Says spaces now.")
    deprecate_fact(actor, fact_id=other.pk, reason="Says spaces now.")

    archived = store_fact(actor, category="preference", fact="Likes tabs in Python.").archived

    assert archived == same


def test_what_makes_no_sense_is_explained(browser):
    listed = browser.get(reverse("memory-facts"), {"category": "gossip"})
    empty = browser.post(reverse("memory-fact-new"), {"fact": " \r\n ", "category": "preference"})

    assert listed.status_code == 200
    assert "Category: This must be one of" in listed.text
    assert "Fact: This field is required." in empty.text
    assert not Fact.objects.exists()


def test_a_corrected_fact_is_told_in_its_new_wording(browser, actor):
    fact = make_fact(actor, "CI uses Jenkins.", category="decision")

    page = browser.post(
        reverse("memory-fact", args=[fact.pk]),
        {"fact": "CI uses Actions.\r\nSince May.", "category": "codebase"},
        follow=True,
    )

    assert "Corrected." in page.text
    assert Fact.objects.current().get().fact == "CI uses Actions.\nSince May."
    assert Fact.objects.current().get().category == "codebase"


def test_what_was_typed_stays_when_it_is_refused(browser, actor):
    fact = make_fact(actor)
    typed = "x" * 70_000

    page = browser.post(reverse("memory-fact", args=[fact.pk]), {"fact": typed, "category": "identity"})

    assert page.status_code == 200
    assert (
        '<a href="#id_fact">Fact: This is 70,000 bytes; the limit is 65,536. Split it or shorten it.</a>' in page.text
    )
    assert typed in page.text
    assert '<option value="identity" selected>' in page.text


def test_a_fact_that_was_set_aside_meanwhile_is_not_corrected(browser, actor):
    fact = make_fact(actor)
    deprecate_fact(actor, fact_id=fact.pk, reason="Wrong.")

    page = browser.post(reverse("memory-fact", args=[fact.pk]), {"fact": "Other.", "category": "identity"})

    assert Fact.objects.current().count() == 0
    assert "Wrong." in page.text
    assert "Restore" in page.text
