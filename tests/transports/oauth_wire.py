"""An app that asks a person to let it in, step by step, and the browser in which they do."""

import base64
import hashlib
import re
import secrets
from dataclasses import dataclass, field
from html import unescape
from typing import Any
from urllib.parse import parse_qsl, urlsplit

import httpx
from django.conf import settings

from accounts.models import User
from tests.factories import browser_of
from tests.serving import Served

REDIRECT = "http://127.0.0.1:8765/back"
TOOLS_LIST = {"jsonrpc": "2.0", "id": 1, "method": "tools/list"}


def challenge_of(verifier: str) -> str:
    """Return what a verifier hashes to, as S256 wants it."""
    return base64.urlsafe_b64encode(hashlib.sha256(verifier.encode()).digest()).decode().rstrip("=")


@dataclass
class Browser:
    """A browser without scripts, in which somebody is signed in: it presses the buttons of the consent page."""

    served: Served
    user: User
    http: httpx.Client = field(init=False)

    def __post_init__(self) -> None:
        client = browser_of(self.user)
        session = client.cookies[settings.SESSION_COOKIE_NAME].value
        self.http = httpx.Client(base_url=self.served.url, cookies={settings.SESSION_COOKIE_NAME: session})

    def decide(self, page: str, decision: str = "allow", *, scopes: list[str] | None = None) -> httpx.Response:
        """Open the page at an address of the app, tick the scopes that are meant, and press a button."""
        shown = self.http.get(page, follow_redirects=True)
        assert shown.status_code == 200, shown.text
        offered = re.findall(r'name="scopes" value="(\w+)"', shown.text)
        token = re.search(r'name="csrfmiddlewaretoken" value="(\w+)"', shown.text)
        assert token is not None
        form = {"csrfmiddlewaretoken": token[1], "decision": decision, "scopes": offered if scopes is None else scopes}
        return self.http.post(str(shown.url), data=form, headers={"Referer": str(shown.url)})

    def way_back(self, page: str, decision: str = "allow", *, scopes: list[str] | None = None) -> dict[str, str]:
        """Decide, and return what the app is told at the address the person goes back to."""
        return told(self.decide(page, decision, scopes=scopes))


def told(answer: httpx.Response) -> dict[str, str]:
    """Return what the page after the decision tells the app."""
    link = re.search(r'http-equiv="refresh" content="0;url=([^"]+)"', answer.text)
    assert link is not None, answer.text
    return dict(parse_qsl(urlsplit(unescape(link[1])).query))


@dataclass
class App:
    """An app that has registered itself."""

    served: Served
    redirect_uri: str = REDIRECT
    client_id: str = ""
    verifier: str = field(default_factory=lambda: secrets.token_urlsafe(48))

    def __post_init__(self) -> None:
        self.http = httpx.Client(base_url=self.served.url)
        self.resource = f"{self.served.url}/mcp/oauth"
        if not self.client_id:
            self.client_id = self.register().json()["client_id"]

    def register(self, **said: Any) -> httpx.Response:
        """Introduce it."""
        wanted = {"client_name": "Ada's chat", "redirect_uris": [self.redirect_uri]} | said
        return self.http.post("/mcp/oauth/register", json=wanted)

    def page(self, **said: str | None) -> str:
        """Return the address that it opens in the person's browser."""
        asked = {
            "response_type": "code",
            "client_id": self.client_id,
            "redirect_uri": self.redirect_uri,
            "code_challenge": challenge_of(self.verifier),
            "code_challenge_method": "S256",
            "resource": self.resource,
            "scope": "read write",
            "state": "s1",
        } | said
        return str(httpx.URL("/mcp/oauth/authorize", params={name: text for name, text in asked.items() if text}))

    def ask(self, **said: str | None) -> httpx.Response:
        """Open that address, without following where it leads."""
        return self.http.get(self.page(**said))

    def exchange(self, code: str, **said: str) -> httpx.Response:
        """Exchange a code."""
        return self._token(
            {
                "grant_type": "authorization_code",
                "code": code,
                "redirect_uri": self.redirect_uri,
                "code_verifier": self.verifier,
                "resource": self.resource,
            }
            | said
        )

    def refresh(self, token: str, **said: str) -> httpx.Response:
        """Exchange a refresh token."""
        return self._token({"grant_type": "refresh_token", "refresh_token": token, "resource": self.resource} | said)

    def revoke(self, token: str) -> httpx.Response:
        """Give a token back."""
        return self.http.post("/mcp/oauth/revoke", data={"token": token, "client_id": self.client_id})

    def call(self, token: str, path: str = "/mcp/oauth", message: dict[str, Any] = TOOLS_LIST) -> httpx.Response:
        """Send a message to the endpoint, with a token."""
        headers = {
            "Authorization": f"Bearer {token}",
            "Accept": "application/json, text/event-stream",
            "MCP-Protocol-Version": "2025-11-25",
        }
        begin = self.http.post(path, json=INITIALIZE, headers=headers)
        if begin.status_code != 200:
            return begin
        headers["Mcp-Session-Id"] = begin.headers["Mcp-Session-Id"]
        return self.http.post(path, json=message, headers=headers)

    def let_in(self, user: User, **said: str | None) -> dict[str, Any]:
        """Be let in by somebody, and return the first pair of tokens."""
        code = Browser(self.served, user).way_back(self.page(**said))["code"]
        pair: dict[str, Any] = self.exchange(code).json()
        return pair

    def _token(self, said: dict[str, str]) -> httpx.Response:
        return self.http.post("/mcp/oauth/token", data=said | {"client_id": self.client_id})


INITIALIZE = {
    "jsonrpc": "2.0",
    "id": 0,
    "method": "initialize",
    "params": {
        "protocolVersion": "2025-11-25",
        "capabilities": {},
        "clientInfo": {"name": "adas-chat", "version": "1"},
    },
}
