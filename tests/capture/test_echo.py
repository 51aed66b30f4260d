"""What was only asked is kept and shown, and is no hit of a search, no line of a start, no recall before a prompt."""

from importlib import import_module

import pytest
from django.apps import apps
from django.test import Client
from django.urls import reverse

from bigmind.gate import perform
from bigmind.operations import CATALOGUE
from knowledge.context.sessions import index_session_and_chunks
from knowledge.context.start_context import get_context
from knowledge.indexing.embedding import embed_pending
from knowledge.indexing.index_gaps import find_gaps
from knowledge.models import Chunk, Passage, Session
from knowledge.recall.recall import recall
from tests.capture.hooking import HookedClient
from tests.factories import make_actor, make_agent
from tests.knowledge.factories import make_fact

pytestmark = pytest.mark.django_db

ASKED = (
    "Where does the {} service keep its settings?",
    "How do I restart the {} job by hand?",
    "Wer darf das {}-Modul freigeben?",
    "Why does the {} test fail on the second run?",
    "show me how {} is deployed",
)
QUESTIONS = [words.format("billing") for words in ASKED]


def converse(actor, question, answer="Which environment do you mean?"):
    claude = HookedClient(actor.user)
    claude.start()
    claude.prompt(question)
    claude.stop(answer)
    said = [{"role": "user", "text": question}, {"role": "assistant", "text": answer}]
    claude.end(headline=question, messages=said)


def test_conversations_that_only_ask_leave_nothing_to_be_found():
    actor = make_actor()
    known = make_fact(actor, "The billing service keeps its settings in Consul.", project="freight-api")
    for question in QUESTIONS:
        converse(actor, question)
    embed_pending()

    told, hits = get_context(actor, project="freight-api").markdown, []
    for question in QUESTIONS:
        hits += recall(actor, query=question).items
        told += perform(
            CATALOGUE["memory_recall"], make_agent(actor.user, "codex"), {"query": question}, transport="mcp"
        ).markdown()
    claude = HookedClient(actor.user)
    told += claude.start()
    told += "".join(claude.prompt(question) for question in QUESTIONS)

    # The reply to a question names the question itself; no line of what is stored does.
    lines = [line for line in told.splitlines() if line.startswith(("- ", "| ", "[", "1", "2", "3"))]
    assert [line for line in lines for question in QUESTIONS if question[:-1] in line] == []
    assert {hit.id for hit in hits} <= {str(known.pk)}
    assert not Passage.objects.filter(kind="chunk").exists()
    assert set(Session.objects.values_list("one_liner", flat=True)) == {""}
    assert [gap.count for gap in find_gaps() if gap.gap == "passages"] == []


def test_they_are_kept_and_shown_on_their_page(client: Client):
    actor = make_actor()
    converse(actor, QUESTIONS[0])
    client.force_login(actor.user)
    session = Session.objects.get()

    page = client.get(reverse("memory-session", args=[session.pk]))

    assert QUESTIONS[0] in page.text
    assert Chunk.objects.filter(content=QUESTIONS[0]).count() == 1


def test_what_an_agent_stated_is_found_and_what_it_asked_back_is_not():
    actor = make_actor()
    converse(actor, QUESTIONS[0], "The settings are in Consul under billing/.")
    converse(actor, QUESTIONS[1], "Do you mean the nightly job?")

    assert [passage.text.splitlines()[1] for passage in Passage.objects.filter(kind="chunk")] == [
        "The settings are in Consul under billing/."
    ]


def test_a_headline_says_what_was_done():
    actor = make_actor()
    claude = HookedClient(actor.user)
    for closing in (
        {"files": ["a.py", "b.py", "c.py", "d.py", "e.py"], "commits": ["1a2b3c4 Keep settings in Consul"]},
        {"files": ["a.py", "b.py", "c.py", "d.py", "e.py"]},
    ):
        claude = HookedClient(actor.user)
        claude.start()
        claude.prompt(QUESTIONS[0])
        claude.end(**closing)

    assert set(Session.objects.values_list("one_liner", flat=True)) == {
        "Keep settings in Consul",
        "Changed a.py, b.py, c.py and 2 more files",
    }


def test_headlines_and_passages_that_older_versions_made_of_prompts_go():
    actor = make_actor()
    converse(actor, QUESTIONS[0], "The settings are in Consul.")
    converse(actor, QUESTIONS[1])
    first, second = Session.objects.order_by("started_at")
    Session.objects.filter(pk=first.pk).update(one_liner=f"{QUESTIONS[0][:30]}…")
    Session.objects.filter(pk=second.pk).update(one_liner="Found out how the job restarts")
    for session in Session.objects.all():
        index_session_and_chunks(session)
    old = Chunk.objects.get(content=QUESTIONS[0])
    Passage.objects.create(
        kind="chunk", source_id=str(old.pk), ordinal=0, owner=actor.user, text=old.content, created_at=old.created_at
    )

    import_module("knowledge.migrations.0064_no_echo").drop_echo(apps, None)

    assert not Passage.objects.filter(kind="chunk", source_id=str(old.pk)).exists()
    assert set(Session.objects.values_list("one_liner", flat=True)) == {"", "Found out how the job restarts"}
