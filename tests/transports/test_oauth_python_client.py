"""Apps that only do OAuth: the official Python client finds the door by itself, and a person lets it in."""

from dataclasses import dataclass, field

import anyio
import httpx2
from mcp import Client
from mcp.client.auth import OAuthClientProvider
from mcp.client.streamable_http import streamable_http_client
from mcp.shared.auth import (
    AuthorizationCodeResult,
    OAuthClientInformationFull,
    OAuthClientMetadata,
    OAuthMetadata,
    OAuthToken,
)
from pydantic import AnyUrl

from accounts.keys import revoke_key
from accounts.models import ApiKey, Call, User
from tests.embedded.instance import eventually
from tests.factories import make_user
from tests.serving import Served
from tests.transports.oauth_wire import REDIRECT, Browser


@dataclass
class Storage:
    """What the client keeps between two runs."""

    tokens: OAuthToken | None = None
    client: OAuthClientInformationFull | None = None

    async def get_tokens(self) -> OAuthToken | None:
        return self.tokens

    async def set_tokens(self, tokens: OAuthToken) -> None:
        self.tokens = tokens

    async def get_client_info(self) -> OAuthClientInformationFull | None:
        return self.client

    async def set_client_info(self, client_info: OAuthClientInformationFull) -> None:
        self.client = client_info


@dataclass
class Person:
    """Somebody whose browser the client opens."""

    browser: Browser
    document: str | None = None
    storage: Storage = field(default_factory=Storage)
    asked: list[str] = field(default_factory=list)

    def auth(self) -> OAuthClientProvider:
        metadata = OAuthClientMetadata(redirect_uris=[AnyUrl(REDIRECT)], client_name="Official client")
        return OAuthClientProvider(
            f"{self.browser.served.url}/mcp/oauth", metadata, self.storage, self._open, self._come_back, self.document
        )

    async def _open(self, url: str) -> None:
        self.asked.append(url)

    async def _come_back(self) -> AuthorizationCodeResult:
        told = await anyio.to_thread.run_sync(self.browser.way_back, self.asked[-1])
        return AuthorizationCodeResult(code=told["code"], state=told["state"], iss=told["iss"])


async def store(person: Person, fact: str) -> list[str]:
    """Store a fact as the official client does, and return the tools it was shown."""
    http = httpx2.AsyncClient(auth=person.auth())
    transport = streamable_http_client(f"{person.browser.served.url}/mcp/oauth", http_client=http)
    async with http, Client(transport) as client:
        tools = [tool.name for tool in (await client.list_tools()).tools]
        await client.call_tool("memory_store_fact", {"category": "preference", "fact": fact})
    return tools


def _person(served: Served, user: User) -> Person:
    return Person(Browser(served, user))


def test_the_official_client_is_let_in_works_and_comes_back_with_a_new_token(served: Served) -> None:
    user = make_user("ada")
    person = _person(served, user)

    tools = anyio.run(store, person, "Prefers tabs.")
    first = person.storage.tokens
    assert first is not None
    anyio.run(_refreshed, person)
    anyio.run(store, person, "Likes tea.")

    assert "memory_start_session" in tools
    assert len(person.asked) == 1
    assert person.storage.tokens is not None
    assert person.storage.tokens.access_token != first.access_token
    key = ApiKey.objects.get(user=user)
    assert (key.label, key.scopes) == ("Official client", ["read", "write"])
    stored = Call.objects.filter(key=key, operation="memory_store_fact", outcome="ok")
    eventually(lambda: stored.count() == 2)


async def _refreshed(person: Person) -> None:
    """Let the client find its token expired. Between two runs it forgets when that is, so it is told."""
    auth = person.auth()
    await auth._initialize()
    auth.context.token_expiry_time = 1.0
    address = f"{person.browser.served.url}/.well-known/oauth-authorization-server/mcp/oauth"
    async with httpx2.AsyncClient() as plain:
        auth.context.oauth_metadata = OAuthMetadata.model_validate_json((await plain.get(address)).content)
    async with httpx2.AsyncClient(auth=auth) as http:
        await http.post(f"{person.browser.served.url}/mcp/oauth", json={})


def test_the_official_client_asks_again_when_its_access_was_ended(served: Served) -> None:
    user = make_user("ada")
    person = _person(served, user)
    anyio.run(store, person, "Prefers tabs.")
    revoke_key(ApiKey.objects.get(user=user))

    anyio.run(store, person, "Likes tea.")

    assert len(person.asked) == 2
