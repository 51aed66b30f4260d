"""Tools over MCP: which are listed, what they cost, and what their answers look like."""

import json
import re
from typing import Any

import pytest
from jsonschema import validate  # type: ignore[import-untyped]

from accounts.keys import rotate_key
from accounts.models import SCOPES, Call, Role
from bigmind.operations import CATALOGUE, nearest_names
from bigmind.text.token_counts import count_tokens
from bigmind.toolsets import TOOLSETS
from bigmind.transports.mcp.server import server_instructions
from knowledge.models import Fact
from knowledge.references.collections import NAMED
from tests.factories import make_key, make_user
from tests.serving import Served, eventually
from tests.transports.mcp_wire import HANDSHAKE_REVISIONS, STATELESS_REVISION, Wire, text_of

FACT = {"category": "preference", "fact": "Prefers tea."}
CLAUDE_CODE_CUTS_AT = 2_048


def _names(wire: Wire) -> list[str]:
    return [tool["name"] for tool in wire.send("tools/list").json()["result"]["tools"]]


def test_a_default_connection_lists_the_dozen_that_most_sessions_need(served: Served) -> None:
    names = _names(Wire(served, make_key().text))

    assert len(names) <= 12
    assert {
        "memory_start_session",
        "memory_store_fact",
        "memory_recall",
        "memory_use_tool",
        "memory_end_session",
    } <= set(names)


@pytest.mark.parametrize("asked", ["memory,notes", "memory&toolsets=notes", " Notes ,memory"])
def test_the_toolsets_asked_for_are_listed(served: Served, asked: str) -> None:
    names = _names(Wire(served, make_key().text, path=f"/mcp?toolsets={asked}"))

    assert set(names) == {name for name, operation in CATALOGUE.items() if operation.toolset in {"memory", "notes"}}


def test_all_toolsets_list_everything(served: Served) -> None:
    admin = make_key(make_user(role=Role.ADMIN), scopes=SCOPES)

    names = _names(Wire(served, admin.text, path="/mcp?toolsets=all"))

    assert names == list(CATALOGUE)


def test_a_tool_that_is_not_listed_can_be_called(served: Served) -> None:
    wire = Wire(served, make_key().text)

    result = wire.call("knowledge_set", {"domain": "email", "key": "signature", "content": "Best, P."})

    assert "email/signature" in text_of(result)


def test_a_key_limited_to_a_toolset_sees_and_calls_no_other(served: Served) -> None:
    wire = Wire(served, make_key(toolsets=["notes"]).text, path="/mcp?toolsets=all")

    refusal = wire.call("memory_list_facts")

    assert all(name.startswith("knowledge_") for name in _names(wire))
    assert refusal["isError"]
    assert "limited to: notes" in text_of(refusal)


def test_a_key_that_may_only_read_is_shown_only_what_reads(served: Served) -> None:
    wire = Wire(served, make_key(scopes=["read"]).text, path="/mcp?toolsets=all")

    refusal = wire.call("memory_store_fact", FACT)

    assert set(_names(wire)) == {name for name, operation in CATALOGUE.items() if operation.scope == "read"}
    assert "may not write" in text_of(refusal)


def test_every_tool_says_what_it_is_and_does(served: Served) -> None:
    wire = Wire(served, make_key().text, path="/mcp?toolsets=all")

    tools = wire.send("tools/list").json()["result"]["tools"]

    for tool in tools:
        assert tool["title"]
        assert 0 < len(tool["description"]) <= CLAUDE_CODE_CUTS_AT
        assert tool["inputSchema"]["type"] == "object"
        assert tool["annotations"]["openWorldHint"] is False
        assert {"readOnlyHint", "destructiveHint", "idempotentHint"} <= tool["annotations"].keys()


def test_what_erases_is_marked_destructive_and_what_reads_is_marked_so(served: Served) -> None:
    wire = Wire(served, make_key().text, path="/mcp?toolsets=all")

    tools = {tool["name"]: tool["annotations"] for tool in wire.send("tools/list").json()["result"]["tools"]}

    assert tools["memory_erase_fact"]["destructiveHint"] is True
    assert tools["memory_store_fact"]["destructiveHint"] is False
    assert tools["memory_list_facts"]["readOnlyHint"] is True


