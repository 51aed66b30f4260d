"""The three transports are one: the same arguments, the same reply, the same refusal, for every operation."""

import json
import re
import socket
from collections.abc import Callable
from dataclasses import dataclass
from io import StringIO
from pathlib import Path
from typing import Any
from uuid import uuid4

import pytest
from django.core.management import CommandError, call_command
from django.db import transaction
from django.template.loader import get_template
from django.test import override_settings
from mcp import types

from accounts.actor import Actor
from accounts.models import SCOPES, Role
from accounts.services.agents import note_agent
from accounts.services.keys import NewKey
from accounts.services.profiles import update_profile
from bigmind import __version__
from bigmind.api.arguments import IN_THE_QUERY
from bigmind.api.examples import example_arguments
from bigmind.api.routes import path_parameters
from bigmind.core.operations import Operation, accepted
from bigmind.management.commands.op import CLIENT
from bigmind.mcp.tools import call_tool, tool_of
from bigmind.mcp.turns import Turn
from bigmind.operations import CATALOGUE, TOOLSETS
from curation.services.proposals import promote_to_global
from knowledge.services.app_learning import learn_app
from knowledge.services.entries import add_entry
from knowledge.services.facts import deprecate_fact, store_fact
from knowledge.services.hypotheses import add_hypothesis
from knowledge.services.instances import register_instance
from knowledge.services.notes import set_note
from knowledge.services.sessions import append_chunk, end_session, start_session
from tests.factories import make_key, make_user
from tests.knowledge.factories import make_reference
from tests.transports.rest_wire import Rest


@dataclass(frozen=True)
class Person:
    """Somebody with one of everything, so that every operation has something to work on."""

    key: NewKey
    actor: Actor
    ids: dict[str, Any]


@dataclass(frozen=True)
class Answer:
    """What a transport answered: a reply, or the message of a refusal."""

    reply: Any = None
    refusal: str = ""


def _person() -> Person:
    user = make_user(role=Role.ADMIN)
    key = make_key(user, scopes=SCOPES)
    agent = note_agent(user, client_name=CLIENT, client_version=__version__, host=socket.gethostname())
    actor = Actor.of(user, key=key.key, agent=agent)
    update_profile(actor, role="Engineer", preferences="Short answers.", pinned_facts=["Lives in Berlin."])
    past = start_session(actor, project="billing").session
    end_session(actor, session_id=str(past.pk), one_liner="Chose blue-green deploys", topics=["deploys"])
    session = start_session(actor, project="billing").session
    chunk = append_chunk(actor, role="user", content="The connections time out.", session_id=str(session.pk))
    belief = add_hypothesis(actor, hypothesis="I believe it is the pool.")
    fact = store_fact(actor, category="identity", fact="Is called Ada.").fact
    aside = store_fact(actor, category="identity", fact="Is called Eve.").fact
    deprecate_fact(actor, fact_id=aside.pk, reason="She is not.")
    set_note(actor, domain="email", key="dymon-packages", content="Ask about the package at the storage unit.")
    summary = add_entry(actor, content="STORY-007: routing.", entry_type="summary").entry
    entry = add_entry(actor, content="Routes are ordered.", entry_type="fact", parent_id=summary.pk).entry
    reference = make_reference(name="helios gw users list", title="List users")
    learn_app(actor, **accepted(learn_app, example_arguments(CATALOGUE["app_learn"])))
    with override_settings(BIGMIND_MODE="team"):
        proposal = promote_to_global(actor, category="standard", title="Health", content="Answer /healthz.").entry
    instance = register_instance(actor, instance_id=uuid4(), name="laptop").instance
    ids = {
        "instance_id": str(instance.identity),
        "entry_id": str(entry.pk),
        "reference_id": str(reference.pk),
        "company_id": proposal.pk,
        "session_id": str(session.pk),
        "chunk_id": chunk.pk,
        "hypothesis_id": belief.pk,
        "fact_id": fact.pk,
    }
    return Person(key, actor, {**ids, "fact": str(fact.pk), "aside": str(aside.pk)})


def _arguments(operation: Operation, person: Person) -> dict[str, Any]:
    """The example's arguments, about things that this person has."""
    arguments = example_arguments(operation)
    known = {name: person.ids[name] for name in arguments if name in person.ids and name.endswith("_id")}
    if "id" in arguments:
        aside_or_fact = person.ids["aside" if operation.name == "memory_restore" else "fact"]
        known["id"] = person.ids["entry_id"] if operation.toolset == "kb" else aside_or_fact
    if operation.toolset == "company" and "entry_id" in arguments:
        known["entry_id"] = person.ids["company_id"]
    if "used" in arguments:
        known["used"] = [f"fact:{person.ids['fact_id']}"]
    if "entry_ids" in arguments:
        known["entry_ids"] = [person.ids["company_id"]]
    return {**arguments, **known}


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
    turn = Turn(person.actor, frozenset({"all"}), "parity")
    result = call_tool(turn, types.CallToolRequestParams(name=operation.name, arguments=arguments))
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
    text = re.sub(r'"handle": "C\d+"', '"handle": "C0"', text)
    return re.sub(r'"((?:\w+_)?id|tokens|database_bytes)": \d+', r'"\1": 0', text)


@pytest.fixture(autouse=True)
def no_browser(monkeypatch: pytest.MonkeyPatch) -> None:
    """Nothing is opened on the machine that runs the tests."""
    monkeypatch.setattr("webbrowser.open", lambda url: True)


@pytest.mark.django_db
@pytest.mark.parametrize("name", CATALOGUE)
def test_every_transport_gives_the_same_reply(name: str) -> None:
    operation, person = CATALOGUE[name], _person()

    replies = {}
    for door, ask in DOORS.items():
        before = transaction.savepoint()
        answer = ask(operation, person, _arguments(operation, person))
        transaction.savepoint_rollback(before)
        assert not answer.refusal, (door, answer)
        replies[door] = _as_if_at_the_same_moment(answer)

    assert replies["mcp"] == replies["rest"]
    assert replies["command"] == replies["rest"]


@pytest.mark.django_db
@pytest.mark.parametrize("name", CATALOGUE)
def test_every_transport_refuses_an_unknown_argument_in_the_same_words(name: str) -> None:
    operation = CATALOGUE[name]
    person = _person()

    refusals = {
        door: ask(operation, person, {**_arguments(operation, person), "surprise": "x"}).refusal
        for door, ask in DOORS.items()
    }

    assert refusals["rest"].startswith("surprise is not an argument here.")
    assert refusals["mcp"] == refusals["command"]
    assert refusals["mcp"].startswith("surprise is not an argument here.")


@pytest.mark.django_db
@pytest.mark.parametrize("name", CATALOGUE)
def test_every_transport_refuses_a_wrong_value_by_the_name_of_its_field(name: str) -> None:
    operation, person = CATALOGUE[name], _person()

    for argument, schema in operation.input_schema().get("properties", {}).items():
        if (name, argument) == ("kb_bulk_import", "entries"):
            continue  # Each wrong entry is refused by itself, in the report.
        wrong = {"string": "a\0b", "array": ["a\0b"], "object": ["a"]}.get(schema.get("type"), {"a": 1})
        arguments = {**_arguments(operation, person), argument: wrong}
        refusals = {door: ask(operation, person, arguments).refusal for door, ask in DOORS.items()}

        assert refusals["mcp"] == refusals["command"]
        for refusal in refusals.values():
            assert refusal.startswith((f"{argument} ", f"{argument}.")), refusals


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
    too_long_for_an_address = {"lesson_for"}

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
