"""The pages of the API: a toolset, an operation with its arguments and errors, a search without a script."""

import re

import pytest
from django.test import Client

from bigmind.operations import CATALOGUE
from bigmind.toolsets import TOOLSETS

FOUND = re.compile(r'<tr id="(\w+)">')


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
