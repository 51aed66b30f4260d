"""What a reader finds about an endpoint is what its OpenAPI document says, and nothing else."""

import pytest
import yaml

from bigmind.core.errors import Invalid
from bigmind.core.limits import CONTENT_BYTES
from tests.knowledge.generators.specs import document, generated_from, large_document, reference_to

USER = {
    "type": "object",
    "required": ["email"],
    "properties": {
        "id": {"type": "integer", "readOnly": True},
        "email": {"type": "string", "format": "email", "description": "Where to write to."},
        "role": {"type": "string", "enum": ["member", "admin"], "default": "member"},
        "friends": {"type": "array", "items": {"$ref": "#/components/schemas/User"}},
    },
}
COMPONENTS = {
    "schemas": {"User": USER},
    "parameters": {"Id": {"name": "id", "in": "path", "required": True, "schema": {"type": "integer"}}},
    "responses": {"Missing": {"description": "There is no such user."}},
    "requestBodies": {
        "User": {"required": True, "content": {"application/json": {"schema": {"$ref": "#/components/schemas/User"}}}}
    },
    "securitySchemes": {
        "token": {"type": "http", "scheme": "bearer"},
        "key": {"type": "apiKey", "in": "header", "name": "X-Key"},
    },
}


def test_an_endpoint_tells_parameters_body_answers_and_who_may_call():
    operation = {
        "operationId": "changeUser",
        "tags": ["people", "accounts"],
        "summary": "Change a user",
        "description": "Changes what is said of a user. Ask first.",
        "parameters": [
            {"$ref": "#/components/parameters/Id"},
            {"name": "notify", "in": "query", "description": "Tell the user.", "schema": {"type": "boolean"}},
        ],
        "requestBody": {"$ref": "#/components/requestBodies/User"},
        "responses": {
            "200": {"description": "As it is now.", "content": {"application/json": {"schema": USER}}},
            "404": {"$ref": "#/components/responses/Missing"},
        },
        "security": [{"token": []}, {"key": []}],
    }
    servers = [{"url": "https://example.com/api/{version}", "variables": {"version": {"default": "v1"}}}]

    draft = reference_to(operation, components=COMPONENTS, servers=servers)

    assert (draft.key, draft.name, draft.title) == ("api-get-users-id", "GET /api/v1/users/{id}", "Change a user")
    assert (draft.category, draft.subcategory, draft.version) == ("people", "accounts", "1.2")
    assert draft.summary == "Changes what is said of a user."
    assert "| `id` | path | integer | yes |" in draft.content
    assert "| `notify` | query | boolean | no | Tell the user. |" in draft.content
    assert (
        "### Request body (required)\n\n`application/json`: User\n\n- `email` (string (email), required)"
        in draft.content
    )
    assert "- `role` (string): One of `member`, `admin`. Default `member`." in draft.content
    assert "**404** There is no such user." in draft.content
    assert "**Authentication:** token (HTTP bearer) or key (header X-Key)" in draft.content
    assert {"users", "change", "user", "people", "accounts"} <= set(draft.keywords)
    assert {"changeUser", "change user", "GET /users/{id}"} <= set(draft.aliases)
    assert draft.source == "openapi.json#/paths/~1users~1{id}/get"


def test_the_form_has_its_references_written_out_and_names_where_a_circle_is_cut():
    operation = {
        "parameters": [{"$ref": "#/components/parameters/Id"}],
        "requestBody": {"$ref": "#/components/requestBodies/User"},
        "responses": {"404": {"$ref": "#/components/responses/Missing"}},
    }

    form = reference_to(operation, components=COMPONENTS).endpoint

    assert form.parameters == ({"name": "id", "in": "path", "required": True, "schema": {"type": "integer"}},)
    schema = form.body["content"]["application/json"]["schema"]
    assert schema["properties"]["email"] == USER["properties"]["email"]
    assert schema["properties"]["friends"]["items"] == {"title": "User", "x-cut": "is part of itself"}
    assert form.responses == {"404": {"description": "There is no such user."}}


def test_a_parameter_of_the_path_holds_for_every_method_that_does_not_say_otherwise():
    shared = [
        {"name": "id", "in": "path", "required": True, "schema": {"type": "string"}},
        {"name": "page", "in": "query", "schema": {"type": "string"}},
    ]
    own = {"parameters": [{"name": "page", "in": "query", "schema": {"type": "integer"}}]}

    first, second = generated_from(document({"/a/{id}": {"parameters": shared, "get": own, "delete": {}}})).drafts

    assert "| `page` | query | integer |" in first.content
    assert "| `page` | query | string |" in second.content
    assert second.content.count("| `id` |") == 1


