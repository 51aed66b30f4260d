"""Notes: listed by domain, read, added, edited, renamed."""

from datetime import timedelta

import pytest
from django.urls import reverse
from django.utils import timezone

from knowledge.memory.archive import set_aside
from knowledge.models import Note
from tests.knowledge.factories import make_note

pytestmark = pytest.mark.django_db


def test_a_note_is_added_with_an_expiry(browser):
    tomorrow = timezone.localtime() + timedelta(days=1)

    page = browser.post(
        reverse("memory-note-new"),
        {"domain": "email", "key": "packages", "content": "Archive it.", "expires_at": f"{tomorrow:%Y-%m-%dT%H:%M}"},
        follow=True,
    )

    assert "The note email/packages is kept." in page.text
    assert Note.objects.get().expires_at == tomorrow.replace(second=0, microsecond=0)


def test_adding_never_writes_over_a_note_that_is_there(browser, actor):
    make_note(actor, "First.", domain="email", key="packages")

    page = browser.post(reverse("memory-note-new"), {"domain": "email", "key": "packages", "content": "Second."})

    assert "There is a note of this name in the domain already." in page.text
    assert Note.objects.get().content == "First."


def test_a_note_is_rewritten_and_renamed_in_one_go(browser, actor):
    note = make_note(actor, "First.", domain="email", key="packages")

    page = browser.post(
        reverse("memory-note-edit", args=[note.pk]),
        {"domain": "post", "key": "parcels", "content": "Second."},
        follow=True,
    )

    assert "The note post/parcels is kept." in page.text
    note.refresh_from_db()
    assert (str(note), note.content) == ("post/parcels", "Second.")


def test_a_taken_address_is_refused_and_nothing_is_changed(browser, actor):
    note = make_note(actor, "First.", domain="email", key="packages")
    make_note(actor, "Other.", domain="email", key="taken")

    page = browser.post(
        reverse("memory-note-edit", args=[note.pk]), {"domain": "email", "key": "taken", "content": "Second."}
    )

    assert "There is a note email/taken already." in page.text
    note.refresh_from_db()
    assert (str(note), note.content) == ("email/packages", "First.")


def test_a_note_set_aside_can_be_read_and_restored_but_not_edited(browser, actor):
    note = make_note(actor, "First.")
    set_aside(actor, kind="note", id=str(note.pk))

    page = browser.get(reverse("memory-note", args=[note.pk]))
    edit = browser.get(reverse("memory-note-edit", args=[note.pk]))

    assert "set aside" in page.text
    assert reverse("memory-restore", args=["note", note.pk]) in page.text
    assert edit.status_code == 404
