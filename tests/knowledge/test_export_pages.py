"""Taking the memory along, and bringing one in after a rehearsal."""

import io
import json
import zipfile

import pytest
from django.core.files.uploadedfile import SimpleUploadedFile
from django.urls import reverse

from knowledge.models import Fact, Session
from knowledge.parsers.separate_process import ProcessBudget
from knowledge.transfer.readers import uploads
from tests.factories import make_actor
from tests.knowledge.factories import make_fact, make_note
from tests.knowledge.importers import sources

pytestmark = pytest.mark.django_db


def _file(content: str | bytes) -> SimpleUploadedFile:
    data = content.encode() if isinstance(content, str) else content
    return SimpleUploadedFile("memory.json", data, content_type="application/json")


def _token(page) -> str:
    return page.text.partition('name="token" value="')[2].partition('"')[0]


def test_bigminds_own_document_is_rehearsed_brought_in_and_taken_back(client):
    ada, bob = make_actor(), make_actor()
    make_fact(ada, "Prefers pytest.")
    make_note(ada, "Archive it.")
    make_fact(bob, "Uses ruff.")
    client.force_login(ada.user)
    document = client.get(reverse("memory-export")).content
    client.force_login(bob.user)

    def known():
        return sorted(Fact.objects.of(bob.user).values_list("fact", flat=True))

    rehearsed = client.post(reverse("memory-import"), {"document": _file(document)})
    before = known()
    done = client.post(reverse("memory-import-confirm"), {"token": _token(rehearsed)}, follow=True)
    imported = known()
    client.post(reverse("memory-import-undo"))

    assert "Nothing has been stored yet" in rehearsed.text
    assert "fact: Prefers pytest." in rehearsed.text
    assert "Imported: 1 fact, 1 note." in done.text
    assert (before, imported, known()) == (["Uses ruff."], ["Prefers pytest.", "Uses ruff."], ["Uses ruff."])


def test_a_rehearsed_document_is_confirmed_once_and_by_its_owner_only(client):
    ada, eve = make_actor(), make_actor()
    client.force_login(ada.user)
    moments = dict.fromkeys(("created_at", "updated_at"), "2026-03-30T09:15:00Z")
    document = {"notes": [{"domain": "email", "key": "packages", "content": "Archive it.", **moments}]}
    token = _token(client.post(reverse("memory-import"), {"document": _file(json.dumps(document))}))
    client.force_login(eve.user)

    stolen = client.post(reverse("memory-import-confirm"), {"token": token}, follow=True)
    client.force_login(ada.user)
    hers = client.post(reverse("memory-import-confirm"), {"token": token}, follow=True)
    again = client.post(reverse("memory-import-confirm"), {"token": token}, follow=True)

    assert "no longer kept here" in stolen.text
    assert "Imported: 1 note." in hers.text
    assert "no longer kept here" in again.text


@pytest.mark.parametrize("token", ["", "\0", "../../etc", "x" * 500])
def test_a_token_that_was_made_up_opens_nothing(browser, token):
    page = browser.post(reverse("memory-import-confirm"), {"token": token}, follow=True)

    assert "no longer kept here" in page.text


@pytest.mark.parametrize(
    ("content", "says"),
    [
        ("not json", "is not a JSON document"),
        (b"\xff\xfe", "is not a JSON document"),
        ("[" * 100_000, "is not a JSON document"),
        ("[]", "Exported document:"),
        ('{"format": "other"}', "Exported document: format must be one of"),
        (
            '{"facts": [{"id": 1, "category": "gossip", "fact": "x", "created_at": "2026-01-01T00:00:00Z"}]}',
            "facts.0.category",
        ),
        (
            '{"facts": [{"id": 1, "category": "identity", "fact": "a\\u0000b", "created_at": "2026-01-01T00:00:00Z"}]}',
            "facts.0.fact",
        ),
        ('{"surprise": 1}', "surprise"),
        ("x" * (4 * 1024 * 1024 + 1), "the limit is 4,194,304"),
        (None, "Exported document: This field is required."),
        ({"../conversations.json": "[]"}, "leads out of the archive"),
        ({"/etc/conversations.json": "[]"}, "leads out of the archive"),
        ({"conversations.json": "0" * 20_000_000}, "over 200 times its size"),
        ({"conversations.json": '[{"mapping": ' + "[" * 100_000}, "is nested too deep"),
    ],
)
def test_what_cannot_be_taken_in_is_refused_beside_its_field(browser, content, says):
    archive = isinstance(content, dict)
    file = SimpleUploadedFile("export.zip", _zip(content)) if archive else content and _file(content)

    page = browser.post(reverse("memory-import"), {"document": file} if file else {})

    assert page.status_code == 200
    assert "Not saved" in page.text
    assert says in page.text


def test_the_export_of_another_program_is_rehearsed_brought_in_and_taken_back(browser, actor):
    make_fact(actor, "Prefers pytest.")
    chats = SimpleUploadedFile("export.zip", _zip({"conversations.json": json.dumps(sources.chatgpt())}))

    rehearsed = browser.post(reverse("memory-import"), {"document": chats})
    before = Session.objects.count()
    done = browser.post(reverse("memory-import-confirm"), {"token": _token(rehearsed)}, follow=True)
    headlines = set(Session.objects.of(actor.user).values_list("one_liner", flat=True))
    undone, again = (browser.post(reverse("memory-import-undo"), follow=True) for _ in range(2))

    assert "Nothing has been stored yet" in rehearsed.text
    assert "session: Packing for Lisbon" in rehearsed.text
    assert before == 0
    assert "Imported: 2 sessions, 8 chunks, 1 fact." in done.text
    assert reverse("memory-import-undo") in done.text
    assert headlines == {"Packing for Lisbon", ""}
    assert "what the import added is gone" in undone.text
    assert "There is no import to take back." in again.text
    assert not Session.objects.of(actor.user).exists()
    assert [fact.fact for fact in Fact.objects.of(actor.user)] == ["Prefers pytest."]


def test_what_would_be_refused_is_named_before_anything_is_stored(browser):
    graph = SimpleUploadedFile("memory.jsonl", f"{sources.MEMORY_SERVER}<b>not json".encode())

    page = browser.post(reverse("memory-import"), {"document": graph})

    assert "Refused: 1" in page.text
    assert "memory.jsonl, line 4: is not valid JSON" in page.text


@pytest.mark.parametrize(
    "budget", [ProcessBudget(processor_seconds=1), ProcessBudget(megabytes=4), ProcessBudget(seconds=1)]
)
def test_a_file_that_takes_too_much_to_read_is_refused_with_the_limit(browser, monkeypatch, budget):
    monkeypatch.setattr(uploads, "BUDGET", budget)
    # Each word that may name a secret is looked at: together five times as long as is allowed.
    known = {"type": "entity", "name": "a b", "entityType": "c", "observations": ["word, key, " * 260] * 50}
    graph = SimpleUploadedFile("memory.jsonl", (json.dumps(known) + "\n").encode() * 100)

    page = browser.post(reverse("memory-import"), {"document": graph})

    assert page.status_code == 200
    assert f"The file memory.jsonl takes more than {budget.processor_seconds} s of processor time" in page.text
    assert "Split it into smaller parts." in page.text


def _zip(members: dict[str, str]) -> bytes:
    content = io.BytesIO()
    with zipfile.ZipFile(content, "w", zipfile.ZIP_DEFLATED) as archive:
        for name, text in members.items():
            archive.writestr(name, text)
    return content.getvalue()
