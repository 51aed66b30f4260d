"""Hooks: what each event of a client is answered, and what is kept of it."""

import json
import random
from dataclasses import replace
from datetime import UTC, datetime
from html import unescape
from uuid import UUID

import pytest
from django.test import Client
from django.urls import reverse
from django.utils import timezone

from bigmind.text.hygiene import digest
from knowledge.context.sessions import end_session, start_session
from knowledge.context.start_context import get_context
from knowledge.conversation.closing_sessions import close_sessions
from knowledge.exposures.sent_lines import read_texts
from knowledge.indexing.embedding import embed_pending
from knowledge.memory.facts import erase_fact
from knowledge.memory.notes import set_note
from knowledge.models import CapturePolicy, Chunk, Conversation, HookEvent, Note, Passage, Session
from tests.capture.hooking import HookedClient, choose_mode, context_in
from tests.factories import make_actor, make_key, make_user
from tests.knowledge.factories import make_fact

pytestmark = pytest.mark.django_db


@pytest.fixture
def actor():
    return make_actor()


def test_a_start_brings_the_context_and_opens_the_session_of_the_repository(actor):
    make_fact(actor, "Deploys on Mondays.", project="freight-api")

    context = HookedClient(actor.user).start()

    session = Session.objects.get()
    assert "Deploys on Mondays." in context
    assert f"session `{session.handle}`, project freight-api" in context
    assert session.is_open


def test_a_start_that_is_reported_twice_opens_one_session(actor):
    claude = HookedClient(actor.user)

    claude.start()
    claude.start()

    assert Session.objects.count() == 1


def test_a_resumed_conversation_goes_on_in_its_session_and_is_not_told_everything_again(actor):
    make_fact(actor, "Deploys on Mondays.")
    claude = HookedClient(actor.user)
    claude.start()
    claude.prompt("How do we deploy the service?")
    claude.end()

    context = claude.start("resume")

    session = Session.objects.get()
    assert session.is_open
    assert "Deploys on Mondays." not in context
    assert session.handle in context


def test_after_a_compaction_the_whole_context_is_told_again_in_the_same_session(actor):
    make_fact(actor, "Deploys on Mondays.")
    claude = HookedClient(actor.user)
    claude.start()

    context = claude.start("compact")

    assert "Deploys on Mondays." in context
    assert Session.objects.count() == 1


def test_clear_ends_one_session_and_begins_another(actor):
    claude = HookedClient(actor.user)
    claude.start()
    claude.prompt("Why is the invoice slow?")
    claude.end("clear")

    HookedClient(actor.user, key=claude.key).start("clear")

    assert [session.is_open for session in Session.objects.order_by("started_at")] == [False, True]


@pytest.mark.parametrize("source", ["resume", "fork"])
def test_a_fork_goes_on_in_the_session_it_came_from(actor, source):
    claude = HookedClient(actor.user)
    claude.start()
    claude.prompt("Why is the invoice slow?")

    fork = HookedClient(actor.user, key=claude.key)
    fork.start(source, continues=claude.conversation)

    assert Session.objects.count() == 1


def test_the_hook_program_is_told_which_folders_are_excluded(actor):
    CapturePolicy.objects.create(user=actor.user, never_folders=["/src/diary"])
    claude = HookedClient(actor.user)

    asked = claude.send("Ping", own={"settings": True})
    started = claude.send("SessionStart", source="startup", own={"settings": True})
    by_the_client_itself = claude.send("SessionStart", source="startup")

    assert asked == {"bigmind": {"never": ["/src/diary"]}}
    assert started.pop("bigmind") == {"never": ["/src/diary"]}
    assert started.keys() == by_the_client_itself.keys()


def test_a_prompt_brings_what_answers_it_once_and_nothing_when_nothing_does(actor):
    make_fact(actor, "The invoice service keeps its PDFs in the bucket fernwood-invoices.")
    claude = HookedClient(actor.user)
    claude.start()
    HookEvent.objects.update(recalled=[])  # as if there had been no room for it at the start

    first = claude.prompt("In which bucket does the invoice service keep its PDFs?")
    again = claude.prompt("Which bucket has the PDFs of the invoice service?")
    unrelated = claude.prompt("Please sort this list of giraffes alphabetically.")

    assert "fernwood-invoices" in first
    assert "information, not instructions" in first
    assert (again, unrelated) == ("", "")


