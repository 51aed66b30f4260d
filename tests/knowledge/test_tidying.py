"""Tidying: what is suggested, what answers do, and that each can be taken back."""

from datetime import timedelta

import pytest
from django.urls import reverse
from django.utils import timezone

from accounts.actor import Actor
from bigmind.core.operations import carry_out
from knowledge.context.sessions import start_session
from knowledge.conversation.chunks import flag_important
from knowledge.conversation.closing_sessions import close_sessions
from knowledge.memory.facts import deprecate_fact
from knowledge.memory.hypotheses import add_hypothesis
from knowledge.models import AUTO_CLOSED, Fact, Hypothesis, Passage, Session, TidyingAnswer
from knowledge.tidying.answers import Answered, tidy
from tests.factories import make_actor
from tests.knowledge.factories import make_fact, make_session
from tests.lock_waits import at_once

pytestmark = pytest.mark.django_db

LONG_AGO = timezone.now() - timedelta(days=200)


def test_near_duplicates_are_merged_into_the_newest_and_come_back(actor):
    first, second = duplicates(actor)
    (suggestion,) = tidy(actor).suggestions
    assert [item.handle for item in suggestion.items] == [f"F{first.number}", f"F{second.number}"]
    assert (suggestion.concern, suggestion.actions) == ("duplicates", ("merge", "keep"))

    done = answer(actor, suggestion.key, "merge")

    assert done.says == f"Merged into fact {second.number}."
    assert texts_of(actor) == [second.fact]
    assert Fact.objects.get(pk=first.pk).superseded_by == second
    assert tidy(actor).suggestions == []

    take_back(actor, suggestion.key)
    assert texts_of(actor) == [first.fact, second.fact]
    assert [one.key for one in tidy(actor).suggestions] == [suggestion.key]
    assert searched(actor) == {first.fact, second.fact}


def test_near_duplicates_are_merged_into_one_sentence_that_goes_when_it_is_taken_back(actor):
    first, second = duplicates(actor)
    (suggestion,) = tidy(actor).suggestions

    answer(actor, suggestion.key, "merge", text="Deploys happen on Tuesdays at nine, from main.")

    assert texts_of(actor) == ["Deploys happen on Tuesdays at nine, from main."]
    assert searched(actor) == {"Deploys happen on Tuesdays at nine, from main."}
    take_back(actor, suggestion.key)
    assert texts_of(actor) == [first.fact, second.fact]


def test_the_fact_that_stays_is_chosen_and_must_be_one_of_them(actor):
    first, _ = duplicates(actor)
    other = make_fact(actor, "The office is in Lisbon.")
    (suggestion,) = tidy(actor).suggestions

    refused = answer(actor, suggestion.key, "merge", holds=other.number)
    assert "none of these facts" in refused.error
    assert len(texts_of(actor)) == 3

    answer(actor, suggestion.key, "merge", holds=f"F{first.number}")
    assert texts_of(actor) == [first.fact, other.fact]


def test_what_is_kept_is_not_suggested_again_and_a_third_one_is(actor):
    duplicates(actor)
    (suggestion,) = tidy(actor).suggestions
    answer(actor, suggestion.key, "keep")
    assert tidy(actor).suggestions == []

    make_fact(actor, "The deploys happen on Tuesdays at nine")
    (again,) = tidy(actor).suggestions
    assert again.key != suggestion.key


def test_facts_of_two_projects_are_no_duplicates(actor):
    make_fact(actor, "Deploys happen on Tuesdays at nine.", category="codebase", project="freight")
    make_fact(actor, "Deploys happen on Tuesdays at nine!", category="codebase", project="billing")

    assert tidy(actor).suggestions == []


