"""Start contexts and recalls as they were told: word for word, for their owner, until what they held is erased."""

from datetime import timedelta

import pytest
from django.db import connection
from django.urls import reverse
from django.utils import timezone

from accounts.people.profiles import update_profile
from accounts.people.user_deletion import delete_user
from bigmind.core.errors import NotFound
from bigmind.gate import perform
from bigmind.operations import CATALOGUE
from curation.decisions.forgetting import forget_source
from curation.decisions.withdrawn_sources import quarantine
from knowledge.context.sessions import end_session, erase_session, start_session
from knowledge.context.start_context import get_context
from knowledge.exposures.sent_lines import ERASED, forget_old_texts
from knowledge.kinds import KINDS
from knowledge.memory.facts import correct_fact, erase_fact
from knowledge.memory.hypotheses import add_hypothesis, erase_hypothesis
from knowledge.models import Fact, Receipt, ReceiptText, Session
from tests.curation.factories import approved_entry
from tests.factories import make_actor, make_agent
from tests.knowledge.factories import make_fact, make_facts, make_session

pytestmark = pytest.mark.django_db


def _told(actor, session):
    return get_context(actor, session_id=str(session.pk)).markdown


def test_a_start_is_shown_word_for_word_whatever_changed_since(actor):
    update_profile(actor, role="Engineer", preferences="- **Tabs**\n\n- Short answers")
    fact = make_fact(actor, "Atlas deploys on Tuesdays.", project="atlas")
    make_session(actor, one_liner="Chose a queue")
    said = perform(CATALOGUE["memory_start_session"], actor, {"project": "atlas"}, transport="mcp").markdown()
    session = Session.objects.of(actor.user).latest("started_at")

    correct_fact(actor, fact_id=fact.pk, fact="Atlas deploys on Mondays.")
    update_profile(actor, preferences="None.")

    assert _told(actor, session).splitlines() == said.strip().splitlines()
    (line,) = [line for line in get_context(actor, session_id=session.handle).lines if line.kind == "fact"]
    assert line.changed == "archived since"
    assert line.lineage


def test_what_is_told_again_is_kept_once(actor):
    make_facts(actor, [f"Service {number} has its own schema." for number in range(30)])
    start_session(actor)
    once = ReceiptText.objects.count()

    for _ in range(5):
        session = start_session(actor).session
        end_session(actor, session_id=str(session.pk), one_liner="Done")
        Session.objects.filter(pk=session.pk).update(set_aside_at=timezone.now())

    assert ReceiptText.objects.count() - once <= 5 * 6


def test_a_fact_that_is_erased_is_gone_from_what_was_told(actor):
    secret = make_fact(actor, "The door code is K4711.")
    make_fact(actor, "Prefers tabs.")
    session = start_session(actor).session

    erase_fact(actor, fact_id=secret.pk)

    told = _told(actor, session)
    assert "K4711" not in told
    assert ERASED in told.splitlines()
    assert "Prefers tabs." in told
    assert not ReceiptText.objects.filter(text__contains="K4711").exists()


@pytest.mark.parametrize("kind", KINDS)
def test_whatever_is_erased_takes_its_lines_along(kind):
    table = KINDS[kind].model._meta.db_table

    with connection.cursor() as cursor:
        cursor.execute(
            "SELECT pg_get_triggerdef(oid) FROM pg_trigger WHERE tgname = 'forget_receipt_texts'"
            " AND tgrelid = %s::regclass",
            [table],
        )
        (definition,) = cursor.fetchone()

    assert f"'{kind}'" in definition


def test_hypotheses_and_sessions_take_their_lines_along(actor):
    belief = add_hypothesis(actor, hypothesis="Zanzibar leaks memory.")
    earlier = make_session(actor, one_liner="Looked at Zanzibar")
    start_session(actor)
    assert ReceiptText.objects.filter(text__contains="Zanzibar").count() == 2

    erase_hypothesis(actor, hypothesis_id=belief.pk)
    erase_session(actor, session_id=str(earlier.pk))

    assert not ReceiptText.objects.filter(text__contains="Zanzibar").exists()


def test_a_line_that_quotes_what_is_erased_goes_with_it(actor):
    older = make_fact(actor, "The door code is K4711.")
    newer = make_fact(actor, "The door code is K4712.")
    Fact.objects.filter(pk=older.pk).update(contradicted_by=newer)
    session = start_session(actor).session
    assert "K4711" in _told(actor, session)

    erase_fact(actor, fact_id=older.pk)

    assert "K4711" not in _told(actor, session)


def test_company_knowledge_that_is_withdrawn_is_gone_from_what_anybody_was_told():
    actor, curator = make_actor(), make_actor(curator=True)
    entry = approved_entry(title="Zanzibar is frozen", importance=9)
    session = start_session(actor).session
    assert "Zanzibar" in _told(actor, session)

    quarantine(curator, [entry.pk])

    assert "Zanzibar" not in _told(actor, session)


def test_what_a_forgotten_source_wrote_is_gone_from_what_others_sessions_were_told(actor):
    agent = make_agent(actor.user, "claude-code")
    source = start_session(agent).session
    make_fact(agent, "Zanzibar is poisoned.")
    session = start_session(make_agent(actor.user, "codex")).session
    assert "Zanzibar" in _told(actor, session)

    forget_source(actor, session_id=str(source.pk), dry_run=False)

    assert "Zanzibar" not in _told(actor, session)
    assert not ReceiptText.objects.filter(text__contains="Zanzibar").exists()


def test_nobody_else_reads_what_was_told():
    actor, other = make_actor(), make_actor()
    make_fact(actor, "Zanzibar.")
    session = start_session(actor).session

    with pytest.raises(NotFound) as foreign:
        get_context(other, session_id=str(session.pk))
    with pytest.raises(NotFound) as random:
        get_context(other, session_id="00000000-0000-4000-8000-000000000000")

    assert str(foreign.value).replace(str(session.pk), "") == str(random.value).replace(
        "00000000-0000-4000-8000-000000000000", ""
    )


def test_with_a_user_all_that_they_were_told_goes():
    actor, _ = make_actor(), make_actor(admin=True)
    make_fact(actor, "Zanzibar.")
    start_session(actor)

    delete_user(actor.user)

    assert not ReceiptText.objects.filter(text__contains="Zanzibar").exists()


def test_what_was_told_is_kept_for_as_long_as_the_setting_says(settings, actor):
    fact = make_fact(actor, "Zanzibar.")
    old, new = start_session(actor).session, start_session(make_agent(actor.user, "codex")).session
    Session.objects.filter(pk=old.pk).update(started_at=timezone.now() - timedelta(days=91))
    ReceiptText.objects.update(at=timezone.now() - timedelta(days=91))
    before = ReceiptText.objects.count()

    gone = forget_old_texts()

    with pytest.raises(NotFound, match="is not kept"):
        get_context(actor, session_id=str(old.pk))
    assert f"(F{fact.number}) Zanzibar." in _told(actor, new)
    assert ERASED not in _told(actor, new)
    assert gone == before - ReceiptText.objects.count() > 0
    settings.KEEP_TOLD_DAYS = 0
    none = start_session(make_agent(actor.user, "gemini-cli")).session
    assert Receipt.objects.get(session=none).texts is None


def test_the_page_of_a_session_shows_it_word_for_word(browser, actor):
    fact = make_fact(actor, "Prefers <b>tabs</b>.")
    session = start_session(actor).session

    page = browser.get(reverse("memory-session", args=[session.pk])).content.decode()

    assert "Word for word" in page
    assert f"(F{fact.number}) Prefers &lt;b&gt;tabs&lt;/b&gt;." in page
