"""The OpenAPI document is valid and true: what it promises is what the routes do."""

import json
from collections import Counter
from typing import Any

import pytest
from django.test import Client
from jsonschema import Draft202012Validator, FormatChecker  # type: ignore[import-untyped]
from openapi_spec_validator import validate

from bigmind.core import argument_types
from bigmind.core.errors import Invalid
from bigmind.operations import CATALOGUE
from bigmind.text import hygiene as text
from bigmind.transports.rest.examples import ARGUMENTS, example_arguments, example_reply
from bigmind.transports.rest.json_schema import INSTEAD, LIMITS, schema_of
from bigmind.transports.rest.openapi_document import openapi
from bigmind.transports.rest.openapi_operation import describe
from bigmind.transports.rest.reference_pages import arguments_in_words
from knowledge.app_maps import argument_types as app_argument_types
from tests.transports.rest_wire import Rest


def _operation(name: str) -> dict[str, Any]:
    operation = CATALOGUE[name]
    described: dict[str, Any] = openapi()["paths"][f"/api/v1/{operation.path}"][operation.method.lower()]
    return described


def _validator(schema: dict[str, Any]) -> Draft202012Validator:
    """Check against a schema of the document, whose references lead into the document."""
    return Draft202012Validator({**openapi(), **schema}, format_checker=FormatChecker())


def _reply_schema(name: str, status: int) -> dict[str, Any]:
    schema: dict[str, Any] = _operation(name)["responses"][str(status)]["content"]["application/json"]["schema"]
    return schema


def test_the_document_is_valid_openapi_3_1() -> None:
    document = json.loads(json.dumps(openapi()))

    validate(document)

    assert document["openapi"].startswith("3.1")


def test_everyone_may_download_it() -> None:
    response = Client().get("/api/v1/openapi.json")

    assert response.json()["info"]["title"] == "BigMind"
    assert 'filename="bigmind-openapi.json"' in response["Content-Disposition"]
    assert Client().get("/api/v1/openapi.json", headers={"If-None-Match": response["ETag"]}).status_code == 304


def test_no_two_schemas_have_one_name_for_generators_of_clients() -> None:
    """They name a class by the title of a schema, else by its component, and drop what is named twice."""
    schemas = openapi()["components"]["schemas"]

    named = Counter(schema.get("title", name).casefold() for name, schema in schemas.items())

    assert [name for name, times in named.items() if times > 1] == []


def test_no_component_stands_for_two_models() -> None:
    """The document keeps the first schema of a name: another one of that name would be lost without a word."""
    shared = openapi()["components"]["schemas"]

    for operation in CATALOGUE.values():
        _, schemas = describe(operation, None)
        assert {name: schema for name, schema in schemas.items() if shared[name] != schema} == {}, operation.name


def test_every_operation_is_described_and_nothing_else() -> None:
    described = {
        operation["operationId"]: (method.upper(), path)
        for path, methods in openapi()["paths"].items()
        for method, operation in methods.items()
    }

    assert described == {name: (each.method, f"/api/v1/{each.path}") for name, each in CATALOGUE.items()}


def test_each_operation_says_what_it_is_for_what_it_refuses_and_who_may() -> None:
    for name, one in CATALOGUE.items():
        operation = _operation(name)

        assert operation["tags"] == [one.toolset]
        assert operation["security"] == [{"key": []}], name
        assert one.description.split("\n")[0] in operation["description"]
        assert {"400", "401", "403", "404", "422", "429", "500", "503"} <= set(operation["responses"]), name


def test_every_operation_that_takes_something_has_an_example() -> None:
    take_nothing = {name for name, one in CATALOGUE.items() if not one.arguments.model_json_schema().get("required")}

    assert set(ARGUMENTS) <= set(CATALOGUE)
    assert set(CATALOGUE) - set(ARGUMENTS) <= take_nothing


def test_each_example_is_accepted() -> None:
    for operation in CATALOGUE.values():
        arguments = example_arguments(operation)

        operation.accept(arguments)
        schema, components = schema_of(operation.arguments, "validation")

        Draft202012Validator({**schema, "components": {"schemas": components}}).validate(arguments)


def test_the_reply_of_each_example_fits_the_shape() -> None:
    for name, operation in CATALOGUE.items():
        status = 201 if "201" in _operation(name)["responses"] else 200

        reply = example_reply(operation)

        operation.shape.model_validate(reply)
        _validator(_reply_schema(name, status)).validate(reply)


