"""What an agent had been told before it proposed something: for its proposer, and with their consent for curators."""

from dataclasses import replace
from datetime import timedelta
from inspect import signature
from typing import Any

import pytest
from django.urls import reverse
from django.utils import timezone

from accounts.actor import Actor
from accounts.models import Role, Sharing
from accounts.people.profiles import update_profile
from bigmind.database.rls import deny_by_default, rls_scope
from bigmind.gate import perform
from bigmind.operations import CATALOGUE
from curation.decisions.deciding import approve_global
from curation.decisions.entry_details import get_company_entry
from curation.proposals.briefing import brief
from curation.proposals.proposer_context import OWN, SHARED, ProposalGrounds, grounds_of
from knowledge.exposures.sent_lines import forget_old_texts
from knowledge.indexing.embedding import embed_pending
from knowledge.memory.facts import erase_fact
from knowledge.models import CompanyEntry, HookEvent, Kind, Receipt, ReceiptText
from knowledge.people.people_index import change_sharing
from tests.curation.factories import approved_entry, propose
from tests.factories import browser_of, make_actor, make_agent, make_user
from tests.knowledge.factories import make_fact, make_hypothesis

pytestmark = pytest.mark.django_db

FACT = "Zanzibar harbour deploys on Tuesdays."
COMPANY = "Deploys of a harbour wait for a green build."


def agent_of(actor: Actor) -> Actor:
    """An agent of somebody in a conversation of its own."""
    return replace(make_agent(actor.user, "claude-code"), conversation="one")


def begin(agent: Actor) -> None:
    perform(CATALOGUE["memory_start_session"], agent, {}, transport="mcp")


def recall(agent: Actor, query: str) -> None:
    embed_pending()
    perform(CATALOGUE["memory_recall"], agent, {"query": query}, transport="mcp")


def proposal_of(proposer: Actor) -> CompanyEntry:
    """Propose something in a session that was told a private fact and an entry of the company."""
    approved_entry(title="Green builds", content=COMPANY)
    make_fact(proposer, FACT)
    agent = agent_of(proposer)
    begin(agent)
    return propose(agent)


def agree(proposer: Actor, *, to_it: bool = True) -> None:
    change_sharing(proposer, sections=[], in_directory=True, session_ids=[], curators_see_told=to_it)


def seen_by(actor: Actor, entry: CompanyEntry) -> ProposalGrounds:
    found = grounds_of(actor, get_company_entry(actor, entry_id=entry.pk).entry)
    assert found is not None
    return found


def words_of(grounds: ProposalGrounds) -> str:
    return "\n".join(f"{thing.title} {thing.text}" for thing in grounds.shown)


@pytest.fixture
def proposer() -> Actor:
    return make_actor(make_user("ada"))


@pytest.fixture
def curator() -> Actor:
    return make_actor(make_user("cora", role=Role.CURATOR))


def pages(user: Actor, entry: CompanyEntry, *routes: str) -> str:
    client = browser_of(user.user)
    answers = [client.get(reverse(route, args=[entry.pk])) for route in routes or ("curation-entry", "company-entry")]
    assert [answer.status_code for answer in answers] == [200] * len(answers)
    return "\n".join(answer.text for answer in answers)


def test_what_is_private_and_what_is_shared_follows_the_registry_of_kinds() -> None:
    assert {"fact", "session", "summary", "chunk", "note", "hypothesis"} == OWN
    assert OWN.isdisjoint(SHARED)
    assert {Kind.PERSON, "profile", "decision"}.isdisjoint(OWN | SHARED)


def test_a_curator_sees_each_line_as_it_was_told_only_as_long_as_the_proposer_agrees(proposer, curator):
    entry = proposal_of(proposer)
    agree(make_actor())
    agree(curator)

    without, before = seen_by(curator, entry), pages(curator, entry)
    of_proposer = pages(proposer, entry, "company-entry")
    agree(proposer)
    seen, after = seen_by(curator, entry), pages(curator, entry)
    of_proposer_then = pages(proposer, entry, "company-entry")
    agree(proposer, to_it=False)
    withdrawn = pages(curator, entry)

    assert without == ProposalGrounds(is_open=False, has_consent=False)
    assert [thing.kind for thing in seen.shown] == ["company", "fact"]
    assert FACT in words_of(seen)
    assert COMPANY in words_of(seen)
    assert FACT not in before
    assert "of company knowledge, " not in before
    assert before.count("The proposer has not agreed to show it to curators.") == 2
    assert after.count(FACT) == 2
    assert after.count("1 of company knowledge, 0 shared without review, 1 of their own memory") == 2
    assert FACT not in withdrawn
    assert FACT in of_proposer
    assert "Curators see none of this." in of_proposer
    assert FACT in of_proposer_then
    assert "Curators see all of this, because you agreed." in of_proposer_then


def test_consent_of_somebody_who_left_counts_no_more(proposer, curator):
    entry = proposal_of(proposer)
    agree(proposer)
    proposer.user.is_active = False
    proposer.user.save()

    assert FACT not in pages(curator, entry)


