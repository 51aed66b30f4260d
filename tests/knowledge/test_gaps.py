"""Questions that found nothing: which are kept, put together and shown, to whom, and what becomes of them."""

import re
from datetime import timedelta

import pytest
from django.test import override_settings
from django.urls import reverse
from django.utils import timezone

from accounts.actor import Actor
from bigmind.core.errors import Forbidden, NotFound
from bigmind.gate import perform
from bigmind.operations import CATALOGUE
from knowledge.exposures.gaps import (
    forget_old_questions,
    forget_question,
    list_gaps,
    newest_open_gaps,
    newest_passage,
    reopen_question,
    see_gap,
    settle_gap,
)
from knowledge.indexing.embedding import embed_pending
from knowledge.kb.company import search_global
from knowledge.kb.entries import add_entry
from knowledge.kb.entry_reading import search_entries
from knowledge.models import Gap, Kind, UnansweredQuestion
from knowledge.recall import asking_again
from knowledge.recall.recall import recall, search_chunks
from knowledge.recall.semantic_search import semantic_search
from knowledge.search.passages import erase_passages
from knowledge.tasks import embed_pending as embed_pending_task
from tests.curation.factories import approved_entry
from tests.factories import browser_of, make_actor, make_agent, make_user
from tests.knowledge.factories import make_chunk, make_fact

pytestmark = [pytest.mark.django_db, pytest.mark.usefixtures("in_a_team")]

_PER_REQUEST = re.compile(r'csrfmiddlewaretoken" value="[^"]*"|nonce="[^"]*"|\d+ seconds? ago')
_NUMBERS = re.compile(r"\d+")
QUESTION = "How do we rotate the Kafka certificates?"
_ANSWER = "We rotate the Kafka certificates with make rotate."
IMPORTS = {
    "kb_bulk_import": {"entries": [{"content": _ANSWER, "entry_type": "fact"}]},
    "references_import": {
        "collection": "kafka",
        "drafts": [{"kind": "guide", "key": "rotate", "title": "Rotate the Kafka certificates", "content": _ANSWER}],
    },
}


def _agent() -> Actor:
    return make_agent(make_user(), "claude-code")


def _ask(actor: Actor, question: str = QUESTION) -> None:
    semantic_search(actor, query=question)


def _names(actor: Actor, **asked) -> list[str]:
    return [gap.name for gap in list_gaps(actor, **asked).items]


def _without_vectors() -> None:
    """As when the embedder is away, or its space has changed since."""
    UnansweredQuestion.objects.update(vector=None, space=None)


def test_a_question_that_found_nothing_is_shown_to_who_asked_it():
    agent = _agent()

    _ask(agent)

    assert _names(agent) == [QUESTION]


@pytest.mark.parametrize("search", [semantic_search, search_global, search_entries])
def test_every_search_of_what_is_shared_keeps_it(search):
    agent = _agent()

    search(agent, query=QUESTION)

    assert _names(agent) == [QUESTION]


def test_a_question_that_found_its_answer_is_not_kept():
    agent = _agent()
    approved_entry(title="Kafka", content="We rotate the Kafka certificates with make rotate.")
    embed_pending()

    _ask(agent)

    assert not UnansweredQuestion.objects.exists()


def test_a_question_whose_best_match_shares_one_word_is_kept():
    agent = _agent()
    approved_entry(title="Logs", content="Log files are what operators rotate, each night at three, on every machine.")
    embed_pending()

    _ask(agent)

    assert _names(agent) == [QUESTION]


def test_a_question_that_something_comes_near_to_is_not_kept_however_unsure_recall_is():
    agent = _agent()
    make_fact(agent, "Kafka certificates are on the third server.")
    embed_pending()

    _ask(agent)

    assert not UnansweredQuestion.objects.exists()


@pytest.mark.parametrize("greeting", ["Hi!", "just say hi", "ok, thanks", "go on"])
def test_a_greeting_is_not_kept(greeting):
    _ask(_agent(), greeting)

    assert not UnansweredQuestion.objects.exists()


