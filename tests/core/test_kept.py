"""Sessions of PostgreSQL keep the plans of statements that are repeated, and answer as if they did not."""

from functools import partial
from typing import Any

import pytest
from django.db import connection, connections, transaction
from django.db.models import Func, QuerySet, TextField, Value

from accounts.models import User
from bigmind.core.fixed_queries import FixedQuery
from knowledge.models import Fact
from tests.factories import make_user

pytestmark = pytest.mark.django_db(transaction=True)


@pytest.fixture(autouse=True)
def session() -> None:
    """A new session, which keeps nothing yet."""
    connection.close()


def _of(user_id: Any, at: int) -> QuerySet[Any, Any]:
    return Fact.objects.filter(user=user_id, category="constraint", pk__gt=at).order_by("pk")


def _in(category: str, user_id: Any) -> QuerySet[Any, Any]:
    return Fact.objects.filter(user=user_id, category=category)


def _kept() -> list[str]:
    with connection.cursor() as cursor:
        cursor.execute("SELECT statement FROM pg_prepared_statements")
        return [statement for (statement,) in cursor.fetchall()]


def test_a_statement_that_is_repeated_is_planned_once_and_answers_for_any_values() -> None:
    users = make_user("ada"), make_user("bob")
    for user in users:
        Fact.objects.create(user=user, category="constraint", fact=user.username, digest=user.username)
    asked = FixedQuery(_of)

    answers = [[fact.fact for fact in asked(user.pk, 1)] for _ in range(8) for user in users]
    [kept] = _kept()

    assert answers == [["ada"], ["bob"]] * 8
    assert "'constraint'" in kept  # What never changes is part of the plan.
    assert [asked(users[0].pk, far) for far in (2**62, 2**63, 2**90)] == [[], [], []]


def test_statements_of_one_text_with_other_constants_are_kept_apart() -> None:
    user = make_user("ada")
    for category in ("constraint", "identity"):
        Fact.objects.create(user=user, category=category, fact=category, digest=category)
    asked = [FixedQuery(partial(_in, category)) for category in ("constraint", "identity")]

    answers = [[fact.fact for fact in one(user.pk)] for _ in range(4) for one in asked]

    assert answers == [["constraint"], ["identity"]] * 4
    assert len(_kept()) == 2


def test_in_a_transaction_nothing_is_prepared_and_what_is_kept_is_used() -> None:
    user, asked = make_user("ada"), FixedQuery(_of)

    with transaction.atomic():
        for at in range(1, 4):
            asked(user.pk, at)
        assert _kept() == []
    asked(user.pk, 1)
    with transaction.atomic():
        [kept] = _kept()
        assert [asked(user.pk, at) for at in range(1, 4)] == [[], [], []]

    assert "knowledge_fact" in kept


def test_what_cannot_be_prepared_is_asked_as_it_is() -> None:
    make_user("ada")
    asked = FixedQuery(lambda text: User.objects.annotate(kind=_type_of(text)))

    assert {one.kind for text in "abcdef" for one in asked(text)} == {"unknown"}
    assert _kept() == []


def test_a_session_of_a_pool_keeps_nothing(monkeypatch: pytest.MonkeyPatch) -> None:
    asked = FixedQuery(_of)
    connection.ensure_connection()
    monkeypatch.setattr(connections["default"], "is_pooled", True)

    for at in range(4):
        asked(make_user(f"user-{at}").pk, at)

    assert _kept() == []


def _type_of(text: str) -> Func:
    return Func(
        Value(text), function="pg_typeof", template="%(function)s(%(expressions)s)::text", output_field=TextField()
    )
