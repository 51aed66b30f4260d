"""The page Captured, forgetting, and how memory is written."""

from concurrent.futures import ThreadPoolExecutor
from datetime import UTC, datetime, timedelta

import pytest
from django.db import connection, transaction
from django.urls import reverse
from django.utils import timezone

from bigmind.core.errors import Conflict, Forbidden
from bigmind.gate import perform
from bigmind.operations import CATALOGUE
from knowledge.capture.forgetting import exclude_folder, forget_old_captures
from knowledge.capture.policies import set_policy
from knowledge.context.sessions import end_session
from knowledge.memory.facts import store_fact
from knowledge.models import CapturePolicy, Chunk, Conversation, Fact, HookEvent, Passage, Session
from tests.capture.hooking import HookedClient, choose_mode
from tests.factories import browser_of, make_actor
from tests.knowledge.factories import make_fact
from tests.lock_waits import wait_until_someone_waits

pytestmark = pytest.mark.django_db

PROMPT = "In which bucket does the invoice service keep its PDFs?"
ANSWER = "They are in the bucket fernwood-invoices, below the year."


@pytest.fixture
def actor():
    return make_actor()


@pytest.fixture
def claude(actor):
    """A conversation in which something was recalled and kept."""
    choose_mode(actor.user, "automatic")
    claude = HookedClient(actor.user)
    claude.start()
    make_fact(actor, "The invoice service keeps its PDFs in the bucket fernwood-invoices.")
    claude.prompt(PROMPT)
    claude.stop(ANSWER)
    return claude


@pytest.fixture
def browser(actor):
    return browser_of(actor.user)


def _page(browser, route="captured-conversation"):
    args = [Conversation.objects.get().pk] if route != "captured" else []
    return browser.get(reverse(route, args=args)).content.decode()


def test_the_page_shows_each_prompt_what_was_recalled_before_it_and_what_was_kept(browser, claude):
    page = _page(browser)

    assert PROMPT in page
    assert "The invoice service keeps its PDFs in the bucket" in page
    assert f"{HookEvent.objects.get(event='prompt').tokens} tokens" in page
    assert ANSWER in page


def test_a_conversation_stands_under_the_day_of_its_reader(browser, claude, actor):
    actor.user.time_zone = "Pacific/Kiritimati"
    actor.user.save()
    Conversation.objects.update(last_at=datetime(2026, 3, 9, 22, tzinfo=UTC))

    page = _page(browser, "captured")

    assert "Tuesday, 10 March 2026" in page


def test_the_page_says_which_of_it_the_session_used(browser, claude, actor):
    fact, session = Fact.objects.get(), Session.objects.get()
    assert ">used</span>" not in _page(browser)

    end_session(actor, session_id=str(session.pk), one_liner="Found the bucket", used=[f"F{fact.number}"])

    assert ">used</span>" in _page(browser)


def test_everything_that_is_kept_is_shown(browser, claude):
    page = _page(browser)

    assert all(text in page for text in Chunk.objects.values_list("content", flat=True))
    assert all(text in page for text in HookEvent.objects.values_list("prompt", flat=True))


def test_one_event_is_forgotten_with_what_was_kept_at_it(browser, claude):
    event = HookEvent.objects.get(event="stop")

    browser.post(reverse("captured-forget-event", args=[event.conversation_id, event.pk]))

    assert not Chunk.objects.exists()
    assert not Passage.objects.filter(kind="chunk").exists()
    assert PROMPT in _page(browser)


def test_a_conversation_is_forgotten_with_its_session_and_facts_stay(browser, claude):
    browser.post(reverse("captured-forget", args=[Conversation.objects.get().pk]))

    counts = [model.objects.count() for model in (Conversation, HookEvent, Session, Chunk, Fact)]
    assert counts == [0, 0, 0, 0, 1]
    assert "fernwood-invoices, below" not in " ".join(Passage.objects.values_list("text", flat=True))


def test_erasing_the_session_erases_what_its_conversation_asked(browser, claude):
    browser.post(reverse("memory-erase", args=["session", Session.objects.get().pk]))

    assert not HookEvent.objects.exists()