def test_a_question_that_something_stored_since_answers_leaves_the_list_and_shows_it(client):
    agent = _agent()
    _ask(agent)
    fact = make_fact(agent, "We rotate the Kafka certificates with make rotate.")

    embed_pending_task()

    assert _names(agent) == []
    (gap,) = list_gaps(agent, state="answered").items
    assert (gap.name, gap.answer) == (QUESTION, ("fact", str(fact.pk)))
    client.force_login(agent.user)
    answered = client.get(reverse("insights-gaps"), {"state": "answered"}).text
    assert "Answered by" in answered
    assert fact.fact in answered


def test_what_answers_it_in_a_colleagues_own_memory_leaves_it_open_for_the_others():
    agent, other = _agent(), _agent()
    _ask(agent)
    _ask(other)
    make_fact(other, "We rotate the Kafka certificates with make rotate.")

    embed_pending_task()

    assert _names(agent) == [QUESTION]
    assert list_gaps(agent, state="answered").total == 0


def test_something_shared_answers_it_for_everybody_who_asked(curator):
    _asked_by(3)
    entry = add_entry(
        make_actor(), content="We rotate the Kafka certificates with make rotate.", entry_type="fact"
    ).entry

    embed_pending_task()

    assert _names(curator) == []
    assert [gap.answer for gap in list_gaps(curator, state="answered").items] == [("entry", str(entry.pk))]


@pytest.mark.parametrize("name", IMPORTS)
def test_what_an_import_brings_answers_it(name):
    agent, curator = _agent(), make_actor(curator=True)
    _ask(agent)

    perform(CATALOGUE[name], curator, IMPORTS[name], transport="rest")
    embed_pending_task()

    assert _names(agent) == []
    (gap,) = list_gaps(agent, state="answered").items
    assert gap.name == QUESTION
    assert gap.answer
    assert gap.answer[0] == ("entry" if name == "kb_bulk_import" else "reference")


@override_settings(EMBEDDING_PROVIDER="builtin")
def test_a_question_leaves_the_list_exactly_when_recall_answers_it():
    agent = _agent()
    questions = ["who is my boss", "when does the bakery open", "what does a ticket to the museum cost"]
    for question in questions:
        _ask(agent, question)

    for fact in (
        "Mein Chef heißt Anton Berger.",
        "Deploys go out on Tuesdays.",
        "The staging server is in Graz.",
        "I drink tea in the morning.",
        "Invoices are sent as PDF.",
        "The VPN needs a token.",
    ):
        make_fact(agent, fact)
    embed_pending_task()

    assert set(_names(agent)) == {one for one in questions if recall(agent, query=one).state != "answer"}
    assert [gap.name for gap in list_gaps(agent, state="answered").items] == questions[:1]


@override_settings(EMBEDDING_PROVIDER="builtin")
def test_the_only_thing_there_is_answers_nothing_by_being_alone():
    agent = _agent()
    question = "how many patients are there a year"
    _ask(agent, question)
    make_fact(agent, "Platform engineer for a group of four hospitals in Brittany")

    embed_pending_task()

    assert recall(agent, query=question).state == "uncertain"
    assert _names(agent) == [question]


def test_whoever_asked_answered_by_their_own_memory_is_not_disclosed_as_answered():
    curator, agents = make_actor(curator=True), [_agent() for _ in range(3)]
    for agent in agents:
        _ask(agent)
        make_fact(agent, "We rotate the Kafka certificates with make rotate.")

    embed_pending_task()

    assert [list_gaps(curator, state=state).total for state in ("open", "answered")] == [0, 0]


def test_something_else_leaves_it_open():
    agent = _agent()
    _ask(agent)
    make_fact(agent, "The canteen opens at noon.")

    embed_pending_task()

    assert _names(agent) == [QUESTION]