def test_the_default_list_is_cheap(served: Served) -> None:
    wire = Wire(served, make_key().text)

    listed = wire.send("tools/list").json()["result"]["tools"]
    for tool in listed:
        tool.pop("_meta", None)  # for the client: no model is shown it

    assert count_tokens(json.dumps(listed, ensure_ascii=False, separators=(",", ":"))) <= 3_000


def test_looking_documentation_up_costs_half_of_that_and_is_told_to_come_first(served: Served) -> None:
    wire = Wire(served, make_key(make_user(role=Role.ADMIN)).text, path="/mcp?toolsets=docs")

    greeting = wire.initialize()["instructions"]
    listed = wire.send("tools/list").json()["result"]["tools"]

    assert "Search here first" in greeting
    assert {"search_knowledge", "get_command", "list_commands", "get_api_endpoint", "check_command"} <= {
        tool["name"] for tool in listed
    }
    assert count_tokens(json.dumps(listed, ensure_ascii=False, separators=(",", ":"))) <= 1_500


def test_an_agent_that_lists_no_documentation_hears_whose_there_is(served: Served) -> None:
    admin = make_user(role=Role.ADMIN)
    silent = Wire(served, make_key(admin).text).initialize()["instructions"]
    command = {"type": "command", "id": "push", "title": "depot push", "content": "Pushes."}
    imported = Wire(served, make_key(admin).text).call(
        "references_import", {"collection": "depot", "drafts": [command]}
    )
    assert not imported.get("isError"), text_of(imported)
    greeting = Wire(served, make_key().text).initialize()["instructions"]
    limited = Wire(served, make_key(toolsets=["core"]).text).initialize()["instructions"]
    reading = Wire(served, make_key().text, path="/mcp?toolsets=core,docs").initialize()["instructions"]

    assert "DOCUMENTED" not in silent + limited + reading
    assert "DOCUMENTED here: depot. Check each command and request of theirs" in greeting


@pytest.mark.parametrize("toolsets", [*({name} for name in TOOLSETS), {"all"}, set(TOOLSETS) - {"core"}])
def test_the_instructions_of_the_server_are_short(toolsets: set[str]) -> None:
    instructions = server_instructions(toolsets)
    with_names = server_instructions(toolsets, documented=["documentation-of-a-product"] * NAMED)

    assert count_tokens(instructions) <= 300
    assert count_tokens(with_names) <= 340
    assert len(with_names) <= CLAUDE_CODE_CUTS_AT


@pytest.mark.parametrize("toolset", TOOLSETS)
def test_the_instructions_name_tools_of_their_own_toolset_alone(toolset: str) -> None:
    named = set(re.findall(r"[a-z]+(?:_[a-z]+)+", server_instructions({toolset}))) & CATALOGUE.keys()
    elsewhere = {"memory_restore", "lesson_for"}

    assert named
    assert {name for name in named - elsewhere if not CATALOGUE[name].is_listed_in({toolset})} == set()


@pytest.mark.parametrize("revision", [HANDSHAKE_REVISIONS[-1], STATELESS_REVISION])
def test_each_toolset_greets_with_words_of_its_own(served: Served, revision: str) -> None:
    greetings = {}
    for toolset in ("core", "docs"):
        wire = Wire(served, make_key().text, revision=revision, path=f"/mcp?toolsets={toolset}")
        is_stateless = revision == STATELESS_REVISION
        reply = wire.send("server/discover").json()["result"] if is_stateless else wire.initialize()
        greetings[toolset] = reply["instructions"]

    assert "memory_start_session first" in greetings["core"]
    assert "check_command" in greetings["docs"]
    assert "memory_start_session" not in greetings["docs"]


