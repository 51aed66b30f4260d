"""Hostile input over MCP (T3): every argument of every tool, and never a fault of ours."""

import json
from itertools import islice
from typing import Any

import httpx
import pytest

from bigmind.operations import CATALOGUE
from tests.serving import Served
from tests.transports.hostile import KEPT, REFUSED_EVERYWHERE, UNREADABLE, is_cleaned, key_for_everything
from tests.transports.mcp_hostile import hostile_calls, trouble_with
from tests.transports.mcp_wire import STATELESS_REVISION, Wire, envelope, text_of

EACH = 29
"""Of the calls one in so many: of 29 values one for each argument or so. `make torture` makes all of them."""
PARSE_ERROR, INVALID_PARAMS = -32700, -32602


@pytest.fixture
def wire(served: Served) -> Wire:
    return Wire(served, key_for_everything().text)


def test_what_is_out_of_place_is_refused_or_taken_for_what_it_says_and_never_breaks_anything(wire: Wire) -> None:
    troubles = [trouble for call in islice(hostile_calls(), 0, None, EACH) if (trouble := trouble_with(wire, call))]

    assert troubles == []


def test_characters_that_no_text_may_have_are_refused_by_the_names_of_all_their_fields(wire: Wire) -> None:
    for operation in CATALOGUE.values():
        fields = set(operation.arguments.model_fields)
        for kind, value in REFUSED_EVERYWHERE.items():
            if fields and not is_cleaned(operation, kind):
                result = wire.call(operation.name, dict.fromkeys(fields, value))

                assert result["isError"], (operation.name, kind, result)
                assert _fields_named_in(result) == fields, (operation.name, kind, result)


def test_what_is_accepted_comes_back_as_it_was(served: Served) -> None:
    wire = Wire(served, key_for_everything().text, path="/mcp?structured=full")

    for text in KEPT:
        wire.call("knowledge_set", {"domain": "email", "key": "rules", "content": text})

        (note,) = wire.call("knowledge_get", {"domain": "email"})["structuredContent"]["items"]
        assert note["content"] == text


@pytest.mark.parametrize("revision", ["2025-11-25", STATELESS_REVISION])
def test_what_cannot_be_read_is_a_bad_request_and_what_can_is_refused_by_its_field(
    served: Served, revision: str
) -> None:
    wire = Wire(served, key_for_everything().text, revision=revision)
    if revision != STATELESS_REVISION:
        wire.initialize()

    for kind, fact in UNREADABLE.items():
        response = _store(wire, fact)

        reply = response.json()
        if response.status_code == 200 and "result" in reply:
            assert _fields_named_in(reply["result"]) == {"fact"}, (kind, reply)
        else:
            assert response.status_code in {200, 400}, (kind, reply)
            assert reply["error"]["code"] in {PARSE_ERROR, INVALID_PARAMS}, (kind, reply)


def test_ten_megabytes_are_refused_with_the_limit(wire: Wire) -> None:
    response = _store(wire, b'"' + b"x" * 10_000_000 + b'"')

    assert response.status_code == 413
    assert "1,048,576" in response.json()["error"]["message"]


def test_a_text_over_its_limit_is_told_both_sizes(wire: Wire) -> None:
    refusal = wire.call("memory_store_fact", {"category": "identity", "fact": "é" * 40_000})

    assert _fields_named_in(refusal) == {"fact"}
    assert "80,000" in text_of(refusal)
    assert "65,536" in text_of(refusal)


def _store(wire: Wire, fact: bytes) -> httpx.Response:
    """Store a fact whose text is these bytes, as they are."""
    placeholder = "the fact"
    params = {"name": "memory_store_fact", "arguments": {"category": "identity", "fact": placeholder}}
    stateless = {"Mcp-Method": "tools/call", "Mcp-Name": "memory_store_fact", "MCP-Protocol-Version": wire.revision}
    if wire.revision == STATELESS_REVISION:
        params["_meta"] = envelope(wire.revision)
    message = json.dumps({"jsonrpc": "2.0", "id": 1, "method": "tools/call", "params": params}).encode()
    body = message.replace(json.dumps(placeholder).encode(), fact)
    return wire.http.post("/mcp", content=body, headers={"Content-Type": "application/json", **stateless})


def _fields_named_in(result: dict[str, Any]) -> set[str]:
    return {problem["field"].partition(".")[0] for problem in result["_meta"]["error"]["problems"]}