def test_questions_are_asked_again_only_when_their_askers_can_find_something_new(django_assert_max_num_queries):
    agent = _agent()
    _ask(agent)
    make_fact(_agent(), "We rotate the Kafka certificates with make rotate.")
    embed_pending()

    with django_assert_max_num_queries(5):
        asking_again.ask_again(newest_passage())
    with django_assert_max_num_queries(2):
        asking_again.ask_again(newest_passage())


def test_a_run_asks_no_more_questions_than_it_may_and_the_next_run_asks_the_rest(monkeypatch):
    monkeypatch.setattr(asking_again, "AT_ONCE", 1)
    agent = _agent()
    _ask(agent)
    _ask(agent, "Who approves the holiday calendar?")
    make_fact(agent, "We rotate the Kafka certificates with make rotate.")
    make_fact(agent, "Mara approves the holiday calendar.")
    embed_pending()

    assert [asking_again.ask_again(newest_passage()) for _ in range(3)] == [1, 1, 0]


def test_its_asker_says_that_it_is_not_answered_and_nobody_else_does(client):
    agent, other = _agent(), _agent()
    _ask(agent)
    make_fact(agent, "We rotate the Kafka certificates with make rotate.")
    embed_pending_task()
    question = UnansweredQuestion.objects.get()

    with pytest.raises(NotFound):
        reopen_question(other, question_id=question.pk)
    client.force_login(agent.user)
    client.post(reverse("insights-question-reopen", args=[question.pk]))
    embed_pending_task()

    assert _names(agent) == [QUESTION]


def test_it_opens_again_when_an_agent_asks_and_what_answered_it_is_gone():
    agent = _agent()
    _ask(agent)
    fact = make_fact(agent, "We rotate the Kafka certificates with make rotate.")
    embed_pending_task()
    erase_passages(Kind.FACT, [fact.pk])

    _ask(agent)

    assert _names(agent) == [QUESTION]


def test_what_their_own_memory_answers_is_no_gap():
    agent = _agent()
    make_fact(agent, "We rotate the Kafka certificates with make rotate.")

    _ask(agent)

    assert not UnansweredQuestion.objects.exists()


def test_searches_of_ones_own_memory_and_narrowed_ones_are_not_kept():
    agent = _agent()
    make_chunk(agent)

    search_chunks(agent, query=QUESTION)
    semantic_search(agent, query=QUESTION, kinds=["fact", "note"])
    semantic_search(agent, query=QUESTION, since=timezone.now() - timedelta(days=1))
    search_global(agent, query=QUESTION, category="standard")

    assert not UnansweredQuestion.objects.exists()


def test_people_who_look_around_on_pages_ask_nothing():
    _ask(make_actor())

    assert not UnansweredQuestion.objects.exists()


def test_the_setting_switches_it_off(settings):
    settings.GAPS = False

    _ask(_agent())

    assert not UnansweredQuestion.objects.exists()


def test_a_question_with_a_secret_in_it_is_not_kept():
    _ask(_agent(), "why does postgres://app:hunter2Zebra9!@db.internal:5432/prod not answer")

    assert not UnansweredQuestion.objects.exists()


def test_nobody_sees_what_one_person_asked():
    _ask(_agent(), "Where does Zanzibar keep its berths?")

    for other in (_agent(), make_actor(curator=True), make_actor(admin=True)):
        assert _names(other) == []
        with pytest.raises(NotFound):
            see_gap(other, gap_id=Gap.objects.get().pk)


def _asked_by(people: int, question: str = QUESTION) -> None:
    for _ in range(people):
        _ask(_agent(), question)


def _page_of(actor: Actor, client) -> str:
    """The page of unanswered questions, without what is made anew for each request."""
    client.force_login(actor.user)
    text = client.get(reverse("insights-gaps")).text
    return _PER_REQUEST.sub("", text)