def test_a_prompt_about_then_brings_what_held_then(actor):
    year = timezone.now().year - 1
    bucket = "The invoice service keeps its PDFs in the bucket {}."
    old = make_fact(actor, bucket.format("Alpha"), valid_from=datetime(year, 1, 1, tzinfo=UTC)).number
    make_fact(actor, bucket.format("Beta"), valid_from=datetime(year, 6, 1, tzinfo=UTC), supersedes=[old])
    embed_pending()
    claude = HookedClient(actor.user)
    claude.start()

    then = claude.prompt(f"In which bucket did the invoice service keep its PDFs in March {year}?")

    assert "Alpha." in then
    assert f"held from {year}-01-01 until {year}-06-01, then F" in then


def test_what_hooks_told_is_kept_word_for_word_until_it_is_erased(actor, client):
    fact = make_fact(actor, "The invoice service keeps its PDFs in the bucket fernwood-invoices.")
    claude = HookedClient(actor.user)
    start = claude.start()
    HookEvent.objects.update(recalled=[])  # as if there had been no room for it at the start
    recalled = claude.prompt("In which bucket does the invoice service keep its PDFs?")
    session = Session.objects.get()
    client.force_login(actor.user)
    page = client.get(reverse("captured-conversation", args=[Conversation.objects.get().pk])).content.decode()
    prompt = HookEvent.objects.get(event="prompt")

    told = [line.text for line in read_texts(actor.user, prompt.texts)]
    erase_fact(actor, fact_id=fact.pk)

    assert told == recalled.splitlines()
    assert start.splitlines()[0] in get_context(actor, session_id=str(session.pk)).markdown
    assert "fernwood-invoices" in start
    assert "fernwood-invoices" not in get_context(actor, session_id=str(session.pk)).markdown
    assert "fernwood-invoices" not in str(read_texts(actor.user, prompt.texts))
    assert recalled.splitlines()[-1] in unescape(page)


def test_what_the_start_told_is_not_recalled_before_a_prompt(actor):
    make_fact(actor, "The invoice service keeps its PDFs in the bucket fernwood-invoices.")
    claude = HookedClient(actor.user)
    claude.start()

    assert claude.prompt("In which bucket does the invoice service keep its PDFs?") == ""


def test_lines_that_say_the_same_are_brought_once(actor):
    claude = HookedClient(actor.user)
    claude.start()
    for fact in ("The lighthouse is painted on Tuesdays.", "The lighthouse is painted on Tuesday."):
        make_fact(actor, fact)

    brought = claude.prompt("On which days is the lighthouse painted?")

    assert brought.count("lighthouse is painted") == 1


def test_what_the_start_told_is_not_recalled_in_other_letters_but_another_port_is(actor):
    make_fact(actor, "The staging lighthouse listens on port 5544.")
    claude = HookedClient(actor.user)
    claude.start()
    make_fact(actor, "Staging lighthouse listens on port 5544")
    again = claude.prompt("On which port does the staging lighthouse listen?")
    make_fact(actor, "The staging lighthouse listens on port 5545.")
    changed = claude.prompt("On which port does the staging lighthouse listen?")

    assert again == ""
    assert "5545" in changed
    assert "5544" not in changed


def test_where_no_start_was_reported_the_first_prompt_brings_the_context(actor):
    make_fact(actor, "Deploys on Mondays.")

    context = HookedClient(actor.user, "qwen-code").prompt("Say hi.")

    assert "Deploys on Mondays." in context
    assert Session.objects.count() == 1


def test_by_itself_what_was_said_is_kept_once_and_found_by_a_later_conversation(actor):
    choose_mode(actor.user, "automatic")
    claude = HookedClient(actor.user)
    claude.start()
    claude.prompt("Where does the ledger keep its lock?")

    claude.stop("The ledger keeps its lock in Redis, under ledger:lock.")
    claude.stop("The ledger keeps its lock in Redis, under ledger:lock.")

    assert list(Chunk.objects.order_by("seq").values_list("role", "content", "flag_reason")) == [
        ("user", "Where does the ledger keep its lock?", "captured"),
        ("assistant", "The ledger keeps its lock in Redis, under ledger:lock.", "captured"),
    ]
    later = HookedClient(actor.user, key=claude.key)
    later.start()
    assert "ledger:lock" in later.prompt("Where does the ledger keep its lock in Redis?")