CONVERSATION: tuple[tuple[str, dict[str, Any]], ...] = (
    ("memory_start_session", {"project": "depot", "topics": ["deploys"]}),
    ("memory_store_fact", FACT),
    ("memory_store_fact", FACT),
    ("memory_list_facts", {}),
    ("memory_update_profile", {"role": "Engineer", "pinned_facts": ["Uses uv."]}),
    ("memory_get_profile", {}),
    ("memory_flag_important", {"content": "We keep PostgreSQL.", "flag_reason": "Decided."}),
    ("memory_search_chunks", {"query": "which database?"}),
    ("memory_list_sessions", {}),
    ("memory_get_context", {}),
    ("memory_get_instructions", {}),
    ("memory_add_hypothesis", {"hypothesis": "I believe the cache is cold because of the restart."}),
    ("memory_list_hypotheses", {}),
    ("knowledge_set", {"domain": "email", "key": "signature", "content": "Best, P."}),
    ("knowledge_get", {"domain": "email"}),
    ("memory_get_stats", {}),
    ("memory_health_check", {}),
    ("memory_export", {}),
    ("memory_end_session", {"one_liner": "Chose a database", "summary": "We looked at three."}),
)


def test_answers_are_what_the_output_schemas_say(served: Served) -> None:
    wire = Wire(served, make_key().text, path="/mcp?toolsets=all&structured=full")
    schemas = {tool["name"]: tool["outputSchema"] for tool in wire.send("tools/list").json()["result"]["tools"]}

    results = [(name, wire.call(name, arguments)) for name, arguments in CONVERSATION]

    for name, result in results:
        assert "isError" not in result or not result["isError"], text_of(result)
        validate(result["structuredContent"], schemas[name])
        assert schemas[name]["properties"].keys() <= result["structuredContent"].keys()


@pytest.mark.parametrize("revision", [HANDSHAKE_REVISIONS[-1], STATELESS_REVISION])
def test_replies_are_text_alone_unless_structured_content_is_asked_for(served: Served, revision: str) -> None:
    key = make_key().text
    for path, expected in {"/mcp": False, "/mcp?structured=full": True}.items():
        wire = Wire(served, key, revision=revision, path=path)
        if revision != STATELESS_REVISION:
            wire.initialize()

        result, tools = wire.call("memory_list_facts"), wire.send("tools/list").json()["result"]["tools"]

        assert text_of(result)
        assert ("structuredContent" in result) is expected
        assert {"outputSchema" in tool for tool in tools} == {expected}


def test_anything_else_that_is_asked_for_is_refused_with_what_there_is(served: Served) -> None:
    response = Wire(served, make_key().text, path="/mcp?structured=yes").send("tools/list")

    assert response.status_code == 400
    assert "There is: full" in response.json()["error"]["message"]


def test_a_bad_argument_is_answered_with_the_field_and_what_is_allowed(served: Served) -> None:
    wire = Wire(served, make_key().text)

    refusal = wire.call("memory_store_fact", {"category": "colour", "fact": "Prefers green.", "mood": "good"})

    assert refusal["isError"]
    assert "category must be one of: 'preference'" in text_of(refusal)
    assert "mood is not an argument here" in text_of(refusal)
    assert "structuredContent" not in refusal
    assert [problem["field"] for problem in refusal["_meta"]["error"]["problems"]] == ["category", "mood"]


@pytest.mark.parametrize(("client", "is_strict"), [("gemini-cli-mcp-client", True), ("claude-code", False)])
def test_a_client_that_checks_arguments_itself_leaves_them_to_bigmind(
    served: Served, client: str, is_strict: bool
) -> None:
    wire = Wire(served, make_key().text, revision=HANDSHAKE_REVISIONS[-1])
    wire.initialize(client)

    tools = wire.send("tools/list").json()["result"]["tools"]
    refusal = wire.call("memory_store_fact", {"category": "colour", "fact": "Prefers green."})

    dialects = {tool["inputSchema"].get("$schema", "") for tool in tools}
    assert dialects == {"https://json-schema.org/draft/2019-09/schema" if is_strict else ""}
    assert text_of(refusal).count("category must be one of") == 1
    assert ("error" in refusal["_meta"]) != is_strict


def test_a_refusal_says_what_to_do_next(served: Served) -> None:
    wire = Wire(served, make_key().text)

    refusal = wire.call("memory_get_session_detail", {"session_id": "latest"})

    assert refusal["isError"]
    assert "memory_start_session" in text_of(refusal)


