"""What may contradict what is approved is labelled wherever it is decided about, and holds no decision up."""

from datetime import timedelta
from typing import Any

import pytest
from django.test import override_settings
from django.utils import timezone

from curation.decisions import neighbours
from curation.decisions.deciding import decide_many
from curation.decisions.neighbours import neighbours_of
from curation.decisions.overlaps import find_overlaps, list_overlapping
from curation.models import Overlap
from curation.proposals.proposals import promote_to_global
from curation.proposals.queue import list_queue, queue_summary
from knowledge.models import CompanyEntry, Proof, Status
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


ONCE = "Invoices of the freight service are sent by the billing worker before midnight."
AGAIN = "The billing worker sent invoices of the freight service before midnight."
ALLOWED = "Deploys to production are allowed on Fridays for every team."
FORBIDDEN = "Deploys to production are never allowed on Fridays for any team."


def numbers(why: str) -> list[int]:
    return [item.entry.pk for item in list_queue(make_actor(curator=True), why=why, order="oldest").items]


def test_approved_entries_that_say_the_same_wait_until_a_curator_settles_it():
    first, second = approve(ONCE), approve(AGAIN)
    approve("Backups are restored in Lisbon every spring.")
    assert numbers("overlapping") == []

    assert find_overlaps() == 1
    assert numbers("overlapping") == [second.pk]
    assert queue_summary().overlapping == 1
    assert find_overlaps() == 1

    decide_at_latest(make_actor(curator=True), entry_id=second.pk, action="verify")
    assert numbers("overlapping") == []
    assert find_overlaps() == 0

    Overlap.objects.update(found_at=timezone.now())
    decide_at_latest(make_actor(curator=True), entry_id=first.pk, action="deprecate", notes="Outdated.")
    assert numbers("overlapping") == []


def test_what_a_curator_kept_beside_another_on_purpose_is_not_found_again():
    first = approve(ALLOWED)
    curator = make_actor(curator=True)
    second = approve("Something else altogether is written down here.")

    decide_at_latest(curator, entry_id=second.pk, action="edit", content=FORBIDDEN, despite=[first.pk])

    assert find_overlaps() == 0
    assert Overlap.objects.get().settled_at is not None


def test_entries_that_drift_apart_no_longer_overlap():
    approve(ONCE)
    second = approve(AGAIN)
    find_overlaps()

    with override_settings(BIGMIND_MODE="team"):
        text = "The office in Lisbon opens at nine."
        decide_at_latest(make_actor(curator=True), entry_id=second.pk, action="edit", content=text)

    assert find_overlaps() == 0
    assert not Overlap.objects.exists()


def test_an_entry_that_many_sessions_were_told_and_hardly_any_used_waits_unless_it_was_verified_lately():
    unused, used = approve(ALLOWED), approve("Invoices are numbered per year.")
    Proof.objects.create(entry=unused, served=40, answered=25, people=12)
    Proof.objects.create(entry=used, served=40, answered=25, people=12, cited=4)
    CompanyEntry.objects.update(verified_at=timezone.now() - timedelta(days=120))

    assert numbers("unused") == [unused.pk]
    decide_at_latest(make_actor(curator=True), entry_id=unused.pk, action="verify")
    assert numbers("unused") == []


def approve(content: str) -> CompanyEntry:
    return approved_entry(title=" ".join(content.split()[-4:]), content=content)
