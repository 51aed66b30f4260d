"""Proposals: from a text or from what is stored, decided at once in personal mode, heard of by the agent."""

from string import ascii_lowercase
from typing import Any

import pytest

from accounts.actor import Actor
from bigmind.core.errors import BigMindError, Conflict, Forbidden, Invalid, NotFound
from bigmind.gate import perform
from bigmind.operations import CATALOGUE
from curation.decisions.entry_details import comment, get_company_entry
from curation.proposals.proposals import list_my_proposals, promote_to_global, revise_proposal
from knowledge.context.sessions import start_session
from knowledge.context.start_context import get_context
from knowledge.kb.company import list_global, search_global
from knowledge.kb.entries import add_entry
from knowledge.memory.facts import store_fact
from knowledge.models import CompanyEntry
from knowledge.recall.semantic_search import semantic_search
from tests.curation.factories import approved_entry, decide_at_latest, propose
from tests.factories import make_actor

pytestmark = pytest.mark.django_db


def promote(actor: Actor, **said: Any) -> Any:
    return promote_to_global(
        actor, **{"category": "standard", "title": "Health", "content": "Answer /healthz.", **said}
    )


def test_in_personal_mode_a_proposal_is_approved_at_once(settings: Any) -> None:
    settings.BIGMIND_MODE = "personal"
    actor = make_actor()

    proposal = promote(actor)

    assert proposal.status == "approved"
    assert [hit.entry for hit in search_global(actor, query="answer").items] == [proposal.entry]


def test_in_a_team_a_proposal_waits_and_nobody_else_sees_it() -> None:
    author, other = make_actor(), make_actor()

    proposal = promote(author)

    assert proposal.status == "pending"
    assert list_global(other).total == 0
    with pytest.raises(NotFound):
        get_company_entry(other, entry_id=proposal.entry.pk)


def test_an_entry_of_the_knowledge_base_is_promoted_by_its_id() -> None:
    known = add_entry(make_actor(), content="# Routing\n\nRoutes are ordered.", entry_type="fact").entry

    entry = promote_to_global(make_actor(), category="pattern", source_kind="entry", source_id=str(known.pk)).entry

    assert (entry.title, entry.content) == ("Routing", known.content)


@pytest.mark.parametrize("kind", ["fact", "hypothesis", "chunk", "entry"])
def test_what_somebody_else_owns_cannot_be_promoted(kind: str) -> None:
    fact = store_fact(make_actor(), category="decision", fact="Theirs.").fact

    with pytest.raises(NotFound):
        promote_to_global(make_actor(), category="decision", source_kind=kind, source_id=str(fact.pk))


def test_more_than_500_tokens_are_refused_with_the_number_seen() -> None:
    with pytest.raises(Invalid, match=r"content is [\d,]+ tokens; the limit is 500"):
        perform(
            CATALOGUE["memory_promote_to_global"],
            make_actor(),
            {"category": "standard", "title": "Long", "content": "many words " * 400},
            transport="mcp",
        )


def test_the_same_text_is_not_proposed_twice_by_one_person(actor):
    first = promote(actor)

    again = promote(actor, title="Another title")

    assert (again.duplicate, again.entry) == (True, first.entry)


def test_what_another_proposed_is_not_given_away_by_proposing_it_too() -> None:
    promote(make_actor())

    mine = promote(make_actor())

    assert mine.duplicate is False


def test_what_was_rejected_is_not_proposed_again_unchanged(actor):
    entry = promote(actor).entry
    decide_at_latest(make_actor(curator=True), entry_id=entry.pk, action="reject", notes="Too vague.")

    with pytest.raises(Conflict, match="Too vague"):
        promote(actor)


def test_the_agent_hears_the_decision_once_at_its_next_session(actor):
    entry = promote(actor).entry
    decide_at_latest(make_actor(curator=True), entry_id=entry.pk, action="reject", notes="Say which services.")

    preview = get_context(actor).markdown
    first = start_session(actor).context.markdown
    second = start_session(actor).context.markdown

    assert f"[{entry.handle}] Health: rejected by" in first
    assert "Say which services." in first
    assert "Say which services." in preview
    assert "Say which services." not in second


def test_an_approved_entry_is_in_everybodys_context_with_handle_and_freshness() -> None:
    entry = approved_entry(title="Health", content="Answer /healthz.")

    told = get_context(make_actor()).markdown

    assert f"- **[standard]** [{entry.handle}] (verified) Health: Answer /healthz." in told


def test_what_belongs_to_the_project_is_told_before_what_is_more_important_elsewhere() -> None:
    for number in range(6):
        approved_entry(project="shop", importance=9, content=f"Shop rule {ascii_lowercase[number]}.")
    ours = approved_entry(project="billing", importance=2, content="Billing rule.")

    told = get_context(make_actor(), project="billing").chosen["company"]

    assert told[0].id == str(ours.pk)
    assert len(told) <= 5


