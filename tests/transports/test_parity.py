"""The three transports are one: the same arguments, the same reply, the same refusal, for every operation."""

import json
import re
from collections.abc import Callable, Iterable, Iterator
from dataclasses import dataclass
from io import StringIO
from itertools import cycle
from pathlib import Path
from typing import Any

import pytest
from django.core.management import CommandError, call_command
from django.template.loader import get_template
from mcp import types
from pytest_django.plugin import DjangoDbBlocker

from bigmind import __version__
from bigmind.core.operations import Operation
from bigmind.management.commands.op import CLIENT
from bigmind.operations import CATALOGUE
from bigmind.toolsets import TOOLSETS
from bigmind.transports.mcp.request_context import RequestContext
from bigmind.transports.mcp.tools import call_tool, tool_of
from bigmind.transports.rest.request_reading import IN_THE_QUERY
from bigmind.transports.rest.routes import path_parameters
from tests.transports.person import Person, arguments_for, make_person
from tests.transports.rest_wire import Rest
from tests.worlds import keep_world, undone


@dataclass(frozen=True)
class Answer:
    """What a transport answered: a reply, or the message of a refusal."""

    reply: Any = None
    refusal: str = ""


def _over_rest(operation: Operation, person: Person, arguments: dict[str, Any]) -> Answer:
    in_path = {name: arguments[name] for name in path_parameters(operation)}
    rest = {name: value for name, value in arguments.items() if name not in in_path}
    path = operation.path.format(**{name: _as_text(value) for name, value in in_path.items()})
    client = Rest(person.key, client=f"{CLIENT}/{__version__}")
    if operation.method in IN_THE_QUERY:
        query = {name: value if isinstance(value, list) else _as_text(value) for name, value in rest.items()}
        response = client.client.generic(operation.method, f"/api/v1/{path}", query_params=query)
    else:
        response = client.send(operation.method, path, rest)
    answered: dict[str, Any] = response.json()
    return Answer(refusal=answered["detail"]) if response.status_code >= 400 else Answer(reply=answered)


def _over_mcp(operation: Operation, person: Person, arguments: dict[str, Any]) -> Answer:
    context = RequestContext(person.actor, frozenset({"all"}), "parity", structured=True)
    result = call_tool(context, types.CallToolRequestParams(name=operation.name, arguments=arguments))
    if result.is_error:
        return Answer(refusal=(result.meta or {})["error"]["message"])
    return Answer(reply=result.structured_content)


def _over_the_command_line(operation: Operation, person: Person, arguments: dict[str, Any]) -> Answer:
    output = StringIO()
    asked = ["--json", json.dumps(arguments), "--user", person.actor.user.username, "--format", "json"]
    try:
        call_command("op", operation.name, *asked, stdout=output)
    except CommandError as refusal:
        return Answer(refusal=str(refusal))
    return Answer(reply=json.loads(output.getvalue()))


DOORS: dict[str, Callable[[Operation, Person, dict[str, Any]], Answer]] = {
    "rest": _over_rest,
    "mcp": _over_mcp,
    "command": _over_the_command_line,
}


def _as_text(value: Any) -> str:
    return value if isinstance(value, str) else json.dumps(value)


def _as_if_at_the_same_moment(answer: Answer) -> str:
    """Write a reply without the ids and moments that differ each time something is made."""
    text = json.dumps(answer.reply, sort_keys=True)
    text = re.sub(r"[0-9a-f]{8}(-[0-9a-f]{4}){3}-[0-9a-f]{12}|\b[0-9a-f]{8}\b", "UUID", text)
    text = re.sub(r"\d{4}-\d\d-\d\d[T ]\d\d:\d\d(:[\d.]+(Z|\+00:00))?", "MOMENT", text)
    text = re.sub(r'"((?:session_)?handle|session)": "([CS])\d+"', r'"\1": "\g<2>0"', text)
    text = re.sub(r"`S\d+`|session_id=\\\\?\"S\d+", "S0", text)
    return re.sub(r'"((?:\w+_)?id|tokens|database_bytes)": \d+', r'"\1": 0', text)


@pytest.fixture(scope="module")
def person(django_db_setup: None, django_db_blocker: DjangoDbBlocker) -> Iterator[Person]:
    """Somebody with one of everything, made once: each test takes back what it changes."""

    def make() -> Person:
        person = make_person()
        for ask in DOORS.values():  # The process remembers the agents of their first calls, so these stay too.
            ask(CATALOGUE["memory_get_stats"], person, {})
        return person

    with keep_world(django_db_blocker, make) as person:
        yield person


