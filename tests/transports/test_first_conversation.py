"""docs/first-conversation.md, executed word for word: on the command line, and by an MCP client against the server."""

import asyncio
import re
import shlex
from dataclasses import dataclass
from io import StringIO
from pathlib import Path

import httpx2
import pytest
from django.core.management import call_command
from mcp import Client
from mcp.client.streamable_http import streamable_http_client

from accounts.people.first_run import first_run
from bigmind.operations import CATALOGUE

PAGE = Path(__file__).parent.parent.parent / "docs" / "first-conversation.md"


@dataclass(frozen=True)
class Turn:
    """One command of the page, and the lines that must stand in its answer."""

    operation: str
    arguments: tuple[str, ...]
    answers: tuple[str, ...]

    @property
    def as_json(self) -> dict[str, object]:
        """The arguments as an agent sends them: numbers as numbers."""
        pairs = (argument.split("=", 1) for argument in self.arguments)
        properties = CATALOGUE[self.operation].input_schema()["properties"]
        kinds = {"integer": int, "number": float}
        return {name: kinds.get(properties[name].get("type"), str)(value) for name, value in pairs}


def _conversation() -> list[Turn]:
    turns = []
    for block in re.findall(r"```console\n(.*?)```", PAGE.read_text(), re.DOTALL):
        for said in re.split(r"^\$ ", block, flags=re.MULTILINE)[1:]:
            command, _, answer = said.partition("\n")
            program, subcommand, operation, *arguments = shlex.split(command)
            assert (program, subcommand) == ("bigmind", "op")
            turns.append(Turn(operation, tuple(arguments), tuple(line for line in answer.splitlines() if line)))
    return turns


def _missing(turn: Turn, text: str) -> list[str]:
    """The lines of the page that the answer does not have, in their order; `…` on the page matches anything."""
    missing, place = [], 0
    for line in turn.answers:
        pattern = ".*?".join(re.escape(part) for part in line.split("…"))
        found = re.compile(pattern).search(text, place)
        if found:
            place = found.end()
        else:
            missing.append(line)
    return missing


def test_the_page_has_the_whole_conversation():
    operations = [turn.operation for turn in _conversation()]

    assert operations.count("memory_start_session") == 2
    assert operations.count("memory_end_session") == 2
    assert all(turn.answers for turn in _conversation())


@pytest.mark.django_db(transaction=True, reset_sequences=True)
def test_a_newcomer_gets_the_answers_of_the_page_on_the_command_line():
    first_run("lumen")

    for turn in _conversation():
        output = StringIO()
        call_command("op", turn.operation, *turn.arguments, stdout=output)

        assert not _missing(turn, output.getvalue()), output.getvalue()


@pytest.mark.django_db(transaction=True, reset_sequences=True)
def test_an_agent_gets_the_answers_of_the_page_over_mcp(served):
    key = first_run("lumen").key_text

    async def converse() -> None:
        async with (
            httpx2.AsyncClient(headers={"Authorization": f"Bearer {key}"}) as http,
            Client(streamable_http_client(served.mcp, http_client=http)) as client,
        ):
            for turn in _conversation():
                result = await client.call_tool(turn.operation, turn.as_json)
                text = "\n".join(part.text for part in result.content)

                assert not result.is_error, text
                assert not _missing(turn, text), text

    asyncio.run(converse())