def test_what_three_others_asked_in_the_same_words_is_shown_to_everybody():
    _asked_by(2)
    _ask(_agent(), "how do we rotate the  kafka certificates")

    (gap,) = list_gaps(make_actor()).items

    assert (gap.people, gap.times) == (3, 3)
    assert gap.name.casefold().startswith("how do we rotate the kafka certificates")


@pytest.mark.parametrize("others", [1, 2])
def test_whoever_looks_does_not_count_among_those_who_asked(others, client):
    agent = _agent()
    _ask(agent)
    before = _page_of(agent, client)

    _asked_by(others)

    assert _page_of(agent, client) == before
    assert [(gap.people, gap.times, gap.is_private) for gap in list_gaps(agent).items] == [(1, 1, True)]


def test_a_list_of_guesses_does_not_tell_which_one_a_colleague_asked(client):
    attacker = _agent()
    diseases = "asthma, diabetes, epilepsy, gout, lupus, malaria, measles, mumps, psoriasis, rabies"
    _ask(attacker, f"Does the insurance pay for {diseases}?")
    before = _page_of(attacker, client)

    _ask(_agent(), "Does the insurance pay for epilepsy?")
    _ask(_agent(), "Does the insurance pay for lupus?")

    assert _page_of(attacker, client) == before
    assert len(newest_open_gaps(attacker, limit=50)[0]) == 1


def test_questions_of_others_do_not_put_together_what_somebody_asked(client):
    """Two questions of one person, far apart; one of a colleague that lies between them."""
    apart = ["How do we rotate the Kafka certificates?", "Who approves certificates for visitors from Lisbon?"]
    alone, beside = _agent(), _agent()
    for question in apart:
        _ask(alone, question)
    expected = _page_of(alone, client)
    Gap.objects.all().delete()
    _ask(_agent(), "Who approves how we rotate Kafka certificates for visitors?")
    _without_vectors()

    for question in apart:
        _ask(beside, question)

    assert [gap.name for gap in list_gaps(beside).items] == apart[::-1]
    assert _NUMBERS.sub("", _page_of(beside, client)).replace(beside.user.username, "") == _NUMBERS.sub(
        "", expected
    ).replace(alone.user.username, "")


def test_words_that_fewer_than_three_others_used_stay_theirs():
    _ask(_agent(), "How do we rotate the Kafka certificates for Zanzibar?")
    _ask(_agent(), "How do we rotate Kafka certificates in Zanzibar?")
    _ask(_agent(), "How do we rotate Kafka certificates from Lisbon?")
    UnansweredQuestion.objects.update(gap=Gap.objects.order_by("pk").first())

    (gap,) = list_gaps(make_actor()).items

    assert (gap.name, gap.wordings, gap.question) == ("rotate · kafka · certificates", [], None)


def test_the_admin_shows_neither_the_words_nor_who_asked():
    _ask(_agent(), "How do we rotate the Kafka certificates for Zanzibar?")
    _asked_by(2, "How do we rotate the Kafka certificates for Zanzibar?")
    admin = make_actor(admin=True)
    client = browser_of(admin.user)
    question = UnansweredQuestion.objects.first()

    pages = [
        client.get(reverse("admin:knowledge_gap_changelist")),
        client.get(reverse("admin:knowledge_unansweredquestion_changelist")),
        client.get(reverse("admin:knowledge_unansweredquestion_change", args=[question.pk])),
    ]

    assert all(page.status_code == 200 for page in pages)
    assert not any("Zanzibar" in page.text or question.user.username in page.text for page in pages)


def test_asking_again_counts_once_for_a_person():
    agent = _agent()

    _ask(agent)
    _ask(agent)

    (gap,) = list_gaps(agent).items
    assert (gap.people, gap.times) == (1, 2)


def test_each_of_them_sees_their_own_words_besides():
    agent = _agent()
    _ask(agent, "How do we rotate the Kafka certificates for Zanzibar?")
    _asked_by(3, "How do we rotate Kafka certificates?")

    (gap,) = list_gaps(agent).items

    assert (gap.name, gap.people) == ("How do we rotate Kafka certificates?", 4)
    assert gap.wordings == [
        "How do we rotate the Kafka certificates for Zanzibar?",
        "How do we rotate Kafka certificates?",
    ]


