"""What an agent reads over MCP fits into its context: every reply of every operation, over long texts."""

import re
from collections.abc import Iterator
from copy import deepcopy
from typing import Any

import pytest
from mcp import types
from pytest_django.plugin import DjangoDbBlocker

from accounts.actor import Actor
from accounts.people.profiles import update_profile
from bigmind.gate import PART
from bigmind.operations import CATALOGUE
from bigmind.reply_parts import REPLY_TOKENS
from bigmind.text.token_counts import count_tokens
from bigmind.transports.mcp.prompts import PROMPTS, get_prompt
from bigmind.transports.mcp.request_context import RequestContext
from bigmind.transports.mcp.resources import read_resource
from bigmind.transports.mcp.tools import call_tool
from knowledge.context.sessions import end_session, start_session
from knowledge.models import Chunk, CompanyEntry, Entry, Fact, Hypothesis, Note, Reference, Session, Summary
from tests.factories import make_actor
from tests.transports.person import Person, arguments_for, make_person
from tests.worlds import keep_world, undone

PROSE = "The pool of connections ran dry because nobody gave them back. "
LONG = (PROSE * 12 + "\n\n```python\npool.close()\n```\n\n") * 80
ROWS = 40
# What Codex puts around a reply counts too.
CODEX_CUTS_AT = 12_000 - 100

pytestmark = pytest.mark.django_db


@pytest.fixture(scope="module")
def made_once(django_db_setup: None, django_db_blocker: DjangoDbBlocker) -> Iterator[Person]:
    with keep_world(django_db_blocker, _somebody_wordy) as person:
        yield person


@pytest.fixture
def person(made_once: Person) -> Person:
    """Somebody all of whose texts are as long as texts may be, with many rows of each kind."""
    return deepcopy(made_once)


def _somebody_wordy() -> Person:
    person = make_person()
    user = person.actor.user
    texts = {Fact: "fact", Hypothesis: "hypothesis", Note: "content", Chunk: "content", Summary: "summary"}
    for model, name in (texts | {Entry: "content", Reference: "content", CompanyEntry: "content"}).items():
        model.objects.update(**{name: LONG})  # type: ignore[attr-defined]
    Note.objects.bulk_create(Note(user=user, domain="email", key=f"k{n}", content=LONG) for n in range(ROWS))
    Fact.objects.bulk_create(Fact(user=user, category="decision", fact=LONG, digest=str(n)) for n in range(ROWS))
    update_profile(person.actor, role="Engineer", preferences=LONG, pinned_facts=[PROSE * 10] * ROWS)
    session = Session.objects.get(pk=person.ids["session_id"])
    Summary.objects.create(session=session, summary=LONG, key_facts=[PROSE * 20] * ROWS, code_refs=["a.py"] * ROWS)
    return person


def _call(actor: Actor, operation: str, /, **arguments: Any) -> types.CallToolResult:
    context = RequestContext(actor, frozenset({"all"}), "long")
    return call_tool(context, types.CallToolRequestParams(name=operation, arguments=arguments))


def _text(result: types.CallToolResult) -> str:
    (content,) = result.content
    assert isinstance(content, types.TextContent)
    return content.text


def _is_fenced_to_its_end(text: str) -> bool:
    fence = ""
    for ticks, rest in re.findall(r"^(`{3,})(.*)$", text, re.MULTILINE):
        if not fence:
            fence = ticks
        elif not rest.strip() and len(ticks) >= len(fence):
            fence = ""
    return not fence


def test_every_reply_fits_and_closes_its_fences(made_once: Person) -> None:
    for name, operation in CATALOGUE.items():
        with undone():
            person = deepcopy(made_once)
            arguments = arguments_for(operation, person)
            if "limit" in operation.arguments.model_fields:
                arguments["limit"] = 10
            result = _call(person.actor, name, **arguments)

        text = _text(result)
        assert result.structured_content is None, name
        assert count_tokens(text) <= REPLY_TOKENS, name
        assert len(text.encode()) <= CODEX_CUTS_AT, name
        assert _is_fenced_to_its_end(text), (name, text[-500:])


@pytest.mark.parametrize("uri", ["bigmind://context", "bigmind://instructions", "bigmind://notes/email"])
def test_every_resource_fits(person: Person, uri: str) -> None:
    context = RequestContext(person.actor, frozenset({"all"}), "long")

    (contents,) = read_resource(context, types.ReadResourceRequestParams(uri=uri)).contents

    assert isinstance(contents, types.TextResourceContents)
    assert count_tokens(contents.text) <= REPLY_TOKENS


@pytest.mark.parametrize("name", PROMPTS)
def test_every_prompt_fits(person: Person, name: str) -> None:
    context, asked = (
        RequestContext(person.actor, frozenset({"all"}), "long"),
        dict.fromkeys(PROMPTS[name].arguments, "pool"),
    )

    prompt = get_prompt(context, types.GetPromptRequestParams(name=name, arguments=asked))

    (content,) = (message.content for message in prompt.messages)
    assert isinstance(content, types.TextContent)
    assert count_tokens(content.text) <= REPLY_TOKENS + 500


def test_a_long_summary_is_read_in_parts_that_make_up_the_whole() -> None:
    actor = make_actor()
    session = start_session(actor, project="depot").session
    numbered = "\n".join(f"{n}. {PROSE}" for n in range(320))
    end_session(actor, session_id=str(session.pk), one_liner="A long one", summary=numbered)
    assert len(numbered) > 20_000

    parts, number = [_text(_call(actor, "memory_get_session_detail", session_id=str(session.pk)))], 1
    while f"part={number + 1}" in parts[-1]:
        number += 1
        parts.append(_text(_call(actor, "memory_get_session_detail", session_id=str(session.pk), part=number)))

    told = [int(found) for part in parts for found in re.findall(r"^(\d+)\. The pool", part, re.MULTILINE)]
    assert told == list(range(320))
    assert len(parts) == 3
    assert "call `memory_get_session_detail` with the same arguments and part=2" in parts[0]
    assert all(_is_fenced_to_its_end(part) for part in parts)


def test_a_part_that_is_not_there_is_said_to_be_so() -> None:
    reply = _call(make_actor(), "memory_list_facts", part=7)

    assert "has no part 7" in _text(reply)


@pytest.mark.parametrize("wrong", [0, -1, "x", 1.5, True, [1], 10**9])
def test_what_is_no_part_is_refused(wrong: Any) -> None:
    reply = _call(make_actor(), "memory_list_facts", **{PART: wrong})

    assert reply.is_error
    assert "part must be a number" in _text(reply)


@pytest.mark.parametrize("said", [None, 1, "1"])
def test_the_first_part_can_be_asked_for(said: Any) -> None:
    assert not _call(make_actor(), "memory_list_facts", **{PART: said}).is_error


def test_an_export_over_mcp_says_how_to_get_the_file(person: Person) -> None:
    text = _text(_call(person.actor, "memory_export"))

    assert count_tokens(text) < 150
    assert {"GET /api/v1/export/", "bigmind op memory_export"} <= set(re.findall(r"`([^`]+?)(?: --[^`]*)?`", text))


def test_no_operation_has_an_argument_of_the_name_that_asks_for_a_part() -> None:
    assert not [name for name, operation in CATALOGUE.items() if PART in operation.arguments.model_fields]