def test_a_placeholder_that_nobody_describes_is_told_as_such():
    draft = reference_to({})

    assert "| `id` | path | any | yes | The document does not describe it. |" in draft.content


@pytest.mark.parametrize("order", [1, -1])
def test_a_key_does_not_depend_on_the_order_of_the_document(order):
    paths = ["/users/{id}", "/users/id", "/users"]

    drafts = generated_from(document({path: {"get": {}} for path in paths[::order]})).drafts

    keys = {draft.name: draft.key for draft in drafts}
    assert keys == {
        "GET /users": "api-get-users",
        "GET /users/id": "api-get-users-id-fc0431a6e8",
        "GET /users/{id}": "api-get-users-id-e870987d05",
    }


def test_endpoints_of_one_resource_are_related():
    paths = {"/users": {"get": {}, "post": {}}, "/users/{id}": {"get": {}}, "/groups": {"get": {}}}

    related = {draft.key: draft.related for draft in generated_from(document(paths)).drafts}

    assert related["api-get-users"] == ("api-post-users", "api-get-users-id")
    assert related["api-get-groups"] == ()


def test_an_example_of_the_document_is_given_with_its_answer():
    media = {"examples": {"a-new-user": {"value": {"email": "ada@example.com"}}}}
    answer = {"201": {"description": "Made.", "content": {"application/json": {"example": {"id": 7}}}}}
    operation = {"requestBody": {"content": {"application/json": media}}, "responses": answer}
    paths = {"/users": {"post": operation}}

    (draft,) = generated_from(document(paths, servers=[{"url": "https://example.com"}])).drafts

    (example,) = draft.examples
    assert example.description == "a new user"
    assert example.code.startswith("curl -X POST https://example.com/users")
    assert '"email": "ada@example.com"' in example.code
    assert example.output == '{\n  "id": 7\n}'


def test_an_example_that_was_made_says_so_and_holds_no_answer():
    operation = {
        "parameters": [
            {"name": "id", "in": "path", "required": True, "schema": {"type": "string"}},
            {"name": "since", "in": "query", "required": True, "schema": {"type": "string", "format": "date"}},
        ],
        "security": [{"token": []}],
    }

    (example,) = reference_to(operation, components=COMPONENTS).examples

    assert example.description == "Made from the parameters: put in your own values."
    assert example.code == 'curl "$BASE_URL/users/ID?since=2026-01-31" \\\n  -H "Authorization: Bearer $TOKEN"'
    assert example.output == ""


def test_the_shell_never_runs_what_a_document_says():
    parameter = {"name": "X-A", "in": "header", "required": True, "example": "'; rm -rf $HOME `id`"}
    servers = [{"url": "https://example.com/$(id)"}]

    (example,) = reference_to({"parameters": [parameter]}, path="/a'$(id)", servers=servers).examples

    assert "'https://example.com/$(id)/a%27%24(id)'" in example.code
    assert "'X-A: '\"'\"'; rm -rf $HOME `id`'" in example.code


def test_schemas_that_must_all_hold_are_told_as_one():
    whole = {"allOf": [{"$ref": "#/components/schemas/User"}, {"properties": {"age": {"type": "integer"}}}]}
    operation = {"responses": {"200": {"description": "", "content": {"application/json": {"schema": whole}}}}}

    draft = reference_to(operation, components=COMPONENTS)

    assert "- `email` (string (email), required)" in draft.content
    assert "- `age` (integer)" in draft.content


def test_choices_null_and_maps_are_told_in_words():
    properties = {
        "either": {"oneOf": [{"type": "string"}, {"type": "integer"}]},
        "maybe": {"type": ["string", "null"]},
        "old": {"type": "string", "nullable": True},
        "map": {"type": "object", "additionalProperties": {"type": "number"}},
    }
    schema = {"type": "object", "properties": properties}
    operation = {"responses": {"200": {"description": "", "content": {"application/json": {"schema": schema}}}}}

    content = reference_to(operation).content

    assert "- `either` (string or integer)" in content
    assert "- `maybe` (string or null)" in content
    assert "- `old` (string or null)" in content
    assert "- `map` (map of number)" in content


def test_json_and_yaml_say_the_same():
    raw = document({"/users/{id}": {"get": {"responses": {"200": {"description": "It."}}}}}, components=COMPONENTS)

    from_yaml = generated_from(yaml.safe_dump(raw).replace("'200'", "200"), "openapi.json")

    assert from_yaml == generated_from(raw)


def test_anchors_and_merge_keys_of_yaml_are_written_out():
    text = """\
openapi: 3.0.3
paths:
  /a: &a
    get: &get {summary: First, responses: {200: {description: Fine.}}}
  /b:
    get: {<<: *get, summary: Second}
  /c: *a
"""

    drafts = generated_from(text, "openapi.yaml").drafts

    assert [(draft.name, draft.title) for draft in drafts] == [
        ("GET /a", "First"),
        ("GET /b", "Second"),
        ("GET /c", "First"),
    ]
    assert all("**200** Fine." in draft.content for draft in drafts)


