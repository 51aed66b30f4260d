"""Every door that takes a secret, and how somebody knocks with a wrong one: for the tests of brute force (T15)."""

from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

from django.test import Client
from django.urls import reverse

from tests.accounts.codes import code_of, secret_on, with_second_factor
from tests.factories import make_user

PASSWORD = "a horse, a battery, a staple"
METRICS_TOKEN = "the token of the metrics"

Knock = Callable[[int], Any]
"""Shows something: the n-th wrong secret or, for 0, the right one."""


@dataclass(frozen=True)
class Person:
    """Somebody who comes from an address, and claims to come from another one each time."""

    address: str

    def browser(self) -> Client:
        """Open a browser there."""
        return Client(REMOTE_ADDR=self.address)

    def forged(self, number: int) -> dict[str, str]:
        """Return the headers by which some proxies name an address."""
        elsewhere = f"198.51.100.{number}"
        return {
            "X-Forwarded-For": elsewhere,
            "X-Real-IP": elsewhere,
            "Forwarded": f"for={elsewhere}",
            "X-Client-IP": elsewhere,
            "CF-Connecting-IP": elsewhere,
        }


def _sign_in(person: Person) -> Knock:
    name = make_user(password=PASSWORD).username
    return _posting(person, person.browser(), "sign-in", "password", right=lambda: PASSWORD, username=name)


def _sign_in_code(person: Person) -> Knock:
    user = make_user(password=PASSWORD)
    enrolment, _ = with_second_factor(user)
    return _posting(person, _at_the_code(person, user), "sign-in-code", "code", right=lambda: code_of(enrolment.secret))


def _recovery_code(person: Person) -> Knock:
    user = make_user(password=PASSWORD)
    _, codes = with_second_factor(user)
    return _posting(person, _at_the_code(person, user), "sign-in-code", "code", right=lambda: codes[0])


def _at_the_code(person: Person, user: Any) -> Client:
    browser = person.browser()
    browser.post(reverse("sign-in"), {"username": user.username, "password": PASSWORD})
    return browser


def _password(person: Person) -> Knock:
    new = {"new_password1": "a whale, a lamp, a ladder", "new_password2": "a whale, a lamp, a ladder"}
    return _posting(person, _inside(person), "password", "old_password", right=lambda: PASSWORD, **new)


def _set_up(person: Person) -> Knock:
    browser = _inside(person)
    secret = secret_on(browser.get(reverse("second-factor-set-up")).text)
    right = {"right": lambda: code_of(secret), "password": PASSWORD}
    return _posting(person, browser, "second-factor-set-up", "code", **right)


def _renew(person: Person) -> Knock:
    return _with_factor(person, "second-factor-codes")


def _remove(person: Person) -> Knock:
    return _with_factor(person, "second-factor-remove")


def _confirm(person: Person) -> Knock:
    return _posting(person, _inside(person), "confirm", "password", right=lambda: PASSWORD)


def _confirm_by_code(person: Person) -> Knock:
    return _with_factor(person, "confirm")


def _with_factor(person: Person, name: str) -> Knock:
    user = make_user(password=PASSWORD)
    enrolment, _ = with_second_factor(user)
    return _posting(person, _inside(person, user), name, "code", right=lambda: code_of(enrolment.secret))


def _inside(person: Person, user: Any = None) -> Client:
    browser = person.browser()
    browser.force_login(user or make_user(password=PASSWORD))
    return browser


def _posting(person: Person, browser: Client, name: str, field: str, *, right: Callable[[], str], **more: Any) -> Knock:
    def knock(number: int) -> Any:
        shown = f"{number:06}" if number else right()
        return browser.post(reverse(name), {field: shown, **more}, headers=person.forged(number))

    return knock


# Routes that take what people type, and can be guessed: after ten wrong ones even the right one has to wait.
LOCKED: dict[str, tuple[Callable[[Person], Knock], ...]] = {
    "sign-in": (_sign_in,),
    "sign-in-code": (_sign_in_code, _recovery_code),
    "password": (_password,),
    "second-factor-set-up": (_set_up,),
    "second-factor-codes": (_renew,),
    "second-factor-remove": (_remove,),
    "confirm": (_confirm, _confirm_by_code),
}

# Routes that take what nobody can guess: a flood of wrong ones has to wait, the right one goes in. Those of hooks, of
# MCP, of REST and of OAuth are knocked at where they are served.
WAITING = ("sign-in-link", "invitation", "metrics", "sso-callback", "hooks")

# Routes that answer anybody and take no secret: nothing is to be guessed there.
NOTHING_TO_GUESS = {
    **dict.fromkeys(("healthz", "readyz", "openapi", "api-docs", "api-no-route", "styleguide", "theme"), "open to all"),
    **dict.fromkeys(
        ("help", "help-page", "help-file", "api-toolset", "api-operation"), "open to all: the documentation"
    ),
    "sso": "leads to the provider, where people show who they are",
    "sign-out": "ends a session, and begins none",
}

# Paths of the MCP server: what is shown there, or why nothing is.
SERVED = {
    "/mcp": "a key",
    "/mcp/oauth": "an access token",
    "/mcp/oauth/token": "a code or a refresh token",
    "/mcp/oauth/revoke": "a token that is given back",
}
SERVED_TO_ALL = {
    "/mcp/oauth/register": "makes a client id; 60 in an hour from one address (test_oauth.py)",
    "/mcp/oauth/authorize": "leads to the page on which a person decides, who has signed in",
    "/.well-known/oauth-protected-resource/mcp/oauth": "open to all",
    "/.well-known/oauth-authorization-server/mcp/oauth": "open to all",
}
