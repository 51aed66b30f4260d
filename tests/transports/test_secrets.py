"""Secrets at the doors: each tells the caller of a text that holds one, and none repeats it."""

import json

import pytest
from django.core.management import call_command
from django.urls import reverse

from bigmind.core.errors import Invalid
from bigmind.gate import perform
from bigmind.operations import CATALOGUE
from knowledge.models import Entry, Fact
from tests.core.secret_corpus import Maker
from tests.factories import make_actor, make_key, make_user
from tests.serving import Served
from tests.transports.mcp_wire import Wire, text_of

KEY = Maker(11).own_key()
TOLD = f"The old laptop used {KEY} for its memory."
STORE = CATALOGUE["memory_store_fact"]

pytestmark = pytest.mark.django_db


def _post(client, path, body):
    headers = {"Authorization": f"Bearer {make_key().text}"}
    return client.post(f"/api/v1/{path}", json.dumps(body), content_type="application/json", headers=headers)


def test_a_stored_secret_is_told_by_the_gate_with_every_reply_also_a_repeated_one():
    actor, fact = make_actor(), {"category": "identity", "fact": TOLD}

    first = perform(STORE, actor, fact, transport="mcp", idempotency_key="k-1")
    again = perform(STORE, actor, fact, transport="mcp", idempotency_key="k-1")

    assert "BigMind key" in first.notices[0]
    assert again.notices == first.notices
    assert Fact.objects.get().fact == TOLD


def test_rest_tells_in_a_header_and_says_nothing_of_an_ordinary_text(client):
    told = _post(client, "facts/", {"category": "identity", "fact": TOLD})
    calm = _post(client, "facts/", {"category": "identity", "fact": "Prefers pytest."})

    assert (told.status_code, calm.status_code) == (201, 201)
    assert "BigMind key" in told["BigMind-Notice"]
    assert KEY not in told["BigMind-Notice"]
    assert "BigMind-Notice" not in calm


def test_a_refused_secret_is_in_no_problem_and_no_log_line(client, settings, caplog, capsys):
    settings.SECRETS_POLICY = "block"

    refused = _post(client, "facts/", {"category": "identity", "fact": TOLD, KEY: 1})

    assert refused.status_code == 422
    assert "BigMind key" in refused.text
    assert KEY not in refused.text
    assert KEY not in caplog.text + "".join(capsys.readouterr())


def test_mcp_tells_in_the_reply_and_in_its_meta(served: Served):
    result = Wire(served, make_key().text).call("memory_store_fact", {"category": "identity", "fact": TOLD})

    assert "looks like a secret (BigMind key)" in text_of(result)
    assert "BigMind key" in result["_meta"]["notices"][0]


def test_the_command_line_tells_on_standard_error(capsys):
    user = make_user()

    call_command("op", "memory_store_fact", "category=identity", f"fact={TOLD}", "--user", user.username)

    told = capsys.readouterr()
    assert "BigMind key" in told.err
    assert "looks like a secret" not in told.out


def test_a_page_tells_on_the_next_page(client):
    client.force_login(make_user())

    page = client.post(reverse("memory-fact-new"), {"category": "identity", "fact": TOLD}, follow=True)

    assert "looks like a secret (BigMind key)" in page.text


@pytest.mark.parametrize(
    "sent", [{"content": TOLD}, {"content": "x", "tags": [KEY]}, {"content": "x", "metadata": {"a": [KEY]}}]
)
def test_shared_knowledge_takes_no_secret_in_any_field(sent):
    with pytest.raises(Invalid, match="BigMind key"):
        perform(CATALOGUE["kb_add"], make_actor(), {"entry_type": "fact", **sent}, transport="rest")

    assert not Entry.objects.exists()


def test_an_import_names_the_rows_with_secrets_and_takes_the_others():
    rows = [
        {"content": "One."},
        {"content": TOLD},
        {"content": "Three.", "metadata": {"key": KEY}},
        {"content": "Four."},
    ]

    report = perform(CATALOGUE["kb_bulk_import"], make_actor(), {"entries": rows}, transport="rest").to_data()

    assert report["imported"] == 2
    assert [error.split(":")[0] for error in report["errors"]] == ["Entry 2", "Entry 3"]
    assert KEY not in str(report)


def test_what_was_stored_before_can_still_be_exported(settings):
    actor = make_actor()
    perform(STORE, actor, {"category": "identity", "fact": TOLD}, transport="mcp")
    settings.SECRETS_POLICY = "block"

    exported = perform(CATALOGUE["memory_export"], actor, {}, transport="rest").to_data()

    assert exported["facts"][0]["fact"] == TOLD
