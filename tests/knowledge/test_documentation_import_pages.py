"""Importing documentation in the browser: a preview first, what was not read is named, and Undo takes it back."""

import json

import pytest
from django.core.files.uploadedfile import SimpleUploadedFile
from django.urls import reverse

from knowledge.models import Reference, ReferenceCollection
from tests.factories import make_actor
from tests.knowledge.generators.specs import document

pytestmark = pytest.mark.django_db

DEPOTS = {"get": {"summary": "List depots", "responses": {"200": {"description": "Done."}}}}
SHEDS = {"get": {"summary": "List sheds", "responses": {"200": {"description": "Done."}}}}


def _send(client, raw, **more):
    file = SimpleUploadedFile("openapi.json", json.dumps(raw).encode())
    return client.post(reverse("docs-import"), {"document": file, **more})


def _confirm(client, page):
    return client.post(reverse("docs-import-confirm"), {"token": page.context["token"]}, follow=True)


def _names():
    return sorted(Reference.objects.current().values_list("name", flat=True))


@pytest.fixture
def curator(client):
    actor = make_actor(curator=True)
    client.force_login(actor.user)
    return actor


def test_a_document_is_shown_first_imported_under_its_title_and_taken_back(client, curator):
    preview = _send(client, document({"/depots": DEPOTS}, webhooks={"moved": {}}))
    before = _names()
    done = _confirm(client, preview)
    imported, collection = _names(), ReferenceCollection.objects.values_list("slug", "title").get()
    undone = client.post(reverse("docs-import-undo"), follow=True)

    assert "endpoint: GET /depots" in preview.text
    assert "Webhooks are calls that you receive" in preview.text
    assert (before, imported, _names()) == ([], ["GET /depots"], [])
    assert collection == ("users", "Users")
    assert not ReferenceCollection.objects.exists()
    assert "Imported: 1 item" in done.text
    assert "Not read: #/webhooks" in done.text
    assert "Taken back" in undone.text


def test_undo_restores_what_an_update_changed_and_removed(client, curator):
    _confirm(client, _send(client, document({"/depots": DEPOTS, "/sheds": SHEDS})))
    changed = {"get": {**DEPOTS["get"], "summary": "List all depots"}}
    preview = _send(client, document({"/depots": changed}))
    _confirm(client, preview)
    updated = _names(), Reference.objects.get(name="GET /depots").title

    client.post(reverse("docs-import-undo"))

    assert "api-get-sheds" in preview.text
    assert updated == (["GET /depots"], "List all depots")
    assert _names() == ["GET /depots", "GET /sheds"]
    assert Reference.objects.get(name="GET /depots").title == "List depots"


def test_a_name_is_asked_for_where_none_is_declared_and_a_text_may_be_pasted(client, curator):
    raw = json.dumps({**document({"/depots": DEPOTS}), "info": {"version": "1"}})

    asked = client.post(reverse("docs-import"), {"text": raw})
    _confirm(client, client.post(reverse("docs-import"), {"text": raw, "program": "Depot API"}))

    assert "pasted text declares none" in asked.text
    assert ReferenceCollection.objects.get().slug == "depot-api"


@pytest.mark.parametrize(
    ("name", "content", "says"),
    [
        ("asyncapi.yaml", "asyncapi: 3.0.0", "write what agents need as guides"),
        ("schema.graphql", "type Query { a: Int }", "GraphQL has one endpoint and no paths"),
        ("api.json", '{"swaggerVersion": "1.2", "apis": []}', "is OpenAPI 1.2"),
        (
            "cli.ts",
            "import { Command } from 'commander'; const it = new Command(); it.command('go');",
            "Nothing declares",
        ),
        ("tests", "[]", "holds nothing to make references from"),
    ],
)
def test_what_cannot_be_read_is_refused_with_the_next_step(client, curator, name, content, says):
    page = client.post(reverse("docs-import"), {"document": SimpleUploadedFile(name, content.encode())})

    assert "Not saved" in page.text
    assert says in page.text


def test_only_those_who_may_change_documentation_import_it(client, settings):
    settings.BIGMIND_MODE = "team"
    client.force_login(make_actor().user)

    assert client.get(reverse("docs-import")).status_code == 403
    assert reverse("docs-import") not in client.get(reverse("docs")).text
