"""Questions about the memory itself are answered from sessions, open work, identity, preferences and decisions."""

from datetime import UTC, datetime, timedelta
from zoneinfo import ZoneInfo

import pytest
from django.utils import timezone

from accounts.models import Profile
from bigmind.gate import perform
from bigmind.operations import CATALOGUE
from bigmind.text.token_counts import count_tokens
from knowledge.capture.recall import recall_for
from knowledge.indexing.embedding import embed_pending
from knowledge.memory.facts import store_fact
from knowledge.models import Chunk, Conversation, Hypothesis, Session, Summary
from knowledge.recall.episode_questions import read_episode_question
from knowledge.recall.episodes import answer_episode
from knowledge.recall.faceted_search import find_for_page
from knowledge.recall.recall import recall
from tests.factories import make_actor

pytestmark = pytest.mark.django_db

NOW = datetime(2026, 11, 25, 15, 0, tzinfo=UTC)  # a Wednesday


@pytest.fixture(autouse=True)
def _a_wednesday(monkeypatch):
    monkeypatch.setattr(timezone, "now", lambda: NOW)


def session(actor, days, headline, outcome="", summary="", *, hour=9, project="", is_open=False):
    start = (NOW - timedelta(days=days)).replace(hour=hour)
    made = Session.objects.create(
        user=actor.user,
        one_liner=headline,
        outcome=outcome,
        project=project,
        started_at=start,
        ended_at=None if is_open else start + timedelta(hours=1),
    )
    if summary:
        Summary.objects.create(session=made, summary=summary)
    return made


@pytest.fixture
def actor(db):
    actor = make_actor()
    session(
        actor, 1, "Rebuilt the crane scheduler", "It plans two shifts.", "All shifts are planned.", project="harbour"
    )
    session(actor, 5, "Fixed the tide importer", "Reads UTC now. Next step: import the old years.")
    session(actor, 9, "Wrote the berth report")
    session(actor, 40, "Planned the dock move", "The dock moves in spring.")
    return actor


def told(actor, question, **arguments):
    return [hit.excerpt for hit in recall(actor, query=question, **arguments).items]


SESSIONS = [
    ("What did we do yesterday?", "Rebuilt the crane"),
    ("What happened yesterday?", "Rebuilt the crane"),
    ("Was haben wir gestern gemacht?", "Rebuilt the crane"),
    ("What did I do on Tuesday?", "Rebuilt the crane"),
    ("What did we do last time?", "Rebuilt the crane"),
    ("What was the last thing we did?", "Rebuilt the crane"),
    ("Was haben wir zuletzt gemacht?", "Rebuilt the crane"),
    ("What have we been working on recently?", "Rebuilt the crane"),
    ("Where did we leave off?", "Rebuilt the crane"),
    ("Hey, where were we?", "Rebuilt the crane"),
    ("Wo waren wir stehengeblieben?", "Rebuilt the crane"),
    ("What did I work on last week?", "Fixed the tide"),
    ("What did we do on Friday?", "Fixed the tide"),
    ("Was haben wir am Freitag gemacht?", "Fixed the tide"),
    ("Woran haben wir letzte Woche gearbeitet?", "Fixed the tide"),
    ("What did we finish 5 days ago?", "Fixed the tide"),
    ("Give me a recap of last week", "Fixed the tide"),
    ("What did we do on 16 November?", "Wrote the berth"),
    ("What did we do in October?", "Planned the dock"),
    ("Was haben wir im Oktober gemacht?", "Planned the dock"),
    ("Which sessions did we have last month?", "Planned the dock"),
    ("What did I ship last week?", "Fixed the tide"),
    ("Was haben wir am Freitag behoben?", "Fixed the tide"),
    ("Can you remind me what we did yesterday, please?", "Rebuilt the crane"),
]


@pytest.mark.parametrize(("question", "first"), SESSIONS)
def test_sessions_are_looked_up_by_their_time(actor, question, first):
    shown = told(actor, question)

    assert shown
    assert shown[0].startswith(first)


def test_since_lasts_until_now_and_the_newest_comes_first(actor):
    shown = told(actor, "What have we done since Thursday?")

    assert [text.partition(" ")[0] for text in shown[:2]] == ["Rebuilt", "Fixed"]


