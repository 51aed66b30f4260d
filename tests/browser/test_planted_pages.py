"""A payload in every stored field, on every page, in Chromium (T14): none acts, leads elsewhere or is too wide."""

import re
from collections.abc import Iterator
from contextlib import contextmanager
from itertools import product
from typing import Any

import pytest
from django.apps import apps
from django.contrib import admin
from django.core.handlers.wsgi import WSGIHandler
from django.test import Client
from django.urls import NoReverseMatch, reverse
from playwright.sync_api import Page, ViewportSize

from accounts.models import Role, User
from tests.browser.axe import scrolls_sideways
from tests.browser.conftest import Visits
from tests.browser.planting import NOT_PLANTED, SEEN, fields_with_payloads, plant_everywhere, text_fields
from tests.everything import make_one_of_everything
from tests.factories import make_user
from tests.transports.routes import Route, routes

pytestmark = [pytest.mark.browser, pytest.mark.django_db(transaction=True), pytest.mark.usefixtures("nothing_cached")]

# What would act, or show somebody else who reads: none of it may be there, whether or not the policy stops it.
ACTS = ", ".join(
    (
        *("[onerror]", "[onload]", "[onclick]", "script:not([src])", "iframe", "object", "embed", "base"),
        *('[href^="javascript:" i]', '[action^="javascript:" i]', '[formaction^="javascript:" i]'),
        *('[src*="outside.example"]', 'img[src="x"]', 'link[href*="outside.example"]'),
    )
)
# What shows that something stored stands on a page, also where it is cut short; a page without it has nothing to act.
TRACES = re.compile(r"alert\(|img src=[x/]|svg onload|outside\.example|//x\.y")
# In which one refusal differs from the next: what keeps a form ours, the part of the help, the id of the request.
UNLIKE = re.compile(r'(?:name="csrfmiddlewaretoken" value="|href="/help/pages/#|Request ID[^<]*<code>)[\w-]+')
LOOK = """acts => {
    document.querySelectorAll('details').forEach(one => one.open = true);
    return [[...document.querySelectorAll(acts)].map(one => one.outerHTML), document.documentElement.outerHTML];
}"""
A_PHONE: ViewportSize = {"width": 320, "height": 900}
ROWS_OF_EACH = 2
"""In the long tests; what everybody runs looks at the first."""


@pytest.fixture
def owner(settings: Any, transactional_db: None) -> User:
    """Somebody who owns one of everything, with a payload in every text of it."""
    settings.BIGMIND_MODE = "team"
    owner = make_one_of_everything()
    plant_everywhere()
    owner.refresh_from_db()
    return owner


def test_every_text_field_holds_a_payload_or_says_why_it_cannot(owner: User) -> None:
    wanted = {planted.name for planted in text_fields() if not planted.why_not}

    assert wanted - fields_with_payloads() == set()


def test_every_reason_is_about_a_field_that_exists() -> None:
    names = {planted.name for planted in text_fields()} | {planted.field.name for planted in text_fields()}

    assert set(NOT_PLANTED) - names == set()


def test_nothing_that_was_stored_acts_or_is_too_wide_for_who_owns_it_and_may_see_every_page(
    visits: Visits, owner: User
) -> None:
    owner.role = Role.ADMIN
    owner.save(update_fields=["role"])

    _look_at_every_page(visits, owner, owner, seen_at_least=100, rows=1)


@pytest.mark.torture
def test_nothing_that_was_stored_acts_on_the_pages_of_its_owner(visits: Visits, owner: User) -> None:
    _look_at_every_page(visits, owner, owner, seen_at_least=60)


@pytest.mark.torture
def test_nothing_that_was_stored_acts_on_the_pages_of_an_admin(visits: Visits, owner: User) -> None:
    _look_at_every_page(visits, make_user("root", role=Role.ADMIN), owner, seen_at_least=60)


@pytest.mark.torture
def test_nothing_that_was_stored_acts_in_the_admin(visits: Visits, owner: User) -> None:
    page = visits.by(make_user("root", role=Role.ADMIN))
    seen: set[int] = set()

    for address in _pages_of_the_admin():
        seen |= _look_at(page, address)

    assert len(seen) > 60


def _look_at_every_page(
    visits: Visits, visitor: User, owner: User, *, seen_at_least: int, rows: int = ROWS_OF_EACH
) -> None:
    page, client = visits.by(visitor), Client()
    page.set_viewport_size(A_PHONE)
    client.force_login(visitor)
    seen: set[int] = set()
    looked_at: set[str] = set()
    asked = ((name, address) for name, route in routes().items() for address in _addresses(route, owner, rows))
    with _sending_once_more() as written:
        for name, address in asked:
            answer = client.get(address)
            assert answer.status_code < 500, (name, address)
            text = UNLIKE.sub("", answer.text.replace(address, "")) if _is_a_page(answer) else ""
            if TRACES.search(text) and text not in looked_at:
                looked_at.add(text)
                written[address] = answer
                seen |= _look_at(page, address)
                # A payload is also a word that no line of a phone has room for.
                assert scrolls_sideways(page) <= 0, address
    assert len(seen) >= seen_at_least


