"""Decisions: approve, reject, ask for changes, merge, deprecate, restore; each kept, and undone exactly."""

import json
import re
from typing import Any, get_args

import pytest
from mcp import types

from bigmind.core.errors import Conflict, Forbidden, Invalid
from bigmind.gate import perform
from bigmind.operations import CATALOGUE
from bigmind.transports.mcp.request_context import RequestContext
from bigmind.transports.mcp.tools import call_tool
from curation.decisions.deciding import DecisionName, approve_global, decide_many
from curation.decisions.history import find_broken_seals, snapshot
from curation.models import Action
from curation.proposals.proposals import revise_proposal
from knowledge.models import CompanyEntry, Kind, Passage, Status
from tests.curation.factories import approved_entry, decide_at_latest, propose
from tests.factories import make_actor

pytestmark = pytest.mark.django_db


def decide(actor: Any, entry: CompanyEntry, action: str, **rest: Any) -> CompanyEntry:
    return decide_at_latest(actor, entry_id=entry.pk, action=action, **rest).entry


def _over_mcp(actor: Any, name: str, arguments: dict[str, Any]) -> Any:
    context = RequestContext(actor, frozenset({"all"}), "decisions")
    return call_tool(context, types.CallToolRequestParams(name=name, arguments=arguments))


def test_a_member_decides_nothing_a_curator_not_about_their_own_and_rejecting_needs_a_reason(curator):
    entry, own = propose(), propose(curator)

    with pytest.raises(Forbidden):
        decide(make_actor(), entry, "approve")
    with pytest.raises(Forbidden, match="yourself"):
        decide(curator, own, "approve")
    with pytest.raises(Invalid, match="notes is required"):
        decide(curator, entry, "reject", notes="  ")


def test_whoever_decides_about_an_older_revision_is_told_what_changed() -> None:
    author = make_actor()
    entry = propose(author)
    revise_proposal(author, entry_id=entry.pk, title="Another title")

    with pytest.raises(Conflict) as refused:
        decide(make_actor(curator=True), entry, "approve", revision=1)

    assert refused.value.details["changed"]["title"] == "Another title"
    assert refused.value.details["revision"] == 2


@pytest.mark.parametrize("action", get_args(get_args(DecisionName)[0]))
def test_no_decision_is_made_with_an_old_revision(action: str) -> None:
    author, curator = make_actor(), make_actor(curator=True)
    entry, other = propose(author), approved_entry()
    revise_proposal(author, entry_id=entry.pk, content="Said another way.")
    call = {"entry_id": entry.pk, "action": action, "notes": "Read.", "into": other.pk, "title": "Mine"}
    operation = CATALOGUE["memory_approve_global"]

    with pytest.raises(Conflict, match="has changed since you read it: revise") as refused:
        perform(operation, curator, {**call, "revision": 1}, transport="rest")

    assert refused.value.details["changed"]["content"] == "Said another way."
    assert CompanyEntry.objects.get(pk=entry.pk).reviews.count() == 2


@pytest.mark.parametrize(("action", "of"), [("approve", propose), ("verify", approved_entry), ("edit", approved_entry)])
def test_what_nobody_says_they_have_read_is_shown_with_the_call_to_send(action: str, of: Any) -> None:
    entry, curator = of(content="Deploy on Mondays."), make_actor(curator=True)
    call = {"entry_id": entry.pk, "action": action, "notes": "Fine.", "importance": 6}
    before = snapshot(entry)

    result = _over_mcp(curator, "memory_approve_global", call)
    text = result.content[0].text

    assert result.is_error
    assert "revision is required" in text
    assert "Deploy on Mondays." in text
    assert snapshot(CompanyEntry.objects.get(pk=entry.pk)) == before
    offered = re.search(r"The call put right: (\w+)\((\{.*\})\)", text)
    assert offered
    assert not _over_mcp(curator, offered[1], json.loads(offered[2])).is_error
    assert snapshot(CompanyEntry.objects.get(pk=entry.pk)) != before


@pytest.mark.parametrize(
    ("action", "of"), [("reject", propose), ("request_changes", propose), ("deprecate", approved_entry)]
)
def test_what_brings_no_text_into_force_needs_no_revision(curator, action, of):
    entry = of()

    decided = approve_global(curator, entry_id=entry.pk, action=action, notes="Too vague.").entry

    assert decided.status != entry.status
    with pytest.raises(Conflict, match="already approved"):  # Another refusal comes first.
        approve_global(curator, entry_id=approved_entry().pk, action="approve")


def test_alone_one_decides_without_a_revision(settings: Any) -> None:
    settings.BIGMIND_MODE = "personal"
    actor = make_actor(admin=True)
    entry = propose(actor)

    for action in ("verify", "deprecate", "restore", "undo"):
        approve_global(actor, entry_id=entry.pk, action=action)

    entry.refresh_from_db()
    assert entry.status == "deprecated"


def test_of_many_those_whose_revision_is_not_named_are_refused() -> None:
    read, unread = propose(), propose()
    call = {"entry_ids": [read.pk, unread.pk], "action": "approve", "revisions": {str(read.pk): 1}}
    curator, operation = make_actor(curator=True), CATALOGUE["memory_approve_many"]

    done = perform(operation, curator, call, transport="rest").value

    assert [decided.entry.id for decided in done.decided] == [read.pk]
    assert f"revision is required: C{unread.pk}" in done.refused[0].reason


