"""Whatever a stranger's document does, the answer is references or one refusal that says why (T16)."""

import json
import time

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from bigmind.core.errors import Invalid
from bigmind.core.limits import CONTENT_BYTES
from knowledge.references.readers.documents import DEPTH, read_document
from knowledge.references.readers.registry import Source
from knowledge.references.readers.validation import findings_among, findings_in
from tests.knowledge.generators.specs import document, generated_from, reference_to

PLENTY_SECONDS = 10
NAMES = """
openapi paths /a/{b} get post parameters name in path query schema type object array string properties items allOf oneOf
$ref #/components/schemas/A # A components schemas responses 200 content application/json example examples required
security servers url tags summary description enum additionalProperties value
"""
WORDS = st.sampled_from([*NAMES.split(), "\0\ud800"])
VALUES = st.recursive(
    st.none() | st.booleans() | st.integers() | st.floats() | WORDS | st.text(max_size=8),
    lambda inner: st.lists(inner, max_size=4) | st.dictionaries(WORDS, inner, max_size=6),
    max_leaves=40,
)
SCHEMAS = st.recursive(
    st.sampled_from(
        [{"type": "string"}, {"$ref": "#/components/schemas/A"}, {"$ref": "#/components/schemas/B"}, True, 3]
    ),
    lambda inner: st.one_of(
        st.builds(lambda one: {"type": "array", "items": one}, inner),
        st.builds(lambda many: {"allOf": many}, st.lists(inner, max_size=3)),
        st.builds(lambda many: {"oneOf": many, "nullable": True}, st.lists(inner, max_size=3)),
        st.builds(
            lambda fields: {"properties": fields, "required": list(fields)}, st.dictionaries(WORDS, inner, max_size=3)
        ),
        st.builds(lambda one: {"additionalProperties": one}, inner),
    ),
    max_leaves=12,
)


@settings(max_examples=100, deadline=None)
@given(VALUES, VALUES, VALUES)
def test_values_of_any_type_anywhere_never_break_the_generator(operation, shared, anything):
    raw = document(
        {"/a/{b}": {"get": operation, "parameters": shared}, "/b": anything}, components=anything, security=shared
    )

    generated, _ = findings_in(Source("a.json", json.dumps(raw).encode()), "openapi")

    findings_among(generated.drafts)
    # Everything that is made can be stored: PostgreSQL takes neither NUL nor half a surrogate pair.
    json.dumps([draft.model_dump() for draft in generated.drafts], allow_nan=False, ensure_ascii=False).encode()


@settings(max_examples=100, deadline=None)
@given(SCHEMAS, SCHEMAS, SCHEMAS)
def test_schemas_of_any_shape_are_cut_and_told(first, second, third):
    media = {"content": {"application/json": {"schema": first}}}
    operation = {"requestBody": media, "responses": {"200": {"description": "", **media}}}

    draft = reference_to(operation, components={"schemas": {"A": second, "B": third}})

    assert len(draft.content.encode()) <= CONTENT_BYTES


@settings(max_examples=200, deadline=None)
@given(st.text(alphabet="ab:-[]{}&*<!|>\"'#,? \n\t0", max_size=60))
def test_no_text_breaks_the_reading(text):
    try:
        read_document(text, "a.yaml")
    except Invalid as refusal:
        assert "a.yaml" in str(refusal)  # noqa: PT017 - most texts are no refusal


def test_a_bomb_of_aliases_is_refused_before_it_goes_off():
    lines = ["a0: &a0 [x, x, x, x, x, x, x, x, x, x]"]
    lines += [f"a{each}: &a{each} [{', '.join([f'*a{each - 1}'] * 10)}]" for each in range(1, 12)]
    started = time.process_time()

    with pytest.raises(Invalid, match=r"line \d+: has more than 4,000,000 values, its aliases written out"):
        generated_from("\n".join(lines), "openapi.yaml")

    assert time.process_time() - started < PLENTY_SECONDS


@pytest.mark.parametrize(
    ("text", "refusal"),
    [
        ("a: &a [*a]", "has the alias *a within, or before"),
        ("a: *b", "has the alias *b within, or before"),
        ("[" * 100_000, "is nested deeper"),
        ('{"a":' * 100_000, "is nested deeper"),
        ("- " * (DEPTH + 2) + "x", "is nested deeper"),
        ("\n".join(["a0: &a0 [x]", *(f"a{n}: &a{n} [*a{n - 1}]" for n in range(1, 200))]), "is nested deeper"),
        ('{"a": ' + "1" * 5_000 + "}", "too many digits"),
        ("a: 1\n---\nb: 2", "is a second document"),
        ("? [a]\n: 1", "has a key that is not a text"),
    ],
)
def test_a_hostile_text_is_refused_with_the_reason(text, refusal):
    with pytest.raises(Invalid) as caught:
        read_document(text, "openapi.yaml")

    assert refusal in str(caught.value)


def test_references_in_circles_end():
    schemas = {f"S{each}": {"allOf": [{"$ref": f"#/components/schemas/S{(each + 1) % 3}"}]} for each in range(3)}
    parameters = {"A": {"$ref": "#/components/parameters/B"}, "B": {"$ref": "#/components/parameters/A"}}
    media = {"application/json": {"schema": {"$ref": "#/components/schemas/S0"}}}
    operation = {"parameters": [{"$ref": "#/components/parameters/A"}], "requestBody": {"content": media}}

    generated = generated_from(
        document({"/a": {"get": operation}}, components={"schemas": schemas, "parameters": parameters})
    )

    assert len(generated.drafts) == 1
    assert generated.problems[0].says == "A chain of more than 32 references was left out."


def test_schemas_that_double_at_every_step_are_cut():
    doubled = {
        f"S{each}": {"allOf": [{"$ref": f"#/components/schemas/S{each + 1}"}] * 2, "properties": {f"f{each}": {}}}
        for each in range(60)
    }
    media = {"application/json": {"schema": {"$ref": "#/components/schemas/S0"}}}
    started = time.process_time()

    reference_to({"requestBody": {"content": media}}, components={"schemas": doubled})

    assert time.process_time() - started < PLENTY_SECONDS


@pytest.mark.parametrize("megabytes", [1, pytest.param(10, marks=pytest.mark.torture)])
@pytest.mark.parametrize("filler", ["word ", "<", "< ", " ", "\n", "\n \t", "|\\", "`", "<p>"])
def test_megabytes_of_description_are_cut(filler, megabytes):
    description = filler * (megabytes * 1024 * 1024 // len(filler))
    started = time.process_time()

    draft = reference_to({"description": description, "summary": description, "operationId": description})

    assert len(draft.content.encode()) <= CONTENT_BYTES
    assert len(draft.title) <= 200
    assert time.process_time() - started < PLENTY_SECONDS * megabytes / 10


def test_characters_that_cannot_be_stored_are_replaced():
    draft = reference_to({"summary": "a\0b", "description": "c\ud800d\x1b[31m"})

    assert draft.title == "a\ufffdb"
    assert "c\ufffdd\ufffd[31m" in draft.content