def test_no_reader_no_agent_and_no_briefing_reads_a_line_of_it_and_nobody_the_profile(proposer, curator):
    update_profile(proposer, role="Harbour master", preferences="Prefers short words.", pinned_facts=["Lives in Kiel."])
    entry = proposal_of(proposer)
    agree(proposer)

    words = words_of(seen_by(curator, entry))
    for name in ("memory_brief_curator", "memory_get_global", "memory_list_queue"):
        said = {} if name == "memory_list_queue" else {"entry_id": entry.pk}
        reply = perform(CATALOGUE[name], curator, said, transport="mcp")
        assert FACT not in reply.markdown() + str(reply.value)
    briefing = brief(curator, entry_id=entry.pk)
    approve_global(curator, entry_id=entry.pk, action="approve", revision=entry.revision)
    page = pages(make_actor(), entry, "company-entry")

    assert FACT in words
    assert not [part for part in ("Harbour master", "short words", "Kiel") if part in words]
    assert FACT not in str(briefing) + page
    assert "What its agent had received before" not in page


def test_row_level_security_lets_a_curator_see_the_lines_of_that_proposer_alone(proposer, curator):
    entry = proposal_of(proposer)
    agree(proposer)

    with deny_by_default(), rls_scope(curator.user.pk):
        seen = seen_by(curator, entry)
        others = ReceiptText.objects.count()

    assert FACT in words_of(seen)
    assert others == 0


def test_what_was_recalled_before_counts_and_what_was_told_after_it_does_not(proposer: Actor) -> None:
    agent = agent_of(proposer)
    begin(agent)
    make_fact(proposer, "The anchor of Zanzibar weighs nine tons.")
    recall(agent, "How heavy is the anchor of Zanzibar?")
    entry = propose(agent)
    make_fact(proposer, "The mast of Zanzibar is made of oak.")
    recall(agent, "What is the mast of Zanzibar made of?")

    words = words_of(seen_by(proposer, entry))

    assert "nine tons" in words
    assert "oak" not in words


def test_what_hooks_brought_before_counts(proposer: Actor) -> None:
    agent = agent_of(proposer)
    begin(agent)
    entry = propose(agent)
    said = {"user": proposer.user, "kind": "fact", "at": entry.created_at - timedelta(minutes=1)}
    lines = [ReceiptText.objects.create(**said, source_id=id, digest=id, text=text) for id, text in _BY_HOOKS]
    conversation = Receipt.objects.get(session=entry.source_session).session.conversations.create(
        user=proposer.user, client="claude-code", client_id="one", digest="one"
    )
    for line, minutes in zip(lines, (-1, 1), strict=True):
        HookEvent.objects.create(
            user=proposer.user,
            conversation=conversation,
            event="prompt",
            texts=[line.pk],
            at=entry.created_at + timedelta(minutes=minutes),
        )

    words = words_of(seen_by(proposer, entry))

    assert "before it" in words
    assert "after it" not in words


_BY_HOOKS = (("1", "Brought before it."), ("2", "Brought after it."))


def test_what_is_erased_and_company_knowledge_that_nobody_may_read_is_gone_from_there(proposer, curator):
    entry = proposal_of(proposer)
    agree(proposer)

    CompanyEntry.objects.filter(title="Green builds").update(status="rejected")
    shown = seen_by(curator, entry).shown
    erase_fact(proposer, fact_id=int(shown[0].id))

    assert [thing.kind for thing in shown] == ["fact"]
    assert seen_by(curator, entry).own == 0


def test_it_says_when_nothing_is_kept_and_when_there_was_nothing(proposer, curator, settings):
    agent = agent_of(proposer)
    begin(agent)
    entry = propose(agent)
    agree(proposer)
    empty = pages(curator, entry)

    settings.KEEP_TOLD_DAYS = 0
    ReceiptText.objects.update(at=timezone.now() - timedelta(days=3))
    forget_old_texts()

    assert empty.count("the proposal rests on the session alone") == 2
    assert pages(curator, entry).count("What it received in that session was not kept.") == 2


def test_a_proposal_without_a_session_says_nothing_and_asks_nothing(curator, django_assert_num_queries):
    entry = get_company_entry(curator, entry_id=propose().pk).entry

    with django_assert_num_queries(0):
        assert grounds_of(curator, entry) is None

    assert "What its agent had received before" not in pages(curator, entry)


def test_one_statement_answers_it(proposer: Actor, curator: Actor, django_assert_num_queries: Any) -> None:
    made = proposal_of(proposer)
    make_hypothesis(proposer, "Zanzibar moves to Mondays.")
    agree(proposer)
    entry = get_company_entry(curator, entry_id=made.pk).entry

    with django_assert_num_queries(1):
        grounds_of(curator, entry)


def test_hostile_lines_are_shown_and_never_run(proposer: Actor, curator: Actor) -> None:
    make_fact(proposer, "<script>alert(1)</script> <img src=x onerror=alert(2)>")
    agent = agent_of(proposer)
    begin(agent)
    entry = propose(agent)
    agree(proposer)

    page = pages(curator, entry)

    assert "&lt;script&gt;" in page
    assert "<script>alert" not in page
    assert "<img" not in page


def test_the_person_agrees_on_the_page_of_their_sharing_and_takes_it_back_there(proposer: Actor) -> None:
    client = browser_of(proposer.user)
    address = reverse("profile-sharing", args=["ada"])
    before = client.get(address).context["form"].initial["curators_see_told"]

    client.post(address, {"sections": ["who"], "in_directory": "on", "curators_see_told": "on"})
    agreed = Sharing.objects.get(user=proposer.user).curators_see_told
    shown = client.get(address).context["form"].initial["curators_see_told"]
    client.post(address, {"sections": ["who"], "in_directory": "on"})

    assert (before, agreed, shown) == (False, True, True)
    assert not Sharing.objects.get(user=proposer.user).curators_see_told


def test_no_operation_gives_consent_for_the_person() -> None:
    named = [name for name, one in CATALOGUE.items() if "curators_see_told" in signature(one.call).parameters]

    assert named == []
