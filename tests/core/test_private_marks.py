"""Private marks: one table of texts, sent in every way in which a text arrives."""

import json
import uuid

import pytest
from django.apps import apps
from django.core.management import call_command
from django.db import models
from django.db.models.functions import Cast
from django.urls import reverse

from accounts.connecting.hook_program import clean as clean_in_hook
from bigmind.core.errors import Invalid
from bigmind.gate import perform
from bigmind.operations import CATALOGUE
from bigmind.privacy.screening import drop_private
from knowledge.models import Chunk, Entry, Fact, HookEvent, Note
from knowledge.parsers.entries import SourceEntry
from knowledge.transfer.readers.memory_drafts import DraftRow, FactDraft, read_rows
from tests.capture.hooking import HookedClient, choose_mode
from tests.factories import make_actor, make_key, make_user
from tests.knowledge.importers.transcripts import write_lines

HIDDEN = "quetzal"
MARKED = [
    (f"a <private>{HIDDEN}</private> b", "a b"),
    (f"a <Private>{HIDDEN}</PRIVATE> b", "a b"),
    (f"a <PRIVATE >{HIDDEN}</private> b", "a b"),
    (f"a < private >{HIDDEN}</ private > b", "a b"),
    (f"a <\nprivate>{HIDDEN}< / private\n> b", "a b"),
    (f'a <private reason="{"x" * 300}">{HIDDEN}</private> b', "a b"),
    (f"a <private>c <private>d</private> {HIDDEN}</private> b", "a b"),
    (f"a <private>c <private/> {HIDDEN}</private> b", "a b"),
    (f"a <private>{HIDDEN}</private> b <private>{HIDDEN}</private> c", "a b c"),
    (f"a <private>{HIDDEN}\n\n{HIDDEN}</private> b", "a b"),
    (f"a <private>{HIDDEN} b", "a"),
    (f'a <private reason="{HIDDEN}', "a"),
    ("a <private/> b", "a b"),
    ("a <private /> b", "a b"),
]
UNMARKED = ["a </private> b", "a <privately>c</privately> b", "Keep private keys in the safe.", "x < private", " a\tb "]

pytestmark = pytest.mark.django_db


def _is_anywhere(text):
    """Whether any text column of any table holds a text."""
    kinds = (models.CharField, models.TextField, models.JSONField)
    for model in apps.get_models():
        for field in model._meta.get_fields():
            inner = getattr(field, "base_field", field)
            if isinstance(inner, kinds) and model._meta.managed:
                rows = model._base_manager.annotate(_text=Cast(field.name, models.TextField()))
                if rows.filter(_text__contains=text).exists():
                    return f"{model.__name__}.{field.name}"
    return ""


def _over_mcp(actor, client, text):
    perform(CATALOGUE["memory_store_fact"], actor, {"category": "decision", "fact": text}, transport="mcp")
    return Fact.objects.get().fact


def _over_rest(actor, client, text):
    answer = client.put(
        "/api/v1/notes/",
        json.dumps({"domain": "deploys", "key": "port", "content": text}),
        content_type="application/json",
        headers={"Authorization": f"Bearer {make_key(actor.user).text}"},
    )
    assert answer.status_code < 300, answer.text
    return Note.objects.get().content


def _by_form(actor, client, text):
    client.force_login(actor.user)
    answer = client.post(reverse("memory-fact-new"), {"category": "decision", "fact": text, "confidence": "1"})
    assert answer.status_code == 302, answer.text[-2000:]
    return Fact.objects.get().fact


def _in_bulk(actor, client, text):
    entries = [{"content": text, "entry_type": "fact", "roles": ["all"], "tags": []}]
    perform(CATALOGUE["kb_bulk_import"], actor, {"entries": entries}, transport="mcp")
    return Entry.objects.get().content


def _by_hook(actor, client, text):
    choose_mode(actor.user, "automatic")
    claude = HookedClient(actor.user)
    claude.prompt(text)
    claude.stop(text)
    return HookEvent.objects.get(event="prompt").prompt


def _from_the_spool(actor, client, text):
    choose_mode(actor.user, "automatic")
    claude = HookedClient(actor.user)
    claude.send("UserPromptSubmit", prompt=text, own={"event_id": str(uuid.uuid4()), "late": True})
    return HookEvent.objects.get(event="prompt").prompt


WAYS = [_over_mcp, _over_rest, _by_form, _in_bulk, _by_hook, _from_the_spool]


@pytest.mark.parametrize("way", WAYS, ids=lambda way: way.__name__.strip("_"))
def test_what_is_marked_private_is_kept_nowhere(way, client):
    for number, (text, kept) in enumerate(MARKED):
        actor = make_actor(make_user(f"person{number}"))
        for model in (HookEvent, Chunk, Fact, Note, Entry):
            model.objects.all().delete()

        assert way(actor, client, text) == kept, text

    assert _is_anywhere(HIDDEN) == ""


@pytest.mark.parametrize(("text", "kept"), MARKED)
def test_what_is_marked_private_leaves_no_machine_and_no_file(text, kept):
    assert drop_private(text)[0] == kept
    assert clean_in_hook(text, 1000) == kept
    assert SourceEntry.model_validate({"content": text, "metadata": {"why": text}}).content == kept
    read = read_rows([DraftRow("line 1", FactDraft, {"fact": text, "category": "decision"})])
    assert [placed.draft.fact for placed in read.drafts] == [kept]


def test_a_past_conversation_is_imported_without_it(tmp_path, client):
    actor = make_actor()
    common = {"cwd": "/src/a", "sessionId": "5e551011-aaaa", "version": "2.1.197", "timestamp": "2026-05-04T10:00:00Z"}
    lines = []
    for number, (text, _) in enumerate(MARKED):
        for kind in ("user", "assistant"):
            content = [{"type": "text", "text": f"Never deploy on day {number}: {text}"}]
            lines.append(
                {"type": kind, "uuid": f"{kind}{number}", "message": {"role": kind, "content": content}, **common}
            )
    path = write_lines(tmp_path / "projects" / "-src-a" / "5e551011-aaaa.jsonl", lines)

    call_command("memory_import_from", "claude-code", str(path.parent), user=actor.user.username)

    assert Chunk.objects.count() + Fact.objects.count() > 0

    assert _is_anywhere(HIDDEN) == ""


@pytest.mark.parametrize("text", UNMARKED)
def test_a_text_without_marks_stays_byte_for_byte(text):
    assert drop_private(text) == (text, 0)


def test_a_text_that_is_private_as_a_whole_is_refused_and_says_why():
    store = CATALOGUE["memory_store_fact"]

    with pytest.raises(Invalid, match="fact is marked as private from beginning to end"):
        perform(store, make_actor(), {"category": "decision", "fact": "<private>x</private>"}, transport="mcp")


def test_the_caller_is_told_how_much_was_left_out():
    store = CATALOGUE["memory_store_fact"]
    sent = {"category": "decision", "fact": "Ada <private>is ill</private> leads the team."}

    done = perform(store, make_actor(), sent, transport="mcp")

    assert done.notices[0] == "fact held 1 passage marked as private. Nothing of that was kept."
