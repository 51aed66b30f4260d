"""Approving past a contradiction: it takes a second, explicit step, through every door."""

from typing import Any

import pytest
from django.test import Client
from django.urls import reverse

from bigmind.core.errors import Conflict
from bigmind.gate import perform
from bigmind.operations import CATALOGUE
from curation.decisions.deciding import decide_many
from curation.proposals import neighbours
from curation.proposals.briefing import brief
from curation.proposals.neighbours import neighbours_of
from curation.proposals.overlaps import compare_proposals
from knowledge.models import CompanyEntry, Status
from knowledge.services.embedding import embed_pending
from tests.curation.factories import approved_entry, decide_at_latest, propose
from tests.factories import make_actor

pytestmark = pytest.mark.django_db

NEVER = "Never deploy to production on Fridays."
OPS = "Only the release manager may deploy to production on Fridays."
ANYONE = "Developers may deploy to production on Fridays."


def decide(entry: CompanyEntry, action: str = "approve", **said: Any) -> CompanyEntry:
    return decide_at_latest(make_actor(curator=True), entry_id=entry.pk, action=action, **said).entry


def status_of(entry: CompanyEntry) -> str:
    return CompanyEntry.objects.get(pk=entry.pk).status


def test_what_contradicts_an_approved_entry_is_not_approved_in_passing() -> None:
    known = approved_entry(title="No Friday deploys", content=NEVER)
    entry = propose(title="Friday deploys", content=ANYONE)

    with pytest.raises(Conflict, match=f"may contradict.*{known.handle} “No Friday deploys”") as refused:
        decide(entry)

    assert status_of(entry) == Status.PENDING
    assert refused.value.details["despite"] == [known.pk]
    assert f"despite=[{known.pk}]" in refused.value.hint


def test_neighbours_are_found_in_whatever_order_the_database_answers(monkeypatch: pytest.MonkeyPatch) -> None:
    known, entry = approved_entry(content=NEVER), propose(content=ANYONE)
    as_usual = neighbours_of(entry)
    backwards = f"SELECT * FROM ({neighbours._NEAREST}) AS found (id, cosine, words) ORDER BY id NULLS FIRST"
    monkeypatch.setattr(neighbours, "_NEAREST", backwards)

    found = neighbours_of(entry)

    assert [one.entry for one in found.approved] == [known]
    assert (found.approved, found.fallback) == (as_usual.approved, as_usual.fallback)


def test_it_is_approved_by_naming_what_it_contradicts() -> None:
    known = approved_entry(content=NEVER)
    entry = propose(content=ANYONE)

    assert decide(entry, despite=[known.pk]).is_approved


def test_naming_one_of_two_is_not_enough() -> None:
    known = approved_entry(content=NEVER)
    other = propose(content=OPS)
    decide(other, despite=[known.pk])
    entry = propose(content=ANYONE)

    with pytest.raises(Conflict) as refused:
        decide(entry, despite=[known.pk])

    assert sorted(refused.value.details["despite"]) == [known.pk, other.pk]


def test_nothing_contradicts_on_the_way_by_edit_merge_or_restore() -> None:
    old = approved_entry(content=ANYONE)
    decide(old, "deprecate")
    approved_entry(content=NEVER)
    known = approved_entry(content="Backups run at night.")
    twin = propose(content="Backups run each night.")

    for entry, action, said in (
        (known, "edit", {"content": ANYONE}),
        (twin, "merge", {"content": ANYONE, "into": known.pk}),
        (old, "restore", {}),
    ):
        with pytest.raises(Conflict, match="may contradict"):
            decide(entry, action, **said)


def test_a_proposal_approved_with_edits_is_compared_by_its_new_text() -> None:
    # Other titles, and the same rule often: the texts share few words, and are near in meaning alone.
    known = approved_entry(
        title="Releases, rollbacks, migrations, hotfixes, emergencies", content=" ".join([NEVER] * 3)
    )
    entry = propose(title="Kitchen, lunches, bicycles, parking, holidays", content="Backups run at night.")
    embed_pending()
    compare_proposals()

    with pytest.raises(Conflict, match=f"may contradict.*{known.handle}"):
        decide(entry, content=" ".join([ANYONE] * 3))

    assert status_of(entry) == Status.PENDING