def test_a_period_without_sessions_says_so_and_shows_the_nearest(actor):
    reply = recall(actor, query="What did we do on Saturday?")

    assert reply.notice == "Nothing was recorded: 2026-11-21. Nearest:"
    assert [hit.excerpt.partition(" ")[0] for hit in reply.items[:2]] == ["Rebuilt", "Fixed"]
    assert reply.state == "answer"


def test_what_was_stored_without_a_session_is_told_of_its_day(actor):
    fact = store_fact(actor, category="decision", fact="Cranes are named after rivers.").fact
    type(fact).objects.filter(pk=fact.pk).update(created_at=NOW - timedelta(days=4))

    assert "Cranes are named after rivers." in told(actor, "What did we do on Saturday?")


def test_an_answer_costs_little(actor):
    operation = CATALOGUE["memory_recall"]
    for question, _ in SESSIONS:
        reply = perform(operation, actor, {"query": question}, transport="mcp").markdown()
        assert count_tokens(reply) <= 140, (count_tokens(reply), reply)


def test_sessions_of_the_project_come_first(actor):
    assert told(actor, "Where did we leave off?", project="harbour")[0].startswith("Rebuilt")
    session(actor, 0, "Read the news", hour=8)
    assert told(actor, "Where did we leave off?", project="harbour")[0].startswith("Rebuilt")


@pytest.mark.parametrize("question", ["What is still open?", "What's next?", "Was ist noch offen?", "next steps"])
def test_open_work_is_what_sessions_leave_open_and_what_is_believed(actor, question):
    Hypothesis.objects.create(user=actor.user, hypothesis="The tide table is off by an hour.")
    session(actor, 0, "Sorting the ropes", is_open=True, hour=14)

    shown = told(actor, question)[:3]

    assert any("Sorting the ropes" in text for text in shown)
    assert any("Next step: import the old years" in text for text in shown)
    assert any("off by an hour" in text for text in shown)


@pytest.mark.parametrize(
    "question", ["Who am I?", "What do you know about me?", "Was weißt du über mich?", "Wer bin ich?"]
)
def test_a_person_is_told_who_they_are(actor, question):
    store_fact(actor, category="identity", fact="Runs the harbour of Faro.")
    store_fact(actor, category="preference", fact="Likes short answers.")
    Profile.objects.update_or_create(user=actor.user, defaults={"role": "Harbour master"})

    reply = recall(actor, query=question)

    assert [hit.excerpt for hit in reply.items[:2]] == ["Runs the harbour of Faro.", "Likes short answers."]
    assert "Harbour master" in reply.notice


def test_preferences_are_told(actor):
    store_fact(actor, category="preference", fact="Likes short answers.")

    assert told(actor, "What are my preferences?")[0] == "Likes short answers."


@pytest.mark.parametrize(
    "question", ["What did we decide about rope storage?", "Was haben wir zum rope storage entschieden?"]
)
def test_decisions_about_a_topic_come_first(actor, question):
    store_fact(actor, category="codebase", fact="Rope storage is modelled in ropes.py, in storage.")
    store_fact(actor, category="decision", fact="Ropes are stored in hall 4.")
    store_fact(actor, category="decision", fact="The gate closes at ten.")
    embed_pending()

    assert told(actor, question)[0] == "Ropes are stored in hall 4."


def test_it_is_said_when_something_was_last_talked_about(actor):
    for made in Session.objects.of(actor.user):
        Chunk.objects.create(session=made, user=actor.user, content=made.one_liner, seq=1)
    from knowledge.context.sessions import index_session_and_chunks

    for made in Session.objects.of(actor.user):
        index_session_and_chunks(made)
    embed_pending()

    (first, *_) = recall(actor, query="When did we last work on the tide importer?").items

    assert first.excerpt.startswith("Fixed the tide importer")
    assert first.created_at.date().isoformat() == "2026-11-20"


def test_a_day_is_one_of_the_person_and_not_of_the_server(actor):
    session(actor, 1, "Late in Auckland", hour=12)  # 01:00 of the 25th there

    with timezone.override(ZoneInfo("Pacific/Auckland")):
        # It is the 26th in Auckland already.
        assert told(actor, "What did we do yesterday?")[0].startswith("Late in Auckland")


def test_an_empty_memory_answers_as_any_search_does():
    reply = recall(make_actor(), query="What did we do yesterday?")

    assert reply.items == []
    assert reply.state != "answer"