def test_a_merge_that_changes_an_entry_names_the_revision_of_that_one_too() -> None:
    known, entry, curator = approved_entry(), propose(), make_actor(curator=True)
    call = {"entry_id": entry.pk, "action": "merge", "revision": 1, "into": known.pk, "content": "Both at once."}

    with pytest.raises(Invalid, match="into_revision is required"):
        approve_global(curator, **call)
    with pytest.raises(Conflict, match=f"{known.handle} has changed"):
        approve_global(curator, **call, into_revision=known.revision - 1)

    assert approve_global(curator, **call, into_revision=known.revision).entry.superseded_by == known


def test_the_second_of_two_curators_is_told_that_it_is_decided() -> None:
    entry = propose()
    decide(make_actor(curator=True), entry, "approve", revision=1)

    with pytest.raises(Conflict, match="approve by"):
        decide(make_actor(curator=True), entry, "reject", notes="No.", revision=1)


def test_an_edit_with_the_approval_keeps_the_original_in_the_history() -> None:
    entry = propose(content="Use spaces.")

    decide(make_actor(curator=True), entry, "approve", content="Use four spaces.")

    review = entry.reviews.get(action=Action.APPROVE)
    assert review.changed["content"] == ("Use spaces.", "Use four spaces.")


def test_merging_keeps_one_entry_and_credits_both() -> None:
    known, twin = approved_entry(), propose()
    curator = make_actor(curator=True)

    merged = decide(curator, twin, "merge", into=known.pk, content="Every service answers /healthz and /readyz.")

    known.refresh_from_db()
    assert (merged.status, merged.superseded_by_id) == (Status.SUPERSEDED, known.pk)
    assert known.content == "Every service answers /healthz and /readyz."


@pytest.mark.parametrize("action", ["approve", "reject", "request_changes"])
def test_undoing_brings_back_exactly_what_was_there(action: str) -> None:
    curator, entry = make_actor(curator=True), propose()
    before = snapshot(entry)
    decide(curator, entry, action, notes="Because.")

    restored = decide(curator, entry, "undo")

    assert {**snapshot(restored), "revision": 1} == before
    assert not Passage.objects.filter(kind=Kind.COMPANY).exists()


def test_what_changed_since_is_not_undone() -> None:
    known, twin, curator = approved_entry(), propose(), make_actor(curator=True)
    decide(curator, twin, "merge", into=known.pk, content="Both at once.")
    decide(curator, known, "verify")

    with pytest.raises(Conflict, match="has changed since"):
        decide(curator, twin, "undo")


def test_of_many_each_is_decided_for_itself(curator):
    mine, theirs = propose(curator), propose()

    chosen = [mine.pk, theirs.pk, 10**9]
    done = decide_many(curator, entry_ids=chosen, revisions={str(one): 1 for one in chosen}, action="approve")

    assert [decision.entry.pk for decision in done.decided] == [theirs.pk]
    assert [row.entry_id for row in done.refused] == [mine.pk, 10**9]


def test_in_an_enterprise_what_weighs_much_needs_two_people(settings: Any) -> None:
    settings.BIGMIND_MODE = "enterprise"
    entry, first, second = propose(importance=9), make_actor(curator=True), make_actor(admin=True)

    once = decide(first, entry, "approve", importance=3)
    with pytest.raises(Conflict, match="already"):
        decide(first, once, "approve")
    twice = decide(second, entry, "approve")

    assert (once.status, twice.status) == ("pending", "approved")


@pytest.mark.parametrize(
    ("importance", "edits"),
    [
        (9, {"importance": 10}),
        (9, {"content": "Something else altogether."}),
        (5, {"importance": 10, "content": "Something else altogether."}),
    ],
)
def test_what_needs_two_people_or_is_raised_to_it_is_not_edited_by_one(settings, importance, edits):
    settings.BIGMIND_MODE = "enterprise"
    entry, first, second = propose(importance=importance), make_actor(curator=True), make_actor(curator=True)
    decide(first, entry, "approve")
    if importance == 9:
        decide(second, entry, "approve")

    with pytest.raises(Conflict, match="not changed by one person alone"):
        decide(second, entry, "edit", **edits)


def test_a_merged_proposal_is_not_restored_past_its_approval() -> None:
    known, twin, curator = approved_entry(), propose(), make_actor(curator=True)
    decide(curator, twin, "merge", into=known.pk)

    with pytest.raises(Conflict, match="before its own text was approved"):
        decide(curator, twin, "restore")


@pytest.mark.parametrize("action", ["deprecate", "reopen"])
def test_nobody_changes_their_own_entry_by_merging_or_brings_it_back_by_undoing_what_a_colleague_decided(action):
    ada = make_actor(curator=True)
    entry, other = approved_entry(ada), propose()

    with pytest.raises(Forbidden, match="yourself"):
        decide(ada, other, "merge", into=entry.pk, content="What I always wanted.")
    decide(make_actor(curator=True), entry, action, notes="Not any more.")
    with pytest.raises(Forbidden, match="yourself"):
        decide(ada, entry, "undo")


def test_the_seals_hold_after_many_steps() -> None:
    curator, entry = make_actor(curator=True), propose()
    for action in ("approve", "undo", "reject", "reopen", "approve", "deprecate", "restore", "verify"):
        decide(curator, entry, action, notes="Because.")

    assert list(find_broken_seals()) == []
