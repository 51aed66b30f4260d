"""Sessions of PostgreSQL keep the plans of statements that are repeated, and answer as if they did not."""

from collections.abc import Iterator
from functools import partial
from typing import Any

import pytest
from django.db import NotSupportedError, connection, connections, transaction
from django.db.models import Func, QuerySet, TextField, Value
from structlog.testing import capture_logs

from accounts.models import User
from bigmind.database.fixed_queries import FixedQuery, pad
from bigmind.database.postgresql.kept_plans import Repeated
from bigmind.database.rls import deny_by_default, rls_bypass, rls_scope
from bigmind.gate import perform
from bigmind.operations import CATALOGUE
from knowledge.models import Fact
from tests.factories import make_actor, make_user

pytestmark = pytest.mark.django_db(transaction=True)


@pytest.fixture(autouse=True)
def session() -> Iterator[None]:
    """A session of its own, which keeps nothing yet."""
    connection.close()
    yield
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


def test_a_kept_statement_shows_each_one_their_own_rows_alone() -> None:
    ada, bob = users = make_user("ada"), make_user("bob")
    for user in users:
        Fact.objects.create(user=user, category="constraint", fact=user.username, digest=user.username)
    forgets_whose = FixedQuery(lambda at: Fact.objects.filter(pk__gt=at).order_by("pk").values_list("fact", flat=True))

    for _ in range(8):
        with rls_scope(ada.pk):
            assert forgets_whose(1) == ["ada"]
        with rls_scope(bob.pk):
            assert forgets_whose(1) == ["bob"]
        with rls_bypass():
            assert forgets_whose(1) == ["ada", "bob"]
        with deny_by_default():
            assert forgets_whose(1) == []

    with connection.cursor() as cursor:
        cursor.execute("SELECT generic_plans > 0 FROM pg_prepared_statements")
        assert cursor.fetchall() == [(True,)]


@pytest.fixture
def table() -> Iterator[str]:
    """A table that no model has, because its columns change."""
    with connection.cursor() as cursor:
        cursor.execute("CREATE TABLE kept_changing (id bigint, name varchar(10))")
        cursor.execute("INSERT INTO kept_changing VALUES (1, 'one')")
        yield "kept_changing"
        cursor.execute("DROP TABLE kept_changing")


@pytest.mark.parametrize(
    "change",
    [
        "ALTER COLUMN name TYPE varchar(60)",
        "ALTER COLUMN name TYPE text",
        "ADD COLUMN more bigint DEFAULT 2",
        "ADD PRIMARY KEY (id)",
    ],
)
def test_a_migration_beside_it_is_noticed_by_nobody(table: str, change: str) -> None:
    asked = Repeated(f"SELECT name FROM {table} WHERE id = %s", (0,))

    def names() -> list[Any]:
        with connection.cursor() as cursor:
            cursor.execute(asked, (1,))
            return cursor.fetchall()

    before = [names() for _ in range(8)]
    assert _kept()
    with connection.cursor() as cursor:
        cursor.execute(f"ALTER TABLE {table} {change}")

    assert before == [[("one",)]] * 8
    assert [names() for _ in range(8)] == before
    with transaction.atomic():
        assert names() == before[0]


def test_within_a_transaction_a_change_of_type_fails_once(table: str) -> None:
    asked = Repeated(f"SELECT name FROM {table} WHERE id = %s", (0,))
    with connection.cursor() as cursor:
        for _ in range(3):
            cursor.execute(asked, (1,))
        cursor.execute(f"ALTER TABLE {table} ALTER COLUMN name TYPE text")

        with pytest.raises(NotSupportedError), transaction.atomic():
            cursor.execute(asked, (1,))
        with transaction.atomic():
            cursor.execute(asked, (1,))

            assert cursor.fetchall() == [("one",)]


def test_a_new_session_keeps_nothing_of_the_one_before() -> None:
    user, asked = make_user("ada"), FixedQuery(_of)
    for at in range(4):
        asked(user.pk, at)
    assert _kept()

    connection.close()

    assert _kept() == []
    assert [asked(user.pk, at) for at in range(1, 4)] == [[], [], []]


def test_a_table_that_is_held_delays_nobody_who_asks_for_something_else(table: str) -> None:
    asked = Repeated(f"SELECT name FROM {table} WHERE id = %s", (0,))
    other = connections.create_connection("default")
    with connection.cursor() as cursor, other.cursor() as holding:
        cursor.execute("SET lock_timeout = '50ms'")
        for _ in range(2):
            cursor.execute(asked, (1,))
        try:
            holding.execute(f"BEGIN; LOCK TABLE {table}")
            cursor.execute("SELECT 2")

            assert cursor.fetchone() == (2,)
        finally:
            other.close()
        cursor.execute(asked, (1,))
        assert cursor.fetchall() == [("one",)]


def test_no_values_wait_for_the_next_statement() -> None:
    user, asked = make_user("ada"), FixedQuery(_of)
    for at in range(1, 3):
        asked(user.pk, at)

    [(_types, given)] = connections["default"].kept.due.values()

    assert "constraint" in given
    assert {type(one).__name__ for one in given if one != "constraint"} == {"_Place"}


@pytest.mark.parametrize(
    ("words", "padded"), [("", ""), ("a", "a"), ("ab", "ab"), ("abc", "abcc"), ("abcde", "abcdeeee")]
)
def test_however_many_words_are_asked_for_there_are_few_statements(words: str, padded: str) -> None:
    assert pad(list(words)) == list(padded)


def test_all_that_the_product_repeats_can_be_prepared() -> None:
    curator = make_actor(curator=True)
    asked = [("memory_get_context", {}), ("memory_list_queue", {}), ("memory_semantic_search", {"query": "deploy"})]

    with capture_logs() as lines:
        for name, arguments in asked * 4:
            perform(CATALOGUE[name], curator, arguments, transport="rest")

    assert [line["reason"] for line in lines if "cannot be prepared" in line["event"]] == []
    assert len(_kept()) > 3


def _type_of(text: str) -> Func:
    return Func(
        Value(text), function="pg_typeof", template="%(function)s(%(expressions)s)::text", output_field=TextField()
    )
