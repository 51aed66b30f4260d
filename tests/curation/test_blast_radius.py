"""What a decision would change: foreseen from the questions that were asked, and compared with what is served then."""

from datetime import timedelta

import pytest
from django.urls import reverse
from django.utils import timezone

from bigmind.core.errors import Forbidden
from bigmind.database.rls import rls_scope
from bigmind.retention import delete_past_bounds
from curation.decisions.golden_questions import pin_golden_question
from curation.proposals.blast_radius import blast_radius
from curation.proposals.briefing import brief
from curation.proposals.decision_trials import try_decision
from knowledge.capture.forgetting import erase_captured
from knowledge.capture.recall import recall_for
from knowledge.context.sessions import start_session
from knowledge.indexing.embedding import embed_pending
from knowledge.kb.company import search_global
from knowledge.models import AskedQuestion, CompanyEntry, Conversation, HookEvent, Passage
from knowledge.recall.recall import recall
from knowledge.recall.semantic_search import semantic_search
from tests.curation.factories import approved_entry, decide_at_latest, propose
from tests.factories import make_actor, make_agent, make_user
from tests.knowledge.factories import make_fact
from tests.worlds import keep_world

pytestmark = pytest.mark.django_db

TOPICS = ("backups", "certificates", "alerts")
QUESTIONS = [*(f"How do {topic} work here?" for topic in TOPICS), "What if alerts fail again?"]
WAYS = {"recall": recall, "search": semantic_search, "company": search_global}
QUESTION = "How do certificates rotate here?"


@pytest.fixture(scope="module")
def world(django_db_setup, django_db_blocker):
    """A curator and agents of four people, made once. Something is known: before that, no question has a vector."""

    def make():
        approved_entry(title="Greeting", content="We say hello.")
        embed_pending()
        return make_actor(curator=True), [make_agent(make_user(), "claude-code") for _ in range(4)]

    with keep_world(django_db_blocker, make) as made:
        yield made


@pytest.fixture(autouse=True)
def curator(world, db):
    return world[0]


@pytest.fixture
def agents(world, db):
    return world[1]


def _told(actor, way, query):
    found = WAYS[way](actor, query=query).items
    if way == "company":
        return tuple(hit.entry.pk for hit in found)
    return tuple(int(hit.id) for hit in found if hit.kind == "company")


def _ask_all(agents):
    return {
        (agent.user.pk, way, query): _told(agent, way, query) for agent in agents for way in WAYS for query in QUESTIONS
    }


def _asked_by(agents, query=QUESTION):
    for agent in agents:
        recall(agent, query=query)


def _proposal():
    return propose(
        title="Rotating certificates", content="How certificates rotate here: the job rotate does it at night."
    )


def test_what_is_foreseen_is_what_is_served_then(curator, agents):
    for agent, topic in zip(agents[:2], TOPICS, strict=False):
        make_fact(agent, f"The {topic} of my project work and fail with those of others.")
    for topic in TOPICS:
        approved_entry(title=f"About {topic}", content=f"All {topic} follow the rule of team {topic}, step by step.")
        approved_entry(title=f"More on {topic}", content=f"When {topic} fail, tell the channel, wait, then look again.")
    edited = approved_entry(title="About webhooks", content="All webhooks are signed.")
    proposed = propose(title="Certificates at night", content="How certificates work: the job rotate runs each night.")
    embed_pending()
    text = {"content": "All webhooks are signed, and what fails of alerts and backups is sent again."}
    before = _ask_all(agents[:2])

    for action, entry, edits in [("approve", proposed, {}), ("edit", edited, text), ("deprecate", proposed, {})]:
        entry.refresh_from_db()
        trial = try_decision([entry], action, edits=edits)
        others = CompanyEntry.objects.approved().values_list("pk", flat=True)[:20]
        decide_at_latest(curator, entry_id=entry.pk, action=action, despite=list(others), **edits)
        embed_pending()
        after = _ask_all(agents[:2])

        foreseen = {
            (one.asked.user_id, one.asked.how, one.asked.text): (one.before, one.after) for one in trial.answers
        }
        assert foreseen == {key: (told, after[key]) for key, told in before.items() if told != after[key]}
        assert len(foreseen) >= 4
        before = after


