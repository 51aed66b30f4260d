"""What surrounds every page (T14): forms from elsewhere are refused, and headers say what a browser may do."""

from collections.abc import Mapping
from typing import Any

import pytest
from django.conf import settings
from django.http import HttpRequest, HttpResponse
from django.test import Client

from accounts.models import Role
from tests.factories import make_user
from tests.transports.routes import routes

pytestmark = pytest.mark.django_db

# These answer machines, by a key or a token or to anybody, and never by a cookie: nothing can be forged.
MACHINES = {"healthz", "readyz", "metrics", "openapi", "api-no-route", "hooks"}
# Pages that take no form at all say so before anything else.
NO_FORM = "/api/"
PAGES = sorted({*routes()} - MACHINES)
PASSWORD = "a horse, a battery, a staple"
ADMIN = ["/admin/", "/admin/accounts/user/", "/admin/accounts/user/add/"]


@pytest.fixture
def addresses() -> list[str]:
    """An address of every page, and some of the admin's."""
    return [*(routes()[name].somewhere() for name in PAGES), *ADMIN]


def _as_admin(**options: bool) -> Client:
    client = Client(**options)
    client.force_login(make_user("root", role=Role.ADMIN))
    return client


def refuse(request: HttpRequest, reason: str) -> HttpResponse:
    """Refuse as our page does, without the page: to write it takes most of the time."""
    return HttpResponse(reason, status=403)


@pytest.mark.parametrize("methods", [("POST",), ("PUT", "PATCH", "DELETE")], ids=" ".join)
def test_a_form_without_the_token_is_refused_on_every_page(
    methods: tuple[str, ...], addresses: list[str], settings: Any
) -> None:
    client = _as_admin(enforce_csrf_checks=True)
    assert client.post(addresses[0]).status_code == 403
    settings.CSRF_FAILURE_VIEW = f"{__name__}.refuse"

    statuses = {
        (method, address): client.generic(method, address).status_code
        for address in addresses
        if not address.startswith(NO_FORM)
        for method in methods
    }

    assert {asked: status for asked, status in statuses.items() if status != 403} == {}


def test_every_page_and_every_refusal_tells_the_browser_what_it_may_do(addresses: list[str]) -> None:
    visitors = (_as_admin(), Client())

    wrong = [
        (address, answer.status_code, missing)
        for address in [*addresses, "/nowhere/"]
        for visitor in visitors
        for answer in [visitor.get(address)]
        if (missing := [*_missing(answer.headers), *_sent_from_elsewhere(answer)])
    ]

    assert wrong == []


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
