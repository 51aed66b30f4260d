"""Proposals that repeat or contradict each other: found while both wait, shown as one cluster, decided at once."""

from pathlib import Path

import pytest
from django.test import Client
from django.urls import reverse

from bigmind.web.components import marked
from curation.decisions.deciding import decide_many
from curation.decisions.overlaps import compare_proposals, find_overlaps, open_pairs
from curation.models import Review
from knowledge.kb.company import search_global
from knowledge.models import CompanyEntry, Status
from tests.curation.factories import approved_entry, propose
from tests.factories import make_actor

pytestmark = pytest.mark.django_db

LEAST_SHOWN, MOST_FALSE = 0.85, 0.1
PAIRS = [
    tuple(part.strip() for part in line.split(" | "))
    for line in Path(__file__).with_name("waiting_pairs.txt").read_text().splitlines()
    if " | " in line and not line.startswith("#")
]


@pytest.mark.parametrize("every", [3, pytest.param(1, marks=pytest.mark.torture)])
def test_of_pairs_written_by_hand_nearly_all_are_shown_few_harmless_ones_and_none_is_held_up(settings, every):
    settings.EMBEDDING_PROVIDER = "builtin"
    one, other, curator = make_actor(), make_actor(), make_actor(curator=True)
    waiting = [
        (
            relation,
            propose(one, title=None, content=first, project=f"p{at}"),
            propose(other, title=None, content=second, project=f"p{at}"),
        )
        for at, (relation, first, second) in enumerate(PAIRS[::every])
    ]

    compare_proposals()

    shown = {frozenset(pair) for pair in open_pairs().values_list("entry_id", "other_id")}
    found = [(relation, a, b, frozenset((a.pk, b.pk)) in shown) for relation, a, b in waiting]
    wanted = [case for case in found if case[0] != "neighbour"]
    harmless = [case for case in found if case[0] == "neighbour"]
    missed = [(a.content, b.content) for _, a, b, is_shown in wanted if not is_shown]
    alarms = [(a.content, b.content) for _, a, b, is_shown in harmless if is_shown]
    assert len(wanted) >= 60 / every
    assert len(missed) <= (1 - LEAST_SHOWN) * len(wanted), missed
    assert len(alarms) <= MOST_FALSE * len(harmless), alarms

    disputed = {frozenset(pair) for pair in open_pairs().exclude(hints=[]).values_list("entry_id", "other_id")}
    for _, a, b, _ in wanted[::6]:
        read = {str(a.pk): 1, str(b.pk): 1}
        done = decide_many(curator, entry_ids=[a.pk, b.pk], revisions=read, action="approve")
        assert len(done.decided) == 2
        assert any(one.may_contradict for one in done.decided) == (frozenset((a.pk, b.pk)) in disputed)


def statuses(*entries: CompanyEntry) -> list[str]:
    found = CompanyEntry.objects.in_bulk([entry.pk for entry in entries])
    return [found[entry.pk].status for entry in entries]


def test_a_cluster_is_marked_in_the_queue_decided_at_once_and_undone_as_one(client: Client) -> None:
    allowed = propose(title="Friday deploys", content="Deploys to production are allowed on Fridays for every team.")
    forbidden = propose(title="No deploys", content="Deploys to production are never allowed on Fridays for any team.")
    again = propose(title="No Fridays", content="Deploys to production are never permitted on Fridays for any team.")
    fine = propose()
    curator = make_actor(curator=True)
    client.force_login(curator.user)
    compare_proposals()

    queue = client.get(reverse("curation")).context["page"].items
    page = client.get(reverse("curation-cluster", args=[allowed.pk]))

    assert {item.entry: item.relations for item in queue}[allowed] == ("contradiction",)
    assert queue[-1].entry == fine
    assert [card.entry for card in page.context["cards"]] == [allowed, forbidden, again]

    assert "<mark>permitted</mark>" in page.text
    assert "checked" not in page.text

    read = {f"revision-{entry.pk}": 1 for entry in (allowed, forbidden, again)}
    address = reverse("curation-cluster", args=[allowed.pk])
    stale = client.post(address, {**read, "holds": forbidden.pk, f"revision-{again.pk}": 7})
    assert (stale.status_code, statuses(allowed, forbidden, again)) == (409, [Status.PENDING] * 3)

    following = client.post(address, {**read, "holds": forbidden.pk}, follow=True)

    assert following.context["entry"] == fine
    assert statuses(allowed, forbidden, again) == [Status.REJECTED, Status.APPROVED, Status.SUPERSEDED]
    assert "No deploys" in CompanyEntry.objects.get(pk=allowed.pk).decision_notes
    assert not open_pairs().exists()

    undone = CompanyEntry.objects.get(pk=again.pk)
    client.post(reverse("curation-undo", args=[again.pk]), {"revision": undone.revision})

    assert statuses(allowed, forbidden, again) == [Status.PENDING] * 3
    assert {pair.relation for pair in open_pairs([again.pk])} >= {"contradiction"}
    assert Review.objects.filter(action="undo").values("batch").distinct().count() == 1