def test_every_limit_is_that_of_a_validator_which_exists() -> None:
    for name in (*LIMITS, *INSTEAD):
        assert any(hasattr(module, name) for module in (text, argument_types, app_argument_types)), name


@pytest.mark.parametrize(
    ("name", "argument", "good", "bad"),
    [
        ("memory_store_fact", "fact", ["x", " x\n\ty "], ["", "  \n", "a\0b", "\x1b", "x" * 65_537]),
        ("memory_store_fact", "project", ["", " billing\n"], ["a\tb", "zero\u200bwidth", "x" * 101]),
        ("knowledge_set", "domain", ["email", " e mail "], ["", "  ", "a\nb", "a\u202eb", "x" * 201]),
    ],
)
def test_the_limits_of_texts_are_in_the_document(name: str, argument: str, good: list[str], bad: list[str]) -> None:
    schema, _ = schema_of(CATALOGUE[name].arguments, "validation")
    validator = Draft202012Validator(schema["properties"][argument])

    assert [value for value in good if not validator.is_valid(value)] == []
    assert [value for value in bad if validator.is_valid(value)] == []


def test_what_an_agent_is_told_of_an_argument_the_documentation_says_too() -> None:
    for operation in CATALOGUE.values():
        properties = operation.input_schema.get("properties", {}).items()
        # What a word may be is described once in the document, beside its values.
        told = {name: part["description"] for name, part in properties if "description" in part and "enum" not in part}

        said = {argument.name: argument.about for argument in arguments_in_words(operation)}

        assert {name: said[name] for name in told} == told, operation.name


@pytest.mark.parametrize(
    ("taken", "value"),
    [(True, ["a", "b"]), (True, "a, b"), (False, [""] * 51), (False, ["x" * 101]), (False, {"a": "b"})],
    ids=["a list", "a text", "too many", "too long", "an object"],
)
def test_where_a_list_of_names_is_meant_the_document_says_what_is_taken(taken: bool, value: Any) -> None:
    operation = CATALOGUE["memory_start_session"]
    schema, _ = schema_of(operation.arguments, "validation")
    promised = Draft202012Validator(schema["properties"]["topics"]).is_valid(value)

    try:
        operation.accept({"topics": value})
    except Invalid:
        accepted = False
    else:
        accepted = True

    assert (promised, accepted) == (taken, taken)


@pytest.mark.django_db
def test_real_replies_fit_the_document() -> None:
    rest = Rest()
    fact = rest.post("facts/", category="identity", fact="Is called Ada.")
    rest.post("sessions/", project="billing")
    ended = rest.post("sessions/current/end/", one_liner="Said hello", topics=["hello"])
    session = rest.get(f"sessions/{ended.json()['id']}/")

    for name, response in (
        ("memory_store_fact", fact),
        ("memory_end_session", ended),
        ("memory_get_session_detail", session),
        ("memory_list_facts", rest.get("facts/")),
        ("memory_get_profile", rest.get("profile/")),
        ("memory_export", rest.get("export/")),
        ("memory_get_stats", rest.get("stats/")),
        ("memory_health_check", rest.get("health/")),
    ):
        _validator(_reply_schema(name, response.status_code)).validate(response.json())


@pytest.mark.django_db
def test_what_was_exported_fits_what_an_import_takes() -> None:
    rest = Rest()
    rest.post("facts/", category="identity", fact="Is called Ada.")
    document = rest.get("export/").json()
    schema, components = schema_of(CATALOGUE["memory_import"].arguments, "validation")

    Draft202012Validator({**schema, "components": {"schemas": components}}).validate({"document": document})
    imported = rest.post("import/", document=document)

    assert imported.json()["known"]["facts"] == 1


@pytest.mark.django_db
def test_a_refusal_fits_the_document() -> None:
    problem = Rest().post("facts/", fact=1).json()

    _validator({"$ref": "#/components/schemas/Problem"}).validate(problem)


def test_the_page_needs_no_script_and_no_other_site() -> None:
    page = Client().get("/api/").content.decode()

    assert "https://" not in page.replace("https://www.w3.org", "")
    for operation in CATALOGUE.values():
        assert f'id="{operation.name}"' in page
        assert f"{operation.method} /api/v1/{operation.path}" in page
