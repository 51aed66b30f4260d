"""Hooks report whatever their client gives them: values of the wrong type are empty, and never break the server."""

import json

import pytest

from bigmind.transports.hooks.dialects import DIALECTS
from tests.capture.hooking import HookedClient
from tests.factories import make_user

pytestmark = pytest.mark.django_db

WRONG = [[], {}, None, 7, "9" * 5_000, "\x00", {"a": []}]
ONE_OF_EACH_TYPE = [None, 7, "\x00", {"a": []}]
OWN = {
    "event_id": "6c1b1d2e-0000-4000-8000-000000000001",
    "at": "2026-11-22T12:00:00Z",
    "late": False,
    "folder": "/src",
    "repository": "freight-api",
    "branch": "main",
    "continues": "other",
    "sub_agent": "a1",
    "version": "1",
    "closing": {"headline": "Done", "files": ["a"], "commits": ["b"], "messages": [{"role": "user", "text": "Hello."}]},
}
SENT = {
    "session_id": "one",
    "cwd": "/src",
    "source": "startup",
    "prompt": "How often is it tried again?",
    "last_assistant_message": "Three times.",
    "prompt_response": "Three times.",
    "stop_hook_active": False,
    "tool_name": "mcp_bigmind_memory_recall",
    "tool_input": {"query": "retries"},
    "tool_use_id": "t1",
    "mcp_context": {"server_name": "bigmind"},
    "agent_id": "a1",
    "bigmind": OWN,
}


@pytest.mark.parametrize("client", ["claude-code", "gemini-cli", "copilot"])
def test_values_of_the_wrong_type_are_taken_for_none(client):
    hooked = HookedClient(make_user(), client)
    events = [*DIALECTS[client].events]
    # All are read by the same function: what differs by client is which events there are, and how each is answered.
    is_first = client == "claude-code"
    payloads = [SENT | {key: wrong} for key in SENT for wrong in (WRONG if is_first else ONE_OF_EACH_TYPE)]
    if is_first:
        payloads += [SENT | {"bigmind": OWN | {key: wrong}} for key in OWN for wrong in WRONG]
        payloads += [
            SENT | {"bigmind": OWN | {"closing": OWN["closing"] | {key: wrong}}}
            for key in OWN["closing"]
            for wrong in WRONG
        ]
    headers = {"Authorization": f"Bearer {hooked.key}"}

    answers = [
        hooked.http.post(
            f"/hooks/{client}/",
            json.dumps({"hook_event_name": events[number % len(events)], **payload}),
            "application/json",
            headers=headers,
        ).status_code
        for number, payload in enumerate(payloads)
    ]

    assert {status for status in answers if status not in {200, 400, 422, 429}} == set()
    assert answers.count(200) > len(answers) / 2
