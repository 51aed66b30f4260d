"""Notes: texts at an address, which may expire (the flows of the knowledge store)."""

from datetime import timedelta

import pytest
from django.urls import reverse
from django.utils import timezone

from bigmind.core.errors import Conflict, Invalid, NotFound
from knowledge.memory.archive import set_aside
from knowledge.memory.notes import delete_note, get_notes, note_domains, rename_note, set_note
from knowledge.models import Note, Passage
from knowledge.recall.recall import search_notes
from knowledge.tasks import forget_expired_notes
from tests.knowledge.factories import make_note
from tests.lock_waits import meanwhile

pytestmark = pytest.mark.django_db
DYMON = "When Dymon sends a package notification, ask whether the courier placed it in the Mini 20 unit."


def test_a_note_is_read_by_address_by_domain_and_with_everything(actor):
    set_note(actor, domain="email", key="dymon-packages", content=DYMON)
    set_note(actor, domain="calendar", key="meetings", content="Thirty minutes.")

    assert [n.content for n in get_notes(actor, domain="email", key="dymon-packages").items] == [DYMON]
    assert [str(n) for n in get_notes(actor, domain="email").items] == ["email/dymon-packages"]
    assert [str(n) for n in get_notes(actor).items] == ["calendar/meetings", "email/dymon-packages"]
    assert note_domains(actor) == {"calendar": 1, "email": 1}


def test_setting_a_note_again_replaces_its_content(actor):
    set_note(actor, domain="email", key="k", content="Old")

    note = set_note(actor, domain="email", key="k", content="New")

    assert [n.content for n in get_notes(actor).items] == ["New"]
    assert note.updated_at > note.created_at


def test_a_missing_note_names_the_nearest_that_exist_and_what_makes_no_sense_its_field(actor):
    set_note(actor, domain="email", key="dymon-packages", content=DYMON)

    with pytest.raises(NotFound) as refusal:
        get_notes(actor, domain="email", key="dymon-package")
    with pytest.raises(Invalid, match="domain"):
        get_notes(actor, key="dymon-packages")
    with pytest.raises(Invalid, match="expires_at"):
        set_note(actor, domain="d", key="k", content="c", expires_at=timezone.now() - timedelta(days=1))
    delete_note(actor, domain="email", key="dymon-packages")
    with pytest.raises(NotFound):
        delete_note(actor, domain="email", key="dymon-packages")

    assert "email/dymon-packages" in refusal.value.hint
    assert not Passage.objects.exists()


def test_a_renamed_note_keeps_its_content_and_never_overwrites_another(actor):
    set_note(actor, domain="email", key="a", content="First")
    set_note(actor, domain="email", key="b", content="Second")

    moved = rename_note(actor, domain="email", key="a", new_domain="general")

    assert (str(moved), moved.content) == ("general/a", "First")
    with pytest.raises(Conflict, match="already"):
        rename_note(actor, domain="general", key="a", new_domain="email", new_key="b")


def test_an_expired_note_is_gone_at_once_and_deleted_by_the_sweep(actor):
    set_note(
        actor, domain="general", key="k", content="Sprint review at four", expires_at=timezone.now() + timedelta(days=1)
    )
    Note.objects.update(expires_at=timezone.now() - timedelta(seconds=1))

    assert get_notes(actor).total == 0
    assert search_notes(actor, query="sprint").items == []
    forget_expired_notes()
    assert not Note.objects.exists()
    assert not Passage.objects.exists()


def test_a_search_within_a_domain_returns_the_best_of_that_domain(actor):
    for number in range(12):
        set_note(actor, domain="email", key=f"k{number}", content="package package package")
    set_note(actor, domain="general", key="k", content="A package came once.")

    hits = search_notes(actor, query="package", domain="general")

    assert [hit.title for hit in hits.items] == ["general/k"]
    assert hits.total == 1


def test_a_note_set_aside_is_never_overwritten_and_says_how_to_bring_it_back(actor):
    note = set_note(actor, domain="email", key="k", content="First")
    other = set_note(actor, domain="email", key="other", content="Other")
    set_aside(actor, kind="note", id=str(note.pk))

    with pytest.raises(Conflict, match="memory_restore"):
        set_note(actor, domain="email", key="k", content="Second")
    with pytest.raises(Conflict, match="memory_restore"):
        rename_note(actor, domain="email", key=other.key, new_key="k")
    assert Note.objects.get(pk=note.pk).content == "First"
    delete_note(actor, domain="email", key="k")
    assert set_note(actor, domain="email", key="k", content="Second").content == "Second"


@pytest.mark.django_db(transaction=True)
def test_a_note_that_is_set_aside_meanwhile_is_not_overwritten(actor):
    note = set_note(actor, domain="email", key="k", content="First")

    with pytest.raises(Conflict, match="memory_restore"):
        meanwhile(
            lambda: set_aside(actor, kind="note", id=str(note.pk)),
            lambda: set_note(actor, domain="email", key="k", content="Second"),
        )

    assert Note.objects.get(pk=note.pk).content == "First"


def test_a_note_that_takes_the_place_of_an_expired_one_leaves_nothing_of_it(actor):
    set_note(actor, domain="d", key="old", content="PRIVATE", expires_at=timezone.now() + timedelta(days=1))
    Note.objects.update(expires_at=timezone.now() - timedelta(seconds=1))
    set_note(actor, domain="d", key="new", content="Fine")

    rename_note(actor, domain="d", key="new", new_key="old")

    assert not Passage.objects.filter(text__contains="PRIVATE").exists()


def test_a_note_is_added_with_an_expiry_and_never_over_another(browser):
    tomorrow = timezone.localtime() + timedelta(days=1)
    typed = {"domain": "email", "key": "packages", "content": "First.", "expires_at": f"{tomorrow:%Y-%m-%dT%H:%M}"}

    page = browser.post(reverse("memory-note-new"), typed, follow=True)
    again = browser.post(reverse("memory-note-new"), {**typed, "content": "Second."})

    assert "The note email/packages is kept." in page.text
    assert "There is a note of this name in the domain already." in again.text
    note = Note.objects.get()
    assert (note.content, note.expires_at) == ("First.", tomorrow.replace(second=0, microsecond=0))


def test_a_note_is_rewritten_and_renamed_in_one_go_but_not_to_a_taken_address(browser, actor):
    note = make_note(actor, "First.", domain="email", key="packages")
    make_note(actor, "Other.", domain="email", key="taken")
    edit = reverse("memory-note-edit", args=[note.pk])

    kept = browser.post(edit, {"domain": "post", "key": "parcels", "content": "Second."}, follow=True)
    refused = browser.post(edit, {"domain": "email", "key": "taken", "content": "Third."})

    assert "The note post/parcels is kept." in kept.text
    assert "There is a note email/taken already." in refused.text
    note.refresh_from_db()
    assert (str(note), note.content) == ("post/parcels", "Second.")


def test_a_note_set_aside_can_be_read_and_restored_but_not_edited(browser, actor):
    note = make_note(actor, "First.")
    set_aside(actor, kind="note", id=str(note.pk))

    page = browser.get(reverse("memory-note", args=[note.pk]))
    edit = browser.get(reverse("memory-note-edit", args=[note.pk]))

    assert "set aside" in page.text
    assert reverse("memory-restore", args=["note", note.pk]) in page.text
    assert edit.status_code == 404
