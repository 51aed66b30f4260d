"""What surrounds every page (T14): foreign forms are refused, headers say what a browser may do, and help is near."""

from collections.abc import Iterator, Mapping
from itertools import cycle
from typing import Any

import pytest
from django.conf import settings
from django.http import HttpRequest, HttpResponse
from django.test import Client, override_settings
from pytest_django.plugin import DjangoDbBlocker

from accounts.models import Role
from bigmind.help.links import PAGE, anchor_for
from tests.factories import make_user
from tests.transports.routes import ADMINS, ANYONE, CURATORS, MEMBERS, RULES, routes
from tests.transports.test_help import NO_PAGES
from tests.worlds import keep_world

pytestmark = pytest.mark.django_db

# These answer machines, by a key or a token or to anybody, and never by a cookie: nothing can be forged.
MACHINES = {"healthz", "readyz", "metrics", "openapi", "api-no-route", "hooks"}
# Pages that take no form at all say so before anything else.
NO_FORM = "/api/"
PAGES = sorted({*routes()} - MACHINES)
Answers = dict[tuple[str, str], Any]
"""By the name of the address, and who asked."""
PASSWORD = "a horse, a battery, a staple"
ADMIN = ["/admin/", "/admin/accounts/user/", "/admin/accounts/user/add/"]


@pytest.fixture
def addresses() -> list[str]:
    """An address of every page, and some of the admin's."""
    return [*_addresses().values()]


@pytest.fixture(scope="module")
def answers(django_db_setup: None, django_db_blocker: DjangoDbBlocker) -> Iterator[Answers]:
    """What an admin and a stranger are answered, asked once for all tests: to write all pages takes seconds."""

    def ask() -> Answers:
        visitors = {"admin": _as_admin(), "stranger": Client()}
        asked = {**_addresses(), "nowhere": "/nowhere/"}
        return {(name, who): visitors[who].get(address) for name, address in asked.items() for who in visitors}

    with override_settings(BIGMIND_MODE="team"), keep_world(django_db_blocker, ask) as answers:
        yield answers


def _addresses() -> dict[str, str]:
    return {name: routes()[name].somewhere() for name in PAGES} | {address: address for address in ADMIN}


def _as_admin(**options: bool) -> Client:
    client = Client(**options)
    client.force_login(make_user(role=Role.ADMIN))
    return client


def refuse(request: HttpRequest, reason: str) -> HttpResponse:
    """Refuse as our page does, without the page: to write it takes most of the time."""
    return HttpResponse(reason, status=403)


def test_a_form_without_the_token_is_refused_on_every_page(addresses: list[str], settings: Any) -> None:
    client = _as_admin(enforce_csrf_checks=True)
    assert client.post(addresses[0]).status_code == 403
    settings.CSRF_FAILURE_VIEW = f"{__name__}.refuse"

    # No form is sent by the other methods: each page is asked by one of them.
    statuses = {
        (method, address): client.generic(method, address).status_code
        for address, other in zip(addresses, cycle(("PUT", "PATCH", "DELETE")), strict=False)
        if not address.startswith(NO_FORM)
        for method in ("POST", other)
    }

    assert {asked: status for asked, status in statuses.items() if status != 403} == {}


def test_every_page_and_every_refusal_tells_the_browser_what_it_may_do(answers: Answers) -> None:
    wrong = [
        (asked, answer.status_code, missing)
        for asked, answer in answers.items()
        if (missing := [*_missing(answer.headers), *_sent_from_elsewhere(answer)])
    ]

    assert wrong == []


def test_each_page_links_to_its_part_in_help(answers: Answers) -> None:
    shown = {
        name: answers[name, "admin"].text
        for rule in (ANYONE, MEMBERS, CURATORS, ADMINS)
        for name in RULES[rule]
        if name not in NO_PAGES and not routes()[name].parts and _is_page(answers[name, "admin"])
    }

    wanted = {name: f'href="/help/{PAGE}/#{anchor_for(name)}" aria-label="Help on this page"' for name in shown}
    assert len(shown) > 30
    assert [name for name, text in shown.items() if wanted[name] not in text] == []


def _is_page(answer: Any) -> bool:
    return answer.status_code == 200 and "text/html" in answer["Content-Type"]


@pytest.mark.parametrize(
    "policy", ["default-src 'self' 'unsafe-inline'", "default-src 'self'; style-src 'unsafe-eval'"]
)
def test_a_policy_that_lets_in_what_is_inline_is_found_whatever_directive_says_so(policy: str) -> None:
    kept = Client().get("/sign-in/").headers

    assert _missing({**kept, "Content-Security-Policy": policy}) != []
    assert _missing(kept) == []


def test_no_form_of_another_site_brings_the_cookies_along() -> None:
    make_user("ada", password=PASSWORD)
    browser = Client()

    form = browser.get("/sign-in/")
    entered = browser.post("/sign-in/", {"username": "ada", "password": PASSWORD})

    assert {*form.cookies, *entered.cookies} >= {settings.SESSION_COOKIE_NAME, settings.CSRF_COOKIE_NAME}
    assert [*_sent_from_elsewhere(form), *_sent_from_elsewhere(entered)] == []


def _sent_from_elsewhere(answer: HttpResponse) -> list[str]:
    """Return the cookies that a browser would send with a form of another site."""
    return [name for name, cookie in answer.cookies.items() if cookie["samesite"] not in {"Lax", "Strict"}]


def _missing(headers: Mapping[str, str]) -> list[str]:
    policy = headers.get("Content-Security-Policy", "")
    promises = {
        "default-src": "default-src 'self'" in policy or "default-src 'none'" in policy,
        # Of whatever directive: scripts and styles go by `default-src` where they have none of their own.
        "nothing inline": "'unsafe-inline'" not in policy,
        "no eval": "unsafe-eval" not in policy,
        "object-src or default": "object-src" not in policy or "object-src 'none'" in policy,
        "frame-ancestors": "frame-ancestors 'none'" in policy or headers.get("X-Frame-Options") == "DENY",
        "X-Frame-Options": headers.get("X-Frame-Options") in {"DENY", "SAMEORIGIN"},
        "nosniff": headers.get("X-Content-Type-Options") == "nosniff",
        "Referrer-Policy": headers.get("Referrer-Policy") in {"same-origin", "no-referrer"},
        "Cross-Origin-Opener-Policy": headers.get("Cross-Origin-Opener-Policy") == "same-origin",
    }
    return [promise for promise, is_kept in promises.items() if not is_kept]