def test_what_holds_side_by_side_is_shown_together_no_more(client: Client) -> None:
    one = propose(content="Deploys to production are allowed on Fridays for every team.")
    other = propose(content="Deploys to production are never allowed on Fridays for any team.")
    client.force_login(make_actor(curator=True).user)
    together, page = reverse("curation-cluster", args=[one.pk]), reverse("curation-entry", args=[one.pk])
    assert together not in client.get(page).text  # No worker has compared them yet, so there is nothing to decide.
    compare_proposals()
    assert together in client.get(page).text

    client.post(together, {"holds": "all"})

    assert together not in client.get(page).text
    assert statuses(one, other) == [Status.PENDING] * 2
    assert not open_pairs().exists()
    compare_proposals()
    assert not open_pairs().exists()


def test_of_two_approved_entries_only_the_chosen_one_is_served_until_it_is_undone(client: Client) -> None:
    one = approved_entry(content="Deploys to production are allowed on Fridays for every team.")
    other = approved_entry(content="Deploys to production are never allowed on Fridays for any team.")
    agent, curator = make_actor(), make_actor(curator=True)
    client.force_login(curator.user)
    assert find_overlaps() == 1
    together = reverse("curation-cluster", args=[other.pk])
    assert together in client.get(reverse("curation"), {"why": "overlapping"}).text
    read = {f"revision-{entry.pk}": entry.revision for entry in CompanyEntry.objects.all()}

    client.post(together, {**read, "holds": one.pk})

    assert statuses(one, other) == [Status.APPROVED, Status.SUPERSEDED]
    assert [hit.entry for hit in search_global(agent, query="deploys on Fridays").items] == [one]
    assert find_overlaps() == 0

    left = CompanyEntry.objects.get(pk=other.pk)
    client.post(reverse("curation-undo", args=[other.pk]), {"revision": left.revision})

    assert statuses(one, other) == [Status.APPROVED] * 2
    assert find_overlaps() == 1


def test_a_proposal_that_is_chosen_replaces_the_approved_entry_it_contradicts(client: Client) -> None:
    old = approved_entry(content="Deploys to production are allowed on Fridays for every team.")
    new = propose(content="Deploys to production are never allowed on Fridays for any team.")
    client.force_login(make_actor(curator=True).user)
    compare_proposals()

    client.post(
        reverse("curation-cluster", args=[new.pk]),
        {f"revision-{old.pk}": old.revision, f"revision-{new.pk}": new.revision, "holds": new.pk},
    )

    assert statuses(old, new) == [Status.SUPERSEDED, Status.APPROVED]
    assert CompanyEntry.objects.get(pk=old.pk).superseded_by == new


def test_of_two_texts_either_both_have_their_own_words_marked_or_neither() -> None:
    one, other = "The pool water is tested three times a day.", "Pool water is tested once a day, in the morning."
    far = "Lost keys are kept at the desk."

    assert ["<mark>" in marked(*texts) for texts in ((one, other), (other, one))] == [True, True]
    assert ["<mark>" in marked(*texts) for texts in ((one, far), (far, one))] == [False, False]