def test_the_context_stays_within_its_budget_whatever_the_company_knows(actor):
    for number in range(12):
        rule = f"Rule {ascii_lowercase[number]}: " + "services answer readiness probes within one second. " * 12
        approved_entry(content=rule)
        store_fact(actor, category="decision", fact=f"Decision {number}: " + "a long sentence about it " * 8)

    context = get_context(actor)

    assert sum(line.tokens for line in context.chosen["company"]) <= 500
    assert context.tokens <= 1_300


def test_company_knowledge_is_found_by_the_search_over_everything() -> None:
    entry = approved_entry(title="Health", content="Answer /healthz.")

    (hit, *_) = semantic_search(make_actor(), query="answer").items

    assert (hit.kind, hit.id, hit.tier) == ("company", str(entry.pk), "G")
    assert hit.approver


def test_whoever_is_asked_for_changes_answers_and_it_waits_again(actor):
    entry = promote(actor).entry
    decide_at_latest(make_actor(curator=True), entry_id=entry.pk, action="request_changes", notes="Which services?")

    revised = revise_proposal(actor, entry_id=entry.pk, content="Every service answers /healthz.")

    assert (revised.status, revised.content) == ("pending", "Every service answers /healthz.")


def test_nobody_revises_what_another_proposed() -> None:
    entry = promote(make_actor()).entry

    with pytest.raises(NotFound):
        revise_proposal(make_actor(), entry_id=entry.pk, content="Mine now.")
    with pytest.raises(Forbidden):
        revise_proposal(make_actor(curator=True), entry_id=entry.pk, content="Mine now.")


def test_readers_of_an_approved_entry_do_not_see_what_was_cut_from_it() -> None:
    entry = propose(content="Ask Eve about the outage; answer /healthz.")
    curator = make_actor(curator=True)
    comment(curator, entry_id=entry.pk, text="Leave Eve out.")
    decide_at_latest(curator, entry_id=entry.pk, action="approve", content="Answer /healthz.")

    seen = get_company_entry(make_actor(), entry_id=entry.pk)

    assert [review.action for review in seen.history] == ["approve"]
    assert not seen.history[0].changed
    assert list(seen.comments) == []


def test_readers_do_not_see_the_drafts_of_a_second_round_either() -> None:
    author, curator = make_actor(), make_actor(curator=True)
    entry = approved_entry(author, curator=curator)
    decide_at_latest(curator, entry_id=entry.pk, action="reopen")
    revise_proposal(author, entry_id=entry.pk, content="Ask Zanzibar about the outage.")
    decide_at_latest(curator, entry_id=entry.pk, action="approve", revision=4, content="Ask the platform team.")

    seen = get_company_entry(make_actor(), entry_id=entry.pk)

    assert [review.action for review in seen.history] == ["approve", "approve"]
    assert "Zanzibar" not in str([(review.before, review.after) for review in seen.history])


def test_what_is_said_about_a_draft_of_a_second_round_stays_with_those_who_know_it() -> None:
    author, curator = make_actor(), make_actor(curator=True)
    entry = approved_entry(author, curator=curator)
    comment(author, entry_id=entry.pk, text="In the open.")
    decide_at_latest(curator, entry_id=entry.pk, action="reopen")
    comment(curator, entry_id=entry.pk, text="Between us.")
    decide_at_latest(curator, entry_id=entry.pk, action="approve")

    seen = get_company_entry(make_actor(), entry_id=entry.pk)

    assert [said.text for said in seen.comments] == ["In the open."]


def test_a_merged_proposal_whose_text_nobody_approved_stays_with_its_proposer() -> None:
    author, curator, known = make_actor(), make_actor(curator=True), approved_entry()
    entry = propose(author)

    decide_at_latest(curator, entry_id=entry.pk, action="merge", into=known.pk)

    assert get_company_entry(author, entry_id=entry.pk).entry.superseded_by == known
    with pytest.raises(NotFound):
        get_company_entry(make_actor(), entry_id=entry.pk)


def test_a_proposal_outlives_its_proposer(actor):
    entry = approved_entry(actor)

    actor.user.delete()

    entry = CompanyEntry.objects.get(pk=entry.pk)
    assert entry.is_approved
    assert entry.reviews.get(number=1).by_name


def test_one_lists_what_one_proposed_with_the_decisions(actor):
    entry = promote(actor).entry
    promote(make_actor())
    decide_at_latest(make_actor(curator=True), entry_id=entry.pk, action="approve")

    mine = list_my_proposals(actor)

    assert [(row.pk, row.status) for row in mine.items] == [(entry.pk, "approved")]


@pytest.mark.parametrize("said", [{"source_kind": "fact"}, {"source_id": "12"}])
def test_kind_and_id_of_a_source_belong_together(said: dict[str, Any]) -> None:
    with pytest.raises(BigMindError, match="send both, or neither"):
        promote(make_actor(), **said)
