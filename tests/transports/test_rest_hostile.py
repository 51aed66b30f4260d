"""Hostile input over REST (T3): every argument of every operation, and never a server error."""

import json
from collections.abc import Iterator
from itertools import islice, product
from typing import Any
from urllib.parse import quote

import pytest
from pytest_django.plugin import DjangoDbBlocker

from accounts.keys import NewKey
from bigmind.core.operations import Operation
from bigmind.operations import CATALOGUE
from bigmind.toolsets import TOOLSETS
from bigmind.transports.rest.examples import example_arguments
from bigmind.transports.rest.request_reading import IN_THE_QUERY
from bigmind.transports.rest.routes import path_parameters
from tests.transports.hostile import KEPT, OUT_OF_PLACE, REFUSED_EVERYWHERE, is_cleaned, key_for_everything
from tests.transports.rest_wire import Rest, problem_in
from tests.worlds import keep_world, undone

pytestmark = pytest.mark.django_db

EACH = 16
"""Of the values one in so many, other ones for each argument: `make torture` sends all of them."""


@pytest.fixture(scope="module")
def key(django_db_setup: None, django_db_blocker: DjangoDbBlocker) -> Iterator[NewKey]:
    """A key that opens everything, made once: each test takes back what it changes."""

    def make() -> NewKey:
        key = key_for_everything()
        Rest(key).get("profile/")  # The process remembers the agent of its first call, so that stays too.
        return key

    with keep_world(django_db_blocker, make) as key:
        yield key


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
    return quote(text, safe="", errors="surrogatepass") or "%20"


@pytest.mark.parametrize("toolset", TOOLSETS)
def test_characters_that_no_text_may_have_are_refused_by_the_names_of_all_their_fields(
    toolset: str, key: NewKey
) -> None:
    rest, wrong = Rest(key), []

    for operation, (kind, value) in product(_operations_of(toolset), REFUSED_EVERYWHERE.items()):
        # What stands in a path is looked at before the rest is.
        left = set() if is_cleaned(operation, kind) else set(operation.arguments.model_fields)
        while left:
            refused = _refused_fields(_send(rest, operation, example_arguments(operation) | dict.fromkeys(left, value)))
            if not refused or refused - left:
                wrong.append((operation.name, kind, left, refused))
                break
            left -= refused

    assert wrong == []


@pytest.mark.parametrize("each", [EACH, pytest.param(1, marks=pytest.mark.torture)])
@pytest.mark.parametrize("toolset", TOOLSETS)
def test_what_is_out_of_place_is_refused_or_taken_for_what_it_says_and_never_breaks_anything(
    toolset: str, each: int, key: NewKey
) -> None:
    rest, wrong = Rest(key), []

    for operation in _operations_of(toolset):
        with undone():
            for sent, response in _sent_out_of_place(rest, operation, each):
                if response.status_code >= 400:
                    problem_in(response, response.status_code)
                if response.status_code not in {200, 201, 404, 409, 413, 422}:
                    wrong.append((operation.name, sent, response.content))

    assert wrong == []


def _sent_out_of_place(rest: Rest, operation: Operation, each: int) -> Iterator[tuple[dict[str, Any], Any]]:
    """Send values for all arguments at once; each that was not refused is also sent alone: others hid its effect."""
    # Where it begins differs from operation to operation, so that arguments that many of them have meet every value.
    begin = list(CATALOGUE).index(operation.name) % each
    values: dict[str, list[Any]] = {}
    for name, value in islice(product(operation.arguments.model_fields, OUT_OF_PLACE.values()), begin, None, each):
        values.setdefault(name, []).append(value)
    while values:
        sent = {name: each_of.pop() for name, each_of in values.items()}
        values = {name: left for name, left in values.items() if left}
        together = _send(rest, operation, {**example_arguments(operation), **sent})
        refused = _refused_fields(together) if together.status_code == 422 else set()
        yield sent, together
        for name in sent.keys() - refused:
            yield {name: sent[name]}, _send(rest, operation, {**example_arguments(operation), name: sent[name]})


def test_an_unknown_argument_is_refused_by_its_name(key: NewKey) -> None:
    rest = Rest(key)

    refused = {
        name: _refused_fields(_send(rest, operation, {**example_arguments(operation), "surprise": "x"}))
        for name, operation in CATALOGUE.items()
    }

    assert {name: fields for name, fields in refused.items() if fields != {"surprise"}} == {}


def _operations_of(toolset: str) -> list[Operation]:
    return [operation for operation in CATALOGUE.values() if operation.toolset == toolset]


def _refused_fields(response: Any) -> set[str]:
    return {error["field"].partition(".")[0] for error in problem_in(response, 422).get("errors", [])}


@pytest.mark.parametrize("text", KEPT)
def test_what_is_accepted_comes_back_as_it_was(text: str, key: NewKey) -> None:
    rest = Rest(key)

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