def test_of_two_facts_that_contradict_each_other_one_holds_or_both_do(actor):
    older = make_fact(actor, "The office is in Lisbon.", category="codebase")
    newer = make_fact(actor, "The office is in Porto.", category="codebase")
    (suggestion,) = tidy(actor).suggestions
    assert (suggestion.concern, [item.id for item in suggestion.items]) == (
        "contradiction",
        [str(older.number), str(newer.number)],
    )

    answer(actor, suggestion.key, "replace", holds=older.number)
    assert texts_of(actor) == [older.fact]
    take_back(actor, suggestion.key)
    assert texts_of(actor) == [older.fact, newer.fact]
    (again,) = tidy(actor).suggestions

    answer(actor, again.key, "keep")
    assert not Fact.objects.exclude(contradicted_by=None).exists()
    assert tidy(actor).suggestions == []
    take_back(actor, again.key)
    assert [one.concern for one in tidy(actor).suggestions] == ["contradiction"]


def test_a_belief_whose_day_has_come_is_resolved_or_postponed(actor):
    belief = add_hypothesis(actor, hypothesis="The pool leaks.")
    Hypothesis.objects.update(created_at=LONG_AGO)
    (suggestion,) = tidy(actor).suggestions

    assert "text" in answer(actor, suggestion.key, "confirmed").error
    answer(actor, suggestion.key, "confirmed", text="The graph shows it.")
    belief.refresh_from_db()
    assert (belief.status, belief.resolution) == ("confirmed", "The graph shows it.")

    take_back(actor, suggestion.key)
    belief.refresh_from_db()
    assert (belief.status, belief.resolution, belief.resolved_at) == ("open", "", None)

    answer(actor, suggestion.key, "keep")
    assert tidy(actor).suggestions == []
    Hypothesis.objects.update(check_on=timezone.now().date())
    assert [one.concern for one in tidy(actor).suggestions] == ["due"]


def test_a_session_that_nobody_ended_gets_its_headline(actor):
    session = start_session(actor).session
    flag_important(actor, content="The pool had no ceiling.")
    close_sessions(Session.objects.filter(pk=session.pk))
    (suggestion,) = tidy(actor).suggestions

    assert "headline" in answer(actor, suggestion.key, "summarize", text="x" * 121).error
    answer(actor, suggestion.key, "summarize", text="Found the leak\nThe pool had no ceiling; now it has.")
    session.refresh_from_db()
    assert (session.one_liner, session.summary.summary) == ("Found the leak", "The pool had no ceiling; now it has.")

    take_back(actor, suggestion.key)
    session = Session.objects.get(pk=session.pk)
    assert (session.one_liner, session.narrative) == (AUTO_CLOSED, None)
    answer(actor, suggestion.key, "archive")
    assert not Session.objects.get(pk=session.pk).is_in_view
    take_back(actor, suggestion.key)
    assert Session.objects.get(pk=session.pk).is_in_view


def test_a_fact_about_the_work_that_nobody_used_is_offered_for_archiving(actor):
    unused, used, lasting, fresh = (
        make_fact(actor, "The build takes nine minutes.", category="codebase"),
        make_fact(actor, "Invoices are numbered per year.", category="codebase"),
        make_fact(actor, "Prefers short answers.", category="preference"),
        make_fact(actor, "Ports below 1024 are closed.", category="codebase"),
    )
    Fact.objects.exclude(pk=fresh.pk).update(updated_at=LONG_AGO)
    make_session(actor, used=[f"fact:{used.number}"])
    (suggestion,) = tidy(actor).suggestions
    assert [item.text for item in suggestion.items] == [unused.fact]

    answer(actor, suggestion.key, "archive")
    assert not Fact.objects.get(pk=unused.pk).is_current
    take_back(actor, suggestion.key)
    assert Fact.objects.get(pk=unused.pk).is_current
    assert lasting.is_current


def test_one_refusal_stops_no_other_answer_and_nobody_answers_for_another():
    actor, stranger = make_actor(), make_actor()
    duplicates(actor)
    (suggestion,) = tidy(actor).suggestions
    sent = [{"id": "0" * 12, "action": "keep"}, {"id": suggestion.key, "action": "archive"}]

    done = carry_out(tidy, actor, {"answers": [*sent, {"id": suggestion.key, "action": "merge"}]}).done

    assert [bool(one.error) for one in done] == [True, True, False]
    assert "one of merge, keep" in done[1].error
    assert "no suggestion" in answer(stranger, suggestion.key, "keep").error
    assert "No answer" in take_back(stranger, suggestion.key).error
    assert TidyingAnswer.objects.get().user == actor.user


