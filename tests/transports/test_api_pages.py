"""The pages of the API: a toolset, an operation with its arguments and errors, a search without a script, trying it."""

import re
from typing import Any

import pytest
from django.test import Client

from bigmind.operations import CATALOGUE
from bigmind.toolsets import TOOLSETS
from knowledge.models import Fact
from tests.factories import make_actor, make_user
from tests.knowledge.factories import make_fact

FOUND = re.compile(r'<tr id="(\w+)">')


def _try(client: Client, name: str, arguments: str, **more: str) -> Any:
    return client.post(f"/try/{name}/", {"arguments": arguments, **more})


@pytest.fixture
def ada(db: None) -> Any:
    return make_actor()


@pytest.fixture
def browser(ada: Any) -> Client:
    client = Client()
    client.force_login(ada.user)
    return client


def test_each_operation_has_a_page_with_all_of_it() -> None:
    kinds = [f"troubleshooting/#{kind}" for kind in ("unauthorized", "forbidden", "invalid", "too_many")]
    for name, operation in CATALOGUE.items():
        page = Client().get(f"/api/operations/{name}/").text

        assert f"{operation.method} /api/v1/{operation.path}" in page
        arguments = [f"<code>{argument}</code>" for argument in operation.arguments.model_fields]
        languages = ("curl", "httpx.request(", "await fetch(")
        assert [part for part in (*arguments, *languages, *kinds) if part not in page] == [], name


def test_each_toolset_has_a_page_that_lists_what_is_in_it() -> None:
    for toolset in TOOLSETS:
        expected = [name for name, operation in CATALOGUE.items() if operation.toolset == toolset]

        assert FOUND.findall(Client().get(f"/api/toolsets/{toolset}/").text) == expected


def test_what_does_not_exist_is_refused_as_everywhere_below_api() -> None:
    for path in ("/api/toolsets/nothing/", "/api/operations/memory_guess/"):
        assert Client().get(path).json()["type"].endswith("#no_route")
        assert Client().post(path).status_code == 405


@pytest.mark.parametrize(
    ("query", "expected"),
    [
        ("memory_store_fact", "memory_store_fact"),
        ("facts/", "memory_list_facts"),
        ("rename a note", "knowledge_rename"),
        ("who knows about kafka", "directory_search"),
    ],
)
def test_search_finds_an_operation_by_name_path_or_purpose(query: str, expected: str) -> None:
    found = FOUND.findall(Client().get("/api/", {"query": query}).text)

    assert expected in found[:8]


def test_search_says_when_nothing_is_found() -> None:
    assert "No operation does that." in Client().get("/api/", {"query": "zzyzx <b>"}).text


def test_trying_performs_as_the_person_who_is_signed_in(ada: Any, browser: Client) -> None:
    make_fact(make_actor(), "Of somebody else.")

    stored = _try(browser, "memory_store_fact", '{"category": "preference", "fact": "Prefers tea."}')
    listed = _try(browser, "memory_list_facts", "{}")

    assert Fact.objects.filter(user=ada.user).count() == 1
    assert "Prefers tea." in stored.text
    assert "Prefers tea." in listed.text
    assert "Of somebody else." not in listed.text


@pytest.mark.parametrize(
    ("name", "arguments", "status", "said"),
    [
        ("memory_store_fact", "{", 400, "not JSON"),
        ("memory_store_fact", "[]", 400, "must be a JSON object"),
        ("memory_store_fact", '{"fact": 1}', 422, "category"),
        ("memory_list_facts", '{"limit": "5"}', 422, "limit"),
        ("memory_list_facts", '{"limit": 5000}', 422, "200"),
        ("memory_correct_fact", '{"fact_id": 999999, "fact": "x"}', 404, "fact"),
        ("memory_list_queue", "{}", 403, "may not decide"),
        ("memory_erase_fact", '{"fact_id": 1}', 422, "must be ticked"),
        ("memory_store_fact", '{"category": "preference", "fact": "\\ud800"}', 422, "fact"),
    ],
)
def test_what_is_refused_over_rest_is_refused_here_in_its_words(
    browser: Client, name: str, arguments: str, status: int, said: str
) -> None:
    answer = _try(browser, name, arguments)

    assert answer.status_code == status
    assert said in answer.text


def test_a_deletion_needs_a_tick(ada: Any, browser: Client) -> None:
    fact = make_fact(ada, "Prefers tea.")

    _try(browser, "memory_erase_fact", f'{{"fact_id": {fact.number}}}')
    assert Fact.objects.filter(pk=fact.pk).exists()

    _try(browser, "memory_erase_fact", f'{{"fact_id": {fact.number}}}', sure="on")
    assert not Fact.objects.filter(pk=fact.pk).exists()


@pytest.mark.django_db
def test_nobody_tries_without_a_sign_in_or_from_another_site() -> None:
    stranger = Client(enforce_csrf_checks=True)
    assert stranger.get("/try/memory_list_facts/").status_code == 302

    stranger.force_login(make_user())
    refused = _try(stranger, "memory_store_fact", '{"category": "preference", "fact": "Planted."}')

    assert refused.status_code == 403
    assert not Fact.objects.exists()


def test_each_operation_can_be_tried_with_what_the_form_begins_with(browser: Client) -> None:
    for name in CATALOGUE:
        assert browser.get(f"/try/{name}/").status_code == 200, name
    assert browser.get("/try/memory_guess/").status_code == 404