def test_nothing_is_taken_from_an_excluded_folder_any_more(browser, claude):
    browser.post(reverse("captured-exclude", args=[Conversation.objects.get().pk]))

    assert CapturePolicy.objects.get().never_folders == ["/src/freight-api"]
    assert not Conversation.objects.exists()
    assert claude.prompt(PROMPT) == ""
    assert not HookEvent.objects.exists()


def test_of_an_unknown_folder_nothing_is_excluded(actor, claude):
    unknown = Conversation.objects.create(user=actor.user, client="cursor", client_id="1", digest="1")

    with pytest.raises(Conflict, match="folder of this conversation is not known"):
        exclude_folder(actor, conversation_id=unknown.pk)

    assert Conversation.objects.count() == 2
    assert CapturePolicy.objects.get().never_folders == []


@pytest.mark.django_db(transaction=True)
def test_of_two_folders_that_are_excluded_at_once_both_are(actor):
    choose_mode(actor.user, "automatic")
    here, there = (
        Conversation.objects.create(
            user=actor.user, client="cursor", client_id=name, digest=name, folder=f"/src/{name}"
        )
        for name in ("one", "two")
    )

    def exclude_there():
        try:
            exclude_folder(actor, conversation_id=there.pk)
        finally:
            connection.close()

    with ThreadPoolExecutor(1) as threads:
        with transaction.atomic():
            exclude_folder(actor, conversation_id=here.pk)
            excluding = threads.submit(exclude_there)
            wait_until_someone_waits()
        excluding.result(30)

    assert CapturePolicy.objects.get().never_folders == ["/src/one", "/src/two"]


def test_another_user_finds_no_such_conversation(claude):
    stranger = browser_of(make_actor().user)

    for route in ("captured-conversation", "captured-forget", "captured-exclude"):
        assert stranger.post(reverse(route, args=[Conversation.objects.get().pk])).status_code in {404, 405}
    assert Conversation.objects.exists()


def test_what_is_older_than_its_user_wants_is_forgotten_and_the_session_stays(claude):
    CapturePolicy.objects.update(keep_days=7)
    Conversation.objects.update(last_at=timezone.now() - timedelta(days=8))

    assert forget_old_captures() == 1

    assert not Chunk.objects.exists()
    assert not HookEvent.objects.exists()
    assert Session.objects.exists()


def test_the_mode_is_chosen_on_the_page(browser, actor):
    browser.post(reverse("captured-settings"), {"mode": "manual", "keep_days": "5", "never_folders": "/tmp/"})

    policy = CapturePolicy.objects.get()
    assert (policy.mode, policy.keep_days, policy.never_folders) == ("manual", 5, ["/tmp"])


def test_an_agent_may_make_it_stricter_and_never_looser(actor):
    agent = make_actor(actor.user, scopes={"read", "write"})
    set_policy(agent, mode="manual")

    with pytest.raises(Forbidden, match="only the user may loosen"):
        set_policy(agent, mode="automatic")


def test_read_only_refuses_what_agents_write_and_lets_the_user_write(actor):
    choose_mode(actor.user, "read_only")
    agent = make_actor(actor.user, scopes={"read", "write"})
    arguments = {"category": "preference", "fact": "Prefers tabs."}

    with pytest.raises(Forbidden, match="read-only for agents"):
        perform(CATALOGUE["memory_store_fact"], agent, arguments, transport="mcp")

    assert store_fact(actor, **arguments).fact.pk
    assert perform(CATALOGUE["memory_list_facts"], agent, {}, transport="mcp").to_data()["total"] == 1


def test_the_operation_says_how_the_hooks_do(actor, claude):
    agent = make_actor(actor.user, scopes={"read"})

    told = perform(CATALOGUE["memory_get_capture"], agent, {}, transport="rest").to_data()

    assert told["mode"] == "automatic"
    assert [(one["client"], one["is_failing"]) for one in told["clients"]] == [("claude-code", False)]
    assert told["clients"][0]["brought_at"]