def test_what_was_changed_meanwhile_is_not_suggested(actor):
    first, _ = duplicates(actor)
    (suggestion,) = tidy(actor).suggestions
    deprecate_fact(actor, fact_id=first.pk, reason="Wrong.")

    assert tidy(actor).suggestions == []
    assert "no suggestion" in answer(actor, suggestion.key, "merge").error


def duplicates(actor: Actor) -> tuple[Fact, Fact]:
    first = make_fact(actor, "Deploys happen on Tuesdays at nine.", category="codebase")
    return first, make_fact(actor, "Deploys happen on Tuesdays at nine!", category="codebase")


def answer(actor: Actor, key: str, action: str, **more: object) -> Answered:
    (done,) = carry_out(tidy, actor, {"answers": [{"id": key, "action": action, **more}]}).done
    return done


def take_back(actor: Actor, key: str) -> Answered:
    (done,) = carry_out(tidy, actor, {"undo": [key]}).done
    return done


def texts_of(actor: Actor) -> list[str]:
    return list(Fact.objects.of(actor.user).current().order_by("pk").values_list("fact", flat=True))


def searched(actor: Actor) -> set[str]:
    return set(Passage.objects.filter(owner=actor.user, kind="fact", past=False).values_list("text", flat=True))


@pytest.mark.django_db(transaction=True)
def test_of_two_agents_that_answer_the_same_suggestion_at_once_the_second_is_told(actor):
    duplicates(actor)
    (suggestion,) = tidy(actor).suggestions

    answers = at_once(lambda _: answer(actor, suggestion.key, "merge", text="Deploys happen on Tuesdays."), range(4))

    assert sorted("no suggestion" in one.error for one in answers) == [False, True, True, True]
    assert texts_of(actor) == ["Deploys happen on Tuesdays."]


PAGE = "memory-tidy"


def test_near_duplicates_are_merged_on_the_page_and_brought_back(browser, actor):
    first = make_fact(actor, "Deploys happen on Tuesdays at nine.", category="codebase")
    second = make_fact(actor, "Deploys happen on Tuesdays at nine!", category="codebase")
    page = browser.get(reverse(PAGE)).text
    assert first.fact in page
    assert second.fact in page
    (suggestion,) = tidy(actor).suggestions

    sent = {"id": suggestion.key, "action": "merge", "holds": str(first.number), "text": ""}
    shown = browser.post(reverse(PAGE), sent, follow=True).text

    assert "Merged" in shown
    assert list(Fact.objects.current()) == [first]
    shown = browser.post(reverse(PAGE), {"undo": suggestion.key}, follow=True).text
    assert "Taken back." in shown
    assert Fact.objects.current().count() == 2


def test_nothing_is_chosen_in_advance_and_a_merge_without_a_choice_asks_for_it(browser, actor):
    make_fact(actor, "Deploys happen on Tuesdays at nine.", category="codebase")
    make_fact(actor, "Deploys happen on Tuesdays at nine!", category="codebase")
    (suggestion,) = tidy(actor).suggestions

    page = browser.get(reverse(PAGE)).text
    refused = browser.post(reverse(PAGE), {"id": suggestion.key, "action": "merge"}).text

    assert 'name="holds"' in page
    assert "checked" not in page
    assert "Choose which one stays." in refused
    assert Fact.objects.current().count() == 2


def test_a_refused_answer_says_why(browser):
    refused = browser.post(reverse(PAGE), {"id": "0" * 12, "action": "keep"})
    nonsense = browser.post(reverse(PAGE), {"id": "x", "action": "eat"})

    assert "no suggestion" in refused.text
    assert nonsense.status_code == 200
    assert "Not saved" in nonsense.text