def test_a_question_about_a_period_is_foreseen_too(curator, agents):
    offices = ("Rome", "Oslo", "Riga", "Kyiv", "Lima", "Bern", "Doha", "Baku", "Bonn", "Cork", "Graz", "Jena")
    entries = [
        approved_entry(title=f"In {office}", content=f"How certificates rotate in {office}: {'the job rotate ' * 20}.")
        for office in offices
    ]
    make_fact(agents[0], "How certificates rotate in my project: by a job of the platform.")
    embed_pending()
    Passage.objects.filter(kind="company").update(created_at=timezone.now() - timedelta(days=400))
    asked = "How did certificates rotate today?"
    before = {way: _told(agents[0], way, asked) for way in WAYS}
    text = {"content": f"{entries[0].content} With the new tool of the platform."}

    trial = try_decision([entries[0]], "edit", edits=text)
    decide_at_latest(
        curator, entry_id=entries[0].pk, action="edit", despite=[entry.pk for entry in entries[1:]], **text
    )
    embed_pending()

    after = {way: _told(agents[0], way, asked) for way in WAYS}
    assert all(told[0] == entries[0].pk for told in after.values())
    assert {one.asked.how: (one.before, one.after) for one in trial.answers} == {
        way: (told, after[way]) for way, told in before.items()
    }
    assert all(before[way] != after[way] for way in WAYS)


def test_what_moves_up_of_ones_own_is_not_taken_for_company_knowledge(curator, agents):
    entry = approved_entry(title="Rotating certificates", content="How certificates rotate here: the job rotate.")
    for place in ("Rome", "Oslo", "Kyiv", "Lima", "Bern", "Riga", "Doha", "Baku", "Bonn", "Cork"):
        make_fact(agents[0], f"Certificates rotate in {place}, as other things do in that office of ours.")
    embed_pending()
    assert _told(agents[0], "search", QUESTION) == (entry.pk,)

    trial = try_decision([entry], "deprecate")
    decide_at_latest(curator, entry_id=entry.pk, action="deprecate")

    assert [(one.before, one.after) for one in trial.answers] == [((entry.pk,), ())]
    assert _told(agents[0], "search", QUESTION) == ()


def test_an_answer_that_ends_at_its_tokens_is_foreseen_as_it_ended(curator, agents):
    offices = ("Rome", "Oslo", "Riga", "Kyiv", "Lima", "Bern", "Doha", "Baku")
    entries = [
        approved_entry(title=f"In {office}", content=f"How certificates rotate in {office}: {'the job rotate ' * 20}.")
        for office in offices
    ]
    embed_pending()
    told = [int(hit.id) for hit in recall(agents[0], query=QUESTION, max_tokens=150).items]
    assert 0 < len(told) < len(entries)
    last = next(entry for entry in entries if entry.pk not in told)

    trial = try_decision([last], "deprecate")

    assert trial.answers == []


def test_looking_changes_nothing(curator, agents):
    entry = _proposal()
    _asked_by(agents)
    passages = list(Passage.objects.order_by("pk").values())

    blast_radius(curator, entry_ids=[entry.pk])

    entry.refresh_from_db()
    assert not entry.is_approved
    assert list(Passage.objects.order_by("pk").values()) == passages


def test_what_others_asked_counts_once_three_of_them_did(curator, agents):
    entry = _proposal()
    _asked_by(agents[:2])
    few = blast_radius(curator, entry_ids=[entry.pk])
    _asked_by(agents[2:3])
    many = blast_radius(curator, entry_ids=[entry.pk])

    assert (few.questions, few.people, few.answers_changed, few.entering, few.asked) == (0, 0, 0, [], [])
    assert (many.questions, many.people, many.answers_changed) == (3, 3, 3)
    assert [(one.entry.pk, one.answers) for one in many.entering] == [(entry.pk, 3)]
    assert [(one.text, one.enters) for one in many.asked] == [(QUESTION, [entry.handle])]


def test_questions_in_other_words_are_counted_and_not_shown(curator, agents):
    entry = _proposal()
    for number, agent in enumerate(agents):
        recall(agent, query=f"How do the certificates rotate here, for my secret plan {'abcd'[number]}?")

    radius = blast_radius(curator, entry_ids=[entry.pk])

    assert radius.answers_changed == 4
    assert radius.asked == []


def test_ones_own_questions_count_alone(curator):
    entry = _proposal()
    _asked_by([make_agent(curator.user, "claude-code")])

    radius = blast_radius(curator, entry_ids=[entry.pk])

    assert (radius.questions, radius.answers_changed, [one.text for one in radius.asked]) == (1, 1, [QUESTION])


