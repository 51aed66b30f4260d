"""Queries that are compiled once answer as if they were compiled for each call."""

from datetime import timedelta

import pytest
from django.contrib.postgres.expressions import ArraySubquery
from django.db import connection, transaction
from django.db.models import Func, Q, TextField, Value
from django.test.utils import CaptureQueriesContext
from django.utils import timezone

from accounts.models import User
from bigmind.database.fixed_queries import FixedQuery, ask_together
from bigmind.database.pagination import FixedList, page_of
from knowledge.models import Fact
from tests.factories import make_actor, make_user

pytestmark = pytest.mark.django_db


def test_the_same_statement_answers_for_other_values() -> None:
    ada, bob, now = make_user("ada"), make_user("bob"), timezone.now()
    for user, project in ((ada, "depot"), (ada, ""), (bob, "depot")):
        Fact.objects.create(user=user, category="identity", fact=f"{user} {project}", digest=project, project=project)
    old = Fact.objects.create(user=ada, category="identity", fact="old", digest="old", valid_until=now)
    asked = FixedQuery(
        lambda user_id, now, project, ids: (
            Fact.objects.filter(user=user_id, **({"project": project} if project else {}))
            .filter(Q(valid_until=None) | Q(valid_until__gt=now - timedelta(days=1)), pk__any_of=ids)
            .select_related("user")
            .order_by("pk")
        )
    )
    everything = list(Fact.objects.values_list("pk", flat=True))

    def words(*values: object) -> list[str]:
        return [fact.fact for fact in asked(*values)]

    assert words(ada.pk, now, "depot", everything) == ["ada depot"]
    assert words(bob.pk, now, "depot", everything) == ["bob depot"]
    assert words(ada.pk, now, "", everything) == ["ada depot", "ada ", "old"]
    assert words(ada.pk, now + timedelta(days=2), "", everything) == ["ada depot", "ada "]
    assert words(ada.pk, now, "", [old.pk]) == ["old"]
    assert [fact.user for fact in asked(bob.pk, now, "", everything)] == [bob]


def test_a_slice_begins_where_each_call_says() -> None:
    user = make_user("mia")
    for number in range(5):
        Fact.objects.create(user=user, fact=f"Nr. {number}", digest=str(number), category="constraint")
    asked = FixedQuery(lambda user_id, at: Fact.objects.filter(user=user_id).order_by("digest")[at : at + 2])

    assert [[fact.digest for fact in asked(user.pk, at)] for at in (0, 1, 3, 4, 9)] == [
        ["0", "1"],
        ["1", "2"],
        ["3", "4"],
        ["4"],
        [],
    ]


def test_where_a_slice_begins_may_be_the_first_of_the_values() -> None:
    user = make_user("mia")
    for number in range(3):
        Fact.objects.create(user=user, fact=f"Nr. {number}", digest=str(number), category="constraint")
    asked = FixedQuery(lambda at, user_id: Fact.objects.filter(user=user_id).order_by("digest")[at : at + 2])

    assert [[fact.digest for fact in asked(at, user.pk)] for at in (1, 2, 0)] == [["1", "2"], ["2"], ["0", "1"]]


def test_an_array_may_be_asked_for_by_a_query() -> None:
    mia, bob = make_user("mia"), make_user("bob")
    for user in (mia, bob):
        Fact.objects.create(user=user, fact="One", digest="1", category="constraint", project="pi")
    projects = ArraySubquery(Fact.objects.filter(user=mia).values("project"))

    assert Fact.objects.filter(user=bob, project__any_of=projects).count() == 1


@pytest.mark.django_db(transaction=True)
def test_joins_are_tried_in_one_order_for_that_statement_alone() -> None:
    make_user("mia")
    asked = FixedQuery(
        lambda name: User.objects.filter(username=name).annotate(limit=_setting("join_collapse_limit")),
        joins_in_order=True,
    )

    [alone] = asked("mia")
    after = User.objects.annotate(limit=_setting("join_collapse_limit")).get()
    with transaction.atomic():
        [inside] = asked("mia")

    assert (alone.limit, after.limit, inside.limit) == ("1", "8", "8")


def _setting(name: str) -> Func:
    return Func(Value(name), function="current_setting", output_field=TextField())


def test_the_present_moment_cannot_be_kept_with_the_statement() -> None:
    actor = make_actor()
    forgetful = FixedQuery(lambda user_id: Fact.objects.filter(user=user_id, valid_until__gt=timezone.now()))
    pattern = FixedQuery(lambda words: Fact.objects.filter(fact__contains=words))

    with pytest.raises(TypeError, match="present moment"):
        forgetful(actor.user.pk)
    with pytest.raises(TypeError, match="do not reach"):
        pattern("depot")


@pytest.mark.parametrize("stored", [0, 2, 3])
@pytest.mark.parametrize("project", ["", "pi", "other"])
def test_the_page_of_a_fixed_list_is_that_of_its_rows_with_the_same_cursor(stored, project) -> None:
    user = make_user("mia")
    for number in range(stored):
        Fact.objects.create(user=user, fact=f"Nr. {number}", digest=str(number), category="constraint", project="pi")

    def facts(user_id, project):
        rows = Fact.objects.of(user_id).select_related("superseded_by").newest_first()
        return rows.filter(project=project) if project else rows

    fixed = FixedList(facts, limit=2)

    for _ in range(2):  # The second time nothing is compiled.
        page, expected = fixed(user.pk, project), page_of(facts(user.pk, project), limit=2)
        assert (page.items, page.total, page.next_cursor) == (expected.items, expected.total, expected.next_cursor)
    assert fixed(make_user("ben").pk, project).total == 0


def test_several_queries_are_asked_in_one_message() -> None:
    ada, bob = make_user("ada"), make_user("bob")
    Fact.objects.create(user=ada, category="identity", fact="Ada is a pilot.", digest="1")
    facts = FixedQuery(lambda user_id: Fact.objects.filter(user=user_id).select_related("user"))
    names = FixedQuery(lambda user_id: User.objects.filter(pk=user_id).values_list("username"))

    for _ in range(3):  # At first as they are, then by the names of their plans.
        with CaptureQueriesContext(connection) as asked:
            [fact], none, [name] = ask_together((facts, (ada.pk,)), (facts, (bob.pk,)), (names, (bob.pk,)))

        assert (str(fact), fact.user, none, name) == ("Ada is a pilot.", ada, [], ("bob",))
        assert len(asked) == 1
