"""Queries that are compiled once answer as if they were compiled for each call."""

from datetime import timedelta

import pytest
from django.db.models import Q
from django.utils import timezone

from bigmind.core.fixed_queries import FixedQuery
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