def test_the_order_of_ones_own_questions_does_not_tell_which_of_them_others_asked(curator, agents):
    entry, own = _proposal(), make_agent(curator.user, "claude-code")
    questions = [f"How do the certificates rotate in the {place}?" for place in ("abbey", "yard")]
    for question in questions:
        recall(own, query=question)
    alone = [one.text for one in blast_radius(curator, entry_ids=[entry.pk]).asked]

    for agent in agents[:2]:
        recall(agent, query=alone[-1])

    assert sorted(alone) == questions
    assert [one.text for one in blast_radius(curator, entry_ids=[entry.pk]).asked] == alone


def test_starts_of_sessions_are_replayed(curator, agents):
    for number in range(5):
        approved_entry(
            title=f"Important {'abcde'[number]}", content=f"What matters in part {'abcde'[number]}.", importance=8
        )
    entry = propose(title="Most important", content="Nothing matters more.", importance=9)
    for agent in agents[:3]:
        start_session(agent, project="billing")

    radius = blast_radius(curator, entry_ids=[entry.pk])
    decide_at_latest(curator, entry_id=entry.pk, action="approve")
    context = start_session(agents[3], project="billing").context

    assert (radius.starts, radius.starts_changed) == (3, 3)
    assert [one.entry.pk for one in radius.entering] == [entry.pk]
    assert [(one.project, one.times) for one in radius.projects] == [("billing", 3)]
    told = {int(line.id) for line in context.chosen["company"]}
    assert entry.pk in told
    assert radius.leaving[0].entry.pk not in told


def test_a_golden_question_that_would_be_lost_is_named(curator):
    entry = approved_entry(title="Certificates", content="How certificates rotate here: the job rotate.")
    embed_pending()
    golden = pin_golden_question(curator, question=QUESTION, kind="company", id=str(entry.pk))

    radius = blast_radius(curator, entry_ids=[entry.pk])

    assert radius.action == "deprecate"
    assert radius.golden_lost == [golden]


def test_the_briefing_says_it(curator, agents):
    entry = _proposal()
    _asked_by(agents)

    assert brief(curator, entry_id=entry.pk).radius.answers_changed == 4


def test_it_is_none_of_a_members_business():
    entry = _proposal()

    with pytest.raises(Forbidden):
        blast_radius(make_actor(), entry_ids=[entry.pk])


def test_a_question_is_kept_for_its_asker_alone_and_not_for_ever(agents, settings):
    _asked_by(agents[:2])
    recall(agents[0], query=QUESTION)
    with rls_scope(agents[0].user.pk):
        kept = AskedQuestion.objects.get()
    assert (kept.user, kept.text, kept.times) == (agents[0].user, QUESTION, 2)

    AskedQuestion.objects.filter(user=agents[0].user).update(asked_at=timezone.now() - timedelta(days=29))
    assert delete_past_bounds() == 1
    settings.KEEP_ASKED_DAYS = 0
    _asked_by(agents[2:])
    assert AskedQuestion.objects.count() == 1


def test_what_has_a_secret_or_is_asked_on_a_page_is_not_kept(agents):
    recall(agents[0], query="Why is the key ghp_16C7e42F292c6912E7710c838347Ae178B4a refused?")
    recall(make_actor(), query=QUESTION)

    assert not AskedQuestion.objects.exists()


def test_the_page_shows_it_and_tries_a_text_that_is_not_saved(client, curator, agents):
    entry = approved_entry(title="About webhooks", content="All webhooks are signed.")
    embed_pending()
    _asked_by(agents)
    client.force_login(curator.user)
    address = f"{reverse('curation-radius')}?entry={entry.pk}"

    opened = client.get(reverse("curation-entry", args=[entry.pk])).content.decode()
    edited = {
        "title": entry.title,
        "content": "How certificates rotate here: at night.",
    }
    tried = client.post(address, {"decision": "edit", **edited})
    refused = client.post(address, {"decision": "edit", "content": "word " * 2_000})

    assert f'href="{address}"' in opened
    assert "4 of 4 answers change" in " ".join(tried.content.decode().split())
    assert refused.status_code == 422
    entry.refresh_from_db()
    assert entry.content == "All webhooks are signed."


def test_a_prompt_that_is_erased_is_forgotten_here_too(agents):
    user = agents[0].user
    conversation = Conversation.objects.create(user=user, client="claude-code", client_id="1", digest="1")
    recall_for(agents[0], QUESTION, conversation=conversation, told=set(), keeps=True)
    HookEvent.objects.create(conversation=conversation, user=user, event="prompt", prompt=QUESTION)
    assert AskedQuestion.objects.get().how == "prompt"

    erase_captured(HookEvent.objects.filter(conversation=conversation))

    assert not AskedQuestion.objects.exists()
