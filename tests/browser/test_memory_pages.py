"""The pages about the memory in a browser: for everyone, by keyboard, without scripts, and whatever was stored."""

import json
from datetime import timedelta
from typing import Any

import pytest
from django.urls import reverse
from django.utils import timezone
from playwright.sync_api import Page, expect

from accounts.actor import Actor
from accounts.people.profiles import update_profile
from knowledge.conversation.closing_sessions import close_sessions
from knowledge.memory.facts import correct_fact
from knowledge.memory.hypotheses import resolve_hypothesis
from knowledge.models import Chunk, Conversation, Fact, HookEvent, HookHealth, Hypothesis, Session
from knowledge.tidying.answers import SentAnswer, tidy
from tests.browser.axe import findings, scrolls_sideways
from tests.browser.conftest import Visits
from tests.factories import make_actor, make_agent
from tests.knowledge.factories import make_chunk, make_fact, make_hypothesis, make_note
from tests.knowledge.factories import make_told_session as make_session

pytestmark = [pytest.mark.browser, pytest.mark.django_db(transaction=True)]

SECTIONS = [
    "home", "memory", "memory-facts", "memory-sessions", "memory-notes", "memory-hypotheses", "memory-profile",
    "memory-context", "memory-aside", "memory-tidy",
]  # fmt: skip
FORMS = ["memory-fact-new", "memory-note-new", "memory-hypothesis-new", "memory-import"]
SUMMARY = (
    "# Why\n\nIt was **slow**.\n\n| step | took |\n|---|---|\n| install | 12 min |\n\n### How\n\n```\nmake -j2\n```\n"
)


def _remember(actor: Actor, text: str) -> list[str]:
    """Store `text` in every field there is; return the addresses of all pages that show it."""
    agent = make_agent(actor.user, text[:150], host=text[:150])
    session = make_session(agent, is_open=True, project=text[:100])
    chunk = make_chunk(agent, session=session, content=text, flag_reason=text)
    fact = make_fact(agent, text, project=text[:100], confidence=0.4, source_session=session.handle)
    ended = make_session(
        agent, one_liner=text[:120], outcome=text, topics=[text[:90]], summary=text, key_facts=[text], code_refs=[text]
    )
    note = make_note(actor, text, domain=text[:150], key=text[:150], project=text[:100])
    belief, refuted = make_hypothesis(actor, text, project=text[:100]), make_hypothesis(actor, f"Not: {text}")
    resolve_hypothesis(actor, hypothesis_id=refuted.pk, status="refuted", resolution=text)
    _leave_untidy(actor)
    conversation = _converse(agent, session, text, recalled=fact, kept=chunk)
    old = make_fact(actor, f"Before: {text}")
    correct_fact(actor, fact_id=old.pk, fact=f"After: {text}")
    # Last, because what stands in the profile is not stored as a fact.
    update_profile(actor, role=text, preferences=text, pinned_facts=[text, "Uses uv."])
    return [
        *(reverse(name) for name in [*SECTIONS, *FORMS]),
        *(reverse("memory-fact", args=[one.pk]) for one in (fact, old)),
        *(reverse("memory-session", args=[one.pk]) for one in (session, ended)),
        *(reverse("memory-hypothesis", args=[one.pk]) for one in (belief, refuted)),
        reverse("memory-session-correct", args=[ended.pk]),
        reverse("memory-session-end", args=[session.pk]),
        *(reverse(name) for name in ("captured", "captured-settings")),
        *(reverse(f"captured-{name}", args=[conversation.pk]) for name in ("conversation", "forget", "exclude")),
        reverse("memory-chunk", args=[chunk.pk]),
        reverse("memory-note", args=[note.pk]),
        reverse("memory-note-edit", args=[note.pk]),
        reverse("memory-set-aside", args=["fact", fact.pk]),
        reverse("memory-erase", args=["session", ended.pk]),
        "/?query=slow+install+alert+script+evil",
        "/?query=zzzz",
        "/memory/facts/?category=nonsense",
    ]


def _converse(actor: Actor, session: Session, text: str, *, recalled: Fact, kept: Chunk) -> Conversation:
    """Let hooks report a conversation: what was recalled before a prompt, what was kept, and that they failed."""
    for client in ("claude-code", "codex"):
        HookHealth.objects.create(
            user=actor.user, client=client, ran_at=timezone.now(), failed_at=timezone.now(), failure=text[:300]
        )
    conversation = Conversation.objects.create(
        user=actor.user,
        session=session,
        client="claude-code",
        client_id=text[:200],
        digest="1",
        folder=f"/src/{text}"[:1000],
        repository=text[:200],
        branch=text[:200],
        version="2.1",
        withheld=2,
        reminded_at=timezone.now(),
    )
    told = [{"kind": "fact", "id": str(recalled.pk), "tokens": 30}, {"kind": "fact", "id": "999999", "tokens": 9}]
    for event, more in (
        ("start", {"recalled": told, "tokens": 39}),
        ("prompt", {"prompt": text, "recalled": told, "tokens": 39, "milliseconds": 46}),
        ("prompt", {"prompt": text, "sub_agent": text[:100], "late": True}),
        ("stop", {"chunks": [kept.pk]}),
    ):
        HookEvent.objects.create(user=actor.user, conversation=conversation, event=event, **more)
    return conversation