def test_questions_about_different_things_stay_apart():
    agent = _agent()

    _ask(agent, QUESTION)
    _ask(agent, "Who approves the holiday calendar?")

    assert len(_names(agent)) == 2


def test_without_vectors_words_put_questions_together(settings):
    first, second = _agent(), _agent()
    _ask(first, "rotate kafka certificates")
    _without_vectors()
    settings.EMBEDDING_PROVIDER = "openai"  # configured, and away

    _ask(second, "how do we rotate kafka certificate")

    assert Gap.objects.count() == 1


def test_what_most_people_asked_comes_first(curator):
    _asked_by(3, "Who approves the holiday calendar?")
    _asked_by(4)

    assert [gap.people for gap in list_gaps(curator).items] == [4, 3]


def test_a_curator_settles_a_gap_and_it_opens_again_when_agents_still_find_nothing(curator):
    _asked_by(3)
    gap = list_gaps(curator).items[0]

    settle_gap(curator, gap_id=gap.id, state="answered")
    assert _names(curator) == []
    _ask(_agent())

    assert [shown.id for shown in list_gaps(curator).items] == [gap.id]


def test_what_is_dismissed_stays_so(curator):
    _asked_by(3)
    gap = list_gaps(curator).items[0]
    settle_gap(curator, gap_id=gap.id, state="dismissed")

    _ask(_agent())

    assert _names(curator) == []
    assert len(_names(curator, state="dismissed")) == 1


def test_only_curators_settle_and_only_what_they_may_see():
    agent, curator = _agent(), make_actor(curator=True)
    _ask(agent)
    gap = Gap.objects.get()

    with pytest.raises(Forbidden):
        settle_gap(agent, gap_id=gap.pk, state="dismissed")
    with pytest.raises(NotFound):
        settle_gap(curator, gap_id=gap.pk, state="dismissed")


def test_who_asked_can_have_it_forgotten_and_others_cannot():
    agent, other = _agent(), _agent()
    _ask(agent)
    question = UnansweredQuestion.objects.get()

    with pytest.raises(NotFound):
        forget_question(other, question_id=question.pk)
    forget_question(agent, question_id=question.pk)

    assert not UnansweredQuestion.objects.exists()
    assert not Gap.objects.exists()


def test_when_one_of_three_has_it_forgotten_the_others_keep_it_to_themselves():
    agent, other = _agent(), _agent()
    _ask(agent)
    _ask(other)
    _asked_by(1)

    forget_question(agent, question_id=UnansweredQuestion.objects.get(user=agent.user).pk)

    assert _names(other) == [QUESTION]
    assert _names(make_actor()) == []


def test_what_somebody_asked_goes_with_them():
    agent, other = _agent(), _agent()
    _ask(agent)
    _ask(other)
    _asked_by(1)

    gone = agent.user.pk
    agent.user.delete()
    forget_old_questions()

    assert _names(make_actor()) == []
    assert not UnansweredQuestion.objects.filter(user=gone).exists()
    assert _names(other) == [QUESTION]


def test_what_nobody_has_asked_for_half_a_year_is_forgotten():
    _ask(_agent())
    UnansweredQuestion.objects.update(last_asked=timezone.now() - timedelta(days=181))

    assert forget_old_questions() == 1

    assert not Gap.objects.exists()


def test_of_many_own_questions_only_the_newest_are_read_and_all_are_counted():
    actor = _agent()
    for number in range(7):
        _ask(actor, f"Who paints the {number}th wall?")
    _asked_by(3)

    newest, total = newest_open_gaps(actor, limit=3)

    assert total == 8
    assert [gap.name for gap in newest] == [QUESTION, "Who paints the 6th wall?", "Who paints the 5th wall?"]
    assert not newest[0].is_private
