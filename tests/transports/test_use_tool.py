"""`memory_use_tool`: an agent that lists `core` alone finds and performs everything else."""

import pytest

from accounts.models import SCOPES, Call, Role
from bigmind.operations import CATALOGUE, OTHER_NAMES, operations_for, rank_operations
from bigmind.text.token_counts import count_tokens
from knowledge.models import Note
from tests.embedded.instance import eventually
from tests.factories import make_actor, make_key, make_user
from tests.serving import Served
from tests.transports.mcp_wire import Wire, text_of
from tests.transports.rest_wire import Rest

WANTED = {
    "delete a note": "knowledge_delete",
    "save a note about email signatures": "knowledge_set",
    "read my notes": "knowledge_get",
    "rename a note": "knowledge_rename",
    "add something to the shared knowledge base": "kb_add",
    "search the kb": "kb_search",
    "does this CLI command exist?": "check_command",
    "how do I call this API endpoint": "get_api_endpoint",
    "list commands": "list_commands",
    "search the documentation": "search_knowledge",
    "update the user's profile": "memory_update_profile",
    "pin a fact": "memory_update_profile",
    "write down a hypothesis": "memory_add_hypothesis",
    "my hypothesis was wrong": "memory_resolve_hypothesis",
    "erase a fact for good": "memory_erase_fact",
    "export everything": "memory_export",
    "import an export": "memory_import",
    "who worked on kubernetes?": "directory_search",
    "ids of a table in an app": "app_resolve",
    "approve company knowledge": "memory_approve_global",
    "I got an error, has anybody seen it?": "lesson_for",
    "health of the memory": "memory_health_check",
    "how many sessions and facts are there (statistics)": "memory_get_stats",
    "list earlier sessions": "memory_list_sessions",
    "prune old chunks": "memory_vacuum",
    "restore what was set aside": "memory_restore",
}


@pytest.mark.parametrize(("words", "operation"), WANTED.items())
def test_what_is_wanted_is_found_among_five_by_plain_words(words: str, operation: str) -> None:
    assert operation in [found.name for found in rank_operations(words, list(CATALOGUE.values()))[:5]]


def test_a_tool_is_found_with_what_it_takes_and_then_performed(served: Served) -> None:
    wire = Wire(served, make_key().text)

    found = text_of(wire.call("memory_use_tool", {"find": "write a note"}))
    arguments = {"domain": "email", "key": "signature", "content": "Best, P."}
    done = wire.call("memory_use_tool", {"tool": "knowledge_set", "arguments": arguments})

    assert "**knowledge_set** (writes)" in found
    assert "- domain: string. Area" in found
    assert count_tokens(found) <= 1_200
    assert text_of(done).startswith("Note email/signature is kept.")
    assert Note.objects.get().content == "Best, P."


@pytest.mark.parametrize(
    "sent",
    [
        {"tool": "knowledge_get", "arguments": {"domain": "email"}},
        {"tool": "knowledge_get", "arguments": '{"domain": "email"}'},
        {"tool": "knowledge_get", "domain": "email"},
        {"tool": "mcp__bigmind__knowledge_get", "arguments": {"domain": "email"}, "find": None},
    ],
)
def test_the_answer_is_that_of_the_tool_itself(served: Served, sent: dict[str, object]) -> None:
    wire = Wire(served, make_key().text)
    wire.call("knowledge_set", {"domain": "email", "key": "signature", "content": "Best, P."})

    assert text_of(wire.call("memory_use_tool", sent)) == text_of(wire.call("knowledge_get", {"domain": "email"}))


def test_a_refusal_is_that_of_the_tool_itself(served: Served) -> None:
    wire = Wire(served, make_key().text)

    through = wire.call("memory_use_tool", {"tool": "knowledge_set", "arguments": {"domain": "email"}})

    assert through["isError"]
    assert text_of(through) == text_of(wire.call("knowledge_set", {"domain": "email"}))


def test_a_key_finds_and_performs_no_more_than_it_may(served: Served) -> None:
    reader = Wire(served, make_key(scopes=["read"]).text)
    limited = Wire(served, make_key(toolsets=["core"]).text)

    found = text_of(reader.call("memory_use_tool", {"find": "erase a fact"}))
    erasing = reader.call("memory_use_tool", {"tool": "memory_erase_fact", "arguments": {"fact_id": 1}})
    outside = limited.call("memory_use_tool", {"tool": "knowledge_get", "arguments": {}})

    assert "memory_erase_fact" not in found
    assert "may not write" in text_of(erasing)
    assert "limited to: core" in text_of(outside)
    assert "knowledge_" not in text_of(limited.call("memory_use_tool", {"find": "read a note"}))


def test_what_is_performed_is_counted_as_what_it_is_and_has_one_effect_when_retried(served: Served) -> None:
    wire = Wire(served, make_key().text)
    wire.call("memory_start_session")
    sent = {"tool": "memory_add_hypothesis", "arguments": {"hypothesis": "I believe the cache is cold."}}

    first, again = (wire.call("memory_use_tool", sent, idempotencyKey="try-1") for _ in range(2))

    assert text_of(again) == text_of(first)
    assert again["_meta"]["replayed"] is True
    called = Call.objects.values_list("operation", flat=True)
    eventually(lambda: set(called.all()) == {"memory_start_session", "memory_add_hypothesis"})


def test_the_tool_says_that_it_may_write_and_destroy(served: Served) -> None:
    tools = Wire(served, make_key().text).send("tools/list").json()["result"]["tools"]

    annotations = next(tool["annotations"] for tool in tools if tool["name"] == "memory_use_tool")

    assert (annotations["readOnlyHint"], annotations["destructiveHint"]) == (False, True)


def test_a_tool_that_there_is_not_is_answered_with_the_nearest(served: Served) -> None:
    refusal = Wire(served, make_key().text).call("memory_use_tool", {"tool": "knowledge_remove", "arguments": {}})

    assert refusal["isError"]
    assert "There is no tool knowledge_remove. The nearest: knowledge_delete" in text_of(refusal)


def test_nothing_is_out_of_reach_of_an_agent_that_lists_core_alone(served: Served) -> None:
    admin = make_key(make_user(role=Role.ADMIN), scopes=SCOPES)
    wire = Wire(served, admin.text)

    for name in set(CATALOGUE) - {"memory_use_tool"}:
        answer = wire.call("memory_use_tool", {"tool": name, "arguments": {"surprise": 1}})
        assert "surprise is not an argument here" in text_of(answer), name


@pytest.mark.django_db
def test_over_rest_each_operation_has_its_own_route() -> None:
    refused = Rest().post("tools/", tool="memory_erase_fact", arguments={"fact_id": 1})

    assert refused.status_code == 422
    assert "DELETE facts/{fact_id}/" in refused.json()["detail"]


@pytest.mark.django_db
def test_every_other_name_leads_to_what_core_lists() -> None:
    listed = {operation.name for operation in operations_for(make_actor(), {"core"})}

    assert set(OTHER_NAMES.values()) <= listed