def test_many_at_once_are_asked_for_the_second_step_one_by_one() -> None:
    known = approved_entry(content=NEVER)
    curator, fine, entry = make_actor(curator=True), propose(), propose(content=ANYONE)

    read = {str(fine.pk): 1, str(entry.pk): 1}
    first = decide_many(curator, entry_ids=[fine.pk, entry.pk], revisions=read, action="approve")
    second = decide_many(curator, entry_ids=[entry.pk], revisions=read, action="approve", despite=[known.pk])

    assert [one.entry.pk for one in first.decided] == [fine.pk]
    assert "may contradict" in first.refused[0]["reason"]
    assert [one.entry.pk for one in second.decided] == [entry.pk]


def test_of_two_proposals_that_contradict_each_other_the_second_is_asked_about() -> None:
    curator, one, other = make_actor(curator=True), propose(content=NEVER), propose(content=ANYONE)

    done = decide_many(
        curator, entry_ids=[one.pk, other.pk], revisions={str(item.pk): 1 for item in (one, other)}, action="approve"
    )

    assert [decision.entry.pk for decision in done.decided] == [one.pk]


def test_an_agent_reads_in_the_refusal_what_to_send() -> None:
    known = approved_entry(content=NEVER)
    entry = propose(content=ANYONE)
    call = {"entry_id": entry.pk, "action": "approve", "revision": entry.revision}

    with pytest.raises(Conflict) as refused:
        perform(CATALOGUE["memory_approve_global"], make_actor(curator=True), call, transport="mcp")
    call["despite"] = refused.value.details["despite"]
    decided = perform(CATALOGUE["memory_approve_global"], make_actor(curator=True), call, transport="mcp").value

    assert decided.status == Status.APPROVED
    assert str(known.pk) in str(refused.value)


def test_in_personal_mode_a_contradiction_waits_for_the_persons_own_eyes(settings: Any) -> None:
    settings.BIGMIND_MODE = "personal"
    actor = make_actor(admin=True)
    propose(actor, content=NEVER)

    assert propose(actor, content=ANYONE).status == Status.PENDING


def test_a_briefing_names_what_is_near_among_what_waits_and_leaves_out_what_is_far() -> None:
    near, far = propose(title="No Friday deploys", content=NEVER), approved_entry(content="Money is stored in cents.")
    entry = propose(content=ANYONE)

    told = brief(make_actor(curator=True), entry_id=entry.pk)

    assert [(one.entry, bool(one.contradictions)) for one in told.nearest_waiting] == [(near, True)]
    assert far not in [one.entry for one in told.nearest]


def test_the_key_of_the_page_leads_to_the_second_step_and_its_button_approves(client: Client) -> None:
    known = approved_entry(title="No Friday deploys", content=NEVER)
    waiting, entry = propose(title="Ops on Fridays", content=OPS), propose(content=ANYONE)
    client.force_login(make_actor(curator=True).user)
    address = reverse("curation-decide", args=[entry.pk])

    opened = client.get(reverse("curation-entry", args=[entry.pk]))
    asked = client.post(address, {"decision": "approve", "revision": entry.revision})
    sent = dict(asked.context["attempt"].form.sent_again)
    client.post(address, sent)

    assert f"{waiting.handle} Ops on Fridays" in opened.text
    assert (asked.status_code, sent["despite"]) == (409, known.pk)
    assert f"Save despite {known.handle}" in asked.text
    assert status_of(entry) == Status.APPROVED


def test_an_edit_on_the_page_of_an_entry_asks_for_the_second_step_and_keeps_what_was_typed(client: Client) -> None:
    known, entry = approved_entry(content=NEVER), approved_entry()
    client.force_login(make_actor(curator=True).user)
    address = reverse("company-decide", args=[entry.pk])
    typed = {"title": "Fridays", "content": ANYONE, "category": "standard", "importance": "5"}

    asked = client.post(address, {"decision": "edit", "revision": entry.revision, **typed})
    client.post(address, dict(asked.context["refused"].sent_again))

    entry.refresh_from_db()
    assert f"Save despite {known.handle}" in asked.text
    assert entry.content == ANYONE
