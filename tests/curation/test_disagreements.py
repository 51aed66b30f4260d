"""What may contradict what is approved is labelled wherever it is decided about, and holds no decision up."""

from typing import Any

import pytest
from django.test import Client
from django.urls import reverse

from bigmind.gate import perform
from bigmind.operations import CATALOGUE
from curation.decisions import neighbours
from curation.decisions.deciding import decide_many
from curation.decisions.neighbours import neighbours_of
from curation.decisions.overlaps import list_overlapping
from curation.proposals.briefing import brief
from curation.proposals.proposals import promote_to_global
from knowledge.models import CompanyEntry, Status
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


def test_what_may_contradict_an_approved_entry_is_approved_and_labelled() -> None:
    known = approved_entry(title="No Friday deploys", content=NEVER)
    entry = propose(title="Friday deploys", content=ANYONE)

    decided = decide_at_latest(make_actor(curator=True), entry_id=entry.pk, action="approve")

    assert decided.entry.is_approved
    assert [one.partition(" (")[0] for one in decided.may_contradict] == [f"{known.handle} “No Friday deploys”"]
    assert set(list_overlapping()) & {known, entry}


def test_neighbours_are_found_in_whatever_order_the_database_answers(monkeypatch: pytest.MonkeyPatch) -> None:
    known, entry = approved_entry(content=NEVER), propose(content=ANYONE)
    as_usual = neighbours_of(entry)
    backwards = f"SELECT * FROM ({neighbours._NEAREST}) AS found (id, cosine, words) ORDER BY id NULLS FIRST"
    monkeypatch.setattr(neighbours, "_NEAREST", backwards)

    found = neighbours_of(entry)

    assert [one.entry for one in found.approved] == [known]
    assert (found.approved, found.fallback) == (as_usual.approved, as_usual.fallback)


def test_what_a_curator_keeps_beside_it_is_not_shown_again() -> None:
    known = approved_entry(content=NEVER)
    entry = propose(content=ANYONE)

    decided = decide_at_latest(make_actor(curator=True), entry_id=entry.pk, action="approve", despite=[known.pk])

    assert decided.may_contradict == []
    assert not set(list_overlapping()) & {known, entry}


def test_edit_merge_and_restore_are_labelled_too() -> None:
    old = approved_entry(content=ANYONE)
    decide(old, "deprecate")
    approved_entry(content=NEVER)
    known = approved_entry(content="Backups run at night.")
    twin = propose(content="Backups run each night.")

    for entry, action, said in (
        (known, "edit", {"content": "Anyone may deploy to production on Fridays."}),
        (twin, "merge", {"content": "Every developer may deploy to production on Fridays.", "into": known.pk}),
        (old, "restore", {}),
    ):
        decided = decide_at_latest(make_actor(curator=True), entry_id=entry.pk, action=action, **said)
        assert decided.may_contradict, action


def test_many_are_approved_at_once() -> None:
    approved_entry(content=NEVER)
    curator, fine, entry = make_actor(curator=True), propose(), propose(content=ANYONE)

    read = {str(fine.pk): 1, str(entry.pk): 1}
    done = decide_many(curator, entry_ids=[fine.pk, entry.pk], revisions=read, action="approve")

    assert [bool(one.may_contradict) for one in done.decided] == [False, True]


def test_an_agent_reads_the_label_in_the_reply() -> None:
    known = approved_entry(content=NEVER)
    entry = propose(content=ANYONE)
    call = {"entry_id": entry.pk, "action": "approve", "revision": entry.revision}

    reply = perform(CATALOGUE["memory_approve_global"], make_actor(curator=True), call, transport="mcp")

    assert reply.value.status == Status.APPROVED
    assert f"May contradict {known.handle}" in reply.markdown()


def test_in_personal_mode_a_suspicion_holds_nothing_back(settings: Any) -> None:
    settings.BIGMIND_MODE = "personal"
    actor = make_actor(admin=True)
    known = propose(actor, content=NEVER)

    proposed = promote_to_global(actor, category="standard", content=ANYONE)

    assert (proposed.status, proposed.may_contradict) == (Status.APPROVED, [known.handle])


def test_a_briefing_names_what_is_near_among_what_waits_and_leaves_out_what_is_far() -> None:
    near, far = propose(title="No Friday deploys", content=NEVER), approved_entry(content="Money is stored in cents.")
    entry = propose(content=ANYONE)

    told = brief(make_actor(curator=True), entry_id=entry.pk)

    assert [(one.entry, bool(one.contradictions)) for one in told.nearest_waiting] == [(near, True)]
    assert far not in [one.entry for one in told.nearest]


def test_the_page_shows_what_it_may_contradict_and_one_click_approves(client: Client) -> None:
    known, entry = approved_entry(title="No Friday deploys", content=NEVER), propose(content=ANYONE)
    client.force_login(make_actor(curator=True).user)

    opened = client.get(reverse("curation-entry", args=[entry.pk]))
    client.post(reverse("curation-decide", args=[entry.pk]), {"decision": "approve", "revision": entry.revision})

    assert f"{known.handle}" in opened.text
    assert status_of(entry) == Status.APPROVED