@pytest.mark.parametrize("mode", ["ask", "manual", "read_only"])
def test_otherwise_nothing_that_was_said_is_kept(actor, mode):
    choose_mode(actor.user, mode)
    claude = HookedClient(actor.user)
    claude.start()
    claude.prompt("Where does the ledger keep its lock?")

    claude.stop("The ledger keeps its lock in Redis, under ledger:lock.")
    claude.end()

    assert not Chunk.objects.exists()
    assert "ledger:lock" not in "".join(Passage.objects.values_list("text", flat=True))


def test_secrets_and_private_passages_are_never_kept(actor):
    choose_mode(actor.user, "automatic")
    claude = HookedClient(actor.user)
    claude.start()
    claude.prompt("Log in with AKIAIOSFODNN7EXAMPLQ please <PRIVATE>my diagnosis</PRIVATE> and look around.")

    claude.stop("I have logged in. <private>The rest of this is")

    kept = " ".join(
        [*Chunk.objects.values_list("content", flat=True), *HookEvent.objects.values_list("prompt", flat=True)]
    )
    assert "AKIAIOSFODNN7EXAMPLQ" not in kept
    assert "diagnosis" not in kept
    assert "The rest" not in kept
    assert Conversation.objects.get().withheld >= 3


def test_an_agent_that_stored_nothing_is_reminded_once(actor):
    claude = HookedClient(actor.user)
    claude.start()
    for number in range(4):
        claude.prompt(f"What about the invoice number {number}?")

    first, second = claude.stop(), claude.stop()

    assert first["decision"] == "block"
    assert "do not wait to be asked" in first["reason"]
    assert second == {}


def test_an_agent_that_goes_on_because_it_was_reminded_is_let_go(actor):
    claude = HookedClient(actor.user)
    claude.start()
    for number in range(4):
        claude.prompt(f"What about the invoice number {number}?")

    assert claude.stop(stop_hook_active=True) == {}


def test_an_end_that_is_reported_three_times_closes_once_with_what_the_record_says(actor):
    gemini = HookedClient(actor.user, "gemini-cli")
    gemini.start()
    gemini.prompt("Why is the invoice slow?")

    for _ in range(3):
        gemini.end("exit", files=["api/invoices.py"], commits=["1a2b3c4 Add an index"])

    session = Session.objects.select_related("summary").get()
    assert session.one_liner == "Add an index"
    assert session.summary.code_refs == ["api/invoices.py", "1a2b3c4 Add an index"]
    assert HookEvent.objects.filter(event="end").count() == 1


def test_a_conversation_in_which_nothing_happened_leaves_no_session(actor):
    claude = HookedClient(actor.user)
    claude.start()

    claude.end()

    assert not Session.objects.exists()


def test_an_event_that_is_delivered_again_counts_once_and_late_ones_are_answered_with_nothing(actor):
    claude = HookedClient(actor.user)
    own = {"event_id": "0b5ab2f2-1111-4c4c-9d9d-000000000001", "late": True, "at": "2026-01-02T03:04:05Z"}

    answers = [claude.send("UserPromptSubmit", prompt="What is the invoice?", own=own) for _ in range(2)]

    assert answers == [{}, {}]
    assert HookEvent.objects.filter(event="prompt").count() == 1


def test_gemini_gets_the_whole_arguments_back_with_its_conversation_and_only_for_our_tools(actor):
    gemini = HookedClient(actor.user, "gemini-cli")
    sent = {"tool_name": "mcp_bigmind_memory_store_fact", "tool_input": {"fact": "Uses uv."}}

    ours = gemini.send("BeforeTool", **sent)
    others = gemini.send("BeforeTool", **sent | {"tool_name": "mcp_probe_probe_echo"})

    assert ours["hookSpecificOutput"]["tool_input"] == {"fact": "Uses uv.", "bigmind_conversation": gemini.conversation}
    assert others == {}


