"""Lists by cursor: a walk sees every row once, whatever comes and goes meanwhile; and a cursor fits its own list."""

from typing import Any
from urllib.parse import parse_qsl, urlsplit

import pytest
from django.utils import timezone

from accounts.models import SCOPES, Role, User
from bigmind.core.operations import Effect, Operation
from bigmind.operations import CATALOGUE
from bigmind.transports.rest.routes import path_parameters
from knowledge.models import Fact
from tests.factories import make_key, make_user
from tests.transports.long_lists import LONG_LISTS, LongList
from tests.transports.rest_wire import Rest, problem_in

pytestmark = pytest.mark.django_db

# Three rows share a moment, so that pages of ten end between them.
ROWS = 40
PAGE = 10
WALKS = [pytest.param(CATALOGUE[name], long, id=name) for name, lists in LONG_LISTS.items() for long in lists]


@pytest.fixture
def owner(settings: Any) -> User:
    """Return somebody who may do everything, in a team."""
    settings.BIGMIND_MODE = "team"
    return make_user("zoe", role=Role.ADMIN)


@pytest.fixture
def rest(owner: User) -> Rest:
    """Return their connection."""
    return Rest(make_key(owner, scopes=SCOPES))


def _is_list(operation: Operation) -> bool:
    """A list has items of which it tells the total. What answers a question is ranked anew each time it is asked."""
    names = operation.arguments.model_fields
    is_page = {"items", "total"} <= set(operation.shape.model_fields)
    return operation.effect is Effect.READ and is_page and "query" not in names


def _address(operation: Operation, long: LongList) -> tuple[str, dict[str, Any]]:
    arguments = dict(long.arguments)
    path = operation.path.format(**{name: arguments.pop(name) for name in path_parameters(operation)})
    return path, arguments


def _all_by_offset(rest: Rest, operation: Operation, long: LongList) -> list[str]:
    path, arguments = _address(operation, long)
    names: list[str] = []
    while True:
        reply = rest.get(path, **arguments, limit=PAGE, offset=len(names)).json()
        names += long.names(reply["items"])
        if len(names) >= reply["total"]:
            return names


def test_every_list_of_the_catalogue_takes_a_cursor_and_is_walked_below() -> None:
    lists = {name: operation for name, operation in CATALOGUE.items() if _is_list(operation)}

    taking = {name for name, it in lists.items() if {"limit", "offset", "cursor"} <= set(it.arguments.model_fields)}
    telling = {name for name, it in CATALOGUE.items() if "next_cursor" in it.shape.model_fields}

    assert taking == telling == set(lists) == set(LONG_LISTS)