def test_what_leads_nowhere_or_elsewhere_is_left_out_and_told():
    operation = {
        "parameters": [{"$ref": "#/components/parameters/Gone"}],
        "responses": {"200": {"$ref": "https://example.com/other.yaml#/x"}},
    }

    problems = generated_from(document({"/users": {"get": operation}})).problems

    assert [problem.says for problem in problems] == [
        "The reference https://example.com/other.yaml#/x leads to an address, and nothing is fetched; left out.",
        "The reference #/components/parameters/Gone leads nowhere; left out.",
    ]
    assert problems[1].where == "#/paths/~1users/get"


@pytest.mark.parametrize(
    ("text", "refusal"),
    [
        ('{"swagger": "1.2"}', r"is OpenAPI 1\.2\. Versions 3\.0, 3\.1, 3\.2 and Swagger 2\.0 are read"),
        ('{"openapi": "4.0.0"}', r"is OpenAPI 4\.0\.0\. Versions 3\.0, 3\.1, 3\.2 and Swagger 2\.0 are read"),
        ('{"info": {}}', "is no OpenAPI document"),
        ("[1]", "is no OpenAPI document"),
        ("{", "line 1: is not valid JSON"),
        ("a: [", "line 2: is not valid YAML"),
        ("openapi: 3.0.0\nopenapi: 3.1.0", "line 2: has the key “openapi” twice"),
        ("openapi: !!python/object:os.system x", "line 1: has a tag"),
    ],
)
def test_what_is_not_read_is_refused_with_the_reason(text, refusal):
    with pytest.raises(Invalid, match=refusal):
        generated_from(text, "openapi.yaml")


@pytest.mark.parametrize("many", [100, pytest.param(600, marks=pytest.mark.torture)])
def test_many_operations_with_shared_circular_schemas_stay_short(many):
    raw = large_document(many)

    drafts = generated_from(raw).drafts

    assert len(drafts) == len({draft.key for draft in drafts}) == many
    assert max(len(draft.content) for draft in drafts) < CONTENT_BYTES / 4
    assert generated_from(raw).drafts == drafts


def test_swagger_2_is_read_as_what_it_says_in_the_words_of_openapi():
    user = {"type": "object", "properties": {"email": {"type": "string"}}}
    operation = {
        "consumes": ["application/json"],
        "parameters": [
            {"name": "dry", "in": "query", "type": "boolean", "description": "Only try."},
            {"name": "user", "in": "body", "required": True, "schema": {"$ref": "#/definitions/User"}},
        ],
        "responses": {
            "200": {
                "description": "Made.",
                "schema": {"$ref": "#/definitions/User"},
                "examples": {"application/json": {"email": "ada@example.com"}},
            }
        },
    }
    upload = {"parameters": [{"name": "photo", "in": "formData", "type": "file", "required": True}]}
    raw = {
        "swagger": "2.0",
        "host": "example.com",
        "basePath": "/v2",
        "securityDefinitions": {"login": {"type": "basic"}},
        "security": [{"login": []}],
        "definitions": {"User": user},
        "paths": {"/users": {"post": operation}, "/photos": {"post": upload}},
    }

    made, sent = generated_from(raw).drafts

    assert made.name == "POST /v2/users"
    assert "| `dry` | query | boolean | no | Only try. |" in made.content
    assert "### Request body (required)\n\n`application/json`: User\n\n- `email` (string)" in made.content
    assert made.content.count("| `user` |") == 0
    assert made.examples[0].output == '{\n  "email": "ada@example.com"\n}'
    assert made.endpoint.security == ("login (HTTP basic)",)
    assert "`multipart/form-data`: object\n\n- `photo` (file, required)" in sent.content


def test_endpoints_share_what_their_schemas_say():
    field = {"type": "string", "description": "Where to write to."}
    schemas = {"User": {"type": "object", "properties": {"email": field}}}
    answer = {"content": {"application/json": {"schema": {"$ref": "#/components/schemas/User"}}}}
    operation = {"requestBody": answer, "responses": {"200": answer, "404": answer}}

    drafts = generated_from(
        document({"/a": {"put": operation}, "/b": {"put": operation}}, components={"schemas": schemas})
    )

    bodies = [each.endpoint.body for each in drafts.drafts]
    bodies += [body for each in drafts.drafts for body in each.endpoint.responses.values()]
    fields = [body["content"]["application/json"]["schema"]["properties"]["email"] for body in bodies]
    assert len({id(each) for each in fields}) == 1
