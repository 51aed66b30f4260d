"""Hostile input over REST (T3): every argument of every operation, and never a server error."""

import json
from collections.abc import Iterator
from typing import Any

import pytest

from accounts.models import SCOPES, Role
from accounts.services.keys import NewKey
from bigmind.api.arguments import IN_THE_QUERY
from bigmind.api.examples import example_arguments
from bigmind.api.routes import path_parameters
from bigmind.core.operations import Operation
from bigmind.operations import CATALOGUE
from tests.factories import make_key, make_user
from tests.transports.rest_wire import Rest, problem_in

pytestmark = pytest.mark.django_db

REFUSED_EVERYWHERE: dict[str, Any] = {
    "NUL": "a\0b",
    "control character": "a\x1bb",
    "half a surrogate pair": "\ud800",
    "escape sequence": "\x1b[31mred",
    "delete": "\x7f",
}
OUT_OF_PLACE: dict[str, Any] = {
    "an object": {"a": 1},
    "a list in a list": [["a"]],
    "true": True,
    "a huge number": 10**400,
    "a small number": -(10**400),
    "a broken number": 0.5,
    "a hundred thousand characters": "x" * 100_000,
    "operators": "& | ! <-> :* '\"; DROP TABLE users; --",
    "templates": "{{ 7*7 }}{% include '/etc/passwd' %}${7*7}%(x)s{0}",
    "an unknown word": "no-such-choice",
    "right-to-left": "\u202eabc",
    "a time zone that no place has": "2026-01-01T00:00:00+21:37",
    "before the first year": "0001-01-01T00:00:00+23:59",
    "after the last year": "9999-12-31T23:59:59-23:59",
    "nothing": "",
    "null": None,
}


def _every_argument() -> Iterator[Any]:
    for operation in CATALOGUE.values():
        for name in operation.arguments.model_fields:
            yield pytest.param(operation, name, id=f"{operation.name}-{name}")


def _key_for_everything() -> NewKey:
    """An admin's key: what is refused is refused for what was sent, not for who sent it."""
    return make_key(make_user(role=Role.ADMIN), scopes=SCOPES)


def _send(rest: Rest, operation: Operation, arguments: dict[str, Any]) -> Any:
    in_path = path_parameters(operation)
    values = {name: _in_an_address(arguments.pop(name)) for name in in_path}
    path = operation.path.format(**values)
    if operation.method in IN_THE_QUERY:
        query = "&".join(f"{name}={_in_an_address(value)}" for name, value in arguments.items())
        return rest.client.generic(operation.method, f"/api/v1/{path}?{query}")
    return rest.send(operation.method, path, json.dumps(arguments).encode())


def _in_an_address(value: Any) -> str:
    text = value if isinstance(value, str) else json.dumps(value)
    escaped = "".join(f"%{byte:02x}" for byte in text.encode("utf-8", "surrogatepass"))
    return escaped or "%20"


@pytest.mark.parametrize(("operation", "name"), list(_every_argument()))
def test_characters_that_no_text_may_have_are_refused_by_the_name_of_their_field(
    operation: Operation, name: str
) -> None:
    rest = Rest(_key_for_everything())

    for kind, value in REFUSED_EVERYWHERE.items():
        if (operation.name, kind) == ("lesson_for", "escape sequence"):
            continue  # An error is sent as the terminal had it: its colours are taken out.
        arguments = {**example_arguments(operation), name: value}
        problem = problem_in(_send(rest, operation, arguments), 422)

        fields = [error["field"].partition(".")[0] for error in problem["errors"]]
        assert fields == [name], (kind, problem)


@pytest.mark.parametrize(("operation", "name"), list(_every_argument()))
def test_what_is_out_of_place_is_refused_or_taken_for_what_it_says_and_never_breaks_anything(
    operation: Operation, name: str
) -> None:
    rest = Rest(_key_for_everything())

    for value in OUT_OF_PLACE.values():
        response = _send(rest, operation, {**example_arguments(operation), name: value})

        if response.status_code >= 400:
            problem_in(response, response.status_code)
        assert response.status_code in {200, 201, 404, 409, 422}, (value, response.content)


@pytest.mark.parametrize("name", CATALOGUE)
def test_an_unknown_argument_is_refused_by_its_name(name: str) -> None:
    operation = CATALOGUE[name]

    response = _send(Rest(_key_for_everything()), operation, {**example_arguments(operation), "surprise": "x"})

    assert [error["field"] for error in problem_in(response, 422)["errors"]] == ["surprise"]


@pytest.mark.parametrize(
    "text",
    [
        "naïve — “quoted” 🐘",
        "e\u0301 stays two characters",
        "  kept \n as it\tis  ",
        "\u202eflagged, not refused",
        "<b>&amp;",
    ],
)
def test_what_is_accepted_comes_back_as_it_was(text: str) -> None:
    rest = Rest(_key_for_everything())

    rest.send("PUT", "notes/", {"domain": "email", "key": "rules", "content": text})

    assert rest.get("notes/", domain="email").json()["items"][0]["content"] == text


def test_ten_megabytes_are_refused_with_the_limit() -> None:
    body = json.dumps({"category": "identity", "fact": "x" * 10_000_000}).encode()

    assert "1,048,576" in problem_in(Rest().send("POST", "facts/", body), 413)["detail"]


def test_a_text_over_its_limit_is_told_both_sizes() -> None:
    response = Rest().post("facts/", category="identity", fact="é" * 40_000)

    (error,) = problem_in(response, 422)["errors"]
    assert error["field"] == "fact"
    assert "80,000" in error["message"]
    assert "65,536" in error["message"]
