"""An operation is a function: what its signature says is what callers may send."""

from dataclasses import replace
from typing import Annotated, Literal
from zoneinfo import ZoneInfo

import pytest
from django.utils import timezone
from pydantic import BaseModel, Field, TypeAdapter, ValidationError

from bigmind.core.argument_checks import validate_arguments
from bigmind.core.argument_types import Confidence, Content, Lines, Moment, Name, Tags
from bigmind.core.errors import Invalid
from bigmind.core.operations import Effect, Operation, carry_out, compact


class Reply(BaseModel):
    """A reply."""

    text: str
    note: str | None = None


def remember(
    actor: str,
    *,
    text: Content,
    kind: Literal["fact", "note"],
    confidence: Confidence = 1.0,
    name: Name | None = None,
    topics: Tags | None = None,
    lines: Lines | None = None,
    count: Annotated[int, Field(ge=1, le=200)] = 5,
) -> Reply:
    """Remember a text.

    Call this when it matters.
    """
    return Reply(text=f"{actor}: {text} ({kind}, {count})")


OPERATION = Operation(
    name="remember",
    title="Remember",
    call=remember,
    shape=Reply,
    route="POST things/{kind}/",
    toolset="core",
    template="x.md",
)


def _refusal(**arguments):
    with pytest.raises(Invalid) as caught:
        OPERATION.accept(arguments)
    return caught.value


def test_the_actor_is_not_an_argument_and_what_was_not_sent_is_left_to_the_function():
    assert OPERATION.accept({"text": "x", "kind": "fact"}) == {"text": "x", "kind": "fact"}


@pytest.mark.parametrize(
    ("method", "other", "effect", "scope"),
    [
        ("GET", None, Effect.READ, "read"),
        ("PATCH", None, Effect.WRITE, "write"),
        ("DELETE", None, Effect.DESTROY, "write"),
        ("POST", Effect.READ, Effect.READ, "read"),
    ],
)
def test_an_operation_does_what_its_method_says_unless_its_row_says_otherwise(method, other, effect, scope):
    operation = replace(OPERATION, route=f"{method} things/{{kind}}/", other_effect=other, scope="")

    assert (operation.effect, operation.scope) == (effect, scope)


def test_a_page_performs_an_operation_with_what_a_form_sends():
    assert carry_out(remember, "ann", {"text": "x", "kind": "fact", "count": "7"}).text == "ann: x (fact, 7)"


def test_the_docstring_and_the_effect_say_the_rest():
    assert OPERATION.description == "Remember a text.\n\nCall this when it matters."
    assert (OPERATION.method, OPERATION.path, OPERATION.scope) == ("POST", "things/{kind}/", "write")


def test_every_wrong_field_is_named_at_once():
    refusal = _refusal(kind="gossip", confidence=2, extra=1)

    assert {problem["field"] for problem in refusal.problems} == {"text", "kind", "confidence", "extra"}


@pytest.mark.parametrize(
    ("arguments", "says"),
    [
        ({}, "text is required. kind is required. kind: one of fact, note."),
        ({"text": "x", "kind": "gossip"}, "kind must be one of: 'fact' or 'note'."),
        ({"text": "", "kind": "fact"}, "text is empty. Say something, or leave the argument out."),
        ({"text": "ab\0", "kind": "fact"}, "text has a NUL character at position 3."),
        ({"text": "x" * 70_000, "kind": "fact"}, "text is 70,000 bytes; the limit is 65,536. Split it or shorten it."),
        ({"text": "x", "kind": "fact", "confidence": 2}, "confidence must be 1 or less."),
        ({"text": "x", "kind": "fact", "confidence": float("nan")}, "confidence must be a finite number."),
        ({"text": "x", "kind": "fact", "count": 1.5}, "count must be a whole number."),
        ({"text": "x", "kind": "fact", "count": 10**30}, "count must be 200 or less."),
        ({"text": "x", "kind": "fact", "name": "n" * 201}, "name is 201 characters; the limit is 200. Shorten it."),
        ({"text": 5, "kind": "fact"}, "text must be a text."),
        (
            {"text": "x", "kind": "fact", "topics": [f"t{number}" for number in range(51)]},
            "topics has 51 items; the limit is 50.",
        ),
    ],
)
def test_a_refusal_names_the_field_the_limit_and_what_was_seen(arguments, says):
    assert str(_refusal(**arguments)) == says


