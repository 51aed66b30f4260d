"""docs/first-conversation.md, executed word for word: on the command line, and by an MCP client against the server."""

import asyncio
from io import StringIO

import httpx2
import pytest
from django.core.management import call_command
from mcp import Client
from mcp.client.streamable_http import streamable_http_client

from accounts.people.first_run import first_run
from tests.first_conversation import first_conversation


def test_the_page_has_the_wholefirst_conversation():
    operations = [turn.operation for turn in first_conversation()]

    assert operations.count("memory_start_session") == 2
    assert operations.count("memory_end_session") == 2
    assert all(turn.answers for turn in first_conversation())


@pytest.mark.django_db(transaction=True, reset_sequences=True)
def test_a_newcomer_gets_the_answers_of_the_page_on_the_command_line():
    first_run("lumen")

    for turn in first_conversation():
        output = StringIO()
        call_command("op", turn.operation, *turn.arguments, stdout=output)

        assert not turn.missing_from(output.getvalue()), output.getvalue()


@pytest.mark.django_db(transaction=True, reset_sequences=True)
def test_an_agent_gets_the_answers_of_the_page_over_mcp(served):
    key = first_run("lumen").key_text

    async def converse() -> None:
        async with (
            httpx2.AsyncClient(headers={"Authorization": f"Bearer {key}"}) as http,
            Client(streamable_http_client(served.mcp, http_client=http)) as client,
        ):
            for turn in first_conversation():
                result = await client.call_tool(turn.operation, turn.as_json)
                text = "\n".join(part.text for part in result.content)

                assert not result.is_error, text
                assert not turn.missing_from(text), text

    asyncio.run(converse())
