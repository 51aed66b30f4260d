"""One Chromium for all tests of pages. Whatever a test looks at, every visit is watched for what must never happen."""

import os
import shutil
from collections.abc import Iterator
from dataclasses import dataclass, field
from typing import Any

import pytest
from django.conf import settings
from django.db import connection
from django.test import Client
from playwright.sync_api import Browser, BrowserContext, Dialog, Page, Request, sync_playwright

from accounts.models import User

# Playwright's synchronous interface keeps an event loop in this thread, where Django would not ask the database.
os.environ.setdefault("DJANGO_ALLOW_ASYNC_UNSAFE", "true")

ARGUMENTS = [
    "--no-sandbox",
    "--disable-gpu",
    "--disable-quic",
    "--no-first-run",
    "--disable-background-networking",
    "--disable-component-update",
    "--disable-sync",
]
PATIENCE_MS = 60_000


@dataclass
class Visits:
    """Opens pages for people, and keeps a record of what no page may do."""

    browser: Browser
    url: str
    contexts: list[BrowserContext] = field(default_factory=list)
    wrongs: list[str] = field(default_factory=list)

    def by(self, user: User | None, *, javascript: bool = True) -> Page:
        """Return a fresh window in which `user` is signed in."""
        context = self.browser.new_context(
            base_url=self.url,
            java_script_enabled=javascript,
            reduced_motion="reduce",
            viewport={"width": 1280, "height": 900},
        )
        context.set_default_timeout(PATIENCE_MS)
        self.contexts.append(context)
        if user is not None:
            context.add_cookies([{"name": settings.SESSION_COOKIE_NAME, "value": _session_of(user), "url": self.url}])
        page = context.new_page()
        page.on("dialog", self._dialog)
        page.on("request", self._request)
        page.on("console", lambda message: self._console(message.text))
        page.on("pageerror", lambda error: self.wrongs.append(f"script error: {error}"))
        return page

    def close(self) -> None:
        """Close every window."""
        for context in self.contexts:
            context.close()

    def _dialog(self, dialog: Dialog) -> None:
        self.wrongs.append(f"dialog: {dialog.message}")
        dialog.dismiss()

    def _request(self, request: Request) -> None:
        if not request.url.startswith((self.url, "data:")):
            self.wrongs.append(f"external request: {request.url}")

    def _console(self, text: str) -> None:
        if "Content Security Policy" in text:
            self.wrongs.append(text)


@pytest.fixture(scope="package")
def browser() -> Iterator[Browser]:
    """Chromium, started once for this folder: as long as it runs, no other test could run an event loop."""
    path = os.environ.get("CHROMIUM") or shutil.which("chromium") or shutil.which("chromium-browser")
    if path is None:
        missing = "Chromium is missing: install it, or name it in the variable CHROMIUM."
        (pytest.fail if os.environ.get("CI") == "true" else pytest.skip)(missing)
    # While the event loop runs, Django keeps another connection for this thread: the one from before would be ended
    # with the sessions of a server, and the next test without a browser would find it so.
    connection.close()
    with sync_playwright() as playwright:
        browser = playwright.chromium.launch(executable_path=path, headless=True, args=ARGUMENTS)
        yield browser
        browser.close()


@pytest.fixture
def visits(browser: Browser, live_server: Any) -> Iterator[Visits]:
    """Visits to the running server. Afterwards: no dialog, no external request, nothing that the CSP had to stop."""
    visits = Visits(browser, live_server.url)
    yield visits
    visits.close()
    assert visits.wrongs == []


def _session_of(user: User) -> str:
    client = Client()
    client.force_login(user)
    return client.cookies[settings.SESSION_COOKIE_NAME].value