def test_a_name_that_nfc_makes_too_long_to_keep_is_refused():
    assert "limit is 200" in str(_refusal(text="x", kind="fact", name="\u0958" * 150))


def test_an_unknown_argument_is_told_the_known_ones():
    assert "Known: text, kind, confidence" in str(_refusal(text="x", kind="fact", txet="y"))


def test_a_strange_name_of_an_argument_is_shown_harmlessly():
    (problem,) = _refusal(text="x", kind="fact", **{"a\nb\0" + "c" * 500: 1}).problems

    assert problem["field"].isprintable()
    assert len(problem["field"]) <= 100


def test_lists_may_be_written_as_people_and_models_write_them():
    taken = validate_arguments(remember, {"text": "x", "kind": "fact", "topics": "a, b,a", "lines": "- One\n* Two\n\n"})

    assert taken["topics"] == ["a", "b"]
    assert taken["lines"] == ["One", "Two"]


def test_content_is_kept_byte_for_byte_and_names_are_not():
    taken = validate_arguments(remember, {"text": " e\u0301\r\n", "kind": "fact", "name": " e\u0301 "})

    assert (taken["text"], taken["name"]) == (" e\u0301\r\n", "é")


def test_a_null_means_left_out_for_what_may_be_left_out():
    assert OPERATION.accept({"text": "x", "kind": "fact", "name": None})["name"] is None


def test_the_schema_says_limits_in_few_words():
    schema = OPERATION.input_schema

    assert schema["additionalProperties"] is False
    assert schema["required"] == ["text", "kind"]
    assert schema["properties"]["count"] == {"default": 5, "maximum": 200, "minimum": 1, "type": "integer"}
    assert schema["properties"]["name"]["maxLength"] == 200
    assert "anyOf" not in str(schema)


def test_a_schema_puts_definitions_in_place_and_keeps_a_property_called_title():
    class Inner(BaseModel):
        title: str

    class Outer(BaseModel):
        inner: Inner
        maybe: Inner | None = None

    schema = compact(Outer.model_json_schema())

    assert "$defs" not in schema
    assert schema["properties"]["inner"]["properties"] == {"title": {"type": "string"}}
    assert schema["properties"]["maybe"]["type"] == "object"


@pytest.mark.parametrize(
    ("said", "meant"),
    [
        ("2026-03-30T09:15:00+21:37", "2026-03-29T11:38:00+00:00"),
        ("2026-03-30T09:15:00", "2026-03-30T09:15:00+00:00"),
        ("2026-03-30", "2026-03-30T00:00:00+00:00"),
    ],
)
def test_a_moment_is_understood_with_any_zone_and_without_one(said, meant):
    assert TypeAdapter(Moment).validate_python(said).isoformat() == meant


@pytest.mark.parametrize("said", ["9999-12-31T23:59:59Z", "9999-12-31", "0001-01-01"])
@pytest.mark.parametrize("zone", ["Pacific/Kiritimati", "Etc/GMT+12"])
def test_a_moment_that_means_for_ever_can_be_shown_in_every_zone(said, zone):
    moment = TypeAdapter(Moment).validate_python(said)

    assert timezone.localtime(moment, ZoneInfo(zone)).year == int(said[:4])


@pytest.mark.parametrize("said", ["0001-01-01T00:00:00+23:00", "9999-12-31T23:59:59-23:00"])
def test_a_moment_outside_the_calendar_is_refused(said):
    with pytest.raises(ValidationError, match="outside the calendar"):
        TypeAdapter(Moment).validate_python(said)


@pytest.mark.parametrize("said", [2026, 0.5, "2026", " 1774862100.5", "-1", "2e9", True])
def test_a_number_is_not_taken_for_a_moment(said):
    with pytest.raises(ValidationError, match="is no date that is understood here"):
        TypeAdapter(Moment).validate_python(said)