@pytest.mark.parametrize(("operation", "long"), WALKS)
def test_a_walk_sees_every_row_once_while_others_come_and_go(
    rest: Rest, owner: User, operation: Operation, long: LongList
) -> None:
    long.add(owner, range(10, 10 + ROWS))
    before = _all_by_offset(rest, operation, long)
    path, asked = _address(operation, long)
    seen: list[str] = []
    gone: set[str] = set()
    reply: dict[str, Any] = {"next_cursor": ""}

    while reply["next_cursor"] is not None:
        cursor = {"cursor": reply["next_cursor"]} if reply["next_cursor"] else {}
        reply = rest.get(path, **asked, limit=PAGE, **cursor).json()
        seen += long.names(reply["items"])
        ahead = [name for name in before[len(seen) :] if name not in seen and name != owner.username]
        leaving = [seen[-1], *ahead[PAGE // 2 : PAGE // 2 + 2]]
        long.take_away([name for name in leaving if name in before])
        gone |= set(leaving) - set(seen)
        long.add(owner, (number * 1_000 + len(seen) for number in (-1, 1, 2)))

    assert len(seen) == len(set(seen))
    assert [name for name in seen if name in set(before)] == [name for name in before if name not in gone]


@pytest.mark.parametrize(("operation", "long"), WALKS)
def test_a_page_by_cursor_tells_the_total_and_how_many_stand_before_it(
    rest: Rest, owner: User, operation: Operation, long: LongList
) -> None:
    long.add(owner, range(7))
    path, asked = _address(operation, long)
    total = rest.get(path, **asked).json()["total"]

    first = rest.get(path, **asked, limit=3).json()
    second = rest.get(path, **asked, limit=3, cursor=first["next_cursor"]).json()
    last = rest.get(path, **asked, limit=50, cursor=first["next_cursor"]).json()

    assert (first["offset"], second["offset"], last["offset"]) == (0, 3, 3)
    assert {first["total"], second["total"], last["total"]} == {total}
    assert len(last["items"]) == total - 3
    assert last["next_cursor"] is None


def test_the_header_link_leads_through_the_list_by_cursor(rest: Rest, owner: User) -> None:
    LONG_LISTS["memory_list_facts"][0].add(owner, range(5))
    seen, address = [], "/api/v1/facts/?limit=2&category=preference"

    while address:
        parts = urlsplit(address)
        reply = rest.get(parts.path.removeprefix("/api/v1/"), **dict(parse_qsl(parts.query)))
        seen += [item["fact"] for item in reply.json()["items"]]
        address = reply["Link"].partition(">")[0].lstrip("<") if "Link" in reply else ""

    assert seen == [f"Fact {number}." for number in (4, 3, 2, 1, 0)]


@pytest.mark.parametrize("cursor", ["x", "not a cursor", "Ünïcode", "AAAA" * 20, "-_" * 40, "x" * 8_001])
def test_what_is_no_cursor_is_refused_by_name(rest: Rest, cursor: str) -> None:
    problem = problem_in(rest.get("facts/", cursor=cursor), 422)

    assert [error["field"] for error in problem["errors"]] == ["cursor"]


def test_a_cursor_of_another_list_other_filters_or_somebody_else_is_refused(rest: Rest, owner: User) -> None:
    eve = Rest(make_key())
    for someone in (owner, eve.key.key.user):
        LONG_LISTS["memory_list_facts"][0].add(someone, range(3))
    cursor = rest.get("facts/", limit=1).json()["next_cursor"]

    tries = {
        "its own list": rest.get("facts/", limit=2, cursor=cursor),
        "another list": rest.get("hypotheses/", cursor=cursor),
        "other filters": rest.get("facts/", category="preference", cursor=cursor),
        "somebody else": eve.get("facts/", cursor=cursor),
        "with an offset": rest.get("facts/", offset=1, cursor=cursor),
    }

    assert {name: reply.status_code for name, reply in tries.items() if reply.status_code != 422} == {
        "its own list": 200
    }
    assert tries["somebody else"].json()["detail"].startswith("cursor is not one that this list gave")
    assert (
        tries["with an offset"].json()["detail"] == "cursor cannot be sent together with offset. Send one of the two."
    )


def _another(character: str) -> str:
    return "B" if character == "A" else "A"


def test_a_cursor_that_was_tampered_with_is_refused(rest: Rest, owner: User) -> None:
    LONG_LISTS["memory_list_facts"][0].add(owner, range(3))
    cursor = rest.get("facts/", limit=1).json()["next_cursor"]

    tampered = [cursor[:place] + _another(cursor[place]) + cursor[place + 1 :] for place in (0, 15, 20, 30)]
    replies = [rest.get("facts/", cursor=one) for one in tampered]

    assert {reply.status_code for reply in replies} == {422}


def test_a_list_that_has_become_empty_ends_the_walk(rest: Rest, owner: User) -> None:
    LONG_LISTS["memory_list_facts"][0].add(owner, range(3))
    cursor = rest.get("facts/", limit=1).json()["next_cursor"]
    Fact.objects.update(deprecated_at=timezone.now(), deprecation_reason="All wrong.")

    reply = rest.get("facts/", cursor=cursor).json()

    assert (reply["items"], reply["total"], reply["next_cursor"]) == ([], 0, None)