@pytest.fixture(autouse=True)
def no_browser(monkeypatch: pytest.MonkeyPatch) -> None:
    """Nothing is opened on the machine that runs the tests."""
    monkeypatch.setattr("webbrowser.open", lambda url: True)


@pytest.mark.django_db
def test_every_transport_gives_the_same_reply(person: Person) -> None:
    different = {}
    for name, operation in CATALOGUE.items():
        replies = {}
        for door, ask in DOORS.items():
            with undone():
                answer = ask(operation, person, arguments_for(operation, person))
            assert not answer.refusal, (name, door, answer)
            replies[door] = _as_if_at_the_same_moment(answer)
        if len({*replies.values()}) > 1:
            different[name] = replies

    assert different == {}


@pytest.mark.django_db
def test_every_transport_refuses_an_unknown_argument_in_the_same_words(person: Person) -> None:
    wrong = {}
    for name, operation in CATALOGUE.items():
        refusals = _refusals(operation, person, DOORS, surprise="x")
        said = {refusal.partition(".")[0] for refusal in refusals.values()}
        if refusals["mcp"] != refusals["command"] or said != {"surprise is not an argument here"}:
            wrong[name] = refusals

    assert wrong == {}


@pytest.mark.django_db
def test_every_transport_refuses_a_wrong_value_by_the_name_of_its_field(person: Person) -> None:
    wrong, in_turn = {}, cycle(DOORS)
    for name, operation in CATALOGUE.items():
        for argument, schema in operation.input_schema.get("properties", {}).items():
            if (name, argument) == ("kb_bulk_import", "entries"):
                continue  # Each wrong entry is refused by itself, in the report.
            value = {"string": "a\0b", "array": ["a\0b"], "object": ["a"]}.get(schema.get("type"), {"a": 1})
            # All three refuse the first argument of each operation; the others are refused by one after the other.
            doors = DOORS if argument == next(iter(operation.input_schema["properties"])) else (next(in_turn),)
            refusals = _refusals(operation, person, doors, **{argument: value})
            is_named = all(refusal.startswith((f"{argument} ", f"{argument}.")) for refusal in refusals.values())
            to_agents = {refusals[door] for door in ("mcp", "command") if door in refusals}
            if len(to_agents) > 1 or not is_named:
                wrong[name, argument] = refusals

    assert wrong == {}


def _refusals(operation: Operation, person: Person, doors: Iterable[str], **wrong: Any) -> dict[str, str]:
    arguments = {**arguments_for(operation, person), **wrong}
    return {door: DOORS[door](operation, person, arguments).refusal for door in doors}


def test_every_operation_says_when_to_call_it_and_what_comes_back() -> None:
    for operation in CATALOGUE.values():
        sentences = re.findall(r"[.:!?](?:\s|$)", operation.description)

        assert len(sentences) >= 2, operation.name
        assert operation.title[:1].isupper(), operation.name
        assert not operation.title.endswith("."), operation.name


def test_every_operation_has_a_template_a_route_of_its_own_and_a_toolset() -> None:
    routes = [operation.route for operation in CATALOGUE.values()]

    assert len(set(routes)) == len(routes)
    for operation in CATALOGUE.values():
        get_template(f"agent/{operation.template}", using="agent")
        assert operation.toolset in TOOLSETS
        assert re.fullmatch(r"(GET|POST|PUT|PATCH|DELETE) ([a-z-]+/|\{[a-z_]+\}/)+", operation.route)
        assert set(path_parameters(operation)) <= set(operation.arguments.model_fields)


def test_what_reads_is_a_get_and_what_is_a_get_only_reads() -> None:
    too_long_for_an_address = {"lesson_for", "memory_use_tool"}

    for operation in CATALOGUE.values():
        reads = operation.effect == "read" and operation.name not in too_long_for_an_address
        assert (operation.method == "GET") is reads, operation.name


def test_every_operation_is_a_tool_of_its_name() -> None:
    assert {tool_of(operation).name for operation in CATALOGUE.values()} == set(CATALOGUE)


def test_the_contract_and_the_documents_are_what_the_code_says() -> None:
    call_command("docs", "--check")


def test_the_contract_holds_every_operation() -> None:
    contract = json.loads((Path(__file__).parent / "contract.json").read_text())

    assert [operation["name"] for operation in contract] == sorted(CATALOGUE)
