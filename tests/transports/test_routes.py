"""Isolation of the pages (T1): each address has a rule, and is asked for by everybody whom it is not for."""

import re
from collections.abc import Iterator
from typing import Any
from uuid import uuid4

import pytest
from django.db import transaction
from django.test import Client, override_settings
from pytest_django.plugin import DjangoDbBlocker

from accounts.models import User
from tests.factories import browser_of, make_actor, make_user
from tests.transports.isolation import (
    SECRET,
    Owned,
    approve_company_knowledge,
    ids_in_addresses,
    own_everything,
    share_entries,
    stored_by,
)
from tests.transports.routes import ADMINS, ANYONE, CURATORS, MEMBERS, OWNER, RULES, Route, routes
from tests.worlds import keep_world

pytestmark = [pytest.mark.django_db, pytest.mark.usefixtures("in_a_team")]
NOT_THIS_WAY = 405

Stored = list[tuple[Any, ...]]
Ids = dict[str, Any]


@pytest.fixture(scope="module")
def owned(django_db_setup: None, django_db_blocker: DjangoDbBlocker) -> Iterator[Owned]:
    """What somebody owns, whose every text has the secret word in it, and what everybody shares: made once."""

    def make() -> Owned:
        with override_settings(BIGMIND_MODE="team"):
            owner = make_actor()
            return approve_company_knowledge(share_entries(owner, own_everything(owner)))

    with keep_world(django_db_blocker, make) as owned:
        yield owned


@pytest.fixture(scope="module")
def ids(owned: Owned) -> Ids:
    """What stands in the addresses of all that: looked up once."""
    return ids_in_addresses(owned)


@pytest.fixture(scope="module")
def before(ids: Ids) -> Stored:
    """What they own before anybody asks. Each answer is taken back, so it is the same before every one."""
    return _stored(ids)


def test_every_address_has_one_rule() -> None:
    ruled = [name for names in RULES.values() for name in names]

    assert sorted(ruled) == sorted(routes())


def test_without_a_sign_in_every_other_address_leads_to_it(ids: Ids, before: Stored) -> None:
    visitor = Client()
    for name, route in routes().items():
        for method in ("GET", "POST"):
            visitor.cookies.clear()
            status, content, turned_to, changed = _asked(visitor, method, route, ids, before)

            assert SECRET.encode() not in content, (name, method)
            assert not changed, (name, method)
            if name not in RULES[ANYONE]:
                assert (status, turned_to.partition("?")[0]) == (302, "/sign-in/"), (name, method)


@pytest.mark.parametrize(("rule", "refusal"), [(OWNER, 404), (CURATORS, 403), (ADMINS, 403)])
def test_another_member_is_refused_what_is_not_for_members(ids: Ids, before: Stored, rule: str, refusal: int) -> None:
    _is_refused(make_user(), RULES[rule], refusal, ids, before)


def test_a_curator_is_refused_what_is_for_admins(ids: Ids, before: Stored) -> None:
    _is_refused(make_actor(curator=True).user, RULES[ADMINS], 403, ids, before)


def test_what_is_for_members_shows_another_member_nothing_private(ids: Ids) -> None:
    member = browser_of(make_user())

    for name in RULES[MEMBERS]:
        for method in ("GET", "POST"):
            status, content, _, _ = _asked(member, method, routes()[name], ids)

            assert SECRET.encode() not in content, (name, method)
            assert status < 500, (name, method)


def test_what_somebody_else_owns_is_answered_as_what_nobody_owns(ids: Ids) -> None:
    member = browser_of(make_user())

    for name in RULES[OWNER]:
        answers = [_without_ids(_asked(member, "GET", routes()[name], in_it)[1]) for in_it in (ids, _nobodys(ids))]

        assert answers[0] == answers[1], name


def _is_refused(user: User, names: tuple[str, ...], refusal: int, ids: Ids, before: Stored) -> None:
    visitor = browser_of(user)
    for name in names:
        # What a page lets somebody do is what counts; many only take one of the two methods.
        status, content, _, changed = _asked(visitor, "POST", routes()[name], ids, before)
        if status == NOT_THIS_WAY:
            status, content, _, changed = _asked(visitor, "GET", routes()[name], ids, before)

        assert status == refusal, name
        assert SECRET.encode() not in content, name
        assert not changed, name


def _asked(
    visitor: Client, method: str, route: Route, ids: Ids, before: Stored | None = None
) -> tuple[int, bytes, str, bool]:
    """Ask, see whether anything of the owner is different from `before`, and take it back."""
    with transaction.atomic():
        answer = visitor.generic(method, route.at(ids), "", "application/x-www-form-urlencoded")
        changed = before is not None and _stored(ids) != before
        transaction.set_rollback(True)
    return answer.status_code, answer.content, answer.get("Location", ""), changed


def _stored(ids: Ids) -> Stored:
    return stored_by(User(pk=ids["person_id"]), ids["owned"])


def _nobodys(ids: Ids) -> Ids:
    """Ids of the same kinds, where nothing is."""
    numbers = ("fact_id", "chunk_id", "note_id", "hypothesis_id", "question_id", "pk", "entry_id")
    captured = ("conversation_id", "event_id")
    return {
        **ids,
        **dict.fromkeys((*numbers, *captured), 999_999),
        "session_id": uuid4(),
        "key_id": uuid4(),
        "asked_id": uuid4(),
        "username": "nobody",
        "thing_id": "999999",
    }


def _without_ids(content: bytes) -> str:
    """Leave out what differs from one request to the next: ids, the token of forms, and what was asked for."""
    text = re.sub(r'value="\w{64}"|[0-9a-f]{8}-[0-9a-f-]{27}|\b[0-9a-f]{16}\b', "", content.decode())
    return re.sub(r"\buser\d+\b|\bnobody\b|\b\d+\b", "", text)
