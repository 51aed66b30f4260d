"""Queries that are compiled once answer as if they were compiled for each call."""

from datetime import timedelta

import pytest
from django.db.models import Q
from django.utils import timezone

from bigmind.core.fixed_queries import FixedQuery
from bigmind.core.pages import FixedList, page_of
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
        assert fixed(user.pk, project) == page_of(facts(user.pk, project), limit=2)
    assert fixed(make_user("ben").pk, project).total == 0
