"""One Chromium for all tests of pages. Whatever a test looks at, every visit is watched for what must never happen."""

import os
import shutil
from collections import defaultdict
from collections.abc import Iterator
from contextlib import ExitStack, contextmanager
from dataclasses import dataclass, field
from typing import Any

import pytest
from django.conf import settings
from django.db import connection
from playwright.sync_api import Browser, BrowserContext, Dialog, Page, Request, expect, sync_playwright

from accounts.models import User
from tests.factories import browser_of

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
    # A page in a window that has one of the same site takes over its process, and need not start its own.
    "--process-per-site",
    # Without RenderDocument the next page takes over the frame, too: it opens for a seventh less. Of two such lists the
    # last counts, so what Playwright switches off and these pages could notice is named again.
    "--disable-features=RenderDocument,PaintHolding,HttpsUpgrades,OptimizationHints,ThirdPartyStoragePartitioning",
]
# The first opens a page in half the processor time of the others: it has no window, not even an unseen one.
PROGRAMS = ("chromium-headless-shell", "chromium", "chromium-browser")
PATIENCE_MS = 15_000
"""How long a page may take on a machine that others use too. Only a test that fails waits as long."""

expect.set_options(timeout=PATIENCE_MS)


@dataclass
class Window:
    """A window for whoever comes next. Its first page stays and opens the others, which share its process and axe."""

    context: BrowserContext
    stays: Page

    @property
    def pages(self) -> list[Page]:
        """The pages that somebody opened in it."""
        return [page for page in self.context.pages if page != self.stays]

    def open(self) -> Page:
        """Open one more."""
        with self.stays.expect_popup() as opened:
            self.stays.evaluate("void open('about:blank')")
        return opened.value

    def forget(self) -> None:
        """Close what was opened in it, and forget who was signed in and what pages kept."""
        for page in self.pages:
            page.close()
        self.context.clear_cookies()
        self.stays.evaluate("localStorage.clear()")


@dataclass
class Windows:
    """The windows of a browser. To open one costs more than most tests do in it, so those that are free are kept."""

    browser: Browser
    free: defaultdict[tuple[str, bool], list[Window]] = field(default_factory=lambda: defaultdict(list))

    @contextmanager
    def window(self, url: str, *, javascript: bool) -> Iterator[Window]:
        """Lend a window that nobody else uses, on a BigMind."""
        free = self.free[url, javascript]
        window = free.pop() if free else self._open(url, javascript=javascript)
        yield window
        window.forget()
        free.append(window)

    def _open(self, url: str, *, javascript: bool) -> Window:
        context = self.browser.new_context(
            base_url=url,
            java_script_enabled=javascript,
            reduced_motion="reduce",
            viewport={"width": 1280, "height": 900},
        )
        context.set_default_timeout(PATIENCE_MS)
        stays = context.new_page()
        # Browsers keep pages apart that say otherwise who may open them; this one says it as all others do.
        stays.goto("/api/none")
        return Window(context, stays)


@dataclass
class Visits:
    """Opens pages for people, and keeps a record of what no page may do."""

    windows: Windows
    url: str
    lent: ExitStack = field(default_factory=ExitStack)
    used: list[Window] = field(default_factory=list)
    wrongs: list[str] = field(default_factory=list)

    @property
    def pages(self) -> list[Page]:
        """All pages that are open."""
        return [page for window in self.used for page in window.pages]

    def by(self, user: User | None, *, javascript: bool = True) -> Page:
        """Return a page in a window of its own, in which `user` is signed in."""
        window = self.lent.enter_context(self.windows.window(self.url, javascript=javascript))
        self.used.append(window)
        if user is not None:
            cookie = {"name": settings.SESSION_COOKIE_NAME, "value": _session_of(user), "url": self.url}
            window.context.add_cookies([cookie])
        page = window.open()
        page.on("dialog", self._dialog)
        page.on("request", self._request)
        page.on("console", lambda message: self._console(message.text))
        page.on("pageerror", lambda error: self.wrongs.append(f"script error: {error}"))
        return page

    def close(self) -> None:
        """Leave every window to the next test."""
        self.lent.close()

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
    path = os.environ.get("CHROMIUM") or next(filter(None, map(shutil.which, PROGRAMS)), None)
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


@pytest.fixture(scope="package")
def windows(browser: Browser) -> Windows:
    """The windows of all tests of this folder."""
    return Windows(browser)


@pytest.fixture
def visits(windows: Windows, live_server: Any) -> Iterator[Visits]:
    """Visits to the running server. Afterwards: no dialog, no external request, nothing that the CSP had to stop."""
    visits = Visits(windows, live_server.url)
    yield visits
    visits.close()
    assert visits.wrongs == []


def _session_of(user: User) -> str:
    return browser_of(user).cookies[settings.SESSION_COOKIE_NAME].value
