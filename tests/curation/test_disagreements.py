"""What may contradict what is approved is labelled wherever it is decided about, and holds no decision up."""

from typing import Any

import pytest

from curation.decisions import neighbours
from curation.decisions.deciding import decide_many
from curation.decisions.neighbours import neighbours_of
from curation.decisions.overlaps import list_overlapping
from curation.proposals.proposals import promote_to_global
from knowledge.models import CompanyEntry, Status
from tests.curation.factories import approved_entry, decide_at_latest, propose
from tests.factories import make_actor

pytestmark = pytest.mark.django_db

NEVER = "Never deploy to production on Fridays."
ANYONE = "Developers may deploy to production on Fridays."


def decide(entry: CompanyEntry, action: str = "approve", **said: Any) -> CompanyEntry:
    return decide_at_latest(make_actor(curator=True), entry_id=entry.pk, action=action, **said).entry


def test_neighbours_are_found_in_whatever_order_the_database_answers(monkeypatch: pytest.MonkeyPatch) -> None:
    known, entry = approved_entry(content=NEVER), propose(content=ANYONE)
    as_usual = neighbours_of(entry)
    backwards = f"SELECT * FROM ({neighbours._NEAREST}) AS found (id, cosine, words, within) ORDER BY id NULLS FIRST"
    monkeypatch.setattr(neighbours, "_NEAREST", backwards)

    found = neighbours_of(entry)

    assert [one.entry for one in found.approved] == [known]
    assert (found.approved, found.fallback) == (as_usual.approved, as_usual.fallback)


def test_a_short_text_within_a_long_one_is_not_all_of_it_and_what_is_far_is_not_near() -> None:
    long = approved_entry(
        title="Invoices",
        content="The billing worker sends the invoices of the freight service each night, and keeps a copy for "
        "ten years in the archive, where the auditors of the bank read them in spring.",
    )
    approved_entry(title="Lunch", content="The canteen in Lisbon opens at noon.")

    near = neighbours_of(propose(title="Freight", content="The billing worker sends invoices."))

    assert [one.entry for one in near.approved] in ([], [long])
    assert all(one.similarity < 0.9 and not one.is_pair for one in near.approved)


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


def test_in_personal_mode_a_suspicion_holds_nothing_back(settings: Any) -> None:
    settings.BIGMIND_MODE = "personal"
    actor = make_actor(admin=True)
    known = propose(actor, content=NEVER)

    proposed = promote_to_global(actor, category="standard", content=ANYONE)

    assert (proposed.status, proposed.may_contradict) == (Status.APPROVED, [known.handle])
