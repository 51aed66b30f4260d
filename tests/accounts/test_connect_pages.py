"""The page that connects an agent: exact snippets, honest prices, a key in place, and who has called."""

import html
import re
import shutil
from typing import Any
from uuid import uuid4

import pytest
from django.test import Client
from django.urls import reverse

from accounts.authentication import authenticate_key
from accounts.connecting.offered_clients import command_for
from accounts.connecting.server_config import ServerConfig
from accounts.connecting.supported_clients import CLIENTS, client_called
from accounts.keys import revoke_key
from accounts.models import ApiKey, User
from accounts.services.agents import note_agent
from bigmind.gate import perform
from bigmind.operations import CATALOGUE, operations_for
from bigmind.text.token_counts import count_tokens
from bigmind.toolsets import DEFAULT_TOOLSETS, TOOLSETS
from bigmind.transports.mcp.request_context import RequestContext
from bigmind.transports.mcp.tools import list_tools, tool_of
from tests.factories import make_key, make_user

URL = "https://mind.example.com"


@pytest.fixture
def ada(db: None) -> User:
    return make_user("ada")


@pytest.fixture
def browser(client: Client, ada: User, settings: Any) -> Client:
    settings.PUBLIC_URL = URL
    client.force_login(ada)
    return client


def shown(browser: Client, **chosen: Any) -> str:
    return html.unescape(browser.get(reverse("connect"), chosen).text)


def test_every_client_gets_the_public_address_and_never_one_to_bind_to(browser: Client, settings: Any) -> None:
    page = shown(browser)

    assert all(f"Create a key for {client.name}" in page for client in CLIENTS)
    assert page.count(f"{URL}/mcp") >= len(CLIENTS)
    assert not re.search(r"0\.0\.0\.0|127\.0\.0\.1|:7700", page)


def test_the_chosen_client_is_open(browser: Client) -> None:
    page = shown(browser, client="cursor")

    assert re.search(r'id="cursor"\s+open', page)
    assert len(re.findall(r"<details[^>]*\sopen", page)) == 1


def test_the_page_offers_every_toolset_with_its_price(browser: Client) -> None:
    offers = browser.get(reverse("connect")).context["offers"]

    assert [offer.name for offer in offers] == list(TOOLSETS)
    assert [offer.name for offer in offers if offer.is_chosen] == ["core"]
    core = [operation for operation in CATALOGUE.values() if operation.is_listed_in({"core"})]
    assert offers[0].tools == len(core)
    tools = [tool_of(operation).model_dump_json(by_alias=True, exclude_none=True) for operation in core]
    assert offers[0].tokens == sum(map(count_tokens, tools))


def test_what_two_toolsets_list_is_paid_for_once(browser: Client) -> None:
    page = browser.get(reverse("connect"), {"toolsets": ["core", "memory"]})

    operations = [operation for operation in CATALOGUE.values() if operation.is_listed_in({"core", "memory"})]
    assert f"Chosen now: {len(operations)} tools" in page.text
    assert sum(offer.tools for offer in page.context["offers"] if offer.is_chosen) > len(operations)


def test_the_price_of_a_choice_is_its_sum(browser: Client) -> None:
    page = browser.get(reverse("connect"), {"toolsets": ["core", "notes"]})

    chosen = [offer for offer in page.context["offers"] if offer.name in {"core", "notes"}]
    tools, tokens = sum(offer.tools for offer in chosen), sum(offer.tokens for offer in chosen)
    assert f"Chosen now: {tools} tools, {tokens:,} tokens." in page.text


@pytest.mark.parametrize(
    ("toolsets", "query"),
    [
        ([], ""),
        (["core"], ""),
        (["notes", "core"], "?toolsets=core,notes"),
        (["memory"], "?toolsets=memory"),
        (list(TOOLSETS), "?toolsets=all"),
        (["all"], "?toolsets=all"),
    ],
)
def test_a_choice_of_toolsets_is_part_of_the_address(browser: Client, toolsets: list[str], query: str) -> None:
    page = shown(browser, toolsets=toolsets)

    assert f'"url": "{URL}/mcp{query}"' in page


def test_a_toolset_that_does_not_exist_is_refused_in_words(browser: Client) -> None:
    page = browser.get(reverse("connect"), {"toolsets": "everything"})

    assert page.status_code == 422
    assert "There is no toolset “everything”" in page.text


def test_no_key_is_made_for_a_client_nobody_knows(browser: Client) -> None:
    page = browser.post(reverse("connect"), {"client": "abacus"})

    assert page.status_code == 404
    assert ApiKey.objects.count() == 0


@pytest.mark.parametrize(("mode", "ends"), [("personal", False), ("team", True)])
def test_at_work_a_key_made_here_ends_by_itself(browser: Client, settings: Any, mode: str, ends: bool) -> None:
    settings.BIGMIND_MODE = mode

    browser.post(reverse("connect"), {"client": "codex"})

    assert (ApiKey.objects.get().expires_at is not None) == ends


def test_the_page_waits_until_an_agent_has_called(browser: Client, ada: User) -> None:
    before = shown(browser)
    note_agent(ada, client_name="claude-code", client_version="2.4", host="atlas")
    after = shown(browser)

    assert "Waiting for the first call" in before
    assert "Waiting for the first call" not in after
    assert "claude-code 2.4 on atlas" in after


def test_on_the_machine_of_bigmind_the_command_needs_no_address_and_no_key() -> None:
    client = client_called("codex")
    assert client is not None

    program, *rest = command_for(client, ServerConfig(URL, command=("/venv/python", "mcp"))).split(" ")

    assert rest == ["connect", "codex"]
    assert shutil.which(program) is not None  # It works as shown, also where PATH does not lead to BigMind.


def test_a_new_key_waits_and_then_tells_who_came(browser: Client, ada: User) -> None:
    new = make_key(ada, label="Cursor")
    address = reverse("key-arrival", args=[new.key.pk])
    before = browser.get(address).json()

    actor = authenticate_key(new.text, client_name="cursor", client_version="2.4", host="atlas")
    list_tools(RequestContext(actor, DEFAULT_TOOLSETS, "r1"))
    for _ in range(2):
        perform(CATALOGUE["memory_start_session"], actor, {}, transport="mcp")
    after = browser.get(address).json()

    assert before == {"state": "waiting", "client": "", "at": None, "tools": None, "called": []}
    assert after["state"] == "connected"
    assert after["client"] == "cursor 2.4 on atlas"
    assert after["tools"] == len(list(operations_for(actor, DEFAULT_TOOLSETS)))
    assert after["called"] == ["memory_start_session"]


def test_a_key_that_ended_unused_waits_for_nobody(browser: Client, ada: User) -> None:
    key = revoke_key(make_key(ada).key)

    assert browser.get(reverse("key-arrival", args=[key.pk])).json()["state"] == "revoked"


def test_nobody_watches_the_keys_of_others(browser: Client) -> None:
    theirs, nobodys = make_key(make_user("grace")).key.pk, uuid4()

    answers = [browser.get(reverse("key-arrival", args=[key])) for key in (theirs, nobodys)]

    assert [answer.status_code for answer in answers] == [404, 404]


def test_nobody_sees_the_agents_of_others(browser: Client) -> None:
    note_agent(make_user("grace"), client_name="codex", client_version="9.9", host="secret-host")

    assert "secret-host" not in shown(browser)