def _leave_untidy(actor: Actor) -> None:
    """Leave something of each concern to decide, and one answer to take back."""
    make_fact(actor, "Releases are tagged by the pipeline.", category="codebase")
    make_fact(actor, "Releases are tagged by the pipeline!", category="codebase")
    make_fact(actor, "Node 16 is pinned in every package.", category="codebase")
    Fact.objects.filter(fact__startswith="Node").update(updated_at=timezone.now() - timedelta(days=200))
    make_hypothesis(actor, "The cache is cold after each release.")
    Hypothesis.objects.filter(hypothesis__contains="cold").update(check_on=timezone.now().date())
    untold = make_session(actor, is_open=True)
    make_chunk(actor, session=untold)
    close_sessions(Session.objects.filter(pk=untold.pk))
    (answered,) = tidy(actor, concern="unused").suggestions
    tidy(actor, answers=[SentAnswer(id=answered.key, action="archive")])


def test_every_page_is_usable_by_everyone(visits: Visits):
    actor = make_actor()
    addresses = _remember(actor, SUMMARY)
    page = visits.by(actor.user)

    found = [finding for address in addresses for finding in _look_at(page, address)]

    assert found == []


def test_pages_of_an_empty_memory_are_usable_by_everyone(visits: Visits):
    page = visits.by(make_actor().user)

    found = [finding for name in SECTIONS for finding in _look_at(page, reverse(name))]

    assert found == []


def test_no_word_is_too_long_for_a_phone(visits: Visits):
    actor = make_actor()
    addresses = _remember(actor, "Donaudampfschifffahrtsgesellschaft" * 9)
    page = visits.by(actor.user)
    page.set_viewport_size({"width": 320, "height": 900})

    wide = [address for address in addresses if page.goto(address) and scrolls_sideways(page)]

    assert wide == []


def test_what_is_refused_or_done_is_told_to_everyone(visits: Visits):
    actor = make_actor()
    note = make_note(actor)
    page = visits.by(actor.user)

    page.goto(reverse("memory-hypothesis-new"))
    page.get_by_role("button", name="Write it down").click()
    refused = findings(page)
    page.goto(reverse("memory-note", args=[note.pk]))
    page.get_by_role("button", name="Set aside").click()
    expect(page.get_by_role("button", name="Undo")).to_be_visible()
    done = findings(page)

    assert refused + done == []


def test_without_scripts_a_fact_is_corrected_set_aside_and_restored(visits: Visits):
    actor = make_actor()
    make_fact(actor, "CI uses Jenkins.")
    page = visits.by(actor.user, javascript=False)

    page.goto(reverse("memory-facts"))
    page.get_by_label("Actions for fact “CI uses Jenkins.”").click()
    page.get_by_role("link", name="Correct").click()
    page.get_by_label("Fact").fill("CI uses Actions.")
    page.get_by_role("button", name="Save the correction").click()
    expect(page.get_by_role("status")).to_contain_text("Corrected.")
    page.get_by_role("link", name="Set aside …").click()
    page.get_by_label("Reason").fill("We moved again.")
    page.get_by_role("button", name="Set it aside").click()
    expect(page.get_by_text("We moved again.")).to_be_visible()
    page.get_by_role("button", name="Undo").click()
    expect(page.get_by_role("status")).to_contain_text("Restored")

    assert Fact.objects.current().get().fact == "CI uses Actions."


def test_without_scripts_a_document_is_rehearsed_and_imported(visits: Visits):
    actor = make_actor()
    page = visits.by(actor.user, javascript=False)
    now = "2026-03-30T09:15:00Z"
    fact = {"id": 1, "category": "identity", "fact": "Name is Ada.", "created_at": now}

    page.goto(reverse("memory-import"))
    page.get_by_label("Exported document").set_input_files(_file({"facts": [fact]}))
    page.get_by_role("button", name="See what it would do").click()
    expect(page.get_by_role("row", name="facts 1 0")).to_be_visible()
    page.get_by_role("button", name="Import it").click()
    expect(page.get_by_role("status")).to_contain_text("Imported: 1 fact.")

    assert Fact.objects.get().fact == "Name is Ada."


def test_the_keyboard_reaches_the_content_at_once(visits: Visits):
    page = visits.by(make_actor().user)
    page.goto(reverse("memory-facts"))

    page.keyboard.press("Tab")
    skip = page.get_by_role("link", name="Skip to content")
    expect(skip).to_be_focused()
    expect(skip).to_be_in_viewport()
    page.keyboard.press("Enter")

    expect(page.get_by_role("main")).to_be_focused()


def test_the_keyboard_opens_and_leaves_a_menu_of_actions(visits: Visits):
    actor = make_actor()
    make_fact(actor, "Prefers pytest.")
    page = visits.by(actor.user)
    page.goto(reverse("memory-facts"))
    menu = page.get_by_label("Actions for fact “Prefers pytest.”")

    menu.focus()
    page.keyboard.press("Enter")
    page.keyboard.press("Tab")
    expect(page.get_by_role("link", name="Correct")).to_be_focused()
    page.keyboard.press("Escape")

    expect(menu).to_be_focused()
    expect(page.get_by_role("link", name="Correct")).to_be_hidden()


def test_a_refused_form_puts_the_focus_on_what_is_wrong_and_links_to_it(visits: Visits):
    page = visits.by(make_actor().user)
    page.goto(reverse("memory-fact-new"))

    page.get_by_role("button", name="Store the fact").click()
    alert = page.get_by_role("alert")
    expect(alert).to_be_focused()
    alert.get_by_role("link").click()

    expect(page.get_by_label("Fact")).to_be_focused()


def _look_at(page: Page, address: str) -> list[str]:
    page.goto(address)
    return findings(page)


def _file(document: Any) -> Any:
    return {"name": "memory.json", "mimeType": "application/json", "buffer": json.dumps(document).encode()}
