"""Calls that BigMind offers, beside a refusal or as a next step, are accepted as written and mean the same."""

import ast
import json
import re
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest
from mcp import MCPError, types

from bigmind.core.errors import Invalid
from bigmind.core.operations import Operation
from bigmind.operations import CATALOGUE
from bigmind.transports.corrected_calls import correct
from bigmind.transports.mcp.request_context import RequestContext
from bigmind.transports.mcp.tools import call_tool
from bigmind.transports.rest.examples import example_arguments
from tests.factories import make_agent, make_user
from tests.wrong_types import OTHERS

pytestmark = pytest.mark.django_db

ROOT = Path(__file__).parents[2]
CALL = re.compile(r"(\w+)\((\{.*\})\)")
PYTHON_CALL = re.compile(rf"\b({'|'.join(CATALOGUE)})\(\w+=.*\)")
LEFT_OPEN = re.compile(rf"\b({'|'.join(CATALOGUE)})\([^)]*[…<]")


def _misspelt(operation: Operation) -> Iterator[dict[str, Any]]:
    """Yield the example of an operation with one word of it misspelt."""
    example, properties = example_arguments(operation), operation.input_schema.get("properties", {})
    for name, value in example.items():
        rest = {other: kept for other, kept in example.items() if other != name}
        for wrong in (f"{name}x", name[:-1], name[:2] + name[3:]):
            if wrong not in properties:
                yield rest | {wrong: value}
        if "enum" in properties[name] and len(value) > 4:
            yield rest | {name: value[:2] + value[3:]}
            yield rest | {name: f"{value}{value[-1]}"}


def _wrong(operation: Operation) -> Iterator[dict[str, Any]]:
    """Yield the example of an operation with one argument that nobody can put right but its sender."""
    example = example_arguments(operation)
    for name in example:
        others = [other for other in OTHERS if other is not None]
        for other in (*others, "<as before>", "perhaps", "un" + str(example[name]), 10**7, -1, "x" * 70_000):
            yield example | {name: other}
        if name in operation.input_schema.get("required", ()):
            yield {kept: value for kept, value in example.items() if kept != name}


def test_a_misspelt_call_is_put_right_to_the_one_that_was_meant_or_to_none() -> None:
    for operation in CATALOGUE.values():
        meant = operation.accept(operation.forgive(example_arguments(operation)))

        for sent in _misspelt(operation):
            if offered := CALL.fullmatch(correct(operation, sent)):
                assert offered[1] == operation.name
                assert operation.accept(operation.forgive(json.loads(offered[2]))) == meant, sent


def test_what_only_its_sender_can_put_right_is_never_put_right_for_them() -> None:
    for operation in CATALOGUE.values():
        for sent in _wrong(operation):
            assert correct(operation, sent) == "", (operation.name, sent)


def test_most_misspelt_words_are_put_right() -> None:
    misspelt = [(operation, sent) for operation in CATALOGUE.values() for sent in _misspelt(operation)]
    refused = [(operation, sent) for operation, sent in misspelt if _is_refused(operation, sent)]

    offered = [sent for operation, sent in refused if correct(operation, sent)]

    assert len(offered) > 0.7 * len(refused)


def _is_refused(operation: Operation, sent: dict[str, Any]) -> bool:
    try:
        operation.accept(operation.forgive(sent))
    except Invalid:
        return True
    return False


LONG = "It happened again. " * 100


@pytest.mark.parametrize(
    ("sent", "put_right"),
    [
        (
            {"category": "prefrence", "fact": "Prefers tabs."},
            'memory_store_fact({"category": "preference", "fact": "Prefers tabs."})',
        ),
        (
            {"category": "prefrence", "fact": LONG},
            'memory_store_fact with the same arguments, spelled category="preference"',
        ),
        ({"category": "preference", "facct": LONG}, "memory_store_fact with the same arguments, spelled fact"),
        (
            {"category": "prefrence", "fact": "The key is sk-ant-api03-Zm9vYmFyYmF6cXV4Zm9vYmFyYmF6cXV4Zm9vYg."},
            'memory_store_fact with the same arguments, spelled category="preference"',
        ),
    ],
)
def test_a_text_is_repeated_whole_or_not_at_all(sent: dict[str, Any], put_right: str) -> None:
    assert correct(CATALOGUE["memory_store_fact"], sent) == put_right


def test_a_client_that_lists_few_tools_is_offered_a_call_that_it_can_send() -> None:
    context = _context("core")

    is_error, text = _call(context, "memory_use_tool", {"tool": "knowledge_get", "arguments": {"domainn": "email"}})

    assert is_error
    offered = CALL.search(text)
    assert offered
    assert offered[1] == "memory_use_tool"
    assert not _call(context, offered[1], json.loads(offered[2]))[0]


@pytest.mark.parametrize(
    ("name", "wrong"),
    [
        ("memory_resolve_hypothesis", {"status": "refused"}),
        ("memory_feedback", {"verdict": "unuseful"}),
        ("memory_feedback", {"verdict": "useless"}),
        ("memory_store_fact", {"category": "identify"}),
        ("memory_store_fact", {"category": "design"}),
        ("memory_store_fact", {"confidence": 85}),
        ("memory_end_session", {"importance": 15}),
        ("memory_end_session", {"importance": "high"}),
        ("memory_recall", {"limit": 5_000}),
        ("memory_approve_global", {"action": "unapprove"}),
        ("memory_append_chunk", {"role": "superuser"}),
    ],
)
def test_another_word_or_number_is_not_put_right(name: str, wrong: dict[str, Any]) -> None:
    operation = CATALOGUE[name]

    assert correct(operation, example_arguments(operation) | wrong) == ""


def test_the_call_that_settles_a_contradiction_is_accepted_as_it_is_written() -> None:
    context = _context("all")
    _call(context, "memory_start_session", {})
    _call(context, "memory_store_fact", {"category": "codebase", "fact": "The API listens on port 8000."})
    text = _call(context, "memory_store_fact", {"category": "codebase", "fact": "The API listens on port 9000."})[1]
    [call] = filter(None, map(_call_of, text.splitlines()))

    is_error, reply = _call(context, *call)

    assert not is_error, reply


def _call_of(line: str) -> tuple[str, dict[str, Any]] | None:
    found = PYTHON_CALL.search(line)
    return _read(found[0]) if found else None


def test_no_reply_offers_a_call_with_something_left_to_fill_in() -> None:
    files = [
        file
        for folder in ("bigmind", "accounts", "knowledge", "curation", "templates")
        for file in (ROOT / folder).rglob("*")
        if file.suffix in {".py", ".md", ".html", ".txt"}
    ]

    assert [f"{file}: {found[0]}" for file in files for found in LEFT_OPEN.finditer(file.read_text())] == []


def _context(toolset: str) -> RequestContext:
    return RequestContext(make_agent(make_user(), "claude-code"), frozenset({toolset}), "offered")


def _call(context: RequestContext, name: str, arguments: dict[str, Any]) -> tuple[bool, str]:
    try:
        result = call_tool(context, types.CallToolRequestParams(name=name, arguments=arguments))
    except MCPError as error:
        return True, str(error)
    return bool(result.is_error), result.content[-1].text  # type: ignore[union-attr]


def _read(call: str) -> tuple[str, dict[str, Any]]:
    tree = ast.parse(call, mode="eval").body
    assert isinstance(tree, ast.Call)
    assert isinstance(tree.func, ast.Name)
    return tree.func.id, {str(one.arg): ast.literal_eval(one.value) for one in tree.keywords}
