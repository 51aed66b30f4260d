"""Checks of requests: query parameters, their values, what is required, content types, and base paths of servers."""

import json

import pytest

from knowledge.references.checks import check_command
from knowledge.references.imports import import_references
from knowledge.references.lookup import nearest_references, select_collections
from knowledge.references.readers.openapi import generate, open_document, references_of
from knowledge.references.readers.registry import Source
from tests.knowledge.factories import make_draft

pytestmark = pytest.mark.django_db

SHEDS = {
    "openapi": "3.0.3",
    "info": {"title": "Sheds", "version": "1"},
    "servers": [{"url": "https://sheds.example/depot/api"}],
    "paths": {
        "/sheds": {
            "get": {
                "parameters": [
                    {"name": "state", "in": "query", "schema": {"type": "string", "enum": ["open", "shut"]}},
                    {"name": "limit", "in": "query", "schema": {"type": "integer"}},
                    {"name": "tags", "in": "query", "schema": {"type": "array", "items": {"enum": ["dry", "wet"]}}},
                    {"name": "site", "in": "query", "required": True, "schema": {"type": "string"}},
                ],
                "responses": {"200": {"description": "ok"}},
            },
            "post": {
                "requestBody": {"content": {"application/json": {"schema": {"type": "object"}}}},
                "responses": {"201": {"description": "ok"}},
            },
        },
    },
}


def take(curator, made, collection="sheds", **arguments):
    import_references(
        curator, collection=collection, drafts=list(made.drafts), completeness=made.completeness, **arguments
    )


@pytest.mark.parametrize(
    ("line", "verdict"),
    [
        ("GET /depot/api/sheds", "exists"),
        ("GET /sheds", "exists"),
        ("GET https://sheds.example/depot/api/sheds?site=north&state=open", "exists"),
        ("GET /sheds?site=north&tags=dry,wet&limit=20", "exists"),
        ("GET /sheds?site={site}&limit=<n>", "exists"),
        ("GET /sheds?site=north&statee=open", "unknown_parameter"),
        ("GET /sheds?site=north&state=opened", "wrong_value"),
        ("GET /sheds?site=north&limit=many", "wrong_value"),
        ("GET /sheds?site=north&tags=dry,damp", "wrong_value"),
        ("GET /sheds?limit=20", "missing_argument"),
        ("POST /sheds HTTP/1.1\nContent-Type: application/json\n\n{}", "exists"),
        ("POST /sheds HTTP/1.1\nContent-Type: text/csv\n\na,b", "wrong_value"),
        ("curl 'https://sheds.example/depot/api/sheds?site=north&state=ajar'", "wrong_value"),
        ("curl -X DELETE https://sheds.example/depot/api/sheds", "unknown_method"),
        ("GET /shed", "does_not_exist"),
    ],
)
def test_a_request_is_checked_with_its_query_and_content_type(curator, line, verdict):
    take(curator, references_of(open_document(json.dumps(SHEDS), "sheds.json")))

    assert check_command(curator, command=line).verdict == verdict


def test_a_verdict_says_what_was_checked_and_what_is_near(curator):
    take(curator, references_of(open_document(json.dumps(SHEDS), "sheds.json")))

    checked = check_command(curator, command="GET /sheds?site=north&statee=open")

    assert checked.checked == ["method", "path", "query parameters"]
    assert "`state`" in checked.problems[0]


def test_parameters_that_could_not_be_read_are_not_called_wrong(curator):
    document = json.loads(json.dumps(SHEDS))
    document["paths"]["/sheds"]["get"]["parameters"].append({"$ref": "other.yaml#/page"})
    made = references_of(open_document(json.dumps(document), "sheds.json"))
    take(curator, made)

    assert check_command(curator, command="GET /sheds?site=north&page=2").verdict == "cannot_tell"
    assert check_command(curator, command="GET /barns").verdict == "does_not_exist"
    assert "other.yaml#/page" in made.problems[0].says


def test_a_reference_to_a_file_is_relative_to_the_file_that_it_stands_in(tmp_path):
    for name, text in {
        "api/sheds.yaml": "openapi: 3.0.0\ninfo: {title: S, version: '1'}\npaths:\n  /sheds: {$ref: paths/sheds.yml}\n",
        "api/paths/sheds.yml": "get: {$ref: get_sheds.yml}\n",
        "api/paths/get_sheds.yml": "summary: List sheds\nparameters: [{$ref: '../../shared.yml#/page'}]\n",
        "shared.yml": "page: {name: page, in: query, schema: {$ref: '#/number'}}\nnumber: {type: integer}\n",
    }.items():
        (tmp_path / name).parent.mkdir(parents=True, exist_ok=True)
        (tmp_path / name).write_text(text)
    (tmp_path / ".git").mkdir()

    made = generate(Source(str(tmp_path / "api" / "sheds.yaml")))

    assert made.problems == ()
    assert made.drafts[0].title == "List sheds"
    assert made.drafts[0].endpoint.parameters[0]["schema"]["type"] == "integer"


def test_references_out_of_the_folder_and_to_files_that_are_not_there_are_told(tmp_path):
    (tmp_path / "secret.yml").write_text("get: {summary: Secret}\n")
    (tmp_path / "api").mkdir()
    file = tmp_path / "api" / "api.yaml"
    file.write_text(
        "openapi: 3.0.0\ninfo: {title: S, version: '1'}\npaths:\n"
        "  /a: {$ref: ../secret.yml}\n  /b: {get: {$ref: gone.yml}}\n"
    )

    made = generate(Source(str(file)))

    assert [draft.name for draft in made.drafts] == ["GET /b"]
    assert made.drafts[0].endpoint.completeness == "partial"
    assert made.completeness == {"api": "partial"}
    assert len(made.problems) == 2


def test_the_nearest_names_are_of_the_program_that_was_asked_about(curator, make_commands):
    make_commands("depot", "depot list")
    make_commands("harbour", "harbour lists")

    assert nearest_references("depot lists", select_collections()) == ["depot list"]


@pytest.fixture
def make_commands(curator):
    def make(collection, *names):
        drafts = [make_draft(name) for name in (collection, *names)]
        import_references(curator, collection=collection, drafts=drafts, program=collection)

    return make