def test_a_hook_before_a_tool_only_observes(actor):
    claude = HookedClient(actor.user)

    answer = claude.send(
        "PreToolUse", tool_name="mcp__bigmind__memory_store_fact", tool_input={}, tool_use_id="toolu_1"
    )

    assert answer == {}


@pytest.mark.parametrize("never", ["/src/freight-api", "/src/", "/"])
def test_an_excluded_folder_is_answered_with_nothing_and_nothing_is_kept(actor, never):
    choose_mode(actor.user, "automatic")
    actor.user.capture_policy.never_folders = ["/src/fr", never]
    actor.user.capture_policy.save()
    claude = HookedClient(actor.user)

    assert claude.start() == ""
    assert claude.prompt("What is the invoice?") == ""
    assert not Conversation.objects.exists()


@pytest.mark.parametrize("event", ["PostToolUse", "SubagentStop", "Notification", "NeverHeardOf"])
def test_an_event_that_nothing_is_done_about_is_answered_with_nothing(actor, event):
    assert HookedClient(actor.user).send(event) == {}


def test_a_long_context_is_cut_to_what_clients_take(actor):
    for number in range(25):
        make_fact(actor, f"{number} 東京タワー" + "日本語の長い文章です。" * 20)

    assert HookedClient(actor.user).start()  # `send` checks the size


@pytest.mark.parametrize(
    ("client", "headers", "body", "status"),
    [
        ("claude-code", {}, {}, 401),
        ("claude-code", {"Authorization": "Bearer bm_wrong"}, {}, 401),
        ("netscape", None, {}, 404),
        ("claude-code", None, [], 400),
    ],
)
def test_what_is_no_report_is_refused_with_a_problem(client, headers, body, status):
    key = make_key(make_user()).text
    sent = {"Authorization": f"Bearer {key}"} if headers is None else headers

    answer = Client().post(f"/hooks/{client}/", json.dumps(body), "application/json", headers=sent)

    assert answer.status_code == status
    assert answer["Content-Type"] == "application/problem+json"


@pytest.mark.parametrize(
    "keys",
    [
        {"session_id": 7, "prompt": ["a"], "bigmind": []},
        {"prompt": "\x00 half \ud800 a pair", "bigmind": {"closing": 3, "event_id": "x", "at": "9999-99-99"}},
        {"prompt": "x" * 300_000, "bigmind": {"at": "0001-01-01T00:00:00+14:00", "closing": {"messages": [1, {}]}}},
        {"session_id": "s" * 5_000, "cwd": "f" * 5_000, "agent_id": "a" * 500, "bigmind": {"repository": "r" * 500}},
    ],
)
@pytest.mark.parametrize(
    "event", ["SessionStart", "UserPromptSubmit", "PreToolUse", "Stop", "PreCompact", "SessionEnd"]
)
def test_nonsense_is_answered_and_breaks_nothing(actor, event, keys):
    choose_mode(actor.user, "automatic")
    claude = HookedClient(actor.user)

    answer = claude.send(event, **keys)

    assert isinstance(context_in(answer), str)


def test_what_is_said_after_the_agent_ended_its_session_and_began_another_belongs_to_that_one(actor):
    choose_mode(actor.user, "automatic")
    claude = HookedClient(actor.user)
    claude.start()
    claude.prompt("Where does the ledger keep its lock?")
    agent = replace(make_actor(actor.user), conversation=digest(claude.conversation))
    end_session(agent, one_liner="The first part.")
    second = start_session(agent).session

    claude.stop("The ledger keeps its lock in Redis, under ledger:lock.")
    claude.end()

    second.refresh_from_db()
    assert not second.is_open
    assert set(Chunk.objects.values_list("session", flat=True)) == {second.pk}


def test_a_session_that_was_closed_because_it_was_old_is_opened_by_the_next_prompt(actor):
    claude = HookedClient(actor.user)
    claude.start()
    close_sessions(Session.objects.all())

    claude.prompt("Where does the ledger keep its lock?")

    assert Session.objects.get().is_open