@pytest.mark.parametrize("name", ["idempotencyKey", "bigmind/idempotencyKey"])
def test_a_retried_write_has_one_effect(served: Served, name: str) -> None:
    wire = Wire(served, make_key().text, path="/mcp?structured=full")
    belief = {"hypothesis": "I believe the cache is cold."}

    first, again = (wire.call("memory_add_hypothesis", belief, **{name: "try-1"}) for _ in range(2))

    assert again["structuredContent"] == first["structuredContent"]
    assert again["_meta"]["replayed"] is True
    assert wire.call("memory_list_hypotheses")["structuredContent"]["total"] == 1


def test_an_idempotency_key_that_is_no_text_is_refused(served: Served) -> None:
    wire = Wire(served, make_key().text)

    refusal = wire.call("memory_store_fact", FACT, idempotencyKey=7)

    assert refusal["isError"]
    assert not Fact.objects.exists()


def test_the_request_id_is_the_same_in_header_result_and_usage_log(served: Served) -> None:
    wire = Wire(served, make_key().text)
    wire.http.headers["X-Request-Id"] = "deploy-42.request"

    response = wire.send("tools/call", {"name": "memory_list_facts", "arguments": {}})

    assert response.headers["X-Request-Id"] == "deploy-42.request"
    assert response.json()["result"]["_meta"]["requestId"] == "deploy-42.request"
    assert eventually(Call.objects.filter(operation="memory_list_facts", request_id="deploy-42.request").exists)


def test_a_fact_without_a_session_is_stored_and_says_so(served: Served) -> None:
    wire = Wire(served, make_key().text)

    stored = wire.call("memory_store_fact", FACT)

    assert not stored["isError"]
    assert "no session, no project" in text_of(stored)


def test_a_key_that_ends_soon_says_so_in_every_result_and_once_in_words(served: Served) -> None:
    key = make_key()
    rotate_key(key.key)
    wire = Wire(served, key.text)

    first, second = (wire.call("memory_list_facts") for _ in range(2))

    assert "stops working on" in text_of(first)
    assert "stops working on" not in text_of(second)
    assert "keyEndsAt" in first["_meta"]
    assert "keyEndsAt" in second["_meta"]


@pytest.mark.parametrize(
    ("name", "first"),
    [
        *((name, "memory_recall") for name in ("memory_search", "recall", "search_memory", "searchMemories", "ask")),
        *((name, "memory_store_fact") for name in ("remember", "memory_store_facts", "save-memory", "add_memory")),
        ("delete_memory", "memory_deprecate_fact"),
        ("get_comand", "get_command"),
    ],
)
def test_a_name_that_is_none_leads_to_the_tool_that_does_it(name: str, first: str) -> None:
    assert nearest_names(name, CATALOGUE)[0] == first


@pytest.mark.parametrize(
    ("name", "arguments"),
    [
        ("memory_search", {"query": "tea or coffee"}),
        ("recall", {"question": "tea or coffee"}),
        ("searchMemories", {"q": "tea or coffee", "limit": "5"}),
        ("mcp__bigmind__search_memory", {"query": "tea or coffee"}),
    ],
)
def test_a_name_that_can_only_mean_reading_is_answered_as_it_was_meant(
    served: Served, name: str, arguments: dict[str, Any]
) -> None:
    wire = Wire(served, make_key().text)
    wire.call("memory_store_fact", {"category": "preference", "fact": "Prefers tea to coffee."})

    answer = wire.call(name, arguments)

    assert not answer.get("isError")
    told, reply = (part["text"] for part in answer["content"])
    assert "Prefers tea to coffee." in reply
    assert told == f"There is no tool {name}: this is the reply of memory_recall."


def test_a_name_that_means_writing_is_answered_with_the_call_and_writes_nothing(served: Served) -> None:
    wire = Wire(served, make_key().text)

    call = {"name": "save_memory", "arguments": {"content": "Prefers tea.", "category": "Preference"}}
    error = wire.send("tools/call", call).json()["error"]

    assert 'Call memory_store_fact({"fact": "Prefers tea.", "category": "preference"})' in error["message"]
    assert not Fact.objects.exists()


def test_a_name_that_may_mean_anything_is_not_performed(served: Served) -> None:
    wire = Wire(served, make_key().text)

    error = wire.send("tools/call", {"name": "search_web", "arguments": {"query": "tea"}}).json()["error"]

    assert error["message"].startswith("Unknown tool: search_web. The nearest: memory_recall")
