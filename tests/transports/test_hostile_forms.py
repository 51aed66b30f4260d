"""Hostile forms and addresses: whatever a browser sends to a page is answered, and breaks nothing."""

import re
from collections.abc import Iterator
from itertools import cycle
from pathlib import Path
from typing import Any
from urllib.parse import quote

import pytest
from django import forms
from django.db import transaction
from django.test import Client, override_settings
from pytest_django.plugin import DjangoDbBlocker

from accounts.actor import Actor
from accounts.models import Role
from bigmind.web.forms import OperationForm
from tests.factories import browser_of, make_actor, make_user
from tests.transports.isolation import approve_company_knowledge, ids_in_addresses, own_everything, share_entries
from tests.transports.routes import Route, routes
from tests.worlds import keep_world

pytestmark = pytest.mark.django_db

TEMPLATES = Path(__file__).parents[2] / "templates"
VALUES = {
    "a NUL": "\0",
    "half a surrogate pair": "\udcff",
    "no number": "NaN",
    "a huge number": "9" * 30,
    "a number of thousands of digits": "9" * 5_000,
    "a negative number": "-1",
    "digits of another script": "٣",
    "a long text": "x" * 3_000,
    "a path": "../../etc/passwd",
    "deep JSON": "[" * 5_000,
    "a date that is none": "0000-99-99T99:99",
    "nothing": "",
    "an id of another kind": "00000000-0000-0000-0000-000000000000",
}
APART = {
    "sign-out", "memory-import", "sign-in", "sso", "sso-callback", "theme", "openapi", "healthz", "readyz", "metrics",
}  # fmt: skip
"""What ends the session of the test, or reads nothing of a form."""


class World:
    """An admin who owns one of everything."""

    def __init__(self) -> None:
        owner = make_user("owner", role=Role.ADMIN)
        owned = approve_company_knowledge(share_entries(make_actor(), own_everything(Actor.of(owner))))
        self.owner, self.ids = owner, ids_in_addresses(owned)


@pytest.fixture(scope="module")
def world(django_db_setup: None, django_db_blocker: DjangoDbBlocker) -> Iterator[World]:
    with override_settings(BIGMIND_MODE="team"), keep_world(django_db_blocker, World) as world:
        yield world


def _field_names() -> list[str]:
    """Return what any field of any form is called."""
    names = {name for file in TEMPLATES.rglob("*.html") for name in re.findall(r'name="(\w+)"', file.read_text())}
    waiting: list[Any] = [forms.Form, OperationForm]
    while waiting:
        form = waiting.pop()
        names |= set(getattr(form, "base_fields", {}))
        waiting += form.__subclasses__()
    return sorted(names - {"csrfmiddlewaretoken"})


@pytest.mark.parametrize(
    "values",
    [list(VALUES.values()), *([value] for value in VALUES.values())],
    ids=["in turn", *VALUES],
)
@pytest.mark.torture
def test_no_page_breaks_at_what_a_form_or_an_address_says(values: list[str], world: World) -> None:
    browser, names = Client(raise_request_exception=False), _field_names()
    browser.force_login(world.owner)
    sent = [quote(value.encode("utf-8", "surrogateescape")) for value in values]
    fields = [f"{name}={value}" for name, value in zip(names, cycle(sent), strict=False)]
    form = "&".join([*fields, fields[0]])

    broken = [
        (name, how, status)
        for name, route in routes().items()
        if name not in APART
        for how in ("GET", "POST")
        if (status := _status(browser, route, world.ids, how, form)) >= 500
    ]

    assert broken == []


@pytest.mark.parametrize("field", ["name", "public_key", "app", "client", "next"])
def test_a_nul_is_refused_by_every_page_that_reads_a_field_without_a_form(field: str, world: World) -> None:
    browser = browser_of(world.owner)
    wanted = ("address-unlock", "captured", "apps-default", "embeddings-stop", "keys")

    statuses = {
        _status(browser, route, world.ids, how, f"{field}=%00")
        for name, route in routes().items()
        if name in wanted
        for how in ("GET", "POST")
    }

    assert max(statuses) < 500


def _status(browser: Client, route: Route, ids: dict[str, Any], how: str, form: str) -> int:
    address = route.at(ids)
    with transaction.atomic():
        if how == "GET":
            answer = browser.get(f"{address}?{form}")
        else:
            answer = browser.post(address, form, content_type="application/x-www-form-urlencoded")
        transaction.set_rollback(True)
    return answer.status_code