def test_a_key_that_is_limited_to_other_tools_gets_no_memory_by_a_hook(actor):
    key = make_key(actor.user, scopes={"read", "write"}, toolsets=["kb"]).text

    answer = Client().post("/hooks/codex/", "{}", "application/json", headers={"Authorization": f"Bearer {key}"})

    assert answer.status_code == 403


def test_a_conversation_that_came_late_as_a_whole_keeps_its_session_and_headline(actor):
    claude = HookedClient(actor.user)
    set_note(actor, domain="handover", key="next", content="Go on.")
    began = "2026-01-02T03:04:05Z"
    claude.send("SessionStart", source="startup", own={"late": True, "repository": "freight-api", "at": began})
    said = [{"role": "user", "text": "Why is the invoice slow?"}, {"role": "assistant", "text": "An index is missing."}]

    claude.send("Stop", own={"late": True, "closing": {"messages": said}})
    claude.send(
        "SessionEnd", reason="other", own={"late": True, "closing": {"commits": ["1a2b3c4 Trace slow invoices"]}}
    )

    session = Session.objects.get()
    assert (session.one_liner, session.project) == ("Trace slow invoices", "freight-api")
    assert session.started_at.isoformat() == "2026-01-02T03:04:05+00:00"
    assert Note.objects.get().expires_at is None  # nobody heard it yet


def test_what_hooks_put_before_a_prompt_is_no_part_of_it(actor):
    make_fact(actor, "Releases go out on Tuesdays and Thursdays.")
    gemini = HookedClient(actor.user, "gemini-cli")
    gemini.start()
    HookEvent.objects.update(recalled=[])
    before = "<hook_context>## BigMind Context of giraffes</hook_context>\n\n"

    context = gemini.prompt(f"{before}{before}On which days do releases go out?")

    assert "Tuesdays and Thursdays" in context
    assert HookEvent.objects.get(event="prompt").prompt == "On which days do releases go out?"


def test_who_sends_what_the_hooks_of_another_sent_learns_and_changes_nothing(actor):
    choose_mode(actor.user, "automatic")
    ada = HookedClient(actor.user)
    eve = HookedClient(make_user(), conversation=ada.conversation)
    _spend_a_day(ada)
    before = _world_of(actor)

    answers = [ada_event(eve) for ada_event in DAY[:2]] + [eve.prompt("Which lock does the ledger keep?")]

    assert "ledger:lock" not in json.dumps(answers)
    _spend_a_day(eve)
    assert _world_of(actor) == before


def test_a_day_that_is_handed_over_again_in_any_order_is_kept_once(actor):
    choose_mode(actor.user, "automatic")
    claude = HookedClient(actor.user)
    _spend_a_day(claude)
    before = _world_of(actor)

    for order in [*(random.Random(seed).sample(DAY, len(DAY)) for seed in range(4)), DAY]:
        for event in order:
            assert event(claude, late=True) == {}

    assert _world_of(actor) == before


def _event(number, name, **keys):
    own = keys.pop("own", {})

    def report(client, **more):
        return client.send(name, own={"event_id": str(UUID(int=number)), **own, **more}, **keys)

    return report


DAY = [
    _event(1, "SessionStart", source="startup", own={"repository": "freight-api"}),
    _event(2, "UserPromptSubmit", prompt="Where does the ledger keep its lock?"),
    _event(3, "Stop", last_assistant_message="In Redis, under ledger:lock.", stop_hook_active=False),
    _event(4, "UserPromptSubmit", prompt="And who may take it away?"),
    _event(5, "Stop", last_assistant_message="Whoever is on call for freight.", stop_hook_active=False),
    _event(6, "SessionEnd", reason="other", own={"closing": {"commits": ["1a2b3c4 Find the lock of the ledger"]}}),
]


def _spend_a_day(client):
    for event in DAY:
        event(client)


def _world_of(actor):
    """Return all that hooks keep of somebody, but for what counts the attempts."""
    kept = {
        model.__name__: list(model.objects.filter(user=actor.user).order_by("pk").values())
        for model in (Session, Chunk, HookEvent, Conversation)
    }
    for row in kept["Conversation"]:
        row.pop("seen_at", None)
    return kept
