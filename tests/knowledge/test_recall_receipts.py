"""Recalls as they were told: with the receipt of their session, for its owner, until what they held is erased."""

from dataclasses import replace
from datetime import timedelta

import pytest
from django.urls import reverse
from django.utils import timezone

from accounts.people.user_deletion import delete_user
from bigmind.gate import perform
from bigmind.operations import CATALOGUE
from knowledge.context.sessions import erase_session, start_session
from knowledge.exposures.context_receipts import RECALLS_KEPT, recalls_of
from knowledge.exposures.sent_lines import ERASED, forget_old_texts
from knowledge.indexing.embedding import embed_pending
from knowledge.kb.entries import add_entry
from knowledge.models import Receipt, ReceiptText, Session
from tests.factories import make_actor, make_agent
from tests.knowledge.factories import make_fact

pytestmark = pytest.mark.django_db

QUESTION = "What is the code of the door?"


def begin(user=None):
    """An agent in a conversation of its own, and the session that it started."""
    agent = replace(make_agent(user or make_actor().user, "claude-code"), conversation="one")
    return agent, start_session(agent).session


def ask(agent, name="memory_recall", **arguments):
    embed_pending()
    return perform(CATALOGUE[name], agent, {"query": QUESTION, **arguments}, transport="mcp").markdown()


def remember(agent, fact):
    perform(CATALOGUE["memory_store_fact"], agent, {"category": "codebase", "fact": fact}, transport="mcp")


def shown(session):
    return ["\n".join(line.told.text for line in one.lines) for one in recalls_of(session)]


@pytest.mark.parametrize(
    ("name", "arguments"),
    [("memory_recall", {}), ("memory_recall", {"style": "detailed"}), ("memory_semantic_search", {})],
)
def test_what_was_recalled_is_kept_word_for_word_with_its_lineage(name, arguments):
    agent, session = begin()
    remember(agent, "The code of the door is K4711.\nIt is changed every spring.")

    said = ask(agent, name, **arguments)

    assert "K4711" in said
    assert shown(session) == [said.strip()]
    assert any("through claude-code" in line.lineage for line in recalls_of(session)[0].lines)


def test_whoever_is_deleted_is_no_longer_named_to_others():
    author, _ = make_actor(), make_actor(admin=True)
    name = str(author.user)
    agent, session = begin()
    add_entry(author, content="The code of the door is K4711.", entry_type="fact")
    ask(agent)
    assert name in shown(session)[0]

    delete_user(author.user)

    assert name not in shown(session)[0]


def test_what_was_asked_is_not_kept_and_what_found_nothing_neither():
    agent, session = begin()
    ask(agent)
    make_fact(agent, "The door has a code.")
    ask(agent)

    assert len(shown(session)) == 1
    assert not ReceiptText.objects.filter(text__contains=QUESTION).exists()


def test_a_user_on_a_page_leaves_nothing(client):
    agent, session = begin()
    make_fact(agent, "The door has a code.")
    embed_pending()
    client.force_login(agent.user)

    client.get(reverse("home"), {"query": QUESTION})

    assert shown(session) == []


def test_only_the_last_ones_are_kept_and_each_line_once():
    agent, session = begin()
    make_fact(agent, "The door has a code.")
    ask(agent)
    lines = ReceiptText.objects.count()
    receipt = Receipt.objects.get(session=session)
    Receipt.objects.filter(session=session).update(recalls=receipt.recalls * RECALLS_KEPT)

    ask(agent)

    assert (len(shown(session)), ReceiptText.objects.count()) == (RECALLS_KEPT, lines)


def test_lines_stay_as_long_as_a_recall_refers_to_them_and_no_longer():
    agent, session = begin()
    make_fact(agent, "The door has a code.")
    ask(agent)
    long_ago = timezone.now() - timedelta(days=91)
    ReceiptText.objects.update(at=long_ago)

    forget_old_texts()
    assert ERASED not in shown(session)[0]

    Session.objects.filter(pk=session.pk).update(started_at=long_ago)
    forget_old_texts()
    assert shown(session) == []
    assert not ReceiptText.objects.exists()


def test_with_its_session_it_goes():
    agent, session = begin()
    make_fact(agent, "The door has a code.")
    ask(agent)

    erase_session(agent, session_id=str(session.pk))

    assert not Receipt.objects.exists()


def test_nothing_is_kept_where_the_setting_says_so(settings):
    settings.KEEP_TOLD_DAYS = 0
    agent, session = begin()
    make_fact(agent, "The door has a code.")

    assert "The door has a code." in ask(agent)

    assert shown(session) == []


def test_the_page_of_a_session_shows_what_was_recalled(client):
    agent, session = begin()
    remember(agent, "The <b>door</b> has a code.")
    ask(agent)
    client.force_login(agent.user)

    page = client.get(reverse("memory-session", args=[session.pk])).content.decode()

    assert "What it recalled" in page
    assert "The &lt;b&gt;door&lt;/b&gt; has a code." in page
    assert "From you, through claude-code" in page