@contextmanager
def _sending_once_more() -> Iterator[dict[str, Any]]:
    """Let the server send a page as it was written for us, where it stands here: to write it takes half of the time."""
    written: dict[str, Any] = {}
    write = WSGIHandler.get_response
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(
            WSGIHandler,
            "get_response",
            lambda handler, request: written.pop(request.get_full_path(), None) or write(handler, request),
        )
        yield written


def _is_a_page(answer: Any) -> bool:
    is_html = answer.get("Content-Type", "").startswith("text/html") and "Content-Disposition" not in answer
    return is_html and answer.status_code in {200, 403, 404, 409, 410, 422}


def _look_at(page: Page, address: str) -> set[int]:
    """Open a page, with everything folded away on it opened; return the numbers of the fields that it shows."""
    page.goto(address)
    acting, content = page.evaluate(LOOK, ACTS)

    assert acting == [], address
    return {int(number) for number in SEEN.findall(content)}


def _addresses(route: Route, owner: User, rows: int) -> Iterator[str]:
    """Return the addresses of a page about what is stored: each row that its address could name."""
    found = [list(dict.fromkeys(_values(part, owner, rows))) for part in route.parts]
    for values in product(*found):
        try:
            yield route.at(dict(zip(route.parts, values, strict=True)))
        except NoReverseMatch:
            continue


def _values(part: str, owner: User, rows: int) -> Iterator[Any]:
    """Return what could stand in a part of an address: an id of any of our rows whose model is so called."""
    if part in WORDS_IN_ADDRESSES:
        yield from WORDS_IN_ADDRESSES[part]
    elif part == "username":
        yield owner.username
    elif part == "person_id":
        yield owner.pk
    else:
        for model in MODELS_IN_ADDRESSES[part]:
            yield from model_called(model)._base_manager.order_by("pk").values_list("pk", flat=True)[:rows]


WORDS_IN_ADDRESSES: dict[str, tuple[str, ...]] = {
    "token": ("x" * 32,),
    "name": ("mail", "docs", "memory_store_fact", "review_days", "stores.svg", "basics"),
    "version": ("1.0.0",),
    "part": ("tables", "entities", "workflows"),
    "kind": ("fact", "session", "note", "chunk", "hypothesis"),
    "slug": ("helios",),
    "client": ("claude-code",),
}
MODELS_IN_ADDRESSES: dict[str, tuple[str, ...]] = {
    "webhook_id": ("Webhook",),
    "app_id": ("App",),
    "chunk_id": ("Chunk",),
    "conversation_id": ("Conversation",),
    "delivery_id": ("Delivery",),
    "drift_id": ("ReferenceDrift",),
    "entity_id": ("AppEntity",),
    "entry_id": ("CompanyEntry", "Entry"),
    "event_id": ("HookEvent",),
    "fact_id": ("Fact",),
    "gap_id": ("Gap",),
    "golden_id": ("GoldenQuestion",),
    "hypothesis_id": ("Hypothesis",),
    "invitation_id": ("Invitation",),
    "key_id": ("ApiKey",),
    "note_id": ("Note",),
    "part_id": ("AppTable", "AppEntity", "AppWorkflow"),
    "pk": ("CompanyEntry",),
    "question_id": ("UnansweredQuestion",),
    "reference_id": ("Reference",),
    "report_id": ("ErasureReport",),
    "run_id": ("AppRun",),
    "session_id": ("Session",),
    "sign_in_id": ("SignIn",),
    "thing_id": ("Fact", "Session", "Note", "Chunk", "Hypothesis"),
    "workflow_id": ("AppWorkflow",),
}


def model_called(name: str) -> Any:
    """Return our model of this name."""
    labels = ("accounts", "knowledge", "curation")
    return next(
        model for label in labels for model in apps.get_app_config(label).get_models() if model.__name__ == name
    )


def _pages_of_the_admin() -> Iterator[str]:
    yield reverse("admin:index")
    for model in admin.site._registry:
        options, row = model._meta, model._base_manager.order_by("pk").first()
        yield reverse(f"admin:{options.app_label}_{options.model_name}_changelist")
        if row is not None:
            yield reverse(f"admin:{options.app_label}_{options.model_name}_change", args=[row.pk])
            yield reverse(f"admin:{options.app_label}_{options.model_name}_history", args=[row.pk])