def test_a_misread_question_hides_nothing_that_a_search_finds(actor):
    store_fact(actor, category="codebase", fact="Yesterday is the name of our cache of the day before.")
    embed_pending()

    assert (
        any("our cache" in text for text in told(actor, "What did we do yesterday?"))
        or not recall(actor, query="What is yesterday, our cache?").items
    )


ORDINARY = """
How do I run the tests?|What port does staging use?|Which database do we use for billing?|How long does the build take?
What did we do about the login bug?|How do I restart the worker?|Who is on call on Friday?|When is the next release?
What is open on Sunday?|What is the last step of the deploy?|What are the preferences of the customer?|What is next.js?
What do you know about Kafka?|Who am I supposed to ask about invoices?|What is left in the budget?
Where do we stand on the migration to Postgres?|What's next in the pipeline after linting?|Wo liegt die Doku?
What is the latest version of Django?|What changed in Django 5?|What happened to the nightly build?
Where were we hosting the old site?|Which decision tree library do we use?|What did we use last year for hosting?
When did the contract last get renewed?|Wer ist der Ansprechpartner für Rechnungen?|Was kommt in die Release Notes?
Was ist noch offen im Ticket 4711?|Was macht der Cronjob am Montag?|Wie heißt die letzte Migration?
Wie ist der Stand der Dinge beim Umzug nach Hamburg mit dem neuen Server?|Was haben wir für Drucker?
What did Anna do last week?|How many sessions are open?|What is the session timeout?|Which meetings are on Monday?
What is the summary limit?|Why did the build fail yesterday?|What is the decision on the logo color?
What's new in Python 3.14?|What do I like about Rust?|What is my role in the RACI matrix for billing?
Open points of the audit report with owners|Who worked on the parser last?|List the sessions table columns
Last week's revenue|Where did we put the backup key?|What did we name the staging bucket?|What was the port before?
Which editor do I use?|Where is the office?|What is the VPN address?|How do we name branches?|Who approves holidays?
What is the retention of the logs?|Which region is production in?|How do I get a licence?|What is our refund policy?
When does the kitchen close?|What does error 4012 mean?|Which tests are flaky?|Who owns the domain name?
What is the difference between staging and preview?|How is the cache invalidated?|What is the SLA of support?
Wie starte ich den Server neu?|Welche Datenbank nutzt die Abrechnung?|Wo liegen die Backups?|Wer leitet das Projekt?
Wann schließt die Kantine?|Wie viele Lizenzen haben wir?|Was kostet der Tarif?|Welche Version läuft in Produktion?
Was bedeutet Fehler 17?|Wie lange dauert der Build?|Wie lautet die Steuernummer?|Welcher Port ist offen?
Why do we pin numpy?|What is the name of the queue?|Do we support Windows?|Is the API public?|What time is standup?
What happens when a payment fails?|What did the audit find?|How was the outage fixed?|Which key signs the tokens?
Who reviewed the threat model?|What are the steps of a release?|What is in the summary email?|How do I open a ticket?
What is the meeting room called?|When is the meeting with Helena?|What does done mean for a story?|work package seven
new hires in May
change the password|session cookies|the last commit of the branch|finish line color|what to discuss with legal
things to pack|we did not ship the widget because of what?|which work is billable|next steps after a failed payment
"""


def test_ordinary_questions_are_no_episodes():
    questions = [one for one in ORDINARY.replace("\n", "|").split("|") if one.strip()]
    recognised = [one for one in questions if read_episode_question(one) is not None]

    assert len(questions) >= 100
    assert len(recognised) <= 1, recognised


def test_others_sessions_are_never_told(actor):
    assert told(make_actor(), "What did we do yesterday?") == []


def test_the_period_of_the_arguments_counts_too(actor):
    october = told(actor, "What did we do?", as_of="October")

    assert october == [] or october[0].startswith("Planned the dock")
    assert answer_episode(actor, read_episode_question("What happened?"), within=None) is not None


def test_a_hook_answers_a_question_about_the_memory_before_the_prompt(actor):
    conversation = Conversation.objects.create(user=actor.user, client="claude-code", client_id="1", digest="1")

    lines = recall_for(actor, "Where were we?", conversation=conversation, told=set())

    assert "Rebuilt the crane scheduler" in lines[0].markdown


def test_the_search_page_shows_sessions_first(actor):
    page = find_for_page(actor, query="What did we do yesterday?")

    assert page.groups[0].best.excerpt.startswith("Rebuilt the crane scheduler")
